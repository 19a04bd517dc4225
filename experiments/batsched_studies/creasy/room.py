"""Possible gains of any policy, for several machine sizes and interpretations.

Users submit at most as many jobs as if no job waited, and the machine runs at most as many as fit.
The smaller number bounds the throughput of every policy; how far EASY is below it is the *room*
for a better one.
"""

from __future__ import annotations

from math import hypot, log, nan
from typing import Any

from batsched_py.report import Table
from batsched_py.report.kit import UNKNOWN, Runs, cells
from batsched_studies.creasy import PUBLISHED, TEXTS
from batsched_studies.creasy.tables import CLASSES, EASY, MORE, MOST

UNLIMITED = 16_384
"""A number of processors with which jobs hardly ever wait."""


def make_machine_table(runs: Runs) -> Table | None:
    """Return the table of machine sizes; the size nearest to the paper's results is marked."""
    rows: list[dict[str, Any]] = []
    marks = []
    for (reading,), of_reading in runs.where(alpha=EASY).groups("reading"):
        sizes = of_reading.by("nodes")
        found = [{"reading": reading, **_of_easy(of_size)} for of_size in sizes.values()]
        for row in found:
            row["distance"] = compute_distance(row["utilisation"], row["response"])
        nearest = min(range(len(found)), key=lambda place: found[place]["distance"])
        marks += [(len(rows) + nearest, name) for name in ("nodes", "distance")]
        found[nearest]["nearest"] = "nearest"
        rows += found
    return TEXTS.table("machines", rows, marks=marks)


def compute_distance(utilisation: float, response: float) -> float:
    """Return how far EASY's results with 250 users are from the paper's 57 % and 78 min.

    It is the root of the sum of both ratios' squared logarithms: twice the value is as far as half.
    ``utilisation`` in per cent, ``response`` in minutes.
    """
    theirs = PUBLISHED["at_250"]
    ratios = utilisation / theirs["utilisation"]["0"], response / theirs["response"]["0"]
    return hypot(*map(log, ratios))


def make_reading_table(runs: Runs) -> Table | None:
    """Return a table of the possible gains under each interpretation of the paper."""
    rows = []
    for reading in runs.labels("reading"):
        of_reading = runs.where(reading=reading)
        unlimited = of_reading.where(nodes=UNLIMITED, alpha=EASY)
        for size, of_size in of_reading.by("nodes").items():
            row = _row(of_size, unlimited) if size != UNLIMITED else None
            if row:
                rows.append({"reading": reading, **row})
    return TEXTS.table("readings", rows)


def compute_room(throughput: float, utilisation: float, unlimited: float) -> float:
    """Return how many per cent more than ``throughput`` any policy can reach.

    ``utilisation`` in per cent; ``unlimited`` is the throughput without waits.
    """
    return 100 * (min(unlimited / throughput, 100 / utilisation) - 1)


def _of_easy(easy: Runs) -> dict[str, Any]:
    names = ("utilisation", "throughput", "response", "run_time", "slowdown", "session_length")
    return {"nodes": int(easy.frame["nodes"].iloc[0]), "n": len(easy)} | {
        name: easy.mean(name).value for name in names
    }


def _row(runs: Runs, unlimited: Runs) -> dict[str, Any] | None:
    easy = runs.where(alpha=EASY)
    if not easy:
        return None
    row = _of_easy(easy)
    free = unlimited.mean("throughput").value if unlimited else nan
    row |= {"unlimited": free, "room": compute_room(row["throughput"], row["utilisation"], free)}
    for alpha, prefix in ((MOST, ""), (MORE, "more_")):
        creasy = runs.where(alpha=alpha)
        gain = creasy.change("throughput", easy) if creasy else UNKNOWN
        row |= cells(gain, f"{prefix}gain", f"{prefix}low", f"{prefix}high")
        for name in ("response", "slowdown", *CLASSES):
            change = creasy.change(name, easy).value if creasy else nan
            row[f"{prefix}{name}_change"] = change
    return row
