"""A stand-in for the program Batsim, 4 or 5: says over a real socket what was recorded of it.

    recorded_batsim.py FOLDER [end=exit:3|kill|hang|exit:0] [at=N] [says=TEXT] -- Batsim's arguments

It asks the recorded questions and wants the recorded decisions as replies: on others it aborts, as
Batsim might. It leaves the recorded outputs, and ends as was recorded. ``end`` with ``at`` ends it
otherwise, before message N; ``says`` has it say something first.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

import zmq


def main() -> None:
    folder = Path(sys.argv[1])
    of_5 = (folder / "messages.jsonl").exists()
    if "--version" in sys.argv:
        print("v5.0.0-rc2" if of_5 else "v4.2.0")
        return
    wishes = dict(wish.split("=") for wish in sys.argv[2 : sys.argv.index("-p")])
    options = dict(zip(sys.argv, sys.argv[1:], strict=False))
    socket = zmq.Context().socket(zmq.REQ)
    socket.setsockopt(zmq.LINGER, 0)
    socket.connect(options["-s"])
    if of_5:
        socket.send(b"\0\0\0\0")  # whatever text was recorded for the other side: none is given
        hello = socket.recv()
        assert hello[:4] == (2).to_bytes(4, sys.byteorder), hello
    asked, replied = read_messages(folder, of_5)
    print(f"stand-in for Batsim, {len(asked)} messages", flush=True)
    for number, (message, recorded) in enumerate(zip(asked, replied, strict=False)):
        if number == int(wishes.get("at", -1)):
            print(wishes.get("says", ""), flush=True)
            end(wishes["end"])
        socket.send(message.encode())
        reply = json.loads(socket.recv().rstrip(b"\0"))
        if decisions(reply) != decisions(recorded):
            sys.exit(f"message {number}: said {reply}, recorded {recorded}")
    if of_5:
        copies = {path: f"{options['-e']}{path.name}" for path in (folder / "out").iterdir()}
    else:
        names = ("jobs.csv", "schedule.csv")
        copies = {folder / f"out_{name}": f"{options['-e']}_{name}" for name in names}
    for path, copy in copies.items():
        shutil.copy(path, copy)
    os._exit(0)


def read_messages(folder: Path, of_5: bool) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the messages as texts, and the replies."""
    if of_5:
        records = [json.loads(line) for line in (folder / "messages.jsonl").open()]
        asked = [json.dumps(it["json"]) + "\0" for it in records if it["dir"] == "batsim"]
        return asked, [it["json"] for it in records if it["dir"] == "edc"]
    records = [json.loads(line) for line in (folder / "exchange.jsonl").open()]
    asked = [it["raw"] for it in records if it["from"] == "batsim"]
    return asked, [json.loads(it["raw"]) for it in records if it["from"] == "sched"]


def decisions(reply: dict[str, Any]) -> list[str]:
    """Return all of them for Batsim 4; for Batsim 5 the kind, the job and the hosts of each."""
    return sorted(map(decision, reply["events"]))


def decision(event: dict[str, Any]) -> str:
    if "type" in event:
        return json.dumps([event["type"], event["data"]])
    content = event["event"]
    return repr((event["event_type"], content["job_id"], hosts(content.get("allocation"))))


def hosts(allocation: dict[str, str] | None) -> list[int]:
    numbers: set[int] = set()
    for part in allocation["host_allocation"].split() if allocation else ():
        first, _, last = part.partition("-")
        numbers.update(range(int(first), int(last or first) + 1))
    return sorted(numbers)


def end(how: str) -> None:
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif how == "hang":
        time.sleep(600)
    else:
        os._exit(int(how.removeprefix("exit:")))


if __name__ == "__main__":
    main()
