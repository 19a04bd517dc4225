"""Makes layers of charts for step functions of time: areas, lines, numbers on hovering."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import msgspec
import numpy as np
import pandas as pd

from batsched_py.figures.time_axis import TimeAxis
from batsched_py.support.step_functions import Array, Intervals

MOST_STEPS = 2_000
"""Of a chart that shows every step."""
PARTS = 500
"""Equal parts of time over which more steps are summed up."""

_channels: Any = alt  # whose own types have not all of them
Chart = Any
"""A chart of altair, whose own types hardly tell one kind from another."""


class Steps(msgspec.Struct, frozen=True, eq=False):
    """Step functions by name: each value holds from one of the ``edges`` to the next, seconds."""

    edges: Array
    """Shape (n + 1,)."""
    values: dict[str, Array]
    """By name, each of shape (n,). If :attr:`thinned`, means over the parts, and the least and
    the most value of ``NAME`` are those of ``NAME_least`` and ``NAME_most``."""
    nb_steps: int
    """Before they were thinned."""

    @classmethod
    def from_intervals(cls, functions: Mapping[str, Intervals], begin: float, end: float) -> Steps:
        """Return the sums over intervals by name, between two seconds of the simulation."""
        instants = np.unique(np.concatenate([of.instants for of in functions.values()]))
        inner = instants[(instants > begin) & (instants < end)]
        edges = np.concatenate([[begin], inner, [end]])
        nb_steps = len(edges) - 1
        if nb_steps <= MOST_STEPS:
            values = {name: of.at(edges[:-1]) for name, of in functions.items()}
            return cls(edges, values, nb_steps)
        edges = np.linspace(begin, end, PARTS + 1)
        values = {}
        for name, of in functions.items():
            parts = of.over(edges)
            ends = {f"{name}_least": parts.least, f"{name}_most": parts.most}
            values |= {name: parts.mean} | ends
        return cls(edges, values, nb_steps)

    @property
    def thinned(self) -> bool:
        """Whether the values are means over equal parts of the time."""
        return self.nb_steps > len(self.edges) - 1

    @property
    def notes(self) -> list[str]:
        """Sentences on how the steps were thinned; none if they were not."""
        if not self.thinned:
            return []
        return [f"curves are means over {PARTS} equal periods, bands the range in each"]

    def highest(self, name: str) -> float:
        """Return the greatest value of the function with this name."""
        return float(self.values[f"{name}_most" if self.thinned else name].max())

    def data(self, ends: Any) -> pd.DataFrame:
        """Return the data of a chart: a row for each step, and one where the last step ends.

        ``ends`` are the edges as they are along the axis.
        """
        columns = {"time": ends, "until": np.append(ends[1:], ends[-1:])}
        columns |= {name: np.append(of, of[-1:]) for name, of in self.values.items()}
        return pd.DataFrame(columns)


class StepLayers(msgspec.Struct, frozen=True):
    """Makes the layers of a chart from step functions; a curve is named by its column.

    ``y`` are options of its axis.
    """

    base: Chart
    """A chart of :meth:`Steps.data` with the axis of time."""
    x: alt.X
    """That axis from the first to the last edge; one layer says so for all, since Vega-Lite takes
    dates that several say for a conflict."""
    axis: TimeAxis
    colours: Mapping[str, str]
    """Of the curves, in the order of their names."""

    @classmethod
    def from_steps(
        cls, steps: Steps, ends: Any, axis: TimeAxis, colours: Mapping[str, str]
    ) -> StepLayers:
        """Return the layers of steps; ``ends`` are their edges in units of the axis."""
        base = alt.Chart(steps.data(ends)).encode(x=axis.encode_x("time"))
        return cls(base, axis.encode_x("time", ends[0], ends[-1]), axis, colours)

    def draw_line(self, name: str, y: Mapping[str, Any], **mark: Any) -> Chart:
        """Draw a function as a line; ``mark`` are options of the line."""
        return self._line(name, alt.Y(f"{name}:Q", **y), **mark)

    def draw_level(self, name: str, height: float, y: Mapping[str, Any]) -> Chart:
        """Draw a horizontal line."""
        return self._line(name, alt.datum(height, type="quantitative", **y), strokeWidth=1)

    def draw_area(self, name: str, y: Mapping[str, Any]) -> Chart:
        """Draw the area under a function; of thinned steps, from its least to greatest value."""
        least, most = f"{name}_least", f"{name}_most"
        looks: dict[str, Any] = {"interpolate": "step-after", "opacity": 0.3, "clip": True}
        marked = self.base.mark_area(color=self.colours[name], **looks)
        ends: dict[str, Any] = {"y": alt.Y(f"{name}:Q", stack=None, **y)}
        if most in self.base.data:
            ends = {"y": alt.Y(f"{most}:Q", **y), "y2": alt.Y2(least)}
        return marked.encode(**ends)

    def draw_hover(self) -> Chart:
        """Draw an invisible layer that shows the numbers of the step under the pointer."""
        names = [name for name in self.base.data if name not in ("time", "until")]
        numbers = [alt.Tooltip(f"{name}:Q", format=",.4~g") for name in names]
        times = [self.axis.make_tooltip("time", "from"), self.axis.make_tooltip("until", "until")]
        return self.base.mark_rect(opacity=0).encode(
            x=self.x, x2=alt.X2("until"), tooltip=[*times, *numbers]
        )

    def _line(self, name: str, y: Any, **mark: Any) -> Chart:
        mark = {"interpolate": "step-after", "strokeWidth": 1.4, "clip": True} | mark
        return self.base.mark_line(color=self.colours[name], **mark).encode(y=y)

    def draw_names(self) -> list[Chart]:
        """Draw the names of the functions above the chart, each in its colour.

        They are no legend, whose scale several charts beneath each other would share.
        """
        one = self.base.transform_aggregate(nb="count()")
        layers, left = [], 0
        for name, colour in self.colours.items():
            looks: dict[str, Any] = {"color": colour, "align": "left", "fontWeight": "bold"}
            text = one.mark_text(clip=False, fontSize=11, **looks)
            x, y = _channels.XValue(left), _channels.YValue(-9)
            layers.append(text.encode(x=x, y=y, text=alt.TextValue(f"\u2014 {name}")))
            left += 7 * len(name) + 34
        return layers
