"""How far the values of the tables vary: with the order of events, and with resampled users.

``shake.toml`` repeats each run with shaken order of simultaneous events, ``confidence.toml`` with
resampled logs (Zakay, PhD thesis, chapter 3). The runs of one seed have the same users on all
infrastructures, so infrastructures are compared seed by seed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import altair as alt
import msgspec
import numpy as np
import pandas as pd

from batsched_py.report import Figure, Part, Table, Text
from batsched_py.report.kit import Chart, scale_of, slug
from batsched_py.report.kit import cells as estimated
from batsched_py.support import palette
from batsched_py.support.statistics import mean_interval, paired_difference
from batsched_studies.replay_feedback import PUBLISHED, TEXTS, tables

BASE = "easy"
"""The infrastructure that others are compared with."""
_SHOWN = ("makespan", "mean_waiting_time", "mean_lateness")
_TABULATED = ("makespan", "mean_waiting_time", "max_waiting_time", "mean_lateness")
"""The tabulated metrics; relative and additional lateness follow from the mean."""
Rows = list[dict[str, Any]]


def select_resampled_runs(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of resampled logs, with short log names."""
    runs = tables.read(runs)
    return runs[runs[tables.DRAWN].notna()]


def _table(key: str, log: str, size: str, rows: Rows, **values: Any) -> Table | None:
    """Return a table, without columns and notes about published values if there are none."""
    about = {"published", "rank", "z"}
    shown, note = TEXTS.columns(key), PUBLISHED["tables"][key].get("published_note", "")
    if rows and not any(row.get("published") is not None for row in rows):
        shown, note = tuple(column for column in shown if column.name not in about), ""
    made = TEXTS.table(
        key, rows, slug(key, log, size), columns=shown, where=format_place(log, size), **values
    )
    return made and msgspec.structs.replace(made, note=f"{made.note} {note}".strip())


def format_place(log: str, size: str) -> str:
    """Return the log and the kind of job sizes of some runs, for titles."""
    return f"({log}, {size} sizes)"


def make_figure(key: str, log: str, size: str, chart: Chart, **values: Any) -> Figure:
    """Return a chart of the runs of one log and job size as a figure with a caption."""
    name = slug("fig", key, log, size)
    values["paper"] = TEXTS["paper_diamonds"] if log in PUBLISHED["logs"] else ""
    return TEXTS.figure(key, chart, name=name, where=format_place(log, size), **values)


def make_shake_parts(cells: Sequence[tables.Cell]) -> Iterator[Part | None]:
    """Yield the tables and figures of runs with shaken order of events, if there are any."""
    several = [cell for cell in cells if len(cell.values) > 1]
    for place in sorted({(cell.log, cell.size) for cell in several}):
        rows = [_spread_row(cell) for cell in several if (cell.log, cell.size) == place]
        chart = draw_intervals(pd.DataFrame(rows), ("minimum", "median", "maximum"))
        yield _table("shake", *place, rows)
        yield make_figure("shake", *place, chart)


def _spread_row(cell: tables.Cell) -> dict[str, Any]:
    low, high = cell.ends
    return cell.labels | {"minimum": low, "maximum": high} | _compare(cell)


def _compare(cell: tables.Cell) -> dict[str, Any]:
    """Return the median and the rank of the published value; without one, only the median."""
    ours = cell.beside
    row: dict[str, Any] = {"nb_runs": ours.nb, "median": ours.ours, "published": cell.published}
    if cell.published is not None:
        row |= {"rank": ours.rank, "z": ours.z}
    return row


def make_confidence_parts(runs: pd.DataFrame) -> Iterator[Part | None]:
    """Yield the tables and figures of runs of resampled logs, if there are any."""
    logs = list(tables.group_by_log(select_resampled_runs(runs)))
    if logs:
        yield Text(TEXTS["confidence"])
    for place, of_log in logs:
        rows = make_confidence_rows(of_log)
        chart = draw_intervals(pd.DataFrame(rows), ("low", "median", "high"))
        yield _table("confidence", *place, rows)
        yield make_figure("confidence", *place, chart)
        yield _table("paired", *place, make_paired_rows(of_log), base=BASE)
        name = slug("order", *place)
        yield TEXTS.table("order", make_order_rows(of_log), name, where=format_place(*place))


def make_confidence_rows(runs: pd.DataFrame) -> Rows:
    """Return a row for each infrastructure, replay and metric of the runs of one log."""
    cells = [cell for metric in _TABULATED for cell in tables.list_cells(runs, [metric])]
    return [cell.labels | _intervals(cell) for cell in cells]


def _intervals(cell: tables.Cell) -> dict[str, Any]:
    ours = cell.beside
    means = estimated(mean_interval(cell.values), "mean", "mean_low", "mean_high")
    return {**means, "low": ours.low, "high": ours.high, **_compare(cell)}


