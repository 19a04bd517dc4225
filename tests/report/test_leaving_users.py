"""Reports on users who withdraw jobs: no mean wait without the share and the work done."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pandas as pd
import pytest

from batsched_py import Result, simulate
from batsched_py.campaign.campaign_folder import CampaignResults
from batsched_py.commands.metric_rows import make_rows
from batsched_py.metrics.withdrawals import fill_withdrawals
from batsched_py.report import Report
from batsched_py.report.campaign_report import make_plain_report
from batsched_py.report.comparing.campaigns import CampaignComparison
from batsched_py.report.comparing.runs import RunComparison
from batsched_py.report.document import Table
from batsched_py.report.less_work import NO_GAIN, describe_less_work
from batsched_py.report.metric_words import LEAVING, OF_WITHDRAWALS, choose_metrics
from batsched_py.report.one_run import make_run_report
from batsched_py.report.shown_runs import OneRun
from helpers.campaigns import CampaignFolder
from helpers.withdrawing import Impatient

USERS = Path(__file__).parent.parent / "helpers" / "withdrawing.py"
CAMPAIGN = """
keep = "metrics"
[run]
log = "sample"
first = 300
scheduler = ["fcfs", "easy"]
users = {users}
user_options = {{ patience = 60.0, spread = 600.0 }}
"""
OTHERS = """
keep = "metrics"
[run]
log = "sample"
first = 300
scheduler = ["fcfs", "easy"]
"""


@pytest.fixture(scope="module")
def campaigns(tmp_path_factory: pytest.TempPathFactory) -> tuple[CampaignResults, CampaignResults]:
    """A campaign of users who withdraw jobs, and one of users who do not."""
    folders = [CampaignFolder(tmp_path_factory.mktemp(name)) for name in ("leaving", "staying")]
    texts = (CAMPAIGN.format(users=f'"{USERS}:Impatient"'), OTHERS)
    for folder, text in zip(folders, texts, strict=True):
        folder.write(text)
        done = folder.run()
        assert done.returncode == 0, done.stderr
    return folders[0].results(), folders[1].results()


@pytest.fixture
def both(campaigns: tuple[CampaignResults, CampaignResults]) -> Iterator[CampaignResults]:
    """One campaign with the runs of both."""
    leaving, staying = campaigns
    runs = fill_withdrawals(pd.concat([leaving.runs, staying.runs], ignore_index=True))
    axes = ["scheduler", "users"]
    with patch.object(CampaignResults, "axes", axes), patch.dict(vars(leaving), {"runs": runs}):
        yield leaving


def check_waits_are_not_alone(report: Report) -> None:
    """Every table with a mean wait has the share of withdrawn jobs and the work done."""
    assert LEAVING in report.cautions
    with_waits = [of for of in report.tables if "mean_waiting_time" in column_names(of)]
    assert with_waits
    for matrix in with_waits:
        assert set(OF_WITHDRAWALS[:2]) < set(column_names(matrix)), matrix.name


def column_names(of: Table) -> list[str]:
    return [column.name for column in of.shown]


def test_a_campaign(campaigns: tuple[CampaignResults, CampaignResults]) -> None:
    report = make_plain_report(campaigns[0])
    check_waits_are_not_alone(report)
    assert "Jobs withdrawn: " in report.answer
    assert "Utilisation: " in report.answer
    assert "Kaplan-Meier wait" in report.answer
    glossary = next(of for of in report.tables if of.name == "metrics")
    assert "withdrawn jobs for the queue too" in glossary.note


def test_waits_of_the_jobs_that_ran_are_not_called_better(
    campaigns: tuple[CampaignResults, CampaignResults],
) -> None:
    names = ("mean_waiting_time", "restricted_mean_wait", "withdrawn_share")
    words = [[metric.judge(-0.5) for metric in choose_metrics(of.runs, names)] for of in campaigns]
    assert words == [["shorter", "better", "better"], ["better"]]


def test_a_campaign_with_users_who_stay(both: CampaignResults) -> None:
    """They withdraw 0 %, which their runs do not store."""
    report = make_plain_report(both)
    check_waits_are_not_alone(report)
    frames = [of.frame for of in report.tables if of.name.startswith("matrix")]
    assert len(frames) == 2
    assert [bool(frame["withdrawn_share"].any()) for frame in frames] == [True, False]
    assert "0 % (*rigid, easy*)" in report.answer
    rigid = both.runs[both.runs["users"] == "rigid"]
    exact = [rigid[name].tolist() for name in ("restricted_mean_wait", "mean_waiting_time")]
    assert exact[0] == exact[1], "no wait is longer than 7 days"


def test_the_restricted_wait_of_long_waits_is_unknown() -> None:
    week = 7 * 86400.0
    runs = pd.DataFrame({"mean_waiting_time": [5.0, 5.0], "max_waiting_time": [week, week + 1]})
    filled = fill_withdrawals(runs)["restricted_mean_wait"]
    assert (filled[0], filled.isna().tolist()) == (5.0, [False, True])


def test_reports_without_withdrawals_have_none(
    campaigns: tuple[CampaignResults, CampaignResults],
) -> None:
    report = make_plain_report(campaigns[1])
    assert LEAVING not in report.cautions
    assert "withdraw" not in report.answer
    assert not [name for of in report.tables for name in of.frame if "withdrawn" in str(name)]
    assert not [name for name in campaigns[1].runs if "withdrawn" in name]


def test_two_campaigns(campaigns: tuple[CampaignResults, CampaignResults]) -> None:
    report = CampaignComparison(campaigns[1], campaigns[0], ("A", "B")).report()
    assert LEAVING in report.cautions
    assert "of the jobs to withdrawals" in report.answer
    main = next(of for of in report.tables if of.name == "main_metrics").frame
    shares = main[main["metric"] == "withdrawn_share"]
    assert (shares["a"] == 0).all()
    assert (shares["b"] > 0).all()


@pytest.fixture(scope="module")
def runs() -> tuple[Result, Result]:
    """A run with withdrawals and one without, of the same jobs."""
    options = {"patience": 60.0, "spread": 600.0}
    leaving = simulate("sample", first=300, users=Impatient, user_options=options)
    return leaving, simulate("sample", first=300)


def test_one_run(runs: tuple[Result, Result], tmp_path: Path) -> None:
    for result, there in zip(runs, (True, False), strict=True):
        result.write(tmp_path / "out")
        report = make_run_report(OneRun(tmp_path / "out"))
        assert (LEAVING in report.cautions) is there
        assert ("Users withdraw " in report.answer) is there
        assert ("withdrawn" in repr(result)) is there
        captions = " ".join(figure.caption for figure in report.figures)
        assert ("Withdrawn jobs are left out" in captions) is there


def test_two_runs(runs: tuple[Result, Result]) -> None:
    comparison = RunComparison.of(*runs)
    report = comparison.report()
    assert LEAVING in report.cautions
    assert NO_GAIN in report.answer
    assert " of the jobs in A, 0 % in B." in report.answer
    metrics = comparison.metrics.set_index("metric")
    share = float(runs[0].metrics["withdrawn_share"])
    assert metrics.loc["withdrawn_share", ["a", "b"]].tolist() == [share, 0]
    assert metrics.loc["restricted_mean_wait", "b"] == pytest.approx(
        metrics.loc["mean_waiting_time", "b"]
    )
    assert RunComparison.of(runs[0], runs[0]).identical
    assert "withdrawn" not in RunComparison.of(runs[1], runs[1]).report().answer


def test_a_withdrawal_at_another_time_is_another_schedule(runs: tuple[Result, Result]) -> None:
    comparison = RunComparison.of(runs[0], runs[0])
    jobs = comparison.b.jobs
    comparison.b.jobs = jobs.assign(withdrawal=jobs["withdrawal"] + 1)
    assert not comparison.identical
    assert not comparison.same_schedule
    assert comparison.moved_jobs["withdrawal_changed"].sum() == runs[0].metrics["nb_withdrawn"]


def test_a_metric_that_is_asked_for_is_there_without_withdrawals(
    runs: tuple[Result, Result],
) -> None:
    row, other = make_rows(runs[1].table, ["withdrawn_share", "deadline_met_share"])
    assert (row["value"], other["value"]) == (0, None)


RUN = {"nb_jobs": 100, "nb_withdrawn": 5.0, "users": "x", "users_react": True}


@pytest.mark.parametrize(("more", "words"), [(5.5, ""), (20.0, "loses 20 % of the jobs")])
def test_runs_that_lose_jobs_do_less_work(more: float, words: str) -> None:
    ours, base = pd.DataFrame([RUN | {"nb_withdrawn": more}]), pd.DataFrame([RUN])
    assert describe_less_work(ours, base).startswith(words)
    assert bool(describe_less_work(ours, base)) is bool(words)
    assert describe_less_work(base, ours) == ""
