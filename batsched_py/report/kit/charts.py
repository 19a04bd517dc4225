"""Parts of Vega-Lite charts: colour scales, tooltips, intervals, data."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import Any

import altair as alt
import pandas as pd
from altair.utils.schemapi import debug_mode

from batsched_py.report.kit.tables import Rows

Chart = Any
"""A chart of altair, whose own types hardly distinguish kinds of charts."""


def scale_of(styles: Mapping[str, Any], there: Container[str]) -> alt.Scale:
    """Return a scale of colours or shapes for the names of ``styles`` that are in ``there``."""
    shown = {name: style for name, style in styles.items() if name in there}
    return alt.Scale(domain=list(shown), range=list(shown.values()))


def numbers(*names: str, digits: str = ".4~g", **titles: str) -> list[alt.Tooltip]:
    """Return tooltips for columns of numbers; titles are given as ``name=title``."""
    plain = [alt.Tooltip(f"{name}:Q", format=digits) for name in names]
    titled = [alt.Tooltip(f"{n}:Q", title=t, format=digits) for n, t in titles.items()]
    return [*plain, *titled]


def intervals(base: Chart, rows: Rows, title: str, **mark: Any) -> list[Chart]:
    """Return a layer with the intervals of rows as vertical lines; none if there are no intervals.

    ``base`` is the chart of these rows, ``title`` the title of the axis; ``mark`` are options of
    the lines.
    """
    if pd.DataFrame(rows)["low"].isna().all():
        return []
    lines = base.transform_filter("isValid(datum.low)").mark_rule(**mark)
    return [lines.encode(y=alt.Y("low:Q", title=title), y2="high:Q")]


def inline_data(rows: Iterable[Mapping[str, Any]]) -> Any:
    """Return rows as the data of a chart, with plain numbers and None for nan."""
    frame = pd.DataFrame(list(rows))
    values = frame.astype(object).where(frame.notna(), None).to_dict("records")
    with debug_mode(False):  # otherwise each row is checked against the schema, for a second
        return alt.Data(values=values)  # type: ignore[no-untyped-call]
