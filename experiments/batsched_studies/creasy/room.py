"""What there is to gain: for any policy, on machines of several sizes and in several readings.

Users submit at most as much as if nobody waited, and the machine runs at most as much as it can
hold. The lesser of the two bounds the throughput of every policy; how far EASY is below that is
the *room* for a better one.
"""

from __future__ import annotations

from math import nan
from typing import Any

from batsched_py.report import Column, Table
from batsched_py.report.kit import UNKNOWN, Runs, cells
from batsched_studies.creasy import TEXTS
from batsched_studies.creasy.tables import CLASSES, EASY, MOST

UNLIMITED = 16_384
"""Processors on which hardly anybody ever waits."""
MORE = 60_000
"""An alpha beyond the paper's: criticality is then worth at most 40 hours of seniority, not 4."""


def by_machine(runs: Runs) -> Table | None:
    """Return the table of machine sizes, if there are several."""
    by_size = runs.by("nodes")
    unlimited = runs.where(nodes=UNLIMITED, alpha=EASY)
    rows = [_row(of_size, unlimited) for of_size in by_size.values() if len(by_size) > 1]
    shown = [row for row in rows if row]
    return TEXTS.table("room", shown, "machines", title="Machines of several sizes")


def by_reading(runs: Runs) -> Table | None:
    """Return the table of readings, if there are any."""
    rows = []
    for reading in runs.labels("reading"):
        of_reading = runs.where(reading=reading)
        unlimited = of_reading.where(nodes=UNLIMITED, alpha=EASY)
        for size, of_size in of_reading.by("nodes").items():
            row = _row(of_size, unlimited) if size != UNLIMITED else None
            if row:
                rows.append({"reading": reading, **row})
    shown = (Column("reading"), *TEXTS.columns("room")[:-2])  # no run has an alpha beyond
    return TEXTS.table("room", rows, "readings", columns=shown, title="Other readings")


def room(throughput: float, utilisation: float, unlimited: float) -> float:
    """Return how many per cent more than ``throughput`` any policy can reach.

    ``utilisation`` in per cent; ``unlimited`` is the throughput if nobody waits.
    """
    return 100 * (min(unlimited / throughput, 100 / utilisation) - 1)


def _row(runs: Runs, unlimited: Runs) -> dict[str, Any] | None:
    easy, most, more = (runs.where(alpha=alpha) for alpha in (EASY, MOST, MORE))
    if not easy:
        return None
    names = ("utilisation", "throughput", "response", "run_time", "slowdown", "session_length")
    row: dict[str, Any] = {"nodes": int(easy.frame["nodes"].iloc[0])}
    row |= {name: easy.mean(name).value for name in names}
    row["unlimited"] = unlimited.mean("throughput").value if unlimited else nan
    row["room"] = room(row["throughput"], row["utilisation"], row["unlimited"])
    row |= cells(most.change("throughput", easy) if most else UNKNOWN, "gain")
    row |= {name: most.change(name, easy).value if most else nan for name in CLASSES}
    row["more"] = more.change("throughput", easy).value if more else nan
    row["more_to_1_min"] = more.change("to_1_min", easy).value if more else nan
    return row
