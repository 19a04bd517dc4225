"""A stand-in for the program Batsim: says over a real socket what was recorded of it.

    recorded_batsim.py FOLDER [end=exit:3|kill|hang|exit:0] [at=N] [says=TEXT] -- Batsim's arguments

It asks the recorded questions, wants the recorded decisions as replies (on others it aborts, as
Batsim might), leaves the recorded outputs, and ends as was recorded. ``end`` with ``at`` ends it
otherwise, before message N, ``says`` has it say something first.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path

import zmq


def main() -> None:
    if "--version" in sys.argv:
        print("v4.2.0")
        return
    folder, *arguments = sys.argv[1 : sys.argv.index("-p")]
    batsims = dict(zip(sys.argv, sys.argv[1:], strict=False))
    wishes = dict(wish.split("=") for wish in arguments)
    lines = Path(folder, "exchange.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    asked = [record["raw"] for record in records if record["from"] == "batsim"]
    replied = [record["raw"] for record in records if record["from"] == "sched"]
    socket = zmq.Context().socket(zmq.REQ)
    socket.setsockopt(zmq.LINGER, 0)
    socket.connect(batsims["-s"])
    print(f"stand-in for Batsim, {len(asked)} messages", flush=True)
    for number, (raw, recorded) in enumerate(zip(asked, replied, strict=False)):
        if number == int(wishes.get("at", -1)):
            print(wishes.get("says", ""), flush=True)
            end(wishes["end"])
        socket.send_string(raw)
        reply = socket.recv_string()
        if decisions(reply) != decisions(recorded):
            sys.exit(f"message {number}: said {reply[:300]}, recorded {recorded[:300]}")
    for name in ("jobs.csv", "schedule.csv"):
        shutil.copy(Path(folder, f"out_{name}"), f"{batsims['-e']}_{name}")
    os._exit(0)


def decisions(reply: str) -> list[str]:
    return sorted(
        json.dumps([event["type"], event["data"]]) for event in json.loads(reply)["events"]
    )


def end(how: str) -> None:
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif how == "hang":
        time.sleep(600)
    else:
        os._exit(int(how.removeprefix("exit:")))


if __name__ == "__main__":
    main()
