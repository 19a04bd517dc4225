"""The replays of a log, in the form from which the figures are drawn."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batsched_py.metrics import JobTable
from batsched_py.report import CampaignResults
from batsched_py.report.kit import Chart, scale_of
from batsched_py.support import palette
from batsched_py.workload import Workload
from batsched_studies.replay_feedback import tables

COLOURS = {
    "easy": palette.GREEN,
    "fcfs": palette.PURPLE,
    "perf*2": palette.BLUE,
    "infra*2": palette.SKY,
    "infra/2": palette.ORANGE,
    "perf/2": palette.VERMILION,
}
"""The colours of the infrastructures in all figures."""
BY_LATENESS = ("perf*2", "infra*2", "easy", "fcfs", "infra/2", "perf/2")
PANELS = ("easy", "perf*2", "infra*2", "fcfs", "perf/2", "infra/2")
"""Infrastructures in two rows of panels: the better half above the worse one."""

Column = NDArray[np.float64]


class MissingError(Exception):
    """Raised if a figure cannot be drawn; the message says why."""


def compute_first_jobs_lateness(lateness: Column) -> Column:
    """Return the additional lateness (seconds) of the first 2, 3, ... jobs; shape (n - 1,)."""
    n = np.arange(1, len(lateness) + 1)
    sums = np.cumsum(lateness)
    return np.asarray(2 * sums[1:] / n[1:] / (n[1:] - 1))


@dataclass(eq=False)
class Study:
    """The replays of one log, from which its figures are drawn."""

    log: str
    workload: Workload
    replays: dict[tuple[str, str], JobTable]
    """Runs of the whole log by (infrastructure, replay), where their jobs were kept.

    The jobs are in recorded order; times are from the first recorded submission."""
    prefixes: pd.DataFrame
    """Runs of the first jobs of the log only: infrastructure, replay, first, and metrics."""
    left_out: list[str] = field(default_factory=list)
    """Figures that could not be drawn, and why."""
    captions: dict[str, str] = field(default_factory=dict)
    """Additions to the captions of figures, which are about these runs."""

    @property
    def span(self) -> float:
        """The seconds from the first to the last recorded submission."""
        return float(max(jobs.original_submit.max() for jobs in self.replays.values()))

    def list_infrastructures(self, *replays: str) -> list[str]:
        """Return the infrastructures with all these replays; raises MissingError if none has."""
        names = [n for n in BY_LATENESS if all((n, replay) in self.replays for replay in replays)]
        if not names:
            raise MissingError(f"no infrastructure has been replayed as {' and '.join(replays)}")
        return names


def read_studies(results: CampaignResults) -> Iterator[Study]:
    """Yield the replays of each log of a campaign, for the runs of :func:`tables.group_drawn`.

    Logs without stored jobs are left out.
    """
    for log, drawn in tables.group_drawn(results.runs):
        whole = drawn[drawn["first"].isna() & drawn["replay"].isin(tables.REPLAYS)]
        replays = {}
        for _, run in whole.iterrows():
            jobs = results.kept_jobs(run)
            if jobs is not None:
                replays[run["infrastructure"], run["replay"]] = read(run, jobs)
        if replays:
            workload = results.workload(whole.iloc[0])
            yield Study(log, workload, replays, drawn[drawn["first"].notna()])


def read(run: Any, jobs: pd.DataFrame) -> JobTable:
    """Return the jobs of a run in the order of their recorded submissions."""
    number = pd.to_numeric(jobs["job_id"], errors="coerce").to_numpy(dtype=float)
    original = jobs["original_submission_time"].to_numpy(dtype=float)
    jobs = jobs.iloc[np.lexsort((number, original))]
    names = ("original_submission_time", "submission_time", "starting_time", "finish_time")
    recorded, submit, start, finish = (
        jobs[name].to_numpy(dtype=float) - original.min() for name in names
    )
    return JobTable(
        submit=submit,
        start=start,
        finish=finish,
        execution=finish - start,
        size=jobs["requested_number_of_resources"].to_numpy(dtype=float),
        original_submit=recorded,
        user=jobs["user"].astype(str).to_list(),
        nb_processors=int(run["nb_res"]),
    )


def make_curve(values: Column, points: int) -> tuple[Column, Column]:
    """Return points of the empirical distribution function: values, and shares below them."""
    shares = np.linspace(0, 1, points)
    return np.quantile(values, shares), shares


def encode_colour(names: Sequence[str], **options: Any) -> alt.Color:
    """Return the chart encoding that gives each infrastructure its colour."""
    shown = [name for name in BY_LATENESS if name in names]
    scale = scale_of({name: COLOURS[name] for name in shown}, shown)
    return alt.Color("infrastructure:N", scale=scale, sort=shown, **options)


def make_log_axis(values: Any, least: float = 1) -> alt.Axis:
    """Return a logarithmic axis with ticks at 0 and at powers of ten of either sign.

    Ticks begin at ``least`` and cover the values; with fewer than two powers of ten, their double
    and fivefold have ticks too.
    """
    low, high = float(np.min(values)), float(np.max(values))
    most = max(-low, high, least)
    steps = (1,) if most >= 100 * least else (1, 2, 5)
    powers = least * 10.0 ** np.arange(math.ceil(math.log10(most / least)) + 1)
    sizes = np.outer(powers, steps).ravel()
    ticks = [*-sizes[::-1], 0.0, *sizes]
    values = [at for at in ticks if low <= at <= high]
    return alt.Axis(values=values, format=",.6~g", labelOverlap=False)


def make_panels(chart: Chart, data: pd.DataFrame) -> Chart:
    """Return a chart with one panel per infrastructure, with common axes and zoom."""
    shown = [name for name in PANELS if name in set(data["infrastructure"])]
    facet = alt.Facet("infrastructure:N", sort=shown, title=None)
    return chart.interactive().facet(facet, data=data, columns=min(3, len(shown)))
