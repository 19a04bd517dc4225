"""Rows of whole processes: start-up, a run from the log to its files, large logs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import floor
from measuring import Bench, Child, Measured, child, our_command, row

from batsched_py.workload.logs.swf import read_swf, write_swf

CURIE = "CEA-Curie-2011-2.1-cln"
COPIES = 3
"""How often its jobs come after each other: about a million."""


def against_typer(*arguments: str) -> Callable[[Bench], Measured]:
    """Return the measurement of a command beside the import of what reads command lines."""

    def measure(bench: Bench) -> Measured:
        return bench.paired(
            lambda: child(bench, [sys.executable, "-c", "import typer"]).seconds,
            lambda: child(bench, our_command(*arguments)).seconds,
            lambda bare, command: f"{1e3 * command:.0f} ms beside {1e3 * bare:.0f}",
        )

    return measure


for _name, _arguments in {
    "help": ["--help"],
    "list": ["list"],
    "info": ["info", "sample"],
}.items():
    _what = f"CPU of `batsched-py {' '.join(_arguments)}` against `import typer`"
    row(f"start-{_name}", _what, wanted=3)(against_typer(*_arguments))


def by_the_floor(bench: Bench, log: Path) -> Child:
    """Simulate a log by the floor, in a process of its own."""
    script = Path(floor.__file__).resolve()
    return child(bench, [sys.executable, script, log, bench.folder / "floor.csv"])


def by_us(bench: Bench, log: Path, *options: str) -> Child:
    """Simulate a log by the command, in a process of its own."""
    prefix = bench.folder / "ours" / "run"
    return child(bench, our_command("simulate", log, "-e", prefix, *options))


@row("floor-process", "a run from the log to its files against the floor's", wanted=4)
def _(bench: Bench) -> Measured:
    return bench.paired(
        lambda: by_the_floor(bench, bench.log).seconds,
        lambda: by_us(bench, bench.log).seconds,
        lambda least, ours: f"{ours:.2f} s beside {least:.2f}",
    )


@cache
def large_runs(bench: Bench, copies: int) -> tuple[Child, Child]:
    """Simulate the largest log, its jobs ``copies`` times one after the other: floor and us."""
    log = bench.large_log(CURIE)
    if copies > 1:
        log = repeated(log, copies, bench.folder / f"{copies}-times.swf")
    return by_the_floor(bench, log), by_us(bench, log)


def repeated(path: Path, copies: int, target: Path) -> Path:
    """Write a log whose jobs come ``copies`` times, one time after the other."""
    log = read_swf(path)
    span = log.column("submit_time").max() + 86_400
    rows = []
    for copy in range(copies):
        data = log.data.copy()
        data[:, 0] = range(1 + copy * len(log), 1 + (copy + 1) * len(log))
        data[:, 1] += copy * span
        rows += data.tolist()
    write_swf(target, log.header_lines, rows)
    return target


def large(copies: int, what: str) -> Callable[[Bench], Measured]:
    """Return the measurement of a large run: ``seconds`` or ``peak``."""

    def measure(bench: Bench) -> Measured:
        least, ours = (getattr(run, what) for run in large_runs(bench, copies))
        if what == "seconds":
            note = f"{ours:.0f} s beside {least:.1f}"
        else:
            note = f"{ours / 1e9:.2f} GB beside {least / 1e9:.2f}"
        return Measured(ours / least, 0.0, note)

    return measure


for _copies, _name, _log in (
    (1, "curie", "CEA-Curie, 80,640 processors"),
    (COPIES, "million", f"a million jobs (CEA-Curie {COPIES} times)"),
):
    _what = f"{_log}: CPU of a run against the floor's"
    row(f"{_name}-cpu", _what, wanted=3.5)(large(_copies, "seconds"))
    _what = f"{_log}: most memory against the floor's"
    row(f"{_name}-peak", _what, wanted=2.6)(large(_copies, "peak"))
