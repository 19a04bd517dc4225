"""The report of the study: each claim, its numbers, and whether it holds; tables of the thesis.

A campaign calls :func:`report` of this file. Any of the study's campaign files will do: what was
not run is left out.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from batsched_py.campaign.study_files import study_module
from batsched_py.errors import BatschedError
from batsched_py.report.document import Report, Section, Text

HERE = Path(__file__).parent
SOURCE = (
    "N. Zakay, Improved Realism and Representativeness of Workloads to Improve Reliability of "
    "Performance Evaluations, PhD thesis, The Hebrew University of Jerusalem, chapters 4 and 5"
)
SUMMARY = """
What changes in an evaluation when users react to the system. Open replay and open resampling submit
the same jobs whatever the system does. Under TBUOS, resampled users wait for their jobs, and
long-term ones begin anew when they are through: throughput is a result.
"""


def report(results: Any) -> Report:
    """Return the tables, figures and verdicts that the runs of a campaign allow."""
    claims = _sibling("claims")
    published = tomllib.loads((HERE / "published.toml").read_text())
    runs = claims.read(results.runs.to_dict("records"))
    effects = claims.effects(runs)
    spreads, waits = claims.spreads(runs, published), claims.waits(runs, published)
    sections = (
        _section("Systems and users", _levels(claims.levels(runs, _recorded(results, runs)))),
        _section("Comparisons", _comparisons(effects)),
        _section("Beside the thesis", _beside(spreads, waits)),
        _section("Figures", _figures(runs)),
    )
    return Report(
        title="TBUOS and UPS: what changes when users react",
        source=SOURCE,
        sections=tuple(section for section in sections if section is not None),
        verdicts=tuple(_sibling("verdicts").verdicts(effects, spreads, claims.calmer(runs), waits)),
        summary=SUMMARY.strip(),
    )


def _levels(levels: Any) -> Iterable[Any]:
    return _sibling("tables").level_tables(levels) if levels else ()


def _comparisons(effects: Any) -> Iterable[Any]:
    tables = _sibling("tables")
    return [Text(tables.HOW), *tables.effect_tables(effects)] if effects else ()


def _beside(spreads: Any, waits: Any) -> Iterable[Any]:
    tables, figures = _sibling("tables"), _sibling("figures")
    if spreads:
        yield tables.spread_table(spreads)
        yield figures.ratio_figure(spreads)
    if waits:
        yield tables.wait_table(waits)
        yield figures.wait_figure(waits)


def _figures(runs: Any) -> Iterable[Any]:
    figures = _sibling("figures")
    yield figures.wait_distribution(runs)
    yield figures.throughput_pairs(runs)
    yield figures.ups_sweep(runs)
    yield figures.queue_figure(runs)


def _section(title: str, parts: Iterable[Any]) -> Section | None:
    there = tuple(part for part in parts if part is not None)
    return Section(title, there) if there else None


def _recorded(results: Any, runs: Any) -> Mapping[str, float]:
    """Return the jobs/h of each log from its first to its last submission, if it can be read."""
    recorded = {}
    for (log, _, _), own in runs.items():
        if log not in recorded:
            with suppress(OSError, BatschedError):  # a log need not be where the report is made
                jobs = results.workload(next(iter(own.values()))).jobs
                times = [job.submit_time for job in jobs]
                recorded[log] = 3600 * len(times) / (max(times) - min(times))
    return recorded


def _sibling(name: str) -> Any:
    """Return the module ``name.py`` of this folder."""
    return study_module(HERE / f"{name}.py")
