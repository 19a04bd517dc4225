"""Writes docs/validation/rlscheduler.md: RLScheduler's table, recomputed and corrected.

python -m batsched_studies.rlscheduler --shared ../shared
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from batsched_py.files.readers import read_toml
from batsched_studies.filled_page import DOCS, Row, WrittenPage, fill_template, format_lines
from batsched_studies.rlscheduler.policies import (
    ANEW,
    AT_INSTANTS,
    COMMITTED,
    FAULTY,
    HEURISTICS,
    NOW,
)
from batsched_studies.rlscheduler.sequences import HEADER, LENGTH, LOGS, draw_starts

PAGE = DOCS / "validation" / "rlscheduler.md"
DATA = "rlscheduler"
HERE = Path(__file__).parent
PRINTED = read_toml(HERE / "published.toml")
CASES = list(product(("no", "yes"), LOGS))
"""Whether there is backfilling, and the log."""
Numbers = Mapping[tuple[Any, ...], Sequence[Any]]
"""Slowdown, deviation and utilisation as text, by log, backfilling, heuristic and choice."""


def make_page(rows: Sequence[Row]) -> WrittenPage:
    """Return docs/validation/rlscheduler.md from the rows of its data, with the data."""
    numbers: Numbers = {tuple(row[:4]): row[4:] for row in rows}
    lublin, fcfs = ("Lublin-1", "no"), ("SDSC-SP2", "yes", "FCFS")
    sign, f1 = (
        float(numbers[*lublin, name, COMMITTED][0]) / float(numbers[*lublin, name, right][0])
        for name, right in (("WFP3", NOW), ("F1", ANEW))
    )
    places = [start + at for start in draw_starts() for at in range(LENGTH)]
    parts = {
        "nb_means": len(CASES) * len(HEURISTICS),
        "equal": _count_equal(numbers, "slowdown"),
        "equal_utilisations": _count_equal(numbers, "utilisation"),
        "without": format_lines(_make_lines(numbers, "no")),
        "with": format_lines(_make_lines(numbers, "yes")),
        "sign": f"{sign:.0f}",
        "commitment": f"{f1:.1f}",
        "beaten": _count_beaten(numbers, COMMITTED),
        "beaten_now": _count_beaten(numbers, NOW),
        "beaten_anew": _count_beaten(numbers, ANEW),
        "nb_cases": len(CASES),
        "different": f"{len({*places}):,}",
        "all": f"{len(places):,}",
        "deviation": numbers[*fcfs, COMMITTED][1],
        "at_events": numbers[*fcfs, ANEW][0],
        "at_instants": numbers[*fcfs, AT_INSTANTS][0],
    }
    return WrittenPage(fill_template(HERE / "template.md", parts), {DATA: [HEADER, *rows]})


def _count_equal(numbers: Numbers, metric: str) -> int:
    """Return how many published means of the heuristics are ours to the last digit."""
    at, digits = (0, 2) if metric == "slowdown" else (2, 3)
    return sum(
        mean == round(float(numbers[log, backfilling, name, COMMITTED][at]), digits)
        for backfilling, log in CASES
        for name, mean in zip(HEURISTICS, PRINTED[metric][backfilling][log], strict=False)
    )


def _count_beaten(numbers: Numbers, choice: str) -> int:
    """Return in how many cases a heuristic has a lower slowdown than the agent."""
    return sum(
        min(float(numbers[log, backfilling, name, choice][0]) for name in HEURISTICS)
        < PRINTED["slowdown"][backfilling][log][-1]
        for backfilling, log in CASES
    )


def _make_lines(numbers: Numbers, backfilling: str) -> Iterator[Row]:
    for log in LOGS:
        means = {
            choice: [numbers[log, backfilling, name, choice][0] for name in HEURISTICS]
            for choice in (COMMITTED, NOW, ANEW)
        }
        pairs = zip(HEURISTICS, means[NOW], strict=True)
        yield log, *means[COMMITTED], f"{PRINTED['slowdown'][backfilling][log][-1]:.2f}"
        yield "now", *(mean if name in FAULTY else "" for name, mean in pairs), ""
        yield "anew", *means[ANEW], ""
