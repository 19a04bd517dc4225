"""Draws ``results.png`` of each study's page from the CSV files of recorded numbers next to it.

python -m batsched_studies.page_figures [STUDY]...
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import altair as alt
import pandas as pd

from batsched_py.figures.chart_files import write_chart
from batsched_py.files.readers import csv_rows, read_text, read_toml
from batsched_py.support import palette
from batsched_studies.learning.report import draw_policies
from batsched_studies.shutdown.report import draw_savings

HERE = Path(__file__).parent
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")
INFRASTRUCTURES = ("perf*2", "infra*2", "easy", "infra/2", "fcfs", "perf/2")


def read_numbers(study: str, name: str) -> pd.DataFrame:
    """Return a CSV file of a study as a table, a row for each line."""
    path = HERE / study / f"{name}.csv"
    header, *rows = csv_rows(read_text(path).splitlines(keepends=True), path)
    table = pd.DataFrame(rows, columns=header).replace("", None)
    for column in header:
        with suppress(ValueError):  # a column of texts
            table[column] = pd.to_numeric(table[column])
    return table


def draw_replay_feedback() -> Any:
    """Draw mean lateness on KTH: here, in the paper, and over 20 resampled logs."""
    recorded = read_numbers("replay_feedback", "interpretations").query(
        "log.str.startswith('KTH') and replay != 'rigid' and size == 'requested' and "
        "events == 'instant' and rejection == 'at_once'"
    )
    resampled = read_numbers("replay_feedback", "resampled")
    rows = recorded.merge(resampled, on=["infrastructure", "replay"], suffixes=("", "_resampled"))
    here, theirs, range_ = "this program", "paper", "20 resampled logs, 2.5 to 97.5 %"
    colours = {here: palette.BLUE, theirs: palette.VERMILION, range_: palette.BEHIND}
    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    base = alt.Chart().encode(
        y=alt.Y("infrastructure:N", title=None, sort=list(INFRASTRUCTURES)),
    )
    title = "mean lateness (days)"
    ranges = base.mark_bar(size=14).encode(
        x=alt.X("mean_lateness_d_low:Q", title=title),
        x2="mean_lateness_d_high:Q",
        color=alt.Color("of:N", title=None, scale=scale),
    )
    layers = [ranges.transform_calculate(of=f"'{range_}'")]
    for column, name, shape, size, filled in (
        ("mean_lateness_published", theirs, "diamond", 160, False),
        ("mean_lateness", here, "circle", 35, True),
    ):
        points = base.mark_point(shape=shape, size=size, strokeWidth=2, filled=filled, opacity=1)
        points = points.encode(x=alt.X(f"{column}:Q", title=title), color=alt.Color("of:N"))
        layers.append(points.transform_calculate(of=f"'{name}'"))
    layers.append(_line_at(0))
    chart = alt.layer(*layers, data=rows).properties(width=290, height=200)
    return _below(chart.facet(column=alt.Column("replay:N", title=None)))


def draw_dynamic_think_times() -> Any:
    """Draw the medians relative to the paper's under each interpretation of its text."""
    rows = read_numbers("dynamic_think_times", "interpretations")
    rows = rows[rows["measured"] == "weeks 2 to 9"]
    names = {"work": "workload", "awrt": "AWRT", "art": "ART", "awt": "AWT"}
    rows = rows.rename(columns=names).melt(["reading"], list(names.values()), "metric", "ratio")
    ratio = alt.X(
        "ratio:Q",
        title="this program / paper (geometric mean over the cases, logarithmic)",
        scale=alt.Scale(type="log", domain=[0.2, 1.5], nice=False),
        axis=alt.Axis(values=[0.2, 0.3, 0.5, 0.7, 1, 1.4], format=".1f"),
    )
    points = alt.Chart(rows).mark_point(filled=True, size=70, opacity=1)
    points = points.encode(
        x=ratio,
        y=alt.Y("reading:N", title=None, sort=None, axis=alt.Axis(labelLimit=400)),
        color=alt.Color("metric:N", title=None, sort=None),
        shape=alt.Shape("metric:N", title=None, sort=None, scale=alt.Scale(range=list(SHAPES[:4]))),
    )
    chart = alt.layer(points, _line_at(1, rows)).properties(width=360, height=230)
    return _below(chart)


