"""Writes conformance.md: our policies compared with published schedules and recorded runs.

    python -m batsched_studies.conformance --shared ../shared

The folder has the published schedules (oracles/), logs (swf/) and recorded runs
(batsim_transcripts/).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from batsched_py.report.kit import in_column
from batsched_py.run.simulate import simulate
from batsched_studies import dynp
from batsched_studies.conformance import published_schedules, recorded_runs
from batsched_studies.dynp.measures import METRICS
from batsched_studies.filled_page import DOCS, fill_template, format_line

PAGE = DOCS / "validation" / "conformance.md"

TEXT = Path(__file__).with_name("template.md")


def make_published_section(shared: Path) -> str:
    """Return the section on published schedules, a table for each log and policy."""
    parts = []
    for name in published_schedules.VARIANTS:
        for site, log in published_schedules.LOGS.items():
            jobs = len(published_schedules.read_published_schedule(shared, site, name).starts)
            parts.append(f"### {site}, {name}\n\n{log}, {jobs:,} jobs.\n")
            parts.append("\n".join(published_schedules.make_table(shared, site, name)) + "\n")
    return "\n".join(parts).rstrip()


DIGITS = {"SLDwA": 4, "ARTwW": 0, "AWT": 0, "UTIL": 2}
"""The number of decimals that the thesis prints."""
UNSORTED = ", unsorted FCFS"
_HALF = {"when": "half", "legacy_fcfs_list_order": True}
POLICIES: dict[str, tuple[str, dict[str, Any]]] = {
    "fcfs": ("planning", {"order": "fcfs"}),
    "sjf": ("planning", {"order": "sjf"}),
    "ljf": ("planning", {"order": "ljf"}),
    "advanced full": ("dynp", {"decider": "advanced", "when": "full"}),
    f"simple half{UNSORTED}": ("dynp", {"decider": "simple", **_HALF}),
    f"advanced half{UNSORTED}": ("dynp", {"decider": "advanced", **_HALF}),
}


def make_planning_section(shared: Path, logs: list[str] | None = None) -> str:
    """Return the table lines of the policies planning and dynP for ``logs``, by default for all."""
    known = [log for log in dynp.PUBLISHED["reference"] if log != "columns"]
    lines = [
        row for log in (known if logs is None else logs) for row in make_planning_rows(shared, log)
    ]
    return "\n".join(lines)


def make_planning_rows(shared: Path, log: str) -> list[str]:
    """Return the table lines of the policies planning and dynP for one log."""
    lines = []
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
            ours = overall[metric] * factor
            places = digits + 2
            shown = f"{ours:.{places}f}"
            key = policy.removesuffix(UNSORTED)
            theirs = find_thesis_values(str(dynp.PUBLISHED["logs"][log]), key, name)
            printed = [f"{value:.{digits}f}" for value in theirs]
            if f"{ours:.{digits}f}" in printed:
                shown = f"**{shown}**"
            beside = "" if wanted is None else f"{wanted:.{places}f}"
            lines.append(format_line(log, policy, name, shown, beside, " or ".join(printed)))
    return lines


def find_thesis_values(trace: str, policy: str, metric: str) -> list[float]:
    """Return the printed values of a metric; several where the thesis contradicts itself."""
    tables = ("table5_1", "table5_2") if metric == "SLDwA" else ()
    printed = [in_column(dynp.PUBLISHED[table], (trace,), policy) for table in tables]
    if policy == "fcfs":
        printed.append(in_column(dynp.PUBLISHED["table3_6"], (trace,), metric))
    return list(dict.fromkeys(value for value in printed if value is not None))


def make_recorded_parts(shared: Path) -> dict[str, str]:
    """Return the texts on recorded runs by the place holder that they replace."""
    neighbours = recorded_runs.count_contiguous_jobs(shared, "40_random300_pybatsim_easyBackfill")
    not_all = recorded_runs.count_contiguous_jobs(shared, "40_random300_batsched_easy_bf")
    return {
        "recorded": "\n".join(recorded_runs.make_table(shared)),
        "others": "\n".join(recorded_runs.list_runs_without_counterpart(shared)),
        "neighbours": f"all {neighbours[1]}" if len(set(neighbours)) == 1 else f"{neighbours[0]}",
        "not_neighbours": f"{not_all[0]} of {not_all[1]}",
    }


def make_page(shared: Path) -> str:
    """Return docs/validation/conformance.md as Markdown."""
    parts = {
        "published": make_published_section(shared),
        **make_recorded_parts(shared),
        "planning": make_planning_section(shared),
    }
    return fill_template(TEXT, parts)
