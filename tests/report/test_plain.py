"""The report of a campaign that names none, that of one run, and runs that do less work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from batsched_py import simulate
from batsched_py.report import Report
from batsched_py.report.campaign_report import (
    EQUAL_RUNS,
    FEW_RUNS,
    ONLY_ORDER,
    UNKNOWN_CHANCE,
    make_campaign_report,
    make_plain_report,
)
from batsched_py.report.comparing.runs import compare_runs
from batsched_py.report.forms.html_page import render_page
from batsched_py.report.less_work import NO_GAIN, describe_less_work
from batsched_py.report.one_run import ONCE, make_run_report
from batsched_py.report.shown_runs import OneRun
from batsched_py.run.result import Result
from batsched_py.support.statistics import mean_interval
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import workload
from batsched_py.units import HOUR
from helpers.made_up_report import MadeUp


class WithUsers(MadeUp):
    """Under each policy rigid replay and users who react, who come late."""

    def __init__(self, nb_replications: int = 5) -> None:
        super().__init__(nb_replications)
        self.axes = ["policy", "users", "alpha", "replication"]
        self.nb_planned = 2 * len(self.runs) + 2
        reacting = self.runs.assign(
            users="feedback",
            users_react=True,
            mean_lateness=7200.0 + 60 * self.runs["replication"],
            folder=self.runs["folder"] + "_feedback",
        )
        self.runs = pd.concat(
            [self.runs.assign(users="rigid", users_react=False, mean_lateness=0.0), reacting],
            ignore_index=True,
        )


def report_on(results: MadeUp) -> Report:
    return make_plain_report(results)  # type: ignore[arg-type]


def test_replications_become_means_with_intervals() -> None:
    results = MadeUp(5)
    matrix = report_on(results).tables[0]
    labels = matrix.frame[["alpha", "policy", "runs"]].to_numpy().tolist()
    assert labels == [[at, policy, 5] for at in (600, 6000) for policy in ("easy", "creasy")]
    waits = results.runs.query("policy == 'creasy' and alpha == 600")["mean_waiting_time"]
    row = matrix.frame.iloc[1]
    interval = mean_interval(waits)
    assert row["mean_waiting_time"] == pytest.approx(waits.mean())
    assert row["mean_waiting_time_low"] == interval.low < waits.mean() < interval.high
    # 1500 + 200 + 20 beside 1000 + 200 + 20, in the mean over the replications
    assert row["mean_waiting_time_change"] == pytest.approx(1220 / 1720 - 1)
    assert row["mean_waiting_time_change_high"] < 0


def test_a_matrix_for_each_user_model() -> None:
    report = report_on(WithUsers())
    rigid, feedback = (table for table in report.tables if table.name.startswith("matrix"))
    assert (rigid.title, feedback.title) == ("User model rigid", "User model feedback")
    names = [column.name for column in feedback.shown]
    assert names[2:4] == ["mean_waiting_time", "mean_lateness"]  # the misleading one not alone
    assert "mean_lateness" not in [column.name for column in rigid.shown]


def test_the_note_on_users_who_react_is_at_their_table() -> None:
    report = report_on(WithUsers())
    rigid, feedback = (table for table in report.tables if table.name.startswith("matrix"))
    words = "*feedback*: these users react to the schedule"
    assert words in feedback.note
    assert words not in rigid.note


def test_a_main_metric_stands_once_in_the_answer_with_the_waits() -> None:
    results = WithUsers()
    results.axes = ["policy", "replication"]
    results.runs = results.runs.query("users == 'feedback' and alpha == 600")
    results.runs.loc[results.runs["policy"] == "creasy", "mean_lateness"] += 3600.0
    results.metric = "mean_lateness"
    answer = report_on(results).answer
    assert answer.count("submissions") == 1
    assert "mean waiting time" in answer


def test_an_interval_of_orders_alone_is_a_caution() -> None:
    results = MadeUp(5)
    assert ONLY_ORDER not in report_on(results).cautions
    results.axes = ["policy", "alpha", "shake"]
    results.runs = results.runs.rename(columns={"replication": "shake"})
    assert ONLY_ORDER in report_on(results).cautions


@pytest.mark.parametrize(("nb", "warned"), [(90, False), (50, True)])
def test_user_models_that_submit_fewer_jobs_are_a_caution(nb: int, warned: bool) -> None:
    results = WithUsers()
    is_rigid = results.runs["users"] == "rigid"
    results.runs["nb_jobs"] = is_rigid.map({True: 95, False: nb})
    cautions = " ".join(report_on(results).cautions)
    assert (f"(*rigid* 95, *feedback* {nb})" in cautions) is warned
    results.runs["warm_up"] = 3600.0
    assert "numbers of jobs" not in " ".join(report_on(results).cautions)


def test_the_options_of_a_policy_are_in_the_report_of_a_run(tmp_path: Path) -> None:
    simulate("sample", scheduler="easy", scheduler_options={"order": "sjf"}, first=50).write(
        tmp_path / "out"
    )
    assert "*easy* (`order = sjf`)" in make_run_report(OneRun(tmp_path / "out")).summary


@pytest.mark.parametrize("nb", [1, 2, 4, 5])
@pytest.mark.parametrize("differ", [False, True])
def test_a_report_says_of_repeated_runs_what_they_are(nb: int, differ: bool) -> None:
    """No runs that differ are called equal, however few there are of them."""
    results = MadeUp(nb)
    for name in ("mean_waiting_time", "mean_bounded_slowdown", "utilisation"):
        results.runs[name] = 5.0 + differ * results.runs["replication"]
    report = report_on(results)
    few = FEW_RUNS if differ else EQUAL_RUNS
    said = UNKNOWN_CHANCE if nb == 1 else few if nb < 5 or not differ else None
    told = [words for words in (UNKNOWN_CHANCE, FEW_RUNS, EQUAL_RUNS) if words in report.cautions]
    assert told == [said] * (said is not None)
    if not differ:
        assert all(len(figure.spec["layer"]) == 1 for figure in report.figures)  # no intervals


def test_a_policy_in_a_file_is_explained_without_running_it(tmp_path: Path) -> None:
    text = 'raise SystemExit\nclass Mine:\n    """Shortest `first`.\n\n    More."""\n'
    (tmp_path / "mine.py").write_text(text)
    results = MadeUp(2)
    results.file = tmp_path / "campaign.toml"
    results.runs["scheduler"] = ["mine.py:Mine"] * len(results.runs)
    names = next(table for table in report_on(results).tables if table.name == "names").frame
    assert names["meaning"].tolist() == ["Shortest first."]  # without Markdown
    assert (names["name"].tolist(), names["value"].tolist()) == (["Mine"], ["mine.py:Mine"])


def test_no_runs_give_an_empty_report() -> None:
    results = MadeUp(0)
    results.runs = pd.DataFrame()
    assert report_on(results).sections == ()


def test_runs_that_failed_are_told_first() -> None:
    results = MadeUp(1)
    labels = {"policy": "mine.py:Bad", "alpha": 600, "replication": 0}
    results.planned.append((Path("runs/x"), labels))
    results.failures = [(Path("runs/x"), "ValueError: oh no `x`\nand more")]
    made = make_campaign_report(results)  # type: ignore[arg-type]
    told, *rest = made.cautions
    assert made.title == "A campaign that was made up"
    for words in ("1 of 6 runs", "policy *Bad*", "alpha *600*", "`ValueError: oh no 'x'`"):
        assert words in told
    results.failures = []
    assert list(make_campaign_report(results).cautions) == rest  # type: ignore[arg-type]


# The report of one run, ours or Batsim's ----------------------------------------------------------


JOBS = """\
job_id,workload_name,profile,submission_time,requested_number_of_resources,requested_time,success,\
final_state,starting_time,execution_time,finish_time,waiting_time,turnaround_time,stretch,\
allocated_resources,consumed_energy,metadata
1,w0,p,0,1,100,1,COMPLETED_SUCCESSFULLY,0,100,100,0,100,1,0,0,
2,w0,p,0,3,100,1,COMPLETED_SUCCESSFULLY,7200,100,7300,7200,7300,73,0-2,0,
3,w0,p,0,4,100,1,COMPLETED_SUCCESSFULLY,10800,100,10900,10800,10900,109,0-3,0,
4,w0,p,0,4,100,1,COMPLETED_SUCCESSFULLY,14400,100,14500,14400,14500,145,0-3,0,
"""
SCHEDULE = "nb_computing_machines,makespan\n4,14500\n"


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Path]:
    """A run of ours, and the prefix of its files."""
    result = simulate("sample", first=300, users="feedback", scheduler="easy")
    prefix = tmp_path_factory.mktemp("run") / "easy"
    result.write(prefix)
    return result, prefix


@pytest.fixture
def of_batsim(tmp_path: Path) -> Path:
    """The prefix of a run of Batsim: four jobs that wait 0, 2, 3 and 4 hours."""
    (tmp_path / "out_jobs.csv").write_text(JOBS)
    (tmp_path / "out_schedule.csv").write_text(SCHEDULE)
    return tmp_path / "out"


def key_numbers(report: Report) -> dict[str, str]:
    frame = next(table for table in report.tables if table.name == "key_numbers").frame
    return dict(zip(frame["metric"], frame["shown"], strict=True))


def test_it_says_what_was_simulated_and_what_came_out(ours: tuple[Result, Path]) -> None:
    result, prefix = ours
    report = make_run_report(OneRun(prefix))
    for words in ("64 processors", "*easy*", "*feedback*", "300 jobs", "2026-01-05"):
        assert words in report.summary
    assert report.cautions == (ONCE,)
    assert report.answer.startswith("Jobs wait **1.24 h** on average and 9.57 h at most;")
    numbers = next(table for table in report.tables if table.name == "key_numbers").frame
    of_run = result.measured["overall"]
    assert {name: of_run[name] for name in numbers["name"]} == dict(
        zip(numbers["name"], numbers["value"], strict=True)
    )
    assert {"mean_waiting_time", "mean_lateness", "utilisation"} <= set(numbers["name"])
    names = [figure.name for figure in report.figures]
    assert names == ["utilisation", "queue", "submissions", "waits_by_size"]


def test_a_run_of_batsim_has_a_page_too(of_batsim: Path) -> None:
    run = OneRun(of_batsim)
    report = make_run_report(run)
    assert report.title == "out"
    assert "**Simulated**: 4 jobs" in report.summary
    assert key_numbers(report)["mean waiting time"] == "2.250 h"
    assert key_numbers(report)["utilisation"] == f"{100 * 1200 / (4 * 14500):.1f} %"
    assert "Settings" in render_page(report, run)


def test_a_run_without_jobs_has_a_page(tmp_path: Path) -> None:
    (tmp_path / "out_jobs.csv").write_text(JOBS.partition("\n")[0] + "\n")
    (tmp_path / "out_schedule.csv").write_text(SCHEDULE)
    report = make_run_report(OneRun(tmp_path / "out"))
    assert "0 jobs" in report.summary
    assert not report.tables


# Runs that refuse, cut or leave out work get no verdict of improvement, in any -------------------


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
    assert make_plain_report(results).tables[0].better  # type: ignore[arg-type]
    creasy = results.runs["policy"] == "creasy"
    for name, value in other.items():
        results.runs.loc[creasy, name] = value
    made = make_plain_report(results)  # type: ignore[arg-type]
    matrix = made.tables[0]
    assert not matrix.marks
    assert not matrix.better
    assert not matrix.worse
    assert [bool(words) for words in matrix.frame["less_work"]] == [False, True] * 2
    assert "less_work" in [column.below for column in matrix.shown]
    assert NO_GAIN in made.cautions
    assert "**creasy** (alpha 600): " in made.answer
    assert "; but it " in made.answer


def test_two_runs_of_which_one_refuses() -> None:
    jobs = [J(0, 4, HOUR), *(J(at, 2, HOUR) for at in range(1, 6))]
    large = simulate(workload(jobs, 4))
    small = simulate(workload([J(0, 2, HOUR), *jobs[1:]], 4), nodes=2)
    refusing = simulate(workload(jobs, 4), nodes=2)
    assert refusing.metrics["mean_waiting_time"] is not None
    told = compare_runs(large, refusing).answer
    assert told.startswith("B refuses 17 %")
    assert NO_GAIN in told
    assert compare_runs(refusing, large).answer.startswith("A refuses 17 %")
    assert NO_GAIN not in compare_runs(small, small).answer
