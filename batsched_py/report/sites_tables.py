"""The sites of a campaign's runs: who gains, who pays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import pandas as pd

from batsched_py.report.document import Table
from batsched_py.report.formatting import spoken
from batsched_py.report.kit.selection import Runs
from batsched_py.report.kit.tables import columns
from batsched_py.report.paired_ratios import compared_axis, ratios_table
from batsched_py.report.runs_table import stored_of
from batsched_py.units import HOUR

if TYPE_CHECKING:
    from batsched_py.campaign.campaign_folder import CampaignResults

SITE = "home_site"
"""The column of a site's name; ``site`` may be a label of the campaign."""
_TIMES = ("mean_waiting_time", "mean_turnaround_time_by_width")
_WORK = ("work_of_users", "given", "taken", "balance")
_NOTE = (
    "Means over the replications. Jobs and times are of the users of a site, wherever they ran. "
    "*Given* is the work done on the site's processors for users of other sites, *taken* that done "
    "elsewhere for its users, *balance* given minus taken."
)


def site_tables(
    results: CampaignResults, axes: Sequence[str], repeats: Sequence[str]
) -> Iterator[Table | None]:
    """Yield what the runs did at each site, and its waits beside those of an axis's first value.

    Nothing for runs without sites.
    """
    frame = runs_by_site(results)
    if frame.empty:
        return
    yield _means(frame, axes)
    if compared_axis(frame, axes) is not None:
        ratios = ratios_table(frame, [*axes, SITE], _TIMES, repeats)
        if ratios is not None:
            title = f"Sites: {ratios.title[0].lower()}{ratios.title[1:]}"
            yield msgspec.structs.replace(ratios, name="site_ratios", title=title)


def runs_by_site(results: CampaignResults) -> pd.DataFrame:
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


def _means(frame: pd.DataFrame, axes: Sequence[str]) -> Table:
    labels, rows = [*axes, SITE], []
    metrics = ("processors", "nb_jobs", *_TIMES, *_WORK, "utilisation")
    for values, group in Runs(frame).groups(*labels):
        row: dict[str, Any] = dict(zip(labels, values, strict=True))
        rows.append(row | {name: group.frame[name].astype(float).mean() for name in metrics})
    means = pd.DataFrame(rows)
    means[list(_WORK)] /= HOUR
    shown = columns({name: spoken(name) for name in axes}, home_site="site")
    shown += columns(processors="processors", nb_jobs="jobs", decimals=0)
    shown += columns({name: f"{spoken(name)} [s]" for name in _TIMES})
    shown += columns({name: f"{spoken(name)} [processor h]" for name in _WORK}, decimals=0)
    return Table(
        "sites", "Waits and work of each site", means, (*shown, *columns("utilisation")), _NOTE
    )
