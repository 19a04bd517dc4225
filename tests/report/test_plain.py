"""The report of a campaign that names none."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from batsched_py.report import Report
from batsched_py.report.campaign_report import (
    EQUAL_RUNS,
    FEW_RUNS,
    UNKNOWN_CHANCE,
    make_campaign_report,
    make_plain_report,
)
from batsched_py.support.statistics import mean_interval
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
    assert (rigid.title, feedback.title) == ("Users: rigid", "Users: feedback")
    names = [column.name for column in feedback.shown]
    assert names[2:4] == ["mean_waiting_time", "mean_lateness"]  # the misleading one not alone
    assert "mean_lateness" not in [column.name for column in rigid.shown]


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
    told = [words for words in (UNKNOWN_CHANCE, FEW_RUNS, EQUAL_RUNS) if words in report.summary]
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
    assert (names["name"].tolist(), names["given"].tolist()) == (["Mine"], ["mine.py:Mine"])


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
    told, _, rest = made.summary.partition("\n\n")
    assert made.title == "A campaign that was made up"
    for words in ("1 of 6 runs", "policy *Bad*", "alpha *600*", "`ValueError: oh no 'x'`"):
        assert words in told
    results.failures = []
    assert make_campaign_report(results).summary == rest  # type: ignore[arg-type]
