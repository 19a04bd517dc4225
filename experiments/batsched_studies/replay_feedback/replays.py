"""The replays of a log, as the figures are drawn from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batsched_py.errors import BatschedError
from batsched_py.report.kit import palette
from batsched_py.report.kit.charts import Chart, scale_of
from batsched_py.report.kit.selection import log_name
from batsched_studies.replay_feedback import tables

if TYPE_CHECKING:
    from batsched_py.campaign.campaign_folder import CampaignResults
    from batsched_py.workload import Workload


COLOURS = {
    "easy": palette.GREEN,
    "fcfs": palette.PURPLE,
    "perf*2": palette.BLUE,
    "infra*2": palette.SKY,
    "infra/2": palette.ORANGE,
    "perf/2": palette.VERMILION,
}
"""Of the infrastructures, everywhere."""
GREY = palette.BEHIND
BY_LATENESS = ("perf*2", "infra*2", "easy", "fcfs", "infra/2", "perf/2")
PANELS = ("easy", "perf*2", "infra*2", "fcfs", "perf/2", "infra/2")
"""Infrastructures in two rows of panels: the better half above the worse one."""

Column = NDArray[np.float64]


class MissingError(Exception):
    """A figure cannot be drawn; the message says why."""


@dataclass(frozen=True)
class Replay:
    """The jobs of one run, in recorded order; all columns of shape (n,), seconds, nan = none."""

    nb_res: int
    """Processors of the platform."""
    original: Column
    """Recorded submission times; 0 is the first of them."""
    submit: Column
    start: Column
    finish: Column
    size: Column
    user: pd.Series[str]

    @property
    def lateness(self) -> Column:
        """Replayed minus recorded submission time."""
        return self.submit - self.original

    def of_users(self) -> pd.DataFrame:
        """Return name, number of jobs, and mean lateness (seconds) of each user."""
        groups = pd.Series(self.lateness).groupby(self.user.to_numpy())
        return pd.DataFrame({"jobs": groups.size(), "lateness": groups.mean()}).reset_index(
            names="user"
        )


@dataclass
class Study:
    """All that the figures of one log are drawn from."""

    log: str
    workload: Workload
    replays: dict[tuple[str, str], Replay]
    """Runs of the whole log by (infrastructure, replay), where their jobs were kept."""
    prefixes: pd.DataFrame
    """Runs of the first jobs of the log only: infrastructure, replay, first, and metrics."""
    graphs: Any = None
    """Session graphs, once they were made (:func:`session_graphs.of_study`)."""
    notes: list[str] = field(default_factory=list)
    """What could not be drawn, or was drawn otherwise, and why."""

    def infrastructures(self, *replays: str) -> list[str]:
        """Return the infrastructures that have all these replays; raises MissingError if none."""
        names = [n for n in BY_LATENESS if all((n, replay) in self.replays for replay in replays)]
        if not names:
            raise MissingError(f"no infrastructure has been replayed as {' and '.join(replays)}")
        return names


def studies(results: CampaignResults) -> Iterator[Study]:
    """Yield what there is to draw of each log.

    Of several job sizes or orders of simultaneous events the first is drawn (requested; the given
    order). Nothing for logs of which no jobs were kept, or that were resampled.
    """
    runs = results.runs
    if "people" in runs:
        runs = runs[runs["people"].isna()]
    runs = runs.assign(log=runs["log"].map(log_name))
    for column in ("first", "shake"):
        if column not in runs:
            runs[column] = np.nan
    runs = runs.sort_values("shake", kind="stable", na_position="first")
    for log, own in runs.groupby("log"):
        size = "requested" if "requested" in set(own["size"]) else own["size"].iloc[0]
        own = own[own["size"] == size].drop_duplicates(["infrastructure", "replay", "first"])
        whole = own[own["first"].isna() & own["replay"].isin(tables.REPLAYS)]
        kept = [(run, jobs) for run, jobs in _kept(results, whole)]
        if kept:
            replays = {
                (run["infrastructure"], run["replay"]): read(run, jobs) for run, jobs in kept
            }
            workload = results.workload(whole.iloc[0])
            yield Study(str(log), workload, replays, own[own["first"].notna()])


def _kept(results: CampaignResults, runs: pd.DataFrame) -> Iterator[tuple[Any, pd.DataFrame]]:
    for _, run in runs.iterrows():
        try:
            yield run, results.jobs(run)
        except (BatschedError, OSError):  # only metrics were kept
            continue


def read(run: Any, jobs: pd.DataFrame) -> Replay:
    """Return the jobs of a run in recorded order."""
    number = pd.to_numeric(jobs["job_id"], errors="coerce").to_numpy(dtype=float)
    original = jobs["original_submission_time"].to_numpy(dtype=float)
    jobs = jobs.iloc[np.lexsort((number, original))]
    origin = original.min()
    return Replay(
        nb_res=int(run["nb_res"]),
        original=jobs["original_submission_time"].to_numpy(dtype=float) - origin,
        submit=jobs["submission_time"].to_numpy(dtype=float) - origin,
        start=jobs["starting_time"].to_numpy(dtype=float) - origin,
        finish=jobs["finish_time"].to_numpy(dtype=float) - origin,
        size=jobs["requested_number_of_resources"].to_numpy(dtype=float),
        user=jobs["user"].astype(str),
    )


def quantile_curve(values: Column, points: int) -> tuple[Column, Column]:
    """Return points of the empirical distribution function: values, and shares below them."""
    shares = np.linspace(0, 1, points)
    return np.quantile(values, shares), shares


def colour(names: Sequence[str], **options: Any) -> alt.Color:
    """Return the encoding of infrastructures by colour."""
    shown = [name for name in BY_LATENESS if name in names]
    scale = scale_of({name: COLOURS[name] for name in shown}, shown)
    return alt.Color("infrastructure:N", scale=scale, sort=shown, **options)


def panels(chart: Chart, data: pd.DataFrame) -> Chart:
    """Return a panel for each infrastructure, all with the same axes; one can zoom them."""
    shown = [name for name in PANELS if name in set(data["infrastructure"])]
    facet = alt.Facet("infrastructure:N", sort=shown, title=None)
    return chart.interactive().facet(facet, data=data, columns=min(3, len(shown)))
