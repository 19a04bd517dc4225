"""The report of a campaign that names none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from batsched_py.report import Report, Text
from batsched_py.report.campaign_report import (
    EQUAL_RUNS,
    FEW_RUNS,
    UNKNOWN_CHANCE,
    make_campaign_report,
    make_plain_report,
)
from batsched_py.report.forms.export_files import render_figure
from batsched_py.report.metric_matrix import WITHIN
from batsched_py.report.metric_words import REACTING
from batsched_py.support.statistics import mean_interval
from batsched_py.workload.workload import Workload, WorkloadJob
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
    parts = report.sections[0].parts
    (said,) = (part for part in parts if isinstance(part, Text))
    assert REACTING[True] in said.markdown
    assert parts.index(said) == 1  # before the matrix that it is about
    drawn_late = next(figure for figure in report.figures if figure.name == "figure_mean_lateness")
    assert all(row["value"] for row in drawn_late.spec["data"]["values"])


def test_the_campaign_says_which_metric_comes_first() -> None:
    results = MadeUp(2)
    results.metric = "utilisation"
    report = report_on(results)
    assert [column.name for column in report.tables[0].shown][2] == "utilisation"
    assert report.figures[0].name == "figure_utilisation"
    (within,) = {
        words.splitlines()[-1] for words in report.tables[0].frame["utilisation_words"] if words
    }
    assert within == "no difference"


def test_a_main_metric_that_no_run_has_is_said() -> None:
    results = MadeUp(2)
    results.metric = "by_night"
    report = report_on(results)
    assert "No run has the metric `by_night`" in report.summary
    assert "No run has" not in report_on(MadeUp(2)).summary


def test_a_difference_within_the_spread_is_told_beside_the_number() -> None:
    results = MadeUp(6)
    results.runs["utilisation"] += (
        0.03 * (results.runs["policy"] == "creasy") * (results.runs["replication"] % 2 * 2 - 1)
    )
    frame = report_on(results).tables[0].frame
    creasy = frame[frame["policy"] == "creasy"]
    assert all(words.endswith(WITHIN) for words in creasy["utilisation_words"])
    assert all(WITHIN not in words for words in creasy["mean_waiting_time_words"])


@pytest.mark.parametrize(("nb", "words"), [(1, UNKNOWN_CHANCE), (3, EQUAL_RUNS)])
def test_a_report_without_chance_says_so_and_how_to_get_it(nb: int, words: str) -> None:
    results = MadeUp(nb)
    for name in ("mean_waiting_time", "mean_bounded_slowdown", "utilisation"):
        results.runs[name] = 5.0
    report = report_on(results)
    assert words in report.summary
    assert "`shake = [0, 1, 2, 3, 4]`" in report.summary
    assert all(len(figure.spec["layer"]) == 1 for figure in report.figures)  # no intervals


@pytest.mark.parametrize("nb", range(1, 7))
@pytest.mark.parametrize("differ", [False, True])
def test_a_report_says_of_repeated_runs_what_they_are(nb: int, differ: bool) -> None:
    """No runs that differ are called equal, however few there are of them."""
    results = MadeUp(nb)
    for name in ("mean_waiting_time", "mean_bounded_slowdown", "utilisation"):
        results.runs[name] = 5.0 + differ * results.runs["replication"]
    summary = report_on(results).summary
    few = FEW_RUNS if differ else EQUAL_RUNS
    said = UNKNOWN_CHANCE if nb == 1 else few if nb < 5 or not differ else None
    told = [words for words in (UNKNOWN_CHANCE, FEW_RUNS, EQUAL_RUNS) if words in summary]
    assert told == [said] * (said is not None)


def test_what_was_simulated_is_said_at_the_top() -> None:
    summary = report_on(WithUsers()).summary
    assert "**Machine**: 64 processors" in summary
    assert "**Policies**: *easy* and *creasy*" in summary
    assert "**Users**: *rigid* and *feedback*" in summary
    assert "**Runs**: 40 runs of 42 planned; each combination 5 times" in summary


def test_a_number_is_drawn_across_and_the_rest_is_coloured() -> None:
    figure = report_on(MadeUp(2)).figures[0]
    encoding = figure.spec["layer"][0]["encoding"]
    assert encoding["x"]["field"] == "across"
    assert encoding["color"]["sort"] == ["easy", "creasy"]
    rows = figure.spec["data"]["values"]
    assert [(row["name"], row["across"]) for row in rows] == [
        (policy, at) for policy in ("easy", "creasy") for at in (600, 6000)
    ]
    assert encoding["y"]["scale"] == {"zero": True}
    assert render_figure(figure)["png"][:4] == b"\x89PNG"


def test_a_single_panel_says_whose_it_is() -> None:
    results = WithUsers()
    results.runs = results.runs[results.runs["alpha"] == 600]
    results.axes = ["policy", "users", "replication"]
    of_all, late = report_on(results).figures[:2]
    assert of_all.spec["facet"]["sort"] == ["rigid", "feedback"]
    assert late.spec["title"]["text"] == "feedback"  # rigid replay has no lateness


@pytest.mark.parametrize("nb_panels", [2, 3])
def test_every_panel_has_an_axis_if_the_last_row_is_not_full(nb_panels: int) -> None:
    results = MadeUp(2)
    more = [results.runs.assign(alpha=f"{at} s") for at in range(nb_panels)]
    results.runs = pd.concat(more, ignore_index=True)
    figure = report_on(results).figures[0]
    assert figure.spec.get("resolve", {}).get("axis") == (
        {"x": "independent"} if nb_panels == 3 else None
    )


def test_labels_are_bars_with_panels_of_what_else_varies() -> None:
    results = MadeUp(2)
    results.runs["alpha"] = results.runs["alpha"].astype(str) + " s"
    figure = report_on(results).figures[0]
    bars = figure.spec["spec"]["layer"][0]
    assert bars["mark"]["type"] == "bar"  # which begins at 0
    assert figure.spec["facet"]["sort"] == ["600 s", "6000 s"]
    assert {row["name"] for row in figure.spec["data"]["values"]} == {"easy", "creasy"}
    assert "begins at 0" in figure.caption
    assert render_figure(figure)["png"][:4] == b"\x89PNG"


def test_what_is_shown_is_explained() -> None:
    report = report_on(WithUsers())
    glossary = next(table for table in report.tables if table.name == "metrics")
    explained = set(glossary.frame["metric"])
    for table in report.tables:
        if table.name.startswith(("matrix", "further")):
            shown = {c.title for c in table.shown if c.name in set(glossary.frame["column"])}
            assert shown <= explained
    assert "*w* its processors" in glossary.note
    names = next(table for table in report.tables if table.name == "names").frame
    meanings = dict(zip(names["name"], names["meaning"], strict=True))
    assert meanings["easy"].startswith("EASY backfilling")
    assert meanings["rigid"].startswith("Replay without users")


def test_a_policy_in_a_file_is_explained_without_running_it(tmp_path: Path) -> None:
    text = 'raise SystemExit\nclass Mine:\n    """Shortest `first`.\n\n    More."""\n'
    (tmp_path / "mine.py").write_text(text)
    results = MadeUp(2)
    results.file = tmp_path / "campaign.toml"
    results.runs["scheduler"] = ["mine.py:Mine"] * len(results.runs)
    names = next(table for table in report_on(results).tables if table.name == "names").frame
    assert names["meaning"].tolist() == ["Shortest first."]  # without Markdown
    assert (names["name"].tolist(), names["given"].tolist()) == (["Mine"], ["mine.py:Mine"])


def named_by_labels() -> MadeUp:
    """A campaign whose policies and machines have names of their own."""
    results = MadeUp(1)
    results.axes = ["policy", "machine"]
    runs = results.runs.assign(
        policy=["easy", "easy", "sjf6", "sjf6"],
        scheduler=["easy", "easy", "sjf.py:Sjf", "sjf.py:Sjf"],
        scheduler_options=["{}", "{}", '{"cap":6,"by":"size"}', '{"cap":6,"by":"size"}'],
        machine=["today", "twice"] * 2,
        nb_res=[64, 128] * 2,
    )
    results.runs = runs
    return results


def test_names_of_the_campaign_file_are_told_once_with_what_they_stand_for() -> None:
    lines = report_on(named_by_labels()).summary.splitlines()
    assert "- **Machines**: *today* (64 processors) and *twice* (128 processors)" in lines
    assert "- **Policies**: *easy* and *sjf6* (Sjf, `cap = 6, by = size`)" in lines
    assert not [line for line in lines if line.startswith(("- **Machine**", "- **Policy**"))]


def test_it_is_said_if_not_the_jobs_of_the_log_were_simulated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    results = MadeUp(2)
    jobs = [
        WorkloadJob(id=f"{at}", submit_time=3600.0 * at, size=1, profile="p", user=f"{at % 2}")
        for at in range(3430)
    ]
    log = Workload(name="log", nb_res=64, jobs=jobs, profiles={})
    monkeypatch.setattr(MadeUp, "workload", lambda self, row: log)
    for numbers, words in (
        ([3430, 3430], "3,430 jobs of 2 users, submitted over 143 days"),
        ([3025, 3042], "submitted over 143 days; simulated: 3,025 to 3,042 jobs a run"),
        ([430, 430], "submitted over 143 days; simulated: 430 jobs a run"),
    ):
        results.runs["nb_jobs"] = numbers * (len(results.runs) // 2)
        assert f"{words}\n" in report_on(results).summary
    results.runs["warm_up"] = "4 weeks"
    assert "simulated:" not in report_on(results).summary


def test_the_table_of_names_has_options() -> None:
    results = named_by_labels()
    names = next(table for table in report_on(results).tables if table.name == "names")
    of_frame = names.frame[["name", "options", "given"]].to_numpy().tolist()
    assert of_frame == [["easy", "", "easy"], ["sjf6", "cap = 6, by = size", "sjf.py:Sjf"]]
    assert {"options", "given"} <= {column.name for column in names.shown}
    options = ['{"cap":6,"by":"size"}', '{"cap":9,"by":"size"}'] * 2  # the cap is an axis itself
    results.runs = results.runs.assign(scheduler_options=options, policy="sjf", cap=[6, 9] * 2)
    results.axes = ["machine", "cap"]
    names = next(table for table in report_on(results).tables if table.name == "names")
    assert set(names.frame["options"]) == {"by = size"}


def test_what_no_run_has_is_left_out() -> None:
    results = MadeUp()
    results.runs["mean_waiting_time"] = np.nan
    report = report_on(results)
    assert "mean_waiting_time" not in [column.name for column in report.tables[0].shown]


def test_runs_without_a_value_of_an_axis_are_told_of_too() -> None:
    results = MadeUp(2)
    results.runs["alpha"] = results.runs["alpha"].where(results.runs["alpha"] == 600)
    frame = report_on(results).tables[0].frame
    assert frame["alpha_name"].tolist() == ["600", "600", "none", "none"]
    assert frame["runs"].tolist() == [2] * 4


@pytest.mark.parametrize("axes", [[], ["replication"]])
def test_a_campaign_without_axes_has_one_row(axes: list[str]) -> None:
    results = MadeUp(2)
    results.axes = axes
    report = report_on(results)
    of_runs = [table for table in report.tables if table.name not in ("metrics", "names")]
    assert all(len(table.frame) == 1 for table in of_runs)
    assert report.figures == []


def test_no_runs_give_an_empty_report() -> None:
    results = MadeUp(0)
    results.runs = pd.DataFrame()
    assert report_on(results).sections == ()


def test_it_is_the_report_of_a_campaign_that_names_none() -> None:
    assert make_campaign_report(MadeUp()).title == "A campaign that was made up"  # type: ignore[arg-type]


def test_runs_that_failed_are_told_first() -> None:
    results = MadeUp(1)
    labels = {"policy": "mine.py:Bad", "alpha": 600, "replication": 0}
    results.planned.append((Path("runs/x"), labels))
    results.failures = [(Path("runs/x"), "ValueError: oh no `x`\nand more")]
    told, _, rest = make_campaign_report(results).summary.partition("\n\n")  # type: ignore[arg-type]
    assert told == (
        "**1 of 6 runs failed and left no numbers here; nothing is left of policy *Bad*.** "
        "The first (policy *Bad*, alpha *600*, replication *0*): `ValueError: oh no 'x'`"
    )
    assert rest.startswith("- **Machine**")
    results.failures = []
    assert make_campaign_report(results).summary == rest  # type: ignore[arg-type]


def test_equal_runs_are_said_to_be_equal_only_if_they_are() -> None:
    """One policy: there is no change that could have an interval, but its waits have one."""
    results = MadeUp(5)
    results.runs = results.runs[results.runs["policy"] == "easy"]
    report = report_on(results)
    assert EQUAL_RUNS not in report.summary
    assert UNKNOWN_CHANCE not in report.summary


def test_users_who_react_are_those_whose_model_says_so() -> None:
    """One policy, so the user models are what is compared: they stand in one matrix."""
    results = WithUsers()
    results.runs = results.runs[results.runs["policy"] == "easy"]
    (said,) = (part for part in report_on(results).sections[0].parts if isinstance(part, Text))
    assert said.markdown == f"*feedback*: {REACTING[True]}"


def test_all_users_who_react_are_named_once() -> None:
    results = WithUsers()
    quitters = results.runs[results.runs["users"] == "feedback"].assign(users="q.py:Quitters")
    for declared, texts in {
        True: [f"*feedback, Quitters*: {REACTING[True]}"],
        False: [f"*feedback*: {REACTING[True]}"],
        None: [f"*feedback*: {REACTING[True]}", f"*Quitters*: {REACTING[None]}"],
    }.items():
        three = WithUsers()
        runs = [three.runs, quitters.assign(users_react=declared)]
        three.runs = pd.concat(runs, ignore_index=True)
        parts = report_on(three).sections[0].parts
        assert [part.markdown for part in parts if isinstance(part, Text)] == texts


def test_nothing_is_said_of_users_who_do_not_react() -> None:
    """The same page as of rigid replay: no lateness, which is 0, in any table or figure."""
    results = WithUsers()
    results.runs["users_react"] = False
    report = report_on(results)
    assert not [part for part in report.sections[0].parts if isinstance(part, Text)]
    names = [column.name for table in report.tables for column in table.shown]
    assert "mean_lateness" not in names
    assert "figure_mean_lateness" not in [figure.name for figure in report.figures]


def test_a_main_metric_has_a_figure_for_rigid_replay_too() -> None:
    results = MadeUp(2)
    results.runs = results.runs.assign(users="rigid", throughput_per_hour=results.runs["alpha"])
    results.metric = "throughput_per_hour"
    assert report_on(results).figures[0].name == "figure_throughput_per_hour"
