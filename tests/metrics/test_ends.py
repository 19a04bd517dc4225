"""Warm-up and cool-down: whose jobs load the machine and are not measured."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py import simulate
from batsched_py.errors import UsageError
from batsched_py.metrics import JobTable
from batsched_py.options.durations import parse_time
from batsched_py.units import DAY, WEEK
from helpers.calling import call
from helpers.schedules_by_hand import table_of


def table(submit: list[float]) -> JobTable:
    """Jobs of one second that wait as many seconds as their number says."""
    starts = [at + number for number, at in enumerate(submit)]
    return table_of([(at, 1, 1) for at in submit], starts, 4)


@pytest.mark.parametrize(
    ("warm_up", "cool_down", "measured"),
    [
        (0, 0, [10, 20, 30, 40]),
        (10, 0, [20, 30, 40]),  # 10 s after the first submission is measured again
        (10.5, 0, [30, 40]),
        (0, 10, [10, 20, 30]),
        (5, 5, [20, 30]),
        (100, 0, []),
    ],
)
def test_which_jobs_are_measured(warm_up: float, cool_down: float, measured: list[float]) -> None:
    inner = table([10, 20, 30, 40]).without_ends(warm_up, cool_down)
    assert len(inner.submit) == 4
    assert inner.only_measured.submit.tolist() == measured


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=20), st.floats(0, 1e6), st.floats(0, 1e6))
def test_a_longer_warm_up_measures_no_more(submit: list[float], less: float, more: float) -> None:
    less, more = sorted((less, more))
    few, many = (table(submit).without_ends(t, 0).measured.sum() for t in (more, less))
    assert few <= many


def test_the_metrics_of_a_simulation_leave_the_ends_out() -> None:
    """The machine is as loaded as before; jobs are counted in between only."""
    whole = simulate("sample")
    inner = simulate("sample", warm_up=14 * DAY, cool_down=7 * DAY)
    assert inner.jobs.drop(columns="measured").equals(whole.jobs.drop(columns="measured"))
    submit = whole.table.submit
    between = (submit >= submit.min() + 14 * DAY) & (submit <= submit.max() - 7 * DAY)
    overall = inner.measured["overall"]
    assert overall["nb_jobs"] == between.sum() < len(submit)
    assert overall["mean_waiting_time"] == pytest.approx(whole.table.waiting[between].mean())
    assert overall["utilisation"] == whole.measured["overall"]["utilisation"]


def test_a_warm_up_that_leaves_nothing() -> None:
    with pytest.raises(UsageError, match="no job"):
        simulate("sample", warm_up=40 * WEEK)


def test_times() -> None:
    times = {None: 0, "90": 90, "1.5 h": 5400, "4 weeks": 4 * WEEK, "1 day": DAY}
    assert {text: parse_time("warm_up", text) for text in times} == times
    for text in ("-1", "soon", "nan", "inf", "", "-1 h", "3 parsecs"):
        with pytest.raises(UsageError, match="warm_up"):
            parse_time("warm_up", text)


def test_the_command_takes_both(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: object
) -> None:
    prefix = f"{tmp_path}/out"
    ends = ("--warm-up", "2 weeks", "--cool-down", "1 week")
    assert call(monkeypatch, "simulate", "sample", "-e", prefix, *ends) == 0
    assert call(monkeypatch, "simulate", "sample", "-e", prefix, "--warm-up", "soon") == 2
    assert "expected a time" in capsys.readouterr().err
