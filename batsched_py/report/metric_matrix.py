"""Makes tables of metrics: a row for each policy, with its changes against the first one.

Differences are of pairs of runs with the same seeds, so what the two have in common (the same
users) cancels; their intervals say whether other seeds may turn them around.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isnan, nan
from typing import Any

import msgspec
import numpy as np
import pandas as pd

from batsched_py.report.answers import ANSWERED, INCONCLUSIVE, Change, count_places, format_signed
from batsched_py.report.campaign_axes import CampaignAxes, fill_labels, format_axis, shorten_names
from batsched_py.report.document import Column, Table
from batsched_py.report.formatting import to_italics
from batsched_py.report.kit.estimates import cells, mean_of_repeats
from batsched_py.report.kit.selection import Runs, paired
from batsched_py.report.less_work import describe_less_work
from batsched_py.report.metric_words import DEFAULT, OF_WITHDRAWALS, ShownMetric, choose_metrics
from batsched_py.report.shown_runs import ShownRuns, read_all_stored
from batsched_py.support.statistics import FEWEST, Interval, paired_difference, paired_ratio
from batsched_py.units import HOUR

SAME = "no difference"
_MOST_ANSWERED = 3


def make_metric_matrix(
    runs: pd.DataFrame,
    axes: CampaignAxes,
    metrics: Sequence[ShownMetric],
    *,
    name: str,
    title: str,
    base: Any = None,
) -> Table | None:
    """Return a table with a row for each combination of labels and a column for each metric.

    Below each value is its change against the run of ``base``, a value of the compared axis, with
    the same other labels. The frame has numbers in SI units: ``METRIC``, its ``_low`` and ``_high``
    (95 % interval of the mean over replications), ``_change`` (a fraction, or seconds of lateness)
    with the ends of its interval, and ``_words``. ``less_work`` describes how a row does less work
    than its base; no change of such a row is marked. None if there are no runs or no metrics.
    """
    rows = _in_order(list(_rows(runs, axes, metrics, base)), axes)
    if not rows or not metrics:
        return None
    labels = [label for label in axes.labels if runs[label].nunique(dropna=False) > 1]
    if axes.compared is not None and axes.compared not in labels:
        labels.append(axes.compared)
    shown = [_label_column(runs, label) for label in labels]
    if shown and any(row["less_work"] for row in rows):
        shown[-1] = msgspec.structs.replace(shown[-1], below="less_work")
    if len({row["runs"] for row in rows}) > 1:
        shown.append(Column("runs"))
    for metric in metrics:
        below = f"{metric.name}_words" if any(row[f"{metric.name}_words"] for row in rows) else ""
        shown.append(
            Column(metric.name, metric.heading, metric.decimals, scale=metric.scale, below=below)
        )
    decided: dict[str, list[tuple[int, str]]] = {"better": [], "worse": []}
    for at, row in enumerate(rows):
        for metric in metrics:
            change = _change_in(row, metric.name)
            if change.is_clear and not row["less_work"]:
                decided.setdefault(metric.judge(change.value), []).append((at, metric.name))
    return Table(
        name,
        title,
        pd.DataFrame(rows),
        tuple(shown),
        _note(rows, axes, metrics, base),
        better=tuple(decided["better"]),
        worse=tuple(decided["worse"]),
    )


def list_changes(matrix: Table, axes: CampaignAxes, metrics: Sequence[ShownMetric]) -> list[Change]:
    """Return the changes in a matrix that an answer names: of the main metric and few others."""
    if axes.compared is None:
        return []
    there = [metric for metric in metrics if f"{metric.name}_change" in matrix.frame]
    late = [metric for metric in there if metric.is_difference]
    wanted: tuple[str, ...] = (DEFAULT, *ANSWERED[1:]) if late else (DEFAULT, *ANSWERED)
    most = _MOST_ANSWERED
    if any(not metric.is_judged for metric in there):  # as users withdraw jobs
        late, wanted, most = [], (DEFAULT, *OF_WITHDRAWALS), most + 1
    more = [metric for name in wanted for metric in there if metric.name == name]
    by_name = {metric.name: metric for metric in (*there[:1], *late, *more)}
    chosen = list(by_name.values())[:most]
    others = [label for label in axes.labels if label != axes.compared]
    varying = [
        label for label in others if matrix.frame[label].nunique() > 1 or label == axes.users
    ]
    return [
        Change(
            row[f"{axes.compared}_name"],
            ", ".join(
                row[f"{label}_name"]
                if isinstance(row[label], str)
                else f"{format_axis(label)} {row[f'{label}_name']}"
                for label in varying
            ),
            metric,
            _change_in(row, metric.name),
            row["less_work"],
        )
        for row in matrix.frame.to_dict("records")
        for metric in chosen
    ]


def has_intervals(tables: Sequence[Table]) -> bool:
    """Return whether any number in the tables has an interval, since repeated runs differ."""
    return any(
        bool(table.frame[column].notna().any())
        for table in tables
        for column in table.frame
        if str(column).endswith("_low")
    )


def format_change(
    change: Interval, unit: str, *, nb_runs: int = 0, same: bool = False, clear: str = ""
) -> str:
    """Return a change as the lines below a number: ``+2.6 %``, then ``(+1.1 to +4.2)``.

    Further lines have ``inconclusive`` for an interval that contains 0, else ``clear``, and a
    number of pairs below ``nb_runs``, the number of runs. ``same``: all runs are equal.
    """
    if isnan(change.value):
        return ""
    if same:
        return SAME
    places = count_places(change.value)
    lines = [f"{format_signed(change.value, places)} {unit}".strip()]
    if not isnan(change.low):
        lines.append(
            f"({format_signed(change.low, places)} to {format_signed(change.high, places)})"
        )
        lines += [clear] * bool(clear) if change.is_clear else [INCONCLUSIVE]
    if change.nb < nb_runs:
        lines.append(f"of {change.nb} pair{'s' if change.nb != 1 else ''}")
    return "\n".join(lines)


def _in_order(rows: list[dict[str, Any]], axes: CampaignAxes) -> list[dict[str, Any]]:
    """Return rows sorted by label after label, each in the order in which its values come."""
    places = {
        label: {value: at for at, value in enumerate(dict.fromkeys(row[label] for row in rows))}
        for label in axes.labels
    }
    return sorted(rows, key=lambda row: [places[label][row[label]] for label in axes.labels])


def _label_column(runs: pd.DataFrame, label: str) -> Column:
    """Return the column of an axis: numbers with as few digits as do, others by short names."""
    if not pd.api.types.is_numeric_dtype(runs[label]):
        return Column(f"{label}_name", format_axis(label))
    texts = shorten_names(runs[label].unique()).values()
    return Column(label, format_axis(label), max(len(text.partition(".")[2]) for text in texts))


def _rows(
    runs: pd.DataFrame, axes: CampaignAxes, metrics: Sequence[ShownMetric], base: Any
) -> Iterator[dict[str, Any]]:
    labels = [label for label in axes.labels if label != axes.compared]
    names = {label: shorten_names(runs[label].unique()) for label in axes.labels}
    index = list(axes.repeats) if axes.repeats else np.zeros(len(runs))
    indexed = runs.set_index(index, drop=False)
    compared = () if axes.compared is None else (axes.compared,)
    for values, group in Runs(indexed).groups(*labels):
        first = group.where(**dict.fromkeys(compared, base))
        for own, of_value in group.groups(*compared):
            of_row = dict(zip((*labels, *compared), (*values, *own), strict=True))
            row = {**of_row, **{f"{key}_name": names[key][at] for key, at in of_row.items()}}
            row["runs"] = len(of_value)
            is_first = own in ((), (base,))
            row["less_work"] = "" if is_first else describe_less_work(of_value.frame, first.frame)
            for metric in metrics:
                compared_with = None if is_first else first.frame
                row |= _cells(metric, of_value.frame, compared_with, judged=not row["less_work"])
            yield row


def _cells(
    metric: ShownMetric, ours: pd.DataFrame, base: pd.DataFrame | None, *, judged: bool
) -> dict[str, Any]:
    name = metric.name
    mean = mean_of_repeats(ours[name].astype(float))
    change, words = Interval(nan, nan, nan, 0), ""
    if base is not None and len(base):
        pair = paired(ours[name].astype(float), base[name].astype(float))
        change = _change(*pair, is_difference=metric.is_difference)
        in_unit = metric.scale if metric.is_difference else 0.01
        value, low, high = (end / in_unit for end in (change.value, change.low, change.high))
        in_percent = Interval(value, low, high, change.nb)
        same = change.value == 0 and bool((pair[0] == pair[1]).all())
        unit = metric.unit if metric.is_difference else "%"
        clear = metric.judge(change.value) if judged else ""
        words = format_change(in_percent, unit, nb_runs=mean.nb, same=same, clear=clear)
    of_change = f"{name}_change"
    row = cells(mean, name, f"{name}_low", f"{name}_high")
    ends = (f"{of_change}_low", f"{of_change}_high")
    row |= cells(change, of_change, *ends, nb=f"{of_change}_pairs")
    return row | {f"{name}_words": words}


def _change(ours: pd.Series[float], base: pd.Series[float], *, is_difference: bool) -> Interval:
    """Return the change of a mean, in its unit or as a fraction; equal runs have no interval."""
    if is_difference:
        change = paired_difference(ours, base)
    else:
        ratio = paired_ratio(ours, base)
        change = Interval(ratio.value - 1, ratio.low - 1, ratio.high - 1, ratio.nb)
    if ours.nunique() <= 1 and base.nunique() <= 1:
        return msgspec.structs.replace(change, low=nan, high=nan)
    return change


def _change_in(row: Mapping[Any, Any], name: str) -> Interval:
    low, high = row[f"{name}_change_low"], row[f"{name}_change_high"]
    return Interval(row[f"{name}_change"], low, high, row[f"{name}_change_pairs"])


def _note(
    rows: Sequence[dict[str, Any]], axes: CampaignAxes, metrics: Sequence[ShownMetric], base: Any
) -> str:
    if axes.compared is None:
        return ""
    first = shorten_names({row[axes.compared] for row in rows} | {base})[base]
    notes = [f"Below a value: its relative change against {to_italics(first)}."]
    if any(metric.is_difference for metric in metrics):
        notes.append("Changes of lateness are differences.")
    names = [f"{metric.name}_change_low" for metric in metrics]
    most = max(row["runs"] for row in rows)
    if any(not isnan(row[name]) for row in rows for name in names):
        over = " and ".join(f"`{name}`" for name in axes.repeats)
        notes.append(
            f"In parentheses: its 95 % interval, over pairs of runs with the same {over}. "
            f"*{INCONCLUSIVE.capitalize()}*: the interval contains 0. *Better*, *worse* and "
            "other words: it does not."
        )
    elif 1 < most < FEWEST:
        notes.append(f"{most} runs of each are too few for an interval: {FEWEST} are needed.")
    if any(_is_equal_in_all_pairs(row, metric) for row in rows for metric in metrics):
        notes.append("Without parentheses: the change is the same in all pairs of runs.")
    return " ".join(notes)


def _is_equal_in_all_pairs(row: dict[str, Any], metric: ShownMetric) -> bool:
    """Return whether all pairs of repeated runs have the same change, other than none."""
    change, words = _change_in(row, metric.name), row[f"{metric.name}_words"]
    known = not isnan(change.value) and change.nb >= FEWEST
    return known and not change.is_known and words != SAME


SITE = "home_site"
"""The column with the name of a grid site; ``site`` may be a label of the campaign."""
_TURNAROUND = "mean_turnaround_time_by_width"
_OF_USERS = ("mean_waiting_time", "withdrawn_share", _TURNAROUND)
_WORK = {
    "work_of_users": "work of its users",
    "given": "given",
    "taken": "taken",
    "balance": "balance",
}
_NOTE = (
    "Means over the replications. Jobs and times are of the users of a grid site, wherever their "
    "jobs ran. *Given* is work on its processors for users of other grid sites, *taken* is work "
    "elsewhere for its users, *balance* is given minus taken. Work is processors times hours."
)


def make_site_tables(results: ShownRuns, axes: CampaignAxes) -> Iterator[Table | None]:
    """Yield the tables of a grid: waits and work by grid site; nothing for runs without any."""
    frame = fill_labels(list_runs_by_site(results), axes.labels)
    if frame.empty:
        return
    by_site = msgspec.structs.replace(axes, others=(*axes.others, SITE))
    base = None if axes.compared is None else frame[axes.compared].iloc[0]
    titles = {_TURNAROUND: "mean turnaround time, weighted by processors"}
    waits = [
        msgspec.structs.replace(metric, title=titles.get(metric.name, metric.title))
        for metric in choose_metrics(frame, _OF_USERS)
    ]
    title = "Waits of the users of each grid site"
    yield make_metric_matrix(frame, by_site, waits, name="site_waits", title=title, base=base)
    work = [
        ShownMetric("processors", "processors", decimals=0),
        ShownMetric("nb_jobs", "jobs", decimals=0),
        *(ShownMetric(name, title, "processor h", HOUR, 0) for name, title in _WORK.items()),
        *choose_metrics(frame, ["utilisation"]),
    ]
    there = [metric for metric in work if metric.name in frame]
    alone = msgspec.structs.replace(by_site, compared=None, others=(*by_site.labels,), users=None)
    table = make_metric_matrix(frame, alone, there, name="sites", title="Work of each grid site")
    yield None if table is None else msgspec.structs.replace(table, note=_NOTE)


def list_runs_by_site(results: ShownRuns) -> pd.DataFrame:
    """Return a row for each grid site of each run, with its metrics; empty without grid sites.

    The metrics are those of :func:`batsched_py.metrics.per_site`.
    """
    runs = results.runs
    if "nb_multi_site_jobs" not in runs:
        return pd.DataFrame()
    rows = [
        {**row, SITE: site, **values}
        for row, stored in zip(runs.to_dict("records"), read_all_stored(results), strict=True)
        for site, values in stored.get("metrics", {}).get("per_site", {}).items()
    ]
    return pd.DataFrame(rows)
