"""The history of all rows, what became slower, and the table of docs/validation/performance.md."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from importlib.metadata import version as version_of
from pathlib import Path

import msgspec
from measuring import ROWS, Bench, Measured

import batsched_py
from batsched_py.files.csv_text import csv_of_rows
from batsched_py.files.readers import parse_json
from batsched_py.files.writers import write_whole

FILE = Path(__file__).with_name("history.jsonl")
TABLE = "the table of benchmarks"
"""The name of the table of the page, which is between two comments."""
KEY = (
    *("start-help", "floor-loop", "floor-process", "curie-cpu", "messages", "feedback"),
    *("multifactor", "overload-conservative", "overload-dynp", "campaign-sample"),
)
"""The rows that the page shows, in its order; the data have all."""
CERTAIN = 0.05
"""Part of a ratio by which two runs differ anyway."""


class Entry(msgspec.Struct, kw_only=True):
    """One run."""

    date: str
    version: str
    """The commit or the name of the measured version."""
    machine: str
    python: str
    log: str
    rows: dict[str, Measured]


def make_entry(bench: Bench, rows: dict[str, Measured], version: str | None) -> Entry:
    """Return a run as an entry of the history."""
    return Entry(
        date=f"{datetime.now(UTC):%Y-%m-%d}",
        version=version or find_commit(),
        machine=f"{os.cpu_count()} x {name_processor()}",
        python=platform.python_version(),
        log=bench.log.name,
        rows=rows,
    )


def find_commit() -> str:
    """Return the commit of the measured version, or its release number."""
    folder = Path(batsched_py.__file__).parent
    command = ["git", "-C", str(folder), "describe", "--always", "--dirty"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    return found.stdout.strip() or version_of("batsched_py")


def name_processor() -> str:
    """Return the kind of processor of this machine."""
    about = Path("/proc/cpuinfo")
    named = re.search(r"model name\s*:\s*(.*)", about.read_text()) if about.exists() else None
    return named[1] if named else platform.machine()


def read_entries(path: Path = FILE) -> list[Entry]:
    """Return all runs so far, the first one first."""
    lines = path.read_bytes().splitlines() if path.exists() else []
    return [parse_json(line, Entry, path) for line in lines]


def add_entry(run: Entry, path: Path = FILE) -> None:
    """Add a run to the history."""
    with path.open("ab") as file:
        file.write(msgspec.json.encode(run) + b"\n")


def find_last(name: str, runs: Iterable[Entry], log: str) -> Measured | None:
    """Return the last measurement of a row on a log, None without one."""
    found = None
    for run in runs:
        if run.log == log and name in run.rows:
            found = run.rows[name]
    return found


def list_slower(rows: Mapping[str, Measured], runs: list[Entry], log: str) -> list[str]:
    """Return a sentence on each row that became slower, by more than both spreads."""
    sentences = []
    for name, now in rows.items():
        before = find_last(name, runs, log)
        if before is None:
            continue
        certain = max(before.spread, now.spread) + CERTAIN * before.ratio
        if now.ratio > before.ratio + certain:
            sentences.append(
                f"{name} became slower: {now.ratio:.2f}, after {before.ratio:.2f} "
                f"(more than {certain:.2f} apart)"
            )
    return sentences


def make_rows(runs: list[Entry], log: str) -> list[tuple[str, str, str, str, str]]:
    """Return name, description, ratio, note and aim of each row, as it was measured last."""
    return [
        (name, row.what, f"{now.ratio:.2f}", now.note, f"{row.wanted:.2f}" if row.wanted else "")
        for name, row in sorted(ROWS.items())
        if (now := find_last(name, runs, log)) is not None
    ]


def make_table(runs: list[Entry], log: str) -> str:
    """Return the rows of :data:`KEY` in Markdown."""
    rows = {name: cells for name, *cells in make_rows(runs, log)}
    lines = ["| what | ratio | measured |", "|---|---:|---|"]
    lines += [f"| {' | '.join(rows[name][:3])} |" for name in KEY if name in rows]
    return "\n".join(lines) + "\n"


def write_table(page: Path, runs: list[Entry], log: str) -> None:
    """Put the rows of :data:`KEY` into a page, and write all rows to ``data`` next to it."""
    begin, end = f"<!-- {TABLE} -->\n", f"<!-- end of {TABLE} -->\n"
    before, _, rest = page.read_text().partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise SystemExit(f"{page}: expected the lines {begin.strip()} and {end.strip()}")
    page.write_text(f"{before}{begin}\n{make_table(runs, log)}\n{end}{after}")
    header = ("row", "what", "ratio", "measured", "aim_at_most")
    data = page.parent / "data" / "performance.csv"
    write_whole(data, csv_of_rows(header, make_rows(runs, log)))
