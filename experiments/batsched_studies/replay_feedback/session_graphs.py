"""Fig. 6 of the study: the session graphs of the users, a0 against a60."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batsched_py.errors import UsageError
from batsched_py.report.kit import Chart
from batsched_py.support import palette
from batsched_py.units import HOUR
from batsched_studies.replay_feedback import PUBLISHED, replays

MINUTES = (0, 60)
_HOURS = {"1 h": 1, "10 h": 10}
_POINTS = 200
_SIDE = 230


@dataclass(frozen=True)
class Graphs:
    """The session graphs of a log's users: longest paths, largest arities, and think times."""

    log: str
    longest: dict[int, list[int]]
    """Sessions on the longest path of each user, by the threshold in minutes."""
    widest: dict[int, list[int]]
    """The largest number of sessions that a session of each user waits for."""
    think_times: dict[int, NDArray[np.float64]]
    """The think times (s) of all edges."""
    published: dict[str, Any] | None
    """Table ``graphs`` of ``published.toml``; None for logs that the paper does not have."""

    @property
    def arity(self) -> int:
        """The largest arity of any session graph with the threshold of 60 minutes."""
        return max(self.widest[60], default=0)

    def compute_shares(self) -> pd.DataFrame:
        """Return the share of think times below ``hours``, here and published, by ``sessions``.

        ``share`` is the published share; the table is empty without published shares.
        """
        points = []
        printed = self.published["think_times"] if self.published else {}
        for minutes, times in self.think_times.items():
            sessions = f"a{minutes}"
            for text, share in printed.get(sessions, {}).items():
                point = {"sessions": sessions, "hours": _HOURS[text], "share": share}
                ours = float((times < _HOURS[text] * HOUR).mean()) if len(times) else 0.0
                points.append(point | {"ours": ours})
        return pd.DataFrame(points)


@lru_cache(maxsize=2)
def build_graphs(study: replays.Study) -> Graphs:
    """Return the session graphs of a log; raises ``MissingError`` if it has no users."""
    # Part of the distribution, but not of batsched_py, which must not need it.
    from batsched_users.sessions.delimitation import Delimitation, partition
    from batsched_users.sessions.session_graph import build_graph

    longest, widest, times = {}, {}, {}
    for minutes in MINUTES:
        try:
            sessions = partition(study.workload.jobs, Delimitation.parse(f"arrival:{minutes}"))
            graphs = [build_graph(of_user) for of_user in sessions.values()]
        except UsageError as error:
            raise replays.MissingError(f"there are no session graphs: {error}") from None
        longest[minutes] = [graph.longest_path() for graph in graphs]
        widest[minutes] = [max(graph.arity(), default=0) for graph in graphs]
        times[minutes] = np.array([time for graph in graphs for time in graph.think_times()])
    published = PUBLISHED["graphs"] if study.log in PUBLISHED["logs"] else None
    return Graphs(study.log, longest, widest, times, published)


def draw_graphs(graphs: Graphs) -> Chart:
    """Draw longest paths, largest arities, and the distribution of think times."""
    paths = _counted(graphs.longest, "longest path", "log")
    arity = _counted(graphs.widest, "largest arity", "symlog")
    return alt.hconcat(paths, arity, _think_times(graphs)).resolve_scale(color="independent")


def _counted(values: Mapping[int, Sequence[int]], title: str, scale: Any) -> Chart:
    """Return a0 against a60 with the diagonal; larger points stand for more users."""
    pairs = pd.DataFrame({f"a{minutes}": of_users for minutes, of_users in values.items()})
    frame = pairs.value_counts(sort=False).rename("users").reset_index()
    ends = pd.DataFrame({"a0": [1, frame["a60"].max()]}).assign(a60=lambda ends: ends["a0"])

    def of_axis(name: str) -> dict[str, Any]:
        axis = replays.make_log_axis(frame[name])
        axis.grid = False
        title = f"{name} (sessions, logarithmic)"  # a longer one is higher than the panel
        return {"title": title, "scale": alt.Scale(type=scale, nice=False, padding=8), "axis": axis}

    base = alt.Chart(width=_SIDE, height=_SIDE, title=title).encode(
        x=alt.X("a0:Q", **of_axis("a0")), y=alt.Y("a60:Q", **of_axis("a60"))
    )
    diagonal = base.mark_line(color=palette.BEHIND).properties(data=ends)
    points = base.mark_point(filled=True, color="black", opacity=0.5).encode(
        size=alt.Size("users:Q", legend=None), tooltip=["a0", "a60", "users"]
    )
    return diagonal + points.properties(data=frame)


def _think_times(graphs: Graphs) -> Chart:
    curves = []
    for minutes, times in graphs.think_times.items():
        if len(times):
            hours, shares = replays.make_curve(np.maximum(times, 1) / HOUR, _POINTS)
            curve = {"sessions": f"a{minutes}", "hours": hours.round(5), "share": shares.round(4)}
            curves.append(pd.DataFrame(curve))
    frame = pd.concat(curves) if curves else pd.DataFrame(columns=["sessions", "hours", "share"])
    printed = graphs.compute_shares().drop(columns="ours", errors="ignore")
    powers = [10.0**power for power in range(-3, 5)]
    base = alt.Chart(width=_SIDE, height=_SIDE, title="think times").encode(
        x=alt.X(
            "hours:Q",
            title="think time (h, logarithmic)",
            scale=alt.Scale(type="log"),
            axis=alt.Axis(grid=False, values=powers, format=",.6~g"),
        ),
        y=alt.Y("share:Q", title="share of shorter ones", axis=alt.Axis(format="%")),
        color=alt.Color(
            "sessions:N",
            scale=alt.Scale(range=[palette.ORANGE, palette.BLUE]),
            # Inside: above, it would move this panel down.
            legend=alt.Legend(title=None, orient="bottom-right"),
        ),
        tooltip=["sessions", "hours", "share"],
    )
    lines = base.mark_line().properties(data=frame)
    paper = base.mark_point(shape="diamond", size=80, filled=True, opacity=1)
    return lines + paper.properties(data=printed) if len(printed) else alt.layer(lines)
