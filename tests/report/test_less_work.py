"""Runs that refuse, cut or leave out work get no verdict of improvement, in any comparison."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from batsched_py import simulate
from batsched_py.report.campaign_report import make_plain_report
from batsched_py.report.comparing.runs import compare_runs
from batsched_py.report.less_work import NO_GAIN, describe_less_work
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import workload
from batsched_py.units import HOUR
from helpers.made_up_report import MadeUp

RUN = {"nb_jobs": 100, "nb_rejected": 0, "utilisation": 0.5, "makespan": 1000.0, "nb_res": 10}
OPEN = RUN | {"users": "rigid"}
CLOSED = RUN | {"users": "site", "users_react": True}


@pytest.mark.parametrize(
    ("base", "other", "words"),
    [
        (OPEN, {"nb_rejected": 96}, "refuses 96 %"),
        (CLOSED, {"nb_rejected": 96}, "refuses 96 %"),
        (OPEN, {"nb_rejected": 96, "utilisation": 0.1}, "refuses 96 %"),
        (OPEN, {"utilisation": 0.4}, "does 20 % less work"),  # cut, or left out by rules
        (OPEN, {"utilisation": 0.25, "makespan": 2000.0}, ""),  # the same work, later
        (OPEN, {"utilisation": 0.25, "nb_res": 20}, ""),
        (OPEN, {"utilisation": 0.25, "speed_factor": 2.0}, ""),
        (CLOSED, {"utilisation": 0.4}, ""),  # who reacts may submit less
        (OPEN, {}, ""),
    ],
)
def test_which_of_two_does_less(base: dict[str, Any], other: dict[str, Any], words: str) -> None:
    frames = [pd.DataFrame([row]) for row in ({"speed_factor": 1.0} | base | other, base)]
    ours, theirs = (frame.assign(speed_factor=frame.get("speed_factor", 1.0)) for frame in frames)
    assert describe_less_work(ours, theirs).startswith(words)
    assert bool(describe_less_work(ours, theirs)) is bool(words)
    assert describe_less_work(theirs, ours) == ""


@pytest.mark.parametrize("other", [{"nb_rejected": 96.0}, {"utilisation": 0.2}])
def test_no_change_of_a_row_that_does_less_work_is_marked(other: dict[str, float]) -> None:
    results = MadeUp(5)
    known = {"nb_rejected": 0.0, "makespan": 1000.0, "users": "rigid"}
    results.runs = results.runs.assign(**(known | {"utilisation": 0.7}))
    assert make_plain_report(results).tables[0].marks  # type: ignore[arg-type]
    creasy = results.runs["policy"] == "creasy"
    for name, value in other.items():
        results.runs.loc[creasy, name] = value
    made = make_plain_report(results)  # type: ignore[arg-type]
    matrix = made.tables[0]
    assert not matrix.marks
    assert [bool(words) for words in matrix.frame["less_work"]] == [False, True] * 2
    assert "less_work" in [column.below for column in matrix.shown]
    assert NO_GAIN in made.summary
    assert NO_GAIN in matrix.note


def test_two_runs_of_which_one_refuses() -> None:
    jobs = [J(0, 4, HOUR), *(J(at, 2, HOUR) for at in range(1, 6))]
    large = simulate(workload(jobs, 4))
    small = simulate(workload([J(0, 2, HOUR), *jobs[1:]], 4), nodes=2)
    refusing = simulate(workload(jobs, 4), nodes=2)
    assert refusing.metrics["mean_waiting_time"] is not None
    told = compare_runs(large, refusing).summary
    assert told.startswith("B refuses 17 %")
    assert NO_GAIN in told
    assert compare_runs(refusing, large).summary.startswith("A refuses 17 %")
    assert NO_GAIN not in compare_runs(small, small).summary
