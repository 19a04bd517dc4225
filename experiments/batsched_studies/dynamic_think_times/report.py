"""The report of the study, for all of its campaign files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batsched_py.metrics import mser5
from batsched_py.report import CampaignResults, Column, Part, Report, Table, Text, Verdict
from batsched_py.report.kit import Runs, columns
from batsched_py.units import WEEK
from batsched_studies.dynamic_think_times import TEXTS, cases, claims, figures, tables
from batsched_studies.dynamic_think_times.cases import CASE, DAILY
from batsched_studies.dynamic_think_times.measures import BEGIN, END

_CLAIMS_BY_NUMBER = {str(number): title for number, title in enumerate(claims.TITLES, 1)}


def report(results: CampaignResults) -> Report:
    """Return the report: tables, figures and verdicts, as far as the campaign has runs for them."""
    runs = cases.read(results.runs)
    verdicts = TEXTS.select_judged(results.file, _verdicts(runs))
    if not runs:
        return TEXTS.report((), verdicts, "No runs.")
    parts = (*_parts(runs), ("Warm-up", [make_warm_up_table(results)]))
    return TEXTS.report(parts, verdicts, _summary(runs))


def _verdicts(runs: Runs) -> Iterator[Verdict]:
    yield from claims.judge_claims(runs, cases.DAILY)
    yield claims.judge_single_jobs()
    for scheduler in cases.SCHEDULERS:
        metrics = ("work", "awrt", "art", "awt")
        yield claims.judge_printed_medians(runs, "daily", metrics, scheduler=scheduler)
        yield claims.judge_printed_ratios(runs, scheduler)
    yield claims.judge_printed_medians(runs, "slowdown", ("asd",))
    yield claims.judge_printed_medians(runs, "whole", ("work",), cases.WHOLE)


def _summary(runs: Runs) -> str:
    each = runs.where(measured=runs.labels("measured")[0])
    number = [len(replications) for _, replications in each.groups(*cases.CASE)]
    least, most = min(number), max(number)
    texts = str(most) if least == most else f"{least} to {most}"
    return TEXTS["summary"].format(runs=len(each), cases=len(number), each=texts)


def _parts(runs: Runs) -> Iterator[tuple[str, Iterable[Part | None]]]:
    inner, whole = (runs.where(measured=which) for which in (cases.INNER, cases.WHOLE))
    own = inner.where(reading=cases.DAILY)
    yield "Compared with the paper", [tables.make_published_table(runs)]
    yield "Distributions over the replications", figures.draw_distributions(own)
    yield "Schedulers", [tables.make_scheduler_table(inner)]
    yield "Think times", [tables.make_think_time_table(inner), figures.draw_workload(own)]
    yield "Metrics at equal work", [tables.make_equal_work_table(inner), figures.draw_metrics(own)]
    readings = [tables.make_reading_table(runs), _make_claims_table(runs)]
    yield "Interpretations", [*readings, figures.draw_readings(inner)]
    why = [tables.make_user_time_table(whole), tables.make_independent_table(whole)]
    yield "Why users have several jobs", [Text(TEXTS["argument"]), *why]
    yield "All cases", [tables.make_case_table(runs)]


def _make_claims_table(runs: Runs) -> Table | None:
    """Return the verdicts under each interpretation, and what speaks most against each claim."""
    rows: list[dict[str, Any]] = []
    for reading in runs.labels("reading"):
        for measured in runs.labels("measured"):
            verdicts = claims.judge_claims(runs, reading, measured)
            row: dict[str, Any] = {"reading": reading, "measured": measured}
            for number, verdict in zip(_CLAIMS_BY_NUMBER, verdicts, strict=True):
                row |= {number: verdict.holds, f"effect_{number}": verdict.effect}
            rows.append(row)
    asked = [number for number in _CLAIMS_BY_NUMBER if any(row[number] is not None for row in rows)]
    shown = [
        *columns("reading", "measured"),
        *(Column(number, f"({number})", below=f"effect_{number}") for number in asked),
    ]
    texts = "; ".join(f"({number}) {_CLAIMS_BY_NUMBER[number]}" for number in asked)
    return TEXTS.table("claims_by_reading", rows, columns=shown, claims=texts)


Floats = NDArray[np.float64]


def make_warm_up_table(results: CampaignResults) -> Table | None:
    """Return a table of the warm-up of each case by MSER-5; None if no jobs were stored."""
    runs = results.runs
    if runs.empty or results.kept_jobs(runs.iloc[0]) is None:
        return None
    runs = runs.assign(reading=runs.get("reading", DAILY))
    rows = []
    for case, replications in runs.groupby(list(CASE), sort=False):
        jobs = [results.kept_jobs(run) for _, run in replications.iterrows()]
        kept = [of_run for of_run in jobs if of_run is not None and len(of_run)]
        if kept:
            rows.append(dict(zip(CASE, case, strict=True)) | find_warm_up(kept))
    return TEXTS.table("warm_up", rows)


def find_warm_up(jobs: list[pd.DataFrame]) -> dict[str, Any]:
    """Return the warm-up of a case by MSER-5, and the mean waits (s) with and without it.

    Waits are averaged over the replications, up to the number of ``jobs`` that all of them have.
    ``week`` is the median week in which the first job after the warm-up is submitted.
    """
    ordered = [of_run.sort_values("submission_time", kind="stable") for of_run in jobs]
    waits = [of_run["waiting_time"].to_numpy(dtype=float) for of_run in ordered]
    nb_jobs = min(map(len, waits))
    first = mser5(np.mean([of_run[:nb_jobs] for of_run in waits], axis=0))
    inner = [of_run["finish_time"].between(BEGIN, END, inclusive="left") for of_run in ordered]
    of_inner = [of_run[which.to_numpy()] for of_run, which in zip(waits, inner, strict=True)]
    row = {"runs": len(jobs), "jobs": nb_jobs, "wait": _mean_of_means(waits)}
    row |= {"wait_inner": _mean_of_means(of_inner)}
    if first is None:  # no end of the beginning was found
        return row | dict.fromkeys(("cut", "share", "week", "wait_after"), np.nan)
    submits = [of_run["submission_time"].iloc[first] for of_run in ordered]
    row |= {"cut": first, "share": 100 * first / nb_jobs}
    row |= {"week": 1 + float(np.median(submits)) / WEEK}
    return row | {"wait_after": _mean_of_means([of_run[first:] for of_run in waits])}


def _mean_of_means(waits: list[Floats]) -> float:
    means = [of_run.mean() for of_run in waits if len(of_run)]
    return float(np.mean(means)) if means else np.nan
