"""Defines the rows, and measures them: CPU seconds, as ratios within one run."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from statistics import median
from time import process_time
from typing import NamedTuple

import floor

from batsched_py import Workload, load_workload
from batsched_py.errors import UsageError
from batsched_py.workload.conversion_rules import Rules
from batsched_py.workload.logs.log_archive import find_log

LOG = "KTH-SP2-1996-2.1-cln"
"""The log of all rows that name no other; the sample log where it is not there."""


class SkippedError(Exception):
    """A row cannot be measured here; says why."""


class Measured(NamedTuple):
    """The measurement of a row."""

    ratio: float
    spread: float
    """The difference between the ratio of the medians and that of the best."""
    note: str = ""
    """The same in seconds or bytes, which hold for this machine only."""


class Child(NamedTuple):
    """CPU and memory of another process."""

    seconds: float
    """Of CPU, user and system."""
    peak: float
    """Most memory in bytes."""


class Bench:
    """What all rows share: the log, the number of rounds, a folder for files."""

    def __init__(self, folder: Path, rounds: int = 5, *, quick: bool = False) -> None:
        self.folder, self.rounds, self.quick = folder, rounds, quick

    @cached_property
    def log(self) -> Path:
        """The log of most rows."""
        try:
            return find_log("sample" if self.quick else LOG)
        except UsageError:
            return find_log("sample")

    def large_log(self, name: str) -> Path:
        """Return a log that is only there for full sizes; raises :class:`SkippedError`."""
        if self.quick:
            raise SkippedError("takes long")
        try:
            return find_log(name)
        except UsageError:
            raise SkippedError(f"no log {name}: set BATSCHED_LOGS") from None

    def workload(self, gaps: float = 1.0, most: int | None = None) -> Workload:
        """Return (the first jobs of) the log, submitted ``gaps`` times as far apart."""
        workload = load_workload(self.log, Rules(first=most))
        for job in workload.jobs:
            job.submit_time = job.original_submission_time = gaps * job.submit_time
        return workload

    @cached_property
    def columns(self) -> floor.Columns:
        """The log as the floors read it."""
        return floor.read(self.log)

    @cached_property
    def yardstick(self) -> float:
        """Microseconds that a job of the log takes in the floor's loop: what a row is compared
        with that has no other standard."""
        jobs = self.columns
        seconds = min(cpu(lambda: floor.easy(jobs, floor.Scanned(jobs))) for _ in range(3))
        return 1e6 * seconds / len(jobs.submit)

    def paired(
        self,
        standard: Callable[[], float],
        measured: Callable[[], float],
        note: Callable[[float, float], str] = lambda standard, measured: "",
        rounds: int | None = None,
    ) -> Measured:
        """Measure one beside the other, turn by turn; both return their seconds (or bytes).

        The ratio is that of the best; ``note`` says something of both.
        """
        rounds = rounds or self.rounds
        if rounds > 1:
            standard(), measured()  # the first time, something is imported or compiled
        columns = list(zip(*[(standard(), measured()) for _ in range(rounds)], strict=True))
        of_standard, best = map(min, columns)
        ratio = best / of_standard
        usual = median(columns[1]) / median(columns[0])
        return Measured(ratio, abs(usual - ratio), note(of_standard, best))


class Row(NamedTuple):
    """A row of the table."""

    name: str
    what: str
    measure: Callable[[Bench], Measured]
    wanted: float | None
    """At most; None: nothing in particular, but not more than the last time."""


ROWS: dict[str, Row] = {}
"""All rows in order, by their names."""


def row(
    name: str, what: str, wanted: float | None = None
) -> Callable[[Callable[[Bench], Measured]], Callable[[Bench], Measured]]:
    """Make a row of a function."""

    def add(measure: Callable[[Bench], Measured]) -> Callable[[Bench], Measured]:
        ROWS[name] = Row(name, what, measure, wanted)
        return measure

    return add


def cpu(action: Callable[[], object]) -> float:
    """Return the CPU seconds of a call."""
    gc.collect()
    begin = process_time()
    action()
    return process_time() - begin


def our_command(*arguments: str | Path) -> list[str]:
    """Return the command line of the version that is measured."""
    return [sys.executable, "-m", "batsched_py", *map(str, arguments)]


STARTER = """
import os, signal, sys
null = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)]
process = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=null)
signal.signal(signal.SIGTERM, lambda *_: os.kill(process, signal.SIGKILL))
_, status, usage = os.wait4(process, 0)
print(status, usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
"""
"""A small program that starts another: Linux takes the memory of who starts a process for the
process's own, and a benchmark may have much."""


def child(bench: Bench, command: Sequence[str | Path]) -> Child:
    """Run another process to its end; raises :class:`RuntimeError` if it fails."""
    return ended(begun(bench, command))


def begun(
    bench: Bench, command: Sequence[str | Path], folder: Path | None = None
) -> subprocess.Popen[str]:
    """Start another process in ``folder`` (default: the bench's), compiled modules at hand.

    ``terminate`` ends it, and the small one that starts it.
    """
    environment = dict(os.environ) | {"PYTHONPYCACHEPREFIX": str(bench.folder / "compiled")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", STARTER, *map(str, command)],
        cwd=folder or bench.folder,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )


def ended(process: subprocess.Popen[str]) -> Child:
    """Wait for a process that was :func:`begun`; raises :class:`RuntimeError` if it failed."""
    told, _ = process.communicate()
    if process.returncode:
        raise RuntimeError(f"{process.args!r} could not be started")
    status, seconds, peak = told.split()
    if int(status):
        code = os.waitstatus_to_exitcode(int(status))
        raise RuntimeError(f"{process.args!r} ended with {code}")
    return Child(float(seconds), 1024 * float(peak))
