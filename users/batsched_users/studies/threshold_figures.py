"""Draws the figures of a threshold study, and writes their curves as a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from batsched_py.files.csv_text import csv_of_rows
from batsched_users.sessions.delimitation import Delimitation
from batsched_users.studies.figure_style import (
    COLOURS,
    DASHES,
    add_title,
    distinguish_curves,
    draw_lines,
    label_ticks,
    make_minutes_axis,
    make_percent_axis,
)
from batsched_users.studies.thresholds import DAY_MINUTES, LONG, ThresholdStudy, Values, survival

GRID: Values = np.geomspace(0.1, 1e6, 141)
"""Minutes at which distributions are written: 20 points per factor of ten."""
_SHOWN = 240
"""Minutes up to which the derivative is drawn; after that it is flat."""
_SMOOTHED = 5
"""Minutes over which the drawn derivative is averaged."""
_KINDS = {
    "common_last": "common, by Last",
    "common_max": "common, by Max",
    "unique_last": "found by Last only",
    "unique_max": "found by Max only",
}
_SHARES: dict[str, Any] = {"format": "~g", "values": [1, 0.1, 0.01, 1e-3, 1e-4, 1e-5]}
"""Options of a logarithmic axis of shares."""
Look = tuple[str, list[int], float, float]
"""Colour, dashes, width in pixels and opacity of a curve."""
_CHANNELS = ("color", "strokeDash", "strokeWidth", "opacity")
_LINES: dict[str, tuple[list[int], float, float]] = {
    "arrival": ([1, 0], 1.8, 1),
    "last": ([6, 3], 1.8, 1),
    "max": ([1, 0], 5, 0.35),
}


def draw_inter_arrival_times(studies: Sequence[ThresholdStudy]) -> Any:
    """Draw the distribution of inter-arrival times and its derivative, a curve for each log."""
    looks = distinguish_curves([study.name for study in studies], orient="top")
    hours = label_ticks({hour * 60: f"{hour} h" for hour in range(0, 25, 4)})
    day = alt.Scale(domain=[0, DAY_MINUTES], nice=False)
    times = [study.inter_arrival for study in studies]
    left = draw_lines([(curve.minutes, curve.cumulative) for curve in times]).encode(
        x=alt.X("x:Q", title="time to the user's next job", scale=day, axis=hours),
        y=alt.Y("y:Q", title="of those within a day, at most so long", **make_percent_axis()),
        **looks,
    )
    shown = alt.Scale(domain=[0, _SHOWN], nice=False)
    minutes = alt.Axis(values=list(range(0, _SHOWN + 1, 40)))
    log = alt.Scale(type="log", domain=[1e-4, 0.2], nice=False)
    slopes = draw_lines([_smooth(curve.derivative) for curve in times]).encode(
        x=alt.X("x:Q", title="minutes to the user's next job", scale=shown, axis=minutes),
        y=alt.Y("y:Q", title="share per minute", scale=log, axis=alt.Axis(**_SHARES)),
        **looks,
    )
    right = alt.layer(_where_it_is_sought(), slopes)
    sized = [panel.properties(width=400, height=300) for panel in (left, right)]
    return alt.hconcat(*sized, spacing=30)


def _smooth(derivative: Values) -> tuple[Values, Values]:
    """Return minutes and smoothed shares, without zeros, for a logarithmic axis."""
    means = np.convolve(derivative, np.ones(_SMOOTHED) / _SMOOTHED, mode="valid")
    smooth = means.astype(np.float64)
    middle = np.arange(len(smooth), dtype=np.float64) + _SMOOTHED / 2
    drawn = (smooth > 0) & (middle <= _SHOWN)
    return middle[drawn], smooth[drawn]


def _where_it_is_sought() -> Any:
    """Draw the range in which the thesis looks for a threshold, and its choice."""
    names = ["where the thesis looks for a threshold", "60 minutes, which it takes"]
    rows = pd.DataFrame({"x": [40.0, 59.6], "until": [100.0, 60.4], "sign": names})
    legend = alt.Legend(orient="top")
    looks = alt.Scale(domain=names, range=["#ededed", "#666666"])
    sign = alt.Fill("sign:N", title=None, scale=looks, legend=legend)
    return alt.Chart(rows).mark_rect().encode(x="x:Q", x2="until", fill=sign)


def draw_think_times(study: ThresholdStudy) -> Any:
    """Draw think times after batches that Last and Max both find, and that only one finds."""
    at = np.geomspace(0.1, 1e5, 400)
    times = {name: getattr(study.think_times, kind) for kind, name in _KINDS.items()}
    times = {name: values for name, values in times.items() if len(values)}
    labels = [f"{name} ({len(values):,})" for name, values in times.items()]
    # The common curves coincide, so the first is drawn broad and pale.
    broad = {"strokeWidth": [5, 1.8, 1.8, 1.8], "opacity": [0.35, 1, 1, 1]}
    looks = {"color": COLOURS, "strokeDash": DASHES} | broad
    drawn = draw_lines([(at, 1 - survival(values, at)) for values in times.values()]).encode(
        x=alt.X("x:Q", title="think time after a batch", **make_minutes_axis(0.1, 1e5)),
        y=alt.Y("y:Q", title="at most so long", **make_percent_axis()),
        **distinguish_curves(labels, looks, orient="right"),
    )
    return add_title(drawn, study.name, 560, 340)


def draw_session_lengths(study: ThresholdStudy) -> Any:
    """Draw the share of sessions that are longer than a time, a curve for each delimitation."""
    at = np.geomspace(1, 1e6, 800)
    shares = [survival(lengths, at) for lengths in study.lengths.values()]
    points = [(at[share > 0], share[share > 0]) for share in shares]
    least = min(share.min(initial=0.1) for _, share in points)
    limit = np.array([LONG, LONG]), np.array([least, 1.0])
    looks = _looks(study.lengths) | {f"{LONG:,.0f} minutes": ("#666666", [1, 0], 1, 1)}
    of_channels = dict(zip(_CHANNELS, zip(*looks.values(), strict=True), strict=True))
    log = alt.Scale(type="log", domain=[least, 1], nice=False)
    drawn = draw_lines([*points, limit]).encode(
        x=alt.X("x:Q", title="session length", **make_minutes_axis(1, 1e6)),
        y=alt.Y(
            "y:Q",
            title="share of the sessions that are longer",
            scale=log,
            axis=alt.Axis(**_SHARES),
        ),
        **distinguish_curves(list(looks), of_channels, orient="right"),
    )
    return add_title(drawn, study.name, 560, 340)


def _looks(names: Iterable[str]) -> dict[str, Look]:
    """Return the look of each delimitation: Last as dashes on the broad band of its Max.

    The two nearly coincide if a cut hides most of their differences.
    """
    rules = {name: Delimitation.parse(name) for name in names}
    kinds = {
        name: (rule.threshold, rule.cut, rule.method == "arrival") for name, rule in rules.items()
    }
    order = list(dict.fromkeys(kinds.values()))
    colours = {kind: COLOURS[at % len(COLOURS)] for at, kind in enumerate(order)}
    return {name: (colours[kinds[name]], *_LINES[rule.method]) for name, rule in rules.items()}


def format_curves(study: ThresholdStudy) -> str:
    """Format the curves of a study as CSV text: curve, data, minutes, and share (0 to 1)."""
    rows = (
        (curve, of, f"{at:.6g}", f"{share:.8g}")
        for curve, of, minutes, shares in _curves(study)
        for at, share in zip(minutes.tolist(), shares.tolist(), strict=True)
    )
    return csv_of_rows(("curve", "of", "minutes", "share"), rows)


def _curves(study: ThresholdStudy) -> Iterator[tuple[str, str, Values, Values]]:
    iat = study.inter_arrival
    yield "at most", "inter-arrival times", iat.minutes, iat.cumulative
    yield "per minute", "inter-arrival times", iat.minutes[1:], iat.derivative
    for kind in _KINDS:
        values = getattr(study.think_times, kind)
        if len(values):
            yield (
                "at most",
                f"think times {kind.replace('_', ' ')}",
                GRID,
                1 - survival(values, GRID),
            )
    for name, lengths in study.lengths.items():
        yield "longer", f"sessions {name}", GRID, survival(lengths, GRID)
