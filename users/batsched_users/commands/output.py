"""Reads logs and prints notes, for the commands of the user layer."""

from __future__ import annotations

from pathlib import Path

from batsched_py.support.terminal_text import say
from batsched_py.workload import Workload
from batsched_py.workload.conversion_rules import Rules


def say_notes(workload: Workload, *, named: bool = False) -> None:
    """Print the notes on a workload; ``named`` puts its name before each note."""
    for note in workload.notes:
        say(f"note: {workload.name}: {note}" if named else f"note: {note}")


def load_with_notes(path: Path, rules: Rules, skip_bad_lines: bool) -> Workload:
    """Load a workload and print its notes, with its name as there may be several workloads."""
    from batsched_py.workload.load import load_workload

    workload = load_workload(path, rules, skip_bad_lines=skip_bad_lines)
    say_notes(workload, named=True)
    return workload


def stem(name: str) -> str:
    """Return the file name of a log without its suffixes ``.swf``, ``.json`` and ``.gz``."""
    for suffix in (".gz", ".swf", ".json"):
        name = name.removesuffix(suffix)
    return name
