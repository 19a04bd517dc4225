"""What the commands of the user layer read and say, and what they call a log."""

from __future__ import annotations

from pathlib import Path

from batsched_py.support.terminal_text import say
from batsched_py.workload import Workload
from batsched_py.workload.conversion_rules import Rules


def say_notes(workload: Workload, *, named: bool = False) -> None:
    """Say what reading a workload found and did; ``named`` if it is one of several."""
    for note in workload.notes:
        say(f"note: {workload.name}: {note}" if named else f"note: {note}")


def load_one_of(path: Path, rules: Rules, skip_bad_lines: bool) -> Workload:
    """Return one of several workloads; what reading it found is said with its name."""
    from batsched_py.workload.load import load_workload

    workload = load_workload(path, rules, skip_bad_lines=skip_bad_lines)
    say_notes(workload, named=True)
    return workload


def stem(name: str) -> str:
    """Return the name of a log without what its kind of file ends with."""
    for suffix in (".gz", ".swf", ".json"):
        name = name.removesuffix(suffix)
    return name
