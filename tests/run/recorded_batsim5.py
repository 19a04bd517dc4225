"""A stand-in for the program Batsim 5: says over a real socket what was recorded of it.

    recorded_batsim5.py FOLDER -- Batsim's arguments

It asks the recorded questions, wants the recorded decisions as replies (on others it aborts, as
Batsim might), and leaves the recorded outputs.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import zmq


def main() -> None:
    if "--version" in sys.argv:
        print("v5.0.0-rc2")
        return
    folder, options = Path(sys.argv[1]), sys.argv[2:]
    assert options[options.index("-s") + 2] == ""
    records = [json.loads(line) for line in (folder / "messages.jsonl").open()]
    socket = zmq.Context().socket(zmq.REQ)
    socket.setsockopt(zmq.LINGER, 0)
    socket.connect(options[options.index("-s") + 1])
    socket.send(b"\0\0\0\0")  # whatever text was recorded for the other side: none is given here
    hello = socket.recv()
    assert hello[:4] == (2).to_bytes(4, sys.byteorder), hello
    asked = [record["json"] for record in records if record["dir"] == "batsim"]
    replied = [record["json"] for record in records if record["dir"] == "edc"]
    for number, (message, recorded) in enumerate(zip(asked, replied, strict=True)):
        socket.send(json.dumps(message).encode() + b"\0")
        reply = json.loads(socket.recv().rstrip(b"\0"))
        if decisions(reply) != decisions(recorded):
            sys.exit(f"message {number}: said {reply}, recorded {recorded}")
    prefix = options[options.index("-e") + 1]
    for path in (folder / "out").iterdir():
        shutil.copy(path, f"{prefix}{path.name}")
    os._exit(0)


def decisions(reply: dict[str, Any]) -> list[tuple[str, str, list[int]]]:
    """Return the kind, the job and the hosts of each decision."""
    return sorted(
        (event["event_type"], event["event"]["job_id"], hosts(event["event"].get("allocation")))
        for event in reply["events"]
    )


def hosts(allocation: dict[str, str] | None) -> list[int]:
    numbers: set[int] = set()
    for part in allocation["host_allocation"].split() if allocation else ():
        first, _, last = part.partition("-")
        numbers.update(range(int(first), int(last or first) + 1))
    return sorted(numbers)


if __name__ == "__main__":
    main()
