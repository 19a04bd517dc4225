"""The figures of one run, of small schedules drawn by hand and of large ones; charts as files."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import pytest
import vl_convert
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.errors import InputError, UsageError
from batsched_py.figures import run_figures
from batsched_py.figures.chart_files import make_drawable, read_format, render_chart, write_chart
from batsched_py.figures.run_figures import (
    JobsOfRun,
    draw_queue,
    draw_schedule,
    draw_submissions,
    draw_utilisation,
)
from batsched_py.figures.step_charts import PARTS, Steps
from batsched_py.processors.sets import ProcessorSet, from_text
from batsched_py.results.machine_power import find_spells
from batsched_py.support.step_functions import Intervals
from batsched_py.units import DAY, HOUR

NAN = float("nan")
COLUMNS = (
    *("job_id", "user", "submission_time", "starting_time", "finish_time"),
    *("requested_number_of_resources", "allocated_resources"),
)


def jobs_of(*rows: tuple) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=COLUMNS)


# processor 3 |         c c     b waits from 1 to 2, c from 2 to 4; a job that takes no time starts
#           2 |     b b         at 5 on all of them, one that is too large is rejected at 3
#           1 |     b b c c
#           0 | a a a a d d
#             +-------------
#               0 1 2 3 4 5
DRAWN = jobs_of(
    ("a", "u", 0.0, 0.0, 4.0, 1, "0"),
    ("b", "v", 1.0, 2.0, 4.0, 2, "1-2"),
    ("c", "u", 2.0, 4.0, 6.0, 2, "1 3"),
    ("d", None, 4.0, 4.0, 6.0, 1, "0"),
    ("zero", "v", 5.0, 5.0, 5.00001, 4, "0-3"),
    ("rejected", "w", 3.0, NAN, NAN, 9, None),
)


def run_of(jobs: pd.DataFrame, nb_processors: int = 4, **clock: Any) -> JobsOfRun:
    return JobsOfRun(jobs, {"nb_processors": nb_processors, **clock})


def steps_of(chart: object, name: str) -> list[tuple[float, float]]:
    """Return when the value changes, and to what, in seconds from the first submission."""
    data = chart.data
    rows = zip(data["time"], data[name], strict=True)
    changes: list[tuple[float, float]] = []
    for time, value in list(rows)[:-1]:
        if not changes or changes[-1][1] != value:
            changes.append((time, value))
    return changes


def test_busy_processors_and_demand_are_those_drawn() -> None:
    chart = draw_utilisation(run_of(DRAWN, 4))
    assert steps_of(chart, "busy") == [(0, 1), (2, 3)]
    assert steps_of(chart, "demand") == [(0, 1), (1, 3), (2, 5), (4, 3)]
    assert chart.data["until"].iloc[-1] == 6


def test_waiting_jobs_are_those_drawn() -> None:
    chart = draw_queue(run_of(DRAWN))
    assert steps_of(chart, "jobs") == [(0, 0), (1, 1), (4, 0)]
    assert steps_of(chart, "processors") == [(0, 0), (1, 2), (4, 0)]


def test_a_withdrawn_job_leaves_the_queue() -> None:
    """Of 3 processors; it waits from 3 to 7, when all others have ended."""
    gone = ("gone", "u", 3.0, NAN, NAN, 3, None)
    jobs = pd.concat([DRAWN, jobs_of(gone)], ignore_index=True)
    states = jobs["job_id"].map({"gone": "WITHDRAWN", "rejected": "REJECTED"})
    jobs = jobs.assign(final_state=states.fillna("COMPLETED_SUCCESSFULLY"), withdrawal_time=NAN)
    jobs.loc[jobs["job_id"] == "gone", "withdrawal_time"] = 7.0
    queue, used = draw_queue(run_of(jobs)), draw_utilisation(run_of(jobs))
    assert steps_of(queue, "processors") == [(0, 0), (1, 2), (3, 5), (4, 3)]
    assert steps_of(used, "busy") == [(0, 1), (2, 3), (6, 0)]
    assert steps_of(used, "demand") == [(0, 1), (1, 3), (2, 5), (3, 8), (4, 6), (6, 3)]
    assert {chart.data["until"].iloc[-1] for chart in (queue, used)} == {7}
    assert len(draw_schedule(run_of(jobs)).data) == len(draw_schedule(run_of(DRAWN)).data)


def test_rectangles_are_neighbouring_processors() -> None:
    data = draw_schedule(run_of(DRAWN, 4)).data
    rows = data[["job_id", "time", "until", "first_processor", "last_processor"]]
    assert sorted(rows.itertuples(index=False, name=None)) == [
        ("a", 0, 4, 0, 0),
        ("b", 2, 4, 1, 2),
        ("c", 4, 6, 1, 1),
        ("c", 4, 6, 3, 3),
        ("d", 4, 6, 0, 0),
        ("zero", 5, 5, 0, 3),
    ]
    of = data.set_index("job_id")
    assert of.loc["b", "waited"] == 1 / 3600
    assert of.loc["d", "colour"] == "unknown"
    assert set(of.loc["c", "colour"]) == {"u"}


def test_times_are_from_the_first_submission_and_windows_in_seconds_of_the_run() -> None:
    later = DRAWN.assign(**{name: DRAWN[name] + 1000 for name in DRAWN if name.endswith("_time")})
    assert draw_utilisation(run_of(later, 4)).data.equals(draw_utilisation(run_of(DRAWN, 4)).data)
    chosen = draw_utilisation(run_of(later, 4), begin=1003, end=1005, unit="minutes").data
    assert chosen["time"].tolist() == pytest.approx([3 / 60, 4 / 60, 5 / 60])
    assert chosen["busy"].tolist() == [3, 3, 3]
    shown = draw_schedule(run_of(later, 4), begin=1004.5)
    assert set(shown.data["job_id"]) == {"c", "d", "zero"}
    assert "3 of 5 jobs" in shown.to_dict()["title"]["subtitle"][0]


@pytest.mark.parametrize("jobs", [DRAWN.iloc[:0], DRAWN.iloc[5:]])
def test_without_a_job_that_ran_the_axes_are_drawn(jobs: pd.DataFrame) -> None:
    for draw in (draw_schedule, draw_utilisation, draw_queue):
        chart = draw(run_of(jobs))
        assert chart.to_dict()["title"]["subtitle"] == ["no job ran"]
        assert svg(chart)
    assert svg(draw_submissions(run_of(jobs)))


def svg(chart: object) -> str:
    return vl_convert.vegalite_to_svg(chart.to_dict(), allowed_base_urls=[])


# Processors that sleep ----------------------------------------------------------------------------

# processor 3 | s z z z z w c      switched off (s), asleep (z), woken (w) for c;
#           2 | b b s z z z z      2 sleeps to the end, and is woken behind it
#             +-------------
#               0 1 2 3 4 5 6
SLEPT = jobs_of(
    ("b", "u", 0.0, 0.0, 2.0, 1, "2"),
    ("a", "u", 0.0, 0.0, 6.0, 2, "0-1"),
    ("c", "v", 4.0, 6.0, 7.0, 1, "3"),
)
CHANGES = [
    (0.0, from_text("3"), "switching_off"),
    (1.0, from_text("3"), "asleep"),
    (2.0, from_text("2"), "switching_off"),
    (3.0, from_text("2"), "asleep"),
    (5.0, from_text("3"), "switching_on"),
    (6.0, from_text("3"), "awake"),
    (8.0, from_text("2"), "switching_on"),
]


def test_sleeping_processors_are_those_drawn() -> None:
    run = JobsOfRun(SLEPT, {"nb_processors": 4}, CHANGES)
    used = draw_utilisation(run)
    assert steps_of(used, "awake") == [(0, 3), (2, 2), (6, 3)]
    assert steps_of(used, "busy") == steps_of(draw_utilisation(run_of(SLEPT)), "busy")
    schedule = draw_schedule(run)
    sleep = schedule.layer[0]
    rows = sleep.data.assign(low=sleep.data["low"] + 0.5)[["time", "until", "state", "low"]]
    assert sorted(rows.itertuples(index=False, name=None)) == [
        (0, 1, "being switched", 3),
        (1, 5, "asleep", 3),
        (2, 3, "being switched", 2),
        (3, 7, "asleep", 2),
        (5, 6, "being switched", 3),
    ]
    assert schedule.data.equals(draw_schedule(run_of(SLEPT)).data)
    assert all(word in svg(schedule) for word in ("asleep", "being switched"))
    assert svg(schedule & used), "both can be moved and picked from in one figure"
    part = draw_schedule(run, begin=4.5, end=5.5).layer[0].data
    assert sorted(part["time"]) == [4.5, 4.5, 5]
    spec = draw_schedule(run, begin=4.5, end=5.5, unit="seconds").to_dict()
    (x,) = (of for of in vl_convert.vegalite_to_vega(spec)["scales"] if of["name"] == "x")
    assert (x["zero"], x["domain"]) == (False, [4.5, 5.5])
    dates = JobsOfRun(SLEPT, {"nb_processors": 4, "unix_start_time": 0}, CHANGES)
    assert svg(draw_schedule(dates) & draw_utilisation(dates))


def test_figures_of_machines_that_never_sleep_have_no_sign_of_it() -> None:
    awake = JobsOfRun(SLEPT, {"nb_processors": 4}, CHANGES[-1:])
    for draw in (draw_schedule, draw_queue):
        assert draw(awake).to_dict() == draw(run_of(SLEPT)).to_dict()
    assert set(draw_utilisation(awake).data["awake"]) == {4}
    assert "awake" not in draw_utilisation(run_of(SLEPT)).data


def test_of_too_many_sleeps_the_longest_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_figures, "MOST_RECTANGLES", 2)
    schedule = draw_schedule(JobsOfRun(SLEPT, {"nb_processors": 4}, CHANGES))
    assert schedule.layer[0].data["time"].tolist() == [1, 3]
    assert "longest 2 sleeps" in svg(schedule)


_STATES = ("switching_off", "asleep", "switching_on", "awake")
_CHANGES = st.lists(
    st.tuples(st.integers(0, 20), st.sets(st.integers(0, 4)), st.sampled_from(_STATES)), max_size=20
)


@given(_CHANGES, st.integers(0, 25))
def test_spells_are_those_of_a_slow_twin(drawn: list[tuple], end: int) -> None:
    changes = [(time, ProcessorSet.of(some), state) for time, some, state in drawn]
    changes.sort(key=lambda change: change[0])
    spells = list(find_spells(changes, end))
    for processor in range(5):
        for time in range(25):
            state = "awake"
            for since, some, new in changes:
                if since <= time and processor in some:
                    state = new
            there = [of for a, b, some, of in spells if a <= time < b and processor in some]
            assert there == ([state] if state != "awake" and time < end else [])


def test_submissions_are_counted_by_hour_beside_the_recorded_ones() -> None:
    jobs = DRAWN.assign(
        submission_time=[0, 10, HOUR - 1, HOUR, 3 * HOUR, 3 * HOUR],
        original_submission_time=[0, HOUR, NAN, HOUR, -1, HOUR],
    )
    data = draw_submissions(run_of(jobs)).data.iloc[:-1]
    assert data["time"].tolist() == pytest.approx([-1, 0, 1, 2, 3])  # hours
    assert data["submitted"].tolist() == [0, 3, 1, 0, 2]
    assert data["recorded"].tolist() == [1, 1, 3, 0, 0]
    for unknown in (
        jobs.drop(columns="original_submission_time"),
        jobs.assign(original_submission_time=NAN),
    ):
        assert "recorded" not in draw_submissions(run_of(unknown)).data


def test_dates_are_what_the_clocks_of_the_site_showed() -> None:
    """Second 0 is noon of a Saturday; on that Sunday summer time begins, at 2:00."""
    start = pd.Timestamp("2026-03-28 12:00", tz="Europe/Berlin").timestamp()
    dates = {"unix_start_time": start, "time_zone": "Europe/Berlin"}
    jobs = jobs_of(
        ("a", "u", 0.0, 0.0, 12 * HOUR, 1, "0"), ("b", "u", HOUR, 20 * HOUR, 30 * HOUR, 1, "0")
    )
    times = draw_utilisation(run_of(jobs, 1, **dates)).data["time"].astype(str).tolist()
    assert times == [
        *("2026-03-28 12:00:00", "2026-03-28 13:00:00", "2026-03-29 00:00:00"),
        *("2026-03-29 09:00:00", "2026-03-29 19:00:00"),
    ]
    hours = draw_utilisation(run_of(jobs, 1, **dates), unit="hours").data["time"]
    assert hours.tolist() == [0, 1, 12, 20, 30]
    weeks = draw_submissions(run_of(jobs, **dates), every="week").data["time"]
    assert weeks.astype(str).tolist()[0] == "2026-03-23", "a Monday"
    assert svg(draw_schedule(run_of(jobs, 1, **dates)))
    with pytest.raises(InputError, match="Mars"):
        draw_utilisation(run_of(jobs, unix_start_time=0, time_zone="Mars"))


@pytest.mark.parametrize(
    ("draw", "options", "words"),
    [
        (draw_schedule, {"colour": "size"}, "colour 'size'"),
        (draw_queue, {"unit": "weeks"}, "unit 'weeks'"),
        (draw_queue, {"begin": 2, "end": 1}, "end 1"),
        (draw_submissions, {"every": "year"}, "every 'year'"),
        (draw_submissions, {"every": "hour"}, "24,001 bins"),
    ],
)
def test_what_cannot_be_is_told(
    draw: Callable[..., Any], options: dict[str, Any], words: str
) -> None:
    """The last job comes after 1,000 days."""
    with pytest.raises(UsageError, match=words):
        draw(run_of(DRAWN.assign(submission_time=[0, 0, 0, 0, 0, 1000 * DAY])), **options)


_Drawn = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 9), st.integers(0, 5)), min_size=1, max_size=15
)


@given(_Drawn, st.lists(st.integers(-2, 45), min_size=2, max_size=6, unique=True))
def test_steps_are_those_of_a_slow_twin(rows: list[tuple], edges: list[int]) -> None:
    """Times in halves, so that no edge of a part is missed between two whole seconds."""
    drawn = [(begin / 2, (begin + lasts) / 2, weight) for begin, lasts, weight in rows]

    def level(time: float) -> float:
        return sum(weight for begin, end, weight in drawn if begin <= time < end)

    intervals = Intervals(*map(np.array, zip(*drawn, strict=True)))
    times = np.arange(-2, 45) / 2
    assert intervals.at(times).tolist() == [level(time) for time in times]
    edges = sorted(edges)
    parts = intervals.over(np.array(edges, dtype=float) / 2)
    for part, (left, right) in enumerate(pairwise(edges)):
        levels = [level(half / 2) for half in range(left, right)]
        assert parts.mean[part] == pytest.approx(np.mean(levels))
        assert (parts.least[part], parts.most[part]) == (min(levels), max(levels))
    assert intervals.means(np.array(edges) / 2) == pytest.approx(parts.mean)


def test_nothing_and_no_time_in_between() -> None:
    for times in ([], [3.0]):
        intervals = Intervals(*2 * [np.array(times)])
        assert intervals.at(np.array([3.0, 4])).tolist() == [0, 0]
        first, second = intervals.means(np.array([2.0, 5, 5]))
        assert (first, np.isnan(second)) == (0, True)


@given(st.integers(0, 5))
def test_thinned_steps_keep_area_and_extremes(seed: int) -> None:
    random = np.random.default_rng(seed)
    begin = random.uniform(0, 1000, 3000)
    end = begin + random.exponential(5, 3000)
    function = Intervals(begin, end, random.integers(1, 9, 3000).astype(float))
    steps = Steps.from_intervals({"busy": function}, 0.0, float(end.max()))
    assert steps.thinned
    assert len(steps.values["busy"]) == PARTS
    assert (steps.values["busy"] * np.diff(steps.edges)).sum() == pytest.approx(
        ((end - begin) * function.weight).sum()
    )
    assert steps.highest("busy") == function.at(function.instants).max()


# Charts as files, whatever is in their names ------------------------------------------------------


SMALL = pd.DataFrame({"x": [1.0, 2.0], "y": [3.0, 5.0]})


def a_chart(data: pd.DataFrame = SMALL) -> alt.Chart:
    return alt.Chart(data).mark_rect(clip=True).encode(x="x:Q", y="y:Q").properties(width=300)


@pytest.mark.parametrize(
    ("form", "beginning"),
    [
        ("png", b"\x89PNG"),
        ("SVG", b"<svg"),
        ("pdf", b"%PDF"),
        ("html", b"<!DOCTYPE html>"),
        ("json", b"{"),
    ],
)
def test_the_end_of_the_name_says_the_format(form: str, beginning: bytes, tmp_path: Path) -> None:
    path = tmp_path / "deep" / f"chart.{form}"
    write_chart(a_chart(), path)
    assert path.read_bytes().startswith(beginning)
    if form != "pdf":
        write_chart(a_chart(), tmp_path / f"again.{form}")
        assert (tmp_path / f"again.{form}").read_bytes() == path.read_bytes()


def test_another_end_is_refused() -> None:
    with pytest.raises(UsageError, match=r"a\.gif"):
        read_format(Path("a.gif"))


def test_a_chart_of_many_rows_is_written_and_altair_is_left_as_it_was(tmp_path: Path) -> None:
    many = pd.DataFrame({"x": range(6000), "y": range(6000)})
    write_chart(a_chart(many), tmp_path / "many.json")
    (rows,) = json.loads((tmp_path / "many.json").read_text())["datasets"].values()
    assert len(rows) == 6000
    with pytest.raises(alt.MaxRowsError):
        a_chart(many).to_dict()


# Names in charts, whatever is in them ------------------------------------------------------------


def chart(name: str, **title: str) -> dict[str, Any]:
    size = {"field": name, "type": "quantitative", **title}
    who = {"field": "who", "type": "nominal"}
    rows = [{"who": f"{name} & <b>", name: 3}]
    encoding = {"x": who, "y": size, "tooltip": [who, size]}
    return {"data": {"values": rows}, "mark": "bar", "encoding": encoding}


@pytest.mark.parametrize(
    "name",
    [
        *(
            'x\\": warn("run"), "y',
            "back\\",
            "\\",
            'a "quotation"',
            "\x1b[2J\x07\x00",
            "two\nlines",
        ),
        *("\x85\u202e", "\ufffe\uffff", "\ud800", "</text><script>alert(1)</script>"),
    ],
)
def test_a_name_is_drawn_and_never_computed(name: str) -> None:
    spec = chart("size", title=name)
    spec["data"]["values"][0]["who"] = name
    svg = render_chart("svg", spec).decode()
    assert "<script" not in svg
    (mark,) = vl_convert.vegalite_to_vega(make_drawable(spec))["marks"]
    for expression in ("tooltip", "description"):
        # A quotation mark behind two backslashes would end the text.
        assert '\\\\"' not in mark["encode"]["update"][expression]["signal"]
    assert render_chart("png", spec).startswith(b"\x89PNG")
