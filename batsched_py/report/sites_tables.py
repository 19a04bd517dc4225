"""The sites of a campaign's runs: who gains, who pays."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pandas as pd

from batsched_py.report.campaign_axes import CampaignAxes, with_all_labels
from batsched_py.report.document import Table
from batsched_py.report.metric_matrix import metric_matrix
from batsched_py.report.metric_words import ShownMetric, shown_metrics
from batsched_py.report.runs_table import ShownRuns, stored_of
from batsched_py.units import HOUR

SITE = "home_site"
"""The column of a site's name; ``site`` may be a label of the campaign."""
_TIMES = ("mean_waiting_time", "mean_turnaround_time_by_width")
_WORK = {
    "work_of_users": "work of its users",
    "given": "given",
    "taken": "taken",
    "balance": "balance",
}
_NOTE = (
    "Means over the replications. Jobs and times are of the users of a site, wherever they ran. "
    "*Given* is the work done on the site's processors for users of other sites, *taken* that done "
    "elsewhere for its users, *balance* given minus taken; work is processors times hours."
)


def site_tables(results: ShownRuns, axes: CampaignAxes) -> Iterator[Table | None]:
    """Yield the waits of each site beside those of an axis's first value, and its work.

    Nothing for runs without sites.
    """
    frame = with_all_labels(runs_by_site(results), axes.labels)
    if frame.empty:
        return
    by_site = msgspec.structs.replace(axes, others=(*axes.others, SITE))
    base = None if axes.compared is None else frame[axes.compared].iloc[0]
    titles = {_TIMES[1]: "mean response time, wide jobs count more"}
    waits = [
        msgspec.structs.replace(metric, title=titles.get(metric.name, metric.title))
        for metric in shown_metrics(frame, _TIMES)
    ]
    title = "Waits of the users of each site"
    yield metric_matrix(frame, by_site, waits, name="site_waits", title=title, base=base)
    work = [
        ShownMetric("processors", "processors", decimals=0),
        ShownMetric("nb_jobs", "jobs", decimals=0),
        *(ShownMetric(name, title, "processor h", HOUR, 0) for name, title in _WORK.items()),
        *shown_metrics(frame, ["utilisation"]),
    ]
    there = [metric for metric in work if metric.name in frame]
    alone = msgspec.structs.replace(by_site, compared=None, others=(*by_site.labels,), users=None)
    table = metric_matrix(frame, alone, there, name="sites", title="Work of each site")
    yield None if table is None else msgspec.structs.replace(table, note=_NOTE)


def runs_by_site(results: ShownRuns) -> pd.DataFrame:
    """Return a row for each site of each run: the run's, with :data:`SITE` and the site's metrics.

    Empty if no run has sites. For the metrics see :func:`batsched_py.metrics.per_site`.
    """
    runs = results.runs
    if "nb_multi_site_jobs" not in runs:
        return pd.DataFrame()
    rows = [
        {**row, SITE: site, **values}
        for row, stored in zip(runs.to_dict("records"), stored_of(results), strict=True)
        for site, values in stored.get("metrics", {}).get("per_site", {}).items()
    ]
    return pd.DataFrame(rows)