def make_paired_rows(runs: pd.DataFrame) -> Rows:
    """Return the differences between each infrastructure and :data:`BASE`, paired by seed."""
    rows = []
    for cell in (cell for metric in _SHOWN for cell in tables.list_cells(runs, [metric])):
        pairs = _pairs(runs, cell.metric, cell.replay)
        if cell.infrastructure != BASE and {cell.infrastructure, BASE} <= set(pairs):
            of_base = tables.find_published_value(cell.log, (BASE, cell.replay), cell.metric)
            difference = None
            if cell.published is not None and of_base is not None:
                difference = cell.published - of_base
            ours, base = pairs[cell.infrastructure], pairs[BASE]
            rows.append(cell.labels | _difference(ours, base, published=difference))
    return rows


def _difference(ours: pd.Series[float], base: pd.Series[float], **more: Any) -> dict[str, Any]:
    """Return the difference of pairs, more cells, and whether its sign is clear."""
    mean = paired_difference(ours, base)
    clear = mean.is_clear if mean.is_known else None
    return {"nb_runs": mean.nb, **estimated(mean, "difference"), **more, "clear": clear}


def make_order_rows(runs: pd.DataFrame) -> Rows:
    """Return the differences of mean lateness between infrastructures of adjacent rank."""
    rows = []
    for replay in tables.REPLAYS[1:]:
        pairs = _pairs(runs, "mean_lateness", replay)
        for earlier, later in pairwise(tables.RANKING):
            if {earlier, later} <= set(pairs):
                right = int((pairs[later] > pairs[earlier]).sum())
                row = {"replay": replay, "earlier": earlier, "later": later}
                rows.append(row | _difference(pairs[later], pairs[earlier], nb_right=right))
    return rows


def list_lateness_by_replication(runs: pd.DataFrame, replay: str) -> Iterator[dict[str, float]]:
    """Yield the mean lateness (days) of each infrastructure, replication by replication."""
    for _, row in _pairs(runs, "mean_lateness", replay).iterrows():
        yield {str(name): float(late) for name, late in row.dropna().items()}


def _pairs(runs: pd.DataFrame, metric: str, replay: str) -> pd.DataFrame:
    """Return a metric in its unit, a row per replication and a column per infrastructure."""
    of_replay = runs[runs["replay"] == replay]
    numbers = of_replay.assign(**{metric: pd.to_numeric(of_replay[metric])})
    unit, _ = tables.METRICS[metric]
    return numbers.pivot_table(metric, "replication", "infrastructure") / tables.UNITS[unit]


def draw_intervals(frame: pd.DataFrame, ends: tuple[str, str, str]) -> Chart:
    """Draw intervals of makespan, mean wait, and mean lateness, and the published values."""
    charts = []
    colours = (palette.RECORDED, palette.ORANGE, palette.BLUE)
    scale = scale_of(dict(zip(tables.REPLAYS, colours, strict=True)), tables.REPLAYS)
    for metric in _SHOWN:
        kept = ["infrastructure", "replay", "quantity", "nb_runs", *ends, "published"]
        shown = frame[frame["metric"] == metric][kept].copy()
        if len(shown):
            colour = alt.Color("replay:N", scale=scale)
            offset = alt.YOffset("replay:N", sort=list(tables.REPLAYS))
            base = alt.Chart(width=200, height=230).encode(yOffset=offset, color=colour)
            title, wait = str(shown["quantity"].iloc[0]), metric == "mean_waiting_time"
            options = {"log": True} if wait else {"zero": False}
            charts.append(draw_panel(shown, (*ends, "published"), title, base, 35, options))
    return alt.hconcat(*charts).resolve_scale(color="shared")


def draw_panel(
    frame: pd.DataFrame,
    numbers: tuple[str, str, str, str],
    title: str,
    base: Chart,
    size: int,
    options: Mapping[str, Any],
) -> Chart:
    """Draw a line of intervals for each infrastructure, and the published values.

    ``numbers`` are the columns of lower end, middle, upper end and published value. The option
    ``log`` makes the axis logarithmic; other options are those of the scale.
    """
    low, middle, high, published = numbers
    names = list(numbers)
    frame[names] = frame[names].astype(float)
    log = options.get("log", False)
    if log:  # 0.001 d: what rounds to 0.00 is drawn at the edge of a logarithmic axis
        frame[names] = frame[names].clip(lower=0.001)
    frame[names] = frame[names].round(5)
    scale = alt.Scale(type="log", nice=False, padding=8) if log else alt.Scale(**options)
    axis = alt.Axis(tickCount=4, labelOverlap="greedy")
    if log:
        title = f"{title}, logarithmic"
    elif not options.get("zero", True) and np.nanmin(frame[names].to_numpy()) > 0:
        title = f"{title}, not from 0"

    def x(column: str) -> alt.X:
        return alt.X(f"{column}:Q", title=title, scale=scale, axis=axis)

    base = base.properties(data=frame).encode(
        y=alt.Y("infrastructure:N", sort=list(tables.INFRASTRUCTURES), title=None),
        tooltip=list(frame.columns),
    )
    rules = base.mark_rule(strokeWidth=3).encode(x=x(low), x2=high)
    points = base.mark_point(filled=True, size=size, opacity=1).encode(x=x(middle))
    if frame[published].isna().all():
        return rules + points
    paper = base.mark_point(shape="diamond", size=45, opacity=1).encode(
        x=x(published), color=alt.value("black")
    )
    return rules + points + paper.transform_filter(f"isValid(datum.{published})")
