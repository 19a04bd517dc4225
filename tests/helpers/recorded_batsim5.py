"""Recorded exchanges with Batsim 5.0.0-rc2, as they were on the wire."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers.shared_folder import SHARED

FOLDERS = sorted(SHARED.glob("batsim5_recordings/*/")) if SHARED.is_dir() else []
BATSIM, SCHEDULER = "batsim", "sched"


@dataclass(frozen=True)
class Frame:
    """What one side sent; ``content`` is its JSON, None for the handshake."""

    sender: str
    raw: bytes
    content: Any = None


def frames(folder: Path) -> list[Frame]:
    """Return the frames of a recording in their order, none where nothing was said."""
    path = folder / "messages.jsonl"
    return [_frame(json.loads(line)) for line in path.open()] if path.exists() else []


def _frame(record: dict[str, Any]) -> Frame:
    if record["dir"] == "init":
        return Frame(BATSIM, bytes.fromhex(record["hex"]))
    if record["dir"] == "hello":
        if "text" not in record:  # the binary form, of which the flags are apart
            return Frame(
                SCHEDULER, bytes([record["flags"], 0, 0, 0]) + bytes.fromhex(record["hex"])
            )
        return Frame(SCHEDULER, bytes.fromhex(record["flags_hex"]) + record["text"].encode())
    sender = BATSIM if record["dir"] == "batsim" else SCHEDULER
    if "json" not in record:
        raw = record["text"].encode() if "text" in record else bytes.fromhex(record.get("hex", ""))
        return Frame(sender, raw)  # binary, or no JSON
    end = b"\0" if record.get("nul") else b""
    return Frame(sender, json.dumps(record["json"]).encode() + end, record["json"])


def return_code(folder: Path) -> int | str:
    """Return how Batsim ended: -6 if it aborted, -11 if it crashed, ``hang`` if it had to be."""
    code: int | str = json.loads((folder / "result.json").read_text())["rc"]
    return code