def draw_creasy() -> Any:
    """Draw throughput, and the response by class of run time, against alpha."""
    rows = read_numbers("creasy", "alphas")
    published = read_toml(HERE / "creasy" / "published.toml")
    ticks = alt.Axis(values=[1500, 6000, 30000, 90000, 360000], format=",d", labelAngle=-40)
    alpha = alt.X(
        "alpha:Q",
        title="alpha (logarithmic)",
        scale=alt.Scale(type="log", nice=False, padding=12),
        axis=ticks,
    )
    title = "throughput against EASY (%)"
    systems = list(dict.fromkeys(rows["system"]))
    base = alt.Chart(rows).encode(
        x=alpha, color=alt.Color("system:N", title="throughput: interpretation", sort=systems)
    )
    throughput = alt.layer(
        base.mark_rule().encode(y=alt.Y("throughput_low:Q", title=title), y2="throughput_high:Q"),
        base.mark_line(point=True).encode(y=alt.Y("throughput:Q", title=title)),
    )
    classes = {"to_1_min": "up to 1 min", "1_to_10_min": "1 to 10 min", "over_10_min": "longer"}
    narrow = rows[rows["system"] == systems[0]].rename(columns=classes)
    narrow = narrow.melt(["alpha"], list(classes.values()), "run time", "change")
    title = "mean turnaround time against EASY (%)"
    colour = alt.Color(
        "run time:N",
        title="turnaround time: run time, (b) 208 processors",
        sort=None,
        scale=alt.Scale(range=[palette.GREEN, palette.PURPLE, palette.BLACK]),
    )
    lines = alt.Chart(narrow).mark_line(point=True)
    lines = lines.encode(x=alpha, y=alt.Y("change:Q", title=title), color=colour)
    changes = published["response_change"]
    paper = pd.DataFrame(
        [{"alpha": 6000, "run time": classes[key], "paper": changes[key]} for key in classes]
    )
    diamonds = alt.Chart(paper).mark_point(shape="diamond", size=130, strokeWidth=2)
    diamonds = diamonds.encode(x=alpha, y=alt.Y("paper:Q", title=title), color=colour)
    response = alt.layer(lines, diamonds)
    size = {"width": 270, "height": 230}
    both = alt.hconcat(throughput.properties(**size), response.properties(**size))
    return _below(both.resolve_scale(color="independent"), "vertical")


def draw_tbuos_ups() -> Any:
    """Draw what EASY gains over FCFS under TBUOS, and how much calmer waits are, by log."""
    rows = read_numbers("tbuos_ups", "logs")
    gain = _intervals(rows, "throughput_easy_to_fcfs", "throughput, EASY / FCFS", palette.BLUE)
    title = "spread of mean waits, TBUOS / open"
    spread = _intervals(rows, "spread_tbuos_to_open", title, palette.GREEN)
    size = {"width": 260, "height": 200}
    return alt.hconcat(gain.properties(**size), spread.properties(**size))


def _intervals(rows: pd.DataFrame, name: str, title: str, colour: str) -> Any:
    """Draw ratios with their intervals, a line for each log, and a line at 1."""
    scale, axis = alt.Scale(zero=False, padding=10), alt.Axis(tickCount=4)
    value = alt.X(f"{name}:Q", title=title, scale=scale, axis=axis)
    low = alt.X(f"{name}_low:Q", title=title, scale=scale, axis=axis)
    base = alt.Chart(rows).encode(y=alt.Y("log:N", title=None, sort=None))
    return alt.layer(
        _line_at(1, rows),
        base.mark_rule(color=colour, strokeWidth=2).encode(x=low, x2=f"{name}_high:Q"),
        base.mark_point(color=colour, filled=True, size=60, opacity=1).encode(x=value),
    )


def draw_resampling() -> Any:
    """Draw throughput and wait of the variants of each log, relative to the log's."""
    rows = read_numbers("resampling", "positions")
    for column in ("median", "low", "high"):
        rows[f"{column}_ratio"] = rows[column] / rows["recorded"]
    panels = []
    for metric, title, ticks in (
        ("throughput (jobs/h)", "throughput, variants / log", [0.92, 0.96, 1, 1.04, 1.08]),
        ("wait (h)", "mean wait, variants / log", [1, 2, 5, 10, 20, 50]),
    ):
        own = rows[rows["metric"] == metric]
        scale = alt.Scale(type="log", nice=False, padding=10)
        axis = alt.Axis(values=ticks, format="~g")
        value = alt.X("median_ratio:Q", title=title, scale=scale, axis=axis)
        base = alt.Chart(own).encode(y=alt.Y("log:N", title=None, sort=None))
        layers = (
            base.mark_bar(size=10, color=palette.SKY).encode(
                x=alt.X("low_ratio:Q", title=title, scale=scale, axis=axis), x2="high_ratio:Q"
            ),
            base.mark_point(filled=True, size=50, color=palette.BLUE, opacity=1).encode(x=value),
            _line_at(1, own),
        )
        panels.append(alt.layer(*layers).properties(width=260, height=200))
    return alt.hconcat(*panels)


