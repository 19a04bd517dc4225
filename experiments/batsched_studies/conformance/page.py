"""Writes conformance.md: our policies compared with published schedules and recorded runs.

    python -m batsched_studies.conformance --shared ../shared

The folder has the published schedules (oracles/), logs (swf/) and recorded runs
(batsim_transcripts/).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from batsched_py.report.kit import in_column
from batsched_py.run.simulate import simulate
from batsched_studies import dynp
from batsched_studies.conformance import published_schedules, recorded_runs
from batsched_studies.dynp.measures import METRICS
from batsched_studies.filled_page import DOCS, Row, WrittenPage, fill_template, format_lines

PAGE = DOCS / "validation" / "conformance.md"

TEXT = Path(__file__).with_name("template.md")


def make_published_rows(shared: Path) -> list[Row]:
    """Return the rows of our policies compared with all published schedules."""
    return [
        row
        for name in published_schedules.VARIANTS
        for site in published_schedules.LOGS
        for row in published_schedules.make_rows(shared, site, name)
    ]


def summarise_published(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield for each published schedule its shares of starts that three rules of EASY repeat.

    They are predictsim's own rules, the same with one pass per instant, and our extra nodes.
    """
    for (site, name), group in groupby(rows, key=lambda row: row[:2]):
        order = " backfill_order=sjf" if "sjbf" in str(name) else ""
        shares = {(row[2], row[3]): f"{row[7]} %" for row in group}
        rules = (("instant", "as predictsim"), ("instant", "per instant"), ("first", "per instant"))
        cells = (shares[f"easy extra_nodes={extra}{order}", passes] for extra, passes in rules)
        yield f"`{name}`", site, *cells


DIGITS = {"SLDwA": 4, "ARTwW": 0, "AWT": 0, "UTIL": 2}
"""The number of decimals that the thesis prints."""
UNSORTED = ", unsorted FCFS"
_HALF = {"when": "half", "legacy_fcfs_list_order": True}
PLANNING_LOGS = [log for log in dynp.PUBLISHED["reference"] if log != "columns"]
PLANNING_HEADER = ("log", "policy", "metric", "here", "reference", "thesis", "as_in_the_thesis")
POLICIES: dict[str, tuple[str, dict[str, Any]]] = {
    "fcfs": ("planning", {"order": "fcfs"}),
    "sjf": ("planning", {"order": "sjf"}),
    "ljf": ("planning", {"order": "ljf"}),
    "advanced full": ("dynp", {"decider": "advanced", "when": "full"}),
    f"simple half{UNSORTED}": ("dynp", {"decider": "simple", **_HALF}),
    f"advanced half{UNSORTED}": ("dynp", {"decider": "advanced", **_HALF}),
}


def make_planning_rows(shared: Path, log: str) -> Iterator[Row]:
    """Yield the rows of the policies planning and dynP for one log."""
    for policy, (scheduler, options) in POLICIES.items():
        result = simulate(
            shared / "swf" / f"{log}.swf.gz",
            rules="dynp",
            scheduler=scheduler,
            scheduler_options=options,
        )
        overall = result.measured["overall"]
        reference = dynp.PUBLISHED["reference"][log].get(policy, [None])
        for (name, digits), wanted in zip(DIGITS.items(), reference, strict=False):
            metric, factor = METRICS[name]
            here = overall[metric] * factor
            theirs = find_thesis_values(
                str(dynp.PUBLISHED["logs"][log]), policy.removesuffix(UNSORTED), name
            )
            printed = [f"{value:.{digits}f}" for value in theirs]
            yield (
                *(log, policy, name, f"{here:.{digits + 2}f}"),
                "" if wanted is None else f"{wanted:.{digits + 2}f}",
                " or ".join(printed),
                "" if not printed else "yes" if f"{here:.{digits}f}" in printed else "no",
            )


def summarise_planning(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield for each log how many values are those of the reference, and of the thesis."""
    for log, group in groupby(rows, key=lambda row: row[0]):
        cells = list(group)
        references = [row[3] == row[4] for row in cells if row[4]]
        printed = [row[6] == "yes" for row in cells if row[6]]
        yield log, *(f"{sum(those)} of {len(those)}" for those in (references, printed))


def find_thesis_values(trace: str, policy: str, metric: str) -> list[float]:
    """Return the printed values of a metric; several where the thesis contradicts itself."""
    tables = ("table5_1", "table5_2") if metric == "SLDwA" else ()
    printed = [in_column(dynp.PUBLISHED[table], (trace,), policy) for table in tables]
    if policy == "fcfs":
        printed.append(in_column(dynp.PUBLISHED["table3_6"], (trace,), metric))
    return list(dict.fromkeys(value for value in printed if value is not None))


def summarise_recorded(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield the recorded runs with differences: replies and starts that our policies repeat."""
    different = {row[0] for row in rows if row[9] and "random300" in str(row[0])}
    for run, policy, equal, replies, *_, share, others, _, _ in rows:
        if run in different:
            of_replies = f"{equal} of {replies}" if replies else ""
            yield str(run).removeprefix("40_random300_"), policy, of_replies, f"{share} %", others


def make_recorded_parts(shared: Path) -> tuple[list[Row], dict[str, str]]:
    """Return the rows on recorded runs, and the texts of the page by place holder."""
    rows = recorded_runs.make_rows(shared)
    equal_runs = [row for row in rows if row[2] != "" and row[2] == row[3]]
    neighbours = [
        "{} of {}".format(*recorded_runs.count_contiguous_jobs(shared, f"40_random300_{run}"))
        for run in ("pybatsim_easyBackfill", "batsched_easy_bf")
    ]
    return rows, {
        "recorded": format_lines(summarise_recorded(rows)),
        "equal_runs": str(len({row[0] for row in equal_runs})),
        "runs": str(len({row[0] for row in rows})),
        "neighbours": neighbours[0],
        "not_neighbours": neighbours[1],
    }


def make_page(shared: Path) -> WrittenPage:
    """Return docs/validation/conformance.md and its data."""
    published = make_published_rows(shared)
    recorded, parts = make_recorded_parts(shared)
    planning = [row for log in PLANNING_LOGS for row in make_planning_rows(shared, log)]
    summaries = {
        "published": format_lines(summarise_published(published)),
        "planning": format_lines(summarise_planning(planning)),
    }
    return WrittenPage(
        fill_template(TEXT, parts | summaries),
        {
            "conformance-published": [published_schedules.HEADER, *published],
            "conformance-recorded": [recorded_runs.HEADER, *recorded],
            "conformance-planning": [PLANNING_HEADER, *planning],
        },
    )
