"""What there is to gain: for any policy, on machines of several sizes and in several readings.

Users submit at most as much as if nobody waited, and the machine runs at most as much as it can
hold. The lesser of the two bounds the throughput of every policy; how far EASY is below that is
the *room* for a better one.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from batsched_py.campaign.study_files import study_module
from batsched_py.report import Column, Table

if TYPE_CHECKING:
    from tables import Runs

TABLES: Any = study_module(Path(__file__).with_name("tables.py"))
EASY, MOST = TABLES.EASY, TABLES.MOST
UNLIMITED = 16_384
"""Processors on which hardly anybody ever waits."""
MORE = 60_000
"""An alpha beyond the paper's: criticality is then worth at most 40 hours of seniority, not 4."""
_COLUMNS = (
    Column("nodes", "processors"),
    Column("utilisation", "EASY: utilisation (%)", 0),
    Column("throughput", "throughput (jobs/h)", 1),
    Column("response", "response (min)", 0),
    Column("run_time", "mean run time (min)", 0),
    Column("slowdown", "slowdown", 1),
    Column("session_length", "jobs per session", 2),
    Column("unlimited", "throughput if nobody waits", 1),
    Column("room", "room for any policy (%)", 0),
    Column("gain", "CREASY 6000: throughput (%)", 1, kind="ours"),
    Column("low", "from", 1, kind="ours"),
    Column("high", "to", 1, kind="ours"),
    Column("to_1_min", "response <= 1 min (%)", 0),
    Column("1_to_10_min", "1 to 10 min (%)", 0),
    Column("over_10_min", "> 10 min (%)", 0),
)
_MORE = (
    Column("more", "CREASY 60,000: throughput (%)", 1, kind="ours"),
    Column("more_to_1_min", "response <= 1 min (%)", 0),
)
_NOTE = (
    "250 users. *Room*: how much more than EASY any policy could reach at most, the lesser of what "
    "users submit if nobody waits and of a machine that is never idle, with the mean area of "
    "EASY's jobs. The last columns are changes of CREASY 6000 against EASY, paired by seed."
)


def by_machine(runs: Runs) -> Iterator[Table]:
    """Yield the table of machine sizes, if there are several."""
    nodes = sorted(int(size) for size in runs.labels("nodes"))
    if len(nodes) < 2:
        return
    unlimited = runs.where(nodes=UNLIMITED, alpha=EASY)
    rows = [row for size in nodes if (row := _row(runs.where(nodes=size), unlimited))]
    if rows:
        frame = pd.DataFrame(rows)
        columns = (*_COLUMNS, *_MORE)
        yield Table("machines", "Machines of several sizes", frame, columns, _NOTE)


def by_reading(runs: Runs) -> Iterator[Table]:
    """Yield the table of readings, if there are any."""
    rows = []
    for reading in runs.labels("reading"):
        own = runs.where(reading=reading)
        unlimited = own.where(nodes=UNLIMITED, alpha=EASY)
        for size in sorted(int(size) for size in own.labels("nodes")):
            row = _row(own.where(nodes=size), unlimited) if size != UNLIMITED else None
            if row:
                rows.append({"reading": reading, **row})
    if rows:
        columns = (Column("reading"), *_COLUMNS)
        yield Table("readings", "Other readings", pd.DataFrame(rows), columns, _NOTE)


def room(throughput: float, utilisation: float, unlimited: float) -> float:
    """Return how many per cent more than ``throughput`` any policy can reach.

    ``utilisation`` in per cent; ``unlimited`` is the throughput if nobody waits.
    """
    return 100 * (min(unlimited / throughput, 100 / utilisation) - 1)


def _row(runs: Runs, unlimited: Runs) -> dict[str, Any] | None:
    easy, most = runs.where(alpha=EASY), runs.where(alpha=MOST)
    if not easy:
        return None
    names = ("utilisation", "throughput", "response", "run_time", "slowdown", "session_length")
    row: dict[str, Any] = {"nodes": int(easy.frame["nodes"].iloc[0])}
    row |= {name: easy.mean(name).value for name in names}
    row["unlimited"] = unlimited.mean("throughput").value if unlimited else nan
    row["room"] = room(row["throughput"], row["utilisation"], row["unlimited"])
    gain = most.change("throughput", easy) if most else None
    row |= {
        "gain": gain.value if gain else nan,
        "low": gain.low if gain else nan,
        "high": gain.high if gain else nan,
    }
    for name in TABLES.CLASSES:
        row[name] = most.change(name, easy).value if most else nan
    more = runs.where(alpha=MORE)
    row["more"] = more.change("throughput", easy).value if more else nan
    row["more_to_1_min"] = more.change("to_1_min", easy).value if more else nan
    return row
