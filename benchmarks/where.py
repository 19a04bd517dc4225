"""Where the microseconds of a job go: the loop is looked at a thousand times a second."""

from __future__ import annotations

import signal
from collections import Counter
from pathlib import Path
from types import FrameType

from loop_rows import loop
from measuring import Bench

import batsched_py

EVERY = 0.001
"""Seconds of CPU between two looks."""
RARE = 0.01
"""Smaller parts of the time are one row."""
ROOT = Path(batsched_py.__file__).parent


def where(bench: Bench) -> str:
    """Return the modules with their parts of the loop of EASY, in Markdown.

    What a function of C takes is that of the module that called it.
    """
    seen: Counter[str] = Counter()

    def look(number: int, frame: FrameType | None) -> None:
        seen[module_of(frame)] += 1

    load = bench.workload()
    before = signal.signal(signal.SIGPROF, look)
    signal.setitimer(signal.ITIMER_PROF, EVERY, EVERY)
    try:
        seconds = min(loop(load) for _ in range(bench.rounds))
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    seen.pop("", None)  # reading and preparing
    total, a_job = sum(seen.values()), 1e6 * seconds / len(load.jobs)
    rows = [(name, nb / total) for name, nb in seen.most_common() if nb > RARE * total]
    rows.append(("all others", 1 - sum(part for _, part in rows)))
    lines = ["| module | us a job | part |", "|---|---:|---:|"]
    lines += [f"| {name} | {part * a_job:.1f} | {part:.0%} |" for name, part in rows]
    return "\n".join([*lines, f"| together | {a_job:.1f} | |", ""])


def module_of(frame: FrameType | None) -> str:
    """Return the module of ours that runs, empty outside of the loop."""
    inside, module = False, ""
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        if not module and path.is_relative_to(ROOT):
            module = f"`{path.relative_to(ROOT)}`"
        inside = inside or (frame.f_code.co_name == "run" and path.name == "direct.py")
        frame = frame.f_back
    return module if inside else ""
