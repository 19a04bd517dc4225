"""Shows the progress of a long simulation in one line, which a thread writes."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import TYPE_CHECKING, TextIO

from batsched_py.support.terminal_text import unwrap_stream
from batsched_py.units import DAY, MINUTE

if TYPE_CHECKING:
    from batsched_py.model.system import System

SIMULATED = "simulated "
"""The first word of a line of progress."""
_LOOK = 0.5
"""Seconds between two looks."""
_PATIENCE = 3.0
"""Seconds before the first line on a terminal or in a notebook."""
_PATIENCE_ELSEWHERE = 10.0
"""Seconds before the first line elsewhere."""
_BETWEEN_LINES = MINUTE
"""Seconds before each further line there, where none replaces the one before it."""


@contextmanager
def show_progress(tell: Callable[[], str], shown: bool | None = None) -> Iterator[None]:
    """Show on standard error the progress of a simulation that takes more than a few seconds.

    ``tell`` returns the text, which follows the seconds since the beginning. A terminal and a
    notebook have one line that is replaced; elsewhere a line follows after ten seconds and then
    every minute. ``shown`` True begins at once, False shows nothing.
    """
    if shown is False:
        yield
        return
    ended = Event()
    stream = unwrap_stream(sys.stderr)  # a line in place begins with a carriage return
    thread = Thread(target=_show, args=(tell, bool(shown), stream, ended), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def describe_progress(system: System, nb_jobs: int | None = None) -> str:
    """Return the progress of a scheduler; ``nb_jobs`` is the number of jobs, None if unknown."""
    of_all = "" if nb_jobs is None else f" of {nb_jobs:,}"
    return (
        f"{SIMULATED}{system.now / DAY:.1f} days, "
        f"{system.machine.nb_ended:,}{of_all} jobs ended, {system.nb_running:,} run, "
        f"{len(system.queue):,} wait, {system.nb_passes:,} calls of the policy"
    )


def _show(tell: Callable[[], str], at_once: bool, stream: TextIO, ended: Event) -> None:
    begin = time.monotonic()
    in_place = stream.isatty() or "ipykernel" in sys.modules
    due = 0.0 if at_once else _PATIENCE if in_place else _PATIENCE_ELSEWHERE
    width = 0
    while not ended.wait(_LOOK):
        seconds = time.monotonic() - begin
        if seconds < due:
            continue
        line = f"{seconds:.0f} s: {tell()}"
        if in_place:
            line = line[: shutil.get_terminal_size().columns - 1]  # only one line is replaced
            _write(stream, f"\r{line:{width}}")
            width = len(line)
        else:
            _write(stream, f"{line}\n")
            due = seconds + _BETWEEN_LINES
    if width:
        _write(stream, f"\r{'':{width}}\r")


def _write(stream: TextIO, text: str) -> None:
    with suppress(OSError, ValueError):  # the output was closed
        stream.write(text)
        stream.flush()
