"""The report of a campaign that names none."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from batsched_py.report.default_report import plain_report
from batsched_py.report.forms.export_files import drawn
from batsched_py.support.statistics import bootstrap
from helpers.made_up_report import MadeUp


def test_replications_become_means_with_intervals() -> None:
    results = MadeUp(5)
    (waiting,) = [one for one in plain_report(results).tables if one.name == "waiting"]
    assert waiting.frame[["policy", "alpha", "runs"]].to_numpy().tolist() == [
        ["easy", 600, 5],
        ["easy", 6000, 5],
        ["creasy", 600, 5],
        ["creasy", 6000, 5],
    ]
    own = results.runs.query("policy == 'creasy' and alpha == 600")["mean_waiting_time"]
    row = waiting.frame.iloc[2]
    interval = bootstrap(own)
    assert row["mean_waiting_time"] == pytest.approx(own.mean())
    assert row["mean_waiting_time_low"] == interval.low < own.mean() < interval.high
    assert [column.name for column in waiting.shown][3:] == [
        "mean_waiting_time",
        "mean_waiting_time_low",
        "mean_waiting_time_high",
    ]


def test_without_replications_there_are_no_intervals() -> None:
    results = MadeUp(1)
    results.axes = ["policy", "alpha"]
    report = plain_report(results)
    names = [column.name for table in report.tables for column in table.shown]
    assert not any(name.endswith("_low") for name in names)
    assert "bootstrap" not in report.summary
    assert all(len(figure.spec["layer"]) == 1 for figure in report.figures)


def test_a_number_is_drawn_across_and_the_rest_is_coloured() -> None:
    figure = plain_report(MadeUp()).figures[0]
    assert figure.spec["encoding"]["x"]["field"] == "alpha"
    assert [row["runs"] for row in figure.spec["data"]["values"]] == ["easy"] * 2 + ["creasy"] * 2


def test_labels_are_drawn_below_each_other() -> None:
    results = MadeUp()
    results.runs["alpha"] = results.runs["alpha"].astype(str) + " s"
    figure = plain_report(results).figures[0]
    assert figure.spec["encoding"]["y"]["field"] == "runs"
    assert figure.spec["data"]["values"][0]["runs"] == "easy, 600 s"


@pytest.mark.parametrize("alpha", ["number", "text"])
def test_figures_can_be_drawn(alpha: str) -> None:
    results = MadeUp(2)
    if alpha == "text":
        results.runs["alpha"] = results.runs["alpha"].astype(str) + " s"
    assert drawn(plain_report(results).figures[0])["png"][:4] == b"\x89PNG"


def test_what_no_run_has_is_left_out() -> None:
    results = MadeUp()
    results.runs["mean_waiting_time"] = np.nan
    report = plain_report(results)
    assert "waiting" not in [table.name for table in report.tables]
    assert "users" not in [table.name for table in report.tables]


@pytest.mark.parametrize("axes", [[], ["replication"]])
def test_a_campaign_without_axes_has_one_row(axes: list[str]) -> None:
    results = MadeUp(2)
    results.axes = axes
    report = plain_report(results)
    assert all(len(table.frame) == 1 for table in report.tables)
    assert report.figures == []


def test_no_runs_give_an_empty_report() -> None:
    results = MadeUp(0)
    results.runs = pd.DataFrame()
    assert plain_report(results).sections == ()