def draw_league() -> Any:
    """Draw the skill of each user model on each log, for submissions and for waits."""
    rows = read_numbers("league", "skills")
    worlds = ("closed world", "open world", "all logs")
    rows = rows[~rows["case"].isin(worlds) & (rows["model"] != "rigid")]
    cases, models = (list(dict.fromkeys(rows[name])) for name in ("case", "model"))
    title = "skill over rigid"
    base = alt.Chart().encode(
        x=alt.X("model:N", title=None, sort=models, axis=alt.Axis(labelAngle=-30)),
        xOffset=alt.XOffset("case:N", sort=cases),
        color=alt.Color("case:N", title=None, scale=_scale(cases, palette.CATEGORIES)),
    )
    shape = alt.Shape("case:N", title=None, scale=_scale(cases, SHAPES))
    points = base.mark_point(filled=True, size=40, opacity=1)
    layers = alt.layer(
        _line_at(0, axis="y"),
        base.mark_rule().encode(y=alt.Y("low:Q", title=title), y2="high:Q"),
        points.encode(y=alt.Y("skill:Q", title=title), shape=shape),
    )
    panels = []
    for group in ("submissions", "waits under EASY"):
        own = layers.properties(width=600, height=180, title=group)
        panels.append(own.properties(data=rows[rows["group"] == group]))
    return _below(alt.vconcat(*panels))


def draw_grid() -> Any:
    """Draw changes of AWRT for which the thesis has a number: here by workload, and there."""
    rows = read_numbers("grid", "changes")
    made_up = rows["workload"].str.startswith("syn")
    recorded, drawn, theirs = "recorded workloads", "synthetic workload", "thesis"
    rows["of"] = made_up.map({True: drawn, False: recorded})
    colours = {recorded: palette.BLUE, drawn: palette.ORANGE, theirs: palette.VERMILION}
    of_thesis = rows.drop_duplicates("case").assign(of=theirs)
    of_thesis["change_percent"] = of_thesis["thesis_percent"]
    marks = pd.concat([rows, of_thesis])
    shapes = alt.Scale(domain=list(colours), range=["circle", "square", "diamond"])
    points = alt.Chart(marks).mark_point(size=55, strokeWidth=2, opacity=1)
    points = points.encode(
        x=alt.X("change_percent:Q", title="change of AWRT (%)"),
        y=alt.Y("case:N", title=None, sort=None, axis=alt.Axis(labelLimit=300)),
        color=alt.Color("of:N", title=None, scale=_scale([*colours], [*colours.values()])),
        shape=alt.Shape("of:N", title=None, scale=shapes),
    )
    return _below(alt.layer(_line_at(0, marks), points).properties(width=360, height=300))


def draw_reservations() -> Any:
    """Draw by how much reservations lengthen the waits of others, by policy, width and lead."""
    rows = read_numbers("reservations", "cost")
    rows["lead"] = rows["lead_h"].map("{:g} h ahead".format)
    names = {12.5: "an eighth of the machine", 50.0: "half of the machine"}
    panels = []
    for width, title in names.items():
        own = rows[rows["width_percent"] == width]
        value = "change of the mean wait of others (%)"
        panel = _grouped_intervals(own, "policy", "lead", "change_percent", value)
        panels.append(panel.properties(width=230, height=260, title=title))
    return _below(alt.hconcat(*panels))


def draw_sufficiency() -> Any:
    """Draw the points of a saving in an open loop that users who react do not save."""
    rows = read_numbers("sufficiency", "rebound")
    rows["case"] = rows["lever"] + ", " + rows["hours"] + " hours"
    panels = []
    for log, own in rows.groupby("log", sort=False):
        panel = _grouped_intervals(own, "case", "users", "lost_points", "saving lost (points)")
        panels.append(panel.properties(width=220, height=160, title=log))
    return _below(alt.hconcat(*panels))


