"""Possible gains of any policy, for several machine sizes and interpretations.

Users submit at most as much as if nobody waited, and the machine runs at most as much as it can
hold. The lesser of the two bounds the throughput of every policy; how far EASY is below that is
the *room* for a better one.
"""

from __future__ import annotations

from math import hypot, log, nan
from typing import Any

from batsched_py.report import Table
from batsched_py.report.kit import UNKNOWN, Runs, cells
from batsched_studies.creasy import PUBLISHED, TEXTS
from batsched_studies.creasy.tables import CLASSES, EASY, MORE, MOST

UNLIMITED = 16_384
"""Processors on which hardly anybody ever waits."""


def by_machine(runs: Runs) -> Table | None:
    """Return the table of machine sizes, if some reading was on several; the nearest are marked."""
    rows: list[dict[str, Any]] = []
    marks = []
    for (reading,), of_reading in runs.where(alpha=EASY).groups("reading"):
        sizes = of_reading.by("nodes")
        found = [{"reading": reading, **_of_easy(of_size)} for of_size in sizes.values()]
        for row in found:
            row["distance"] = distance(row["utilisation"], row["response"])
        nearest = min(range(len(found)), key=lambda place: found[place]["distance"])
        marks += [(len(rows) + nearest, name) for name in ("nodes", "distance")]
        found[nearest]["nearest"] = "nearest"
        rows += found
    return TEXTS.table("machines", rows, marks=marks)


def distance(utilisation: float, response: float) -> float:
    """Return how far EASY with 250 users is from the paper's 57 % and 78 min: 0 is there.

    The root of the sum of the squared logarithms of both ratios, so that twice as much of either is
    as far as half. ``utilisation`` in per cent, ``response`` in minutes.
    """
    theirs = PUBLISHED["at_250"]
    ratios = utilisation / theirs["utilisation"]["0"], response / theirs["response"]["0"]
    return hypot(*map(log, ratios))


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
    return TEXTS.table("readings", rows)


def room(throughput: float, utilisation: float, unlimited: float) -> float:
    """Return how many per cent more than ``throughput`` any policy can reach.

    ``utilisation`` in per cent; ``unlimited`` is the throughput if nobody waits.
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
    row |= {"unlimited": free, "room": room(row["throughput"], row["utilisation"], free)}
    for alpha, prefix in ((MOST, ""), (MORE, "more_")):
        creasy = runs.where(alpha=alpha)
        gain = creasy.change("throughput", easy) if creasy else UNKNOWN
        row |= cells(gain, f"{prefix}gain", f"{prefix}low", f"{prefix}high")
        for name in ("response", "slowdown", *CLASSES):
            change = creasy.change(name, easy).value if creasy else nan
            row[f"{prefix}{name}_change"] = change
    return row
