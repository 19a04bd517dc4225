"""Common parts of the user layer's figures: looks of curves, titles and axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import msgspec
import pandas as pd

from batsched_py.support import palette

COLOURS = (
    *(palette.BLUE, palette.VERMILION, palette.GREEN, palette.PURPLE),
    *(palette.ORANGE, palette.SKY, palette.BLACK),
)
DASHES = ([1, 0], [6, 3], [6, 2, 1, 2], [2, 2], [8, 2], [3, 2, 1, 2, 1, 2], [1, 1])
_MINUTES = {1: "1 min", 10: "10 min", 60: "1 h", 480: "8 h", 1440: "1 d", 10080: "1 wk"}
_LONGER = {43200: "30 d", 525600: "1 y"}


def distinguish_curves(
    labels: Sequence[str], looks: Mapping[str, Sequence[Any]] | None = None, **legend: Any
) -> dict[str, Any]:
    """Return Altair channels that give each curve its own look, with a legend of the labels.

    The column ``curve`` is the index of a label. ``looks`` are values of the channels ``color``,
    ``strokeDash``, ``strokeWidth`` and ``opacity`` for the labels in turn; by default, colours and
    line styles, which repeat after seven. Labels may be equal. ``legend`` are its options.
    """
    looks = looks or {"color": COLOURS, "strokeDash": DASHES}
    channels = {
        "color": alt.Color,
        "strokeDash": alt.StrokeDash,
        "strokeWidth": alt.StrokeWidth,
        "opacity": alt.Opacity,
    }
    symbol: dict[str, Any] = {"symbolType": "stroke", "symbolSize": 500}
    symbol |= {} if "strokeWidth" in looks else {"symbolStrokeWidth": 2.5}
    symbol |= {} if "opacity" in looks else {"symbolOpacity": 1}
    names = msgspec.json.encode(list(labels)).decode()
    drawn = alt.Legend(labelExpr=f"{names}[datum.value]", **symbol, **legend)

    def scale(values: Sequence[Any]) -> alt.Scale:
        turns = [values[index % len(values)] for index in range(len(labels))]
        return alt.Scale(type="ordinal", domain=list(range(len(labels))), range=turns)

    return {
        name: channels[name]("curve:N", title=None, scale=scale(values), legend=drawn)
        for name, values in looks.items()
    }


def draw_lines(points: Sequence[tuple[Any, Any]], **mark: Any) -> Any:
    """Draw a curve through each of ``points``, a pair of columns ``(x, y)``.

    Rows have the number of their curve as ``curve``. ``mark`` are options of the lines.
    """
    frames = [pd.DataFrame({"curve": at, "x": x, "y": y}) for at, (x, y) in enumerate(points)]
    rows = pd.concat(frames) if frames else pd.DataFrame(columns=["curve", "x", "y"])
    return alt.Chart(rows).mark_line(**({"clip": True} | mark))


def add_title(chart: Any, title: str, width: int, height: int) -> Any:
    """Give a chart a title at its left end, and its width and height in pixels."""
    heading = alt.TitleParams(title, anchor="start", frame="group", fontWeight="normal")
    return chart.properties(title=heading, width=width, height=height)


def label_ticks(names: Mapping[int, str] | Mapping[float, str], **axis: Any) -> Any:
    """Make an axis with ticks at the keys of ``names``, labelled by its texts."""
    texts = msgspec.json.encode({f"{value:g}": text for value, text in names.items()}).decode()
    return alt.Axis(values=list(names), labelExpr=f"{texts}[datum.value]", **axis)


def make_minutes_axis(least: float, most: float) -> dict[str, Any]:
    """Return options of a logarithmic axis of minutes, with ticks such as 1 min, 1 h and 1 d."""
    names = {at: text for at, text in (_MINUTES | _LONGER).items() if least <= at <= most}
    scale = alt.Scale(type="log", domain=[least, most], nice=False)
    return {"scale": scale, "axis": label_ticks(names)}


def make_percent_axis() -> dict[str, Any]:
    """Return options of an axis for shares from 0 to 1, labelled 0 to 100 %."""
    return {"scale": alt.Scale(domain=[0, 1], nice=False), "axis": alt.Axis(format=".0%")}