def draw_impatience() -> Any:
    """Draw wait against work done by policy and kind of users, for rigid users and others."""
    rows = read_numbers("impatience", "cases")
    policies, kinds = (list(dict.fromkeys(rows[name])) for name in ("policy", "users"))
    work = alt.Scale(zero=False, padding=12)
    wait = alt.Scale(type="log", nice=False, padding=12)
    ticks = alt.Axis(values=[1, 2, 5, 10, 20, 50, 100], format="~g")
    points = alt.Chart().mark_point(filled=True, size=70, opacity=1)
    points = points.encode(
        x=alt.X("work_percent:Q", title="work done (% of capacity)", scale=work),
        y=alt.Y("km_wait_h:Q", title="Kaplan-Meier mean wait (h)", scale=wait, axis=ticks),
        color=alt.Color("policy:N", title=None, scale=_scale(policies, palette.CATEGORIES)),
        shape=alt.Shape("users:N", title=None, scale=_scale(kinds, SHAPES)),
    )
    panels = [
        points.properties(data=own, width=250, height=240, title=f"{log}, {loop}")
        for (log, loop), own in rows.groupby(["log", "loop"], sort=False)
    ]
    return _below(alt.concat(*panels, columns=2))


def draw_other_schedulers() -> Any:
    """Draw the change of the mean wait under the EASY of other programs, by kind of users."""
    rows = read_numbers("other_schedulers", "waits")
    rows = rows[~rows["program"].isin(["easy", "fcfs"])]
    panels = []
    for case, own in rows.groupby("case", sort=False):
        value = "change of the mean wait (%)"
        panel = _grouped_intervals(own, "program", "users", "change_percent", value)
        panels.append(panel.properties(width=190, height=130, title=case))
    return _below(alt.hconcat(*panels).resolve_scale(y="shared"))


def draw_learning() -> Any:
    """Draw the slowdown of policies compared with EASY, by log and users."""
    rows = read_numbers("learning", "policies").query("policy != 'FCFS' and n > 0")
    rows = rows[~rows["policy"].str.contains("held|naive")]
    panels = [draw_policies(of).properties(title=log, width=230) for log, of in rows.groupby("log")]
    return _below(alt.hconcat(*panels))


def draw_shutdown() -> Any:
    """Draw energy saved against the time for waking, by log and size of the machine."""
    return _below(draw_savings(read_numbers("shutdown", "cases")))


def _grouped_intervals(rows: pd.DataFrame, by: str, group: str, name: str, title: str) -> Any:
    """Draw intervals in lines by one column, and in colours and shapes by another."""
    groups = list(dict.fromkeys(rows[group]))
    shape = alt.Shape(f"{group}:N", title=None, scale=_scale(groups, SHAPES))
    base = alt.Chart(rows).encode(
        y=alt.Y(f"{by}:N", title=None, sort=None),
        yOffset=alt.YOffset(f"{group}:N", sort=groups),
        color=alt.Color(f"{group}:N", title=None, scale=_scale(groups, palette.CATEGORIES)),
    )
    value = alt.X(f"{name}:Q", title=title, axis=alt.Axis(tickCount=6))
    return alt.layer(
        _line_at(0, rows),
        base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title=title), x2="high:Q"),
        base.mark_point(filled=True, size=50, opacity=1).encode(x=value, shape=shape),
    )


def _scale(names: Sequence[str], values: Sequence[str]) -> Any:
    return alt.Scale(domain=list(names), range=list(values[: len(names)]))


def _line_at(value: float, data: Any = None, axis: str = "x") -> Any:
    """Return a dashed line where nothing differs."""
    chart = alt.Chart() if data is None else alt.Chart(data)
    rule = chart.mark_rule(color=palette.LINES, strokeDash=[4, 4])
    return rule.encode(**{axis: alt.datum(value)})


def _below(chart: Any, direction: str = "horizontal") -> Any:
    """Put the legend below the chart."""
    return chart.configure_legend(
        orient="bottom", direction=direction, labelLimit=300, titleLimit=300
    )


FIGURES: dict[str, Callable[[], Any]] = {
    "creasy": draw_creasy,
    "dynamic_think_times": draw_dynamic_think_times,
    "grid": draw_grid,
    "impatience": draw_impatience,
    "league": draw_league,
    "learning": draw_learning,
    "other_schedulers": draw_other_schedulers,
    "replay_feedback": draw_replay_feedback,
    "resampling": draw_resampling,
    "reservations": draw_reservations,
    "shutdown": draw_shutdown,
    "sufficiency": draw_sufficiency,
    "tbuos_ups": draw_tbuos_ups,
}
"""The function that draws the figure of each study."""


def main(studies: Sequence[str]) -> None:
    """Draw the figures of some studies, or of all."""
    for study in studies or FIGURES:
        write_chart(FIGURES[study](), HERE / study / "results.png")


if __name__ == "__main__":
    main(sys.argv[1:])
