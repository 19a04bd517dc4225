"""Compares generated jobs with the distributions from which users draw them; the warm-up.

Distributions learnt from the jobs of a run, as from a log, should be those that the users drew
from. Exceptions: users who wait submit less, breaks that end at night become longer, and two series
of the same size by chance count as one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from batsched_py.report import Figure, Table
from batsched_py.report.kit import Runs, cells
from batsched_py.report.kit.selection import slug
from batsched_py.support import palette
from batsched_py.workload import Workload
from batsched_studies.creasy import TEXTS
from batsched_studies.creasy.generated_jobs import read_distributions, select_columns
from batsched_studies.creasy.tables import EASY, name_policy
from batsched_users.learning.ideal_machine import play_model
from batsched_users.learning.learn_site import collect_values
from batsched_users.models.site import SiteUsers

QUANTITIES = {
    "sizes": "sizes (processors)",
    "run_times": "run times (s)",
    "repetitions": "jobs of equal size in succession",
    "batch_widths": "jobs of a batch",
    "think_times": "think times (s)",
    "breaks": "breaks (s)",
}
COLUMNS = (
    "job_id",
    "user",
    "submission_time",
    "finish_time",
    "requested_number_of_resources",
    "execution_time",
)
"""The columns of ``_jobs.csv`` from which distributions are learnt."""
SERIES = {"jobs": "jobs a day", "response": "mean turnaround time by day"}


def make_tables(runs: Runs) -> Iterator[Table | None]:
    """Yield a table of distances between jobs and distributions, and one of the warm-up."""
    distances, cuts = [], []
    measured = "distance_sizes" in runs.frame
    for (reading, alpha), own in runs.groups("reading", "alpha") if measured else ():
        labels = {"reading": reading, "policy": name_policy(alpha)}
        for name, title in QUANTITIES.items():
            found = own.mean(f"distance_{name}")
            if found.nb:
                distances.append({**labels, "what": title, **cells(found, nb="n")})
        for name, title in SERIES.items():
            days = own.values(f"mser5_{name}")
            if not len(days):
                continue
            row = {**labels, "what": title, "day": days.mean(), "last": days.max(), "n": len(days)}
            row["none"] = int(days.isna().sum())
            easy = runs.where(reading=reading, alpha=EASY)
            for kind, key in (("whole", "all"), ("cut", "cut")):
                row[key] = own.change(f"{kind}_{name}", easy).value
            cuts.append(row)
    yield TEXTS.table("generated", distances)
    yield TEXTS.table("warm_up", cuts)


def draw_generated_jobs(options: Mapping[str, Any], nb_res: int, reading: str) -> Figure:
    """Draw the distributions of 50 users who never wait, and those of their jobs."""
    drawn = read_distributions(options, nb_res)
    frame = play_users(options, nb_res)
    rows = []
    for name, values in collect_values(select_columns(frame)).items():
        distribution = getattr(drawn, name)
        for share in (np.arange(60) + 0.5) / 60:
            generated = float(np.quantile(values, share, method="inverted_cdf"))
            for kind, value in (("generated", generated), ("drawn", distribution.quantile(share))):
                rows.append(
                    {"what": QUANTITIES[name], "kind": kind, "x": max(value, 1), "y": share}
                )
    chart = (
        alt.Chart(pd.DataFrame(rows))
        .mark_line(interpolate="step-after")
        .encode(
            x=alt.X("x:Q", title=None, scale=alt.Scale(type="log", nice=False)),
            y=alt.Y("y:Q", title="share up to"),
            color=alt.Color(
                "kind:N",
                title=None,
                scale=alt.Scale(
                    domain=["generated", "drawn"], range=[palette.BLUE, palette.RECORDED]
                ),
            ),
            tooltip=["what:N", "kind:N", "x:Q", "y:Q"],
        )
        .properties(width=220, height=160)
        .facet(alt.Facet("what:N", title=None, sort=list(QUANTITIES.values())), columns=3)
        .resolve_scale(x="independent")
    )
    return TEXTS.figure("generated", chart, slug("generated", reading), reading=reading)


def play_users(options: Mapping[str, Any], nb_res: int) -> pd.DataFrame:
    """Return the jobs that 50 users submit in eight weeks on a machine without waits."""
    machine = Workload(name="none", nb_res=nb_res, jobs=[], profiles={})
    own = {key: value for key, value in options.items() if key not in ("nb_users", "weeks")}
    rows = [
        (int(job.job.id), job.job.user, job.submit, job.end, job.job.size, job.end - job.submit)
        for job in play_model(SiteUsers(machine, nb_users=50, weeks=8, **own))
    ]
    return pd.DataFrame(rows, columns=COLUMNS)
