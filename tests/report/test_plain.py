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
    (waiting,) = [table for table in plain_report(results).tables if table.name == "waiting"]
    labels = waiting.frame[["policy", "alpha", "runs"]].to_numpy().tolist()
    assert labels == [[policy, at, 5] for policy in ("easy", "creasy") for at in (600, 6000)]
    waits = results.runs.query("policy == 'creasy' and alpha == 600")["mean_waiting_time"]
    row = waiting.frame.iloc[2]
    interval = bootstrap(waits)
    assert row["mean_waiting_time"] == pytest.approx(waits.mean())
    assert row["mean_waiting_time_low"] == interval.low < waits.mean() < interval.high
    name = "mean_waiting_time"
    assert [column.name for column in waiting.shown][3:] == [name, f"{name}_low", f"{name}_high"]


def test_a_number_is_drawn_across_and_the_rest_is_coloured() -> None:
    figure = plain_report(MadeUp(2)).figures[0]
    assert figure.spec["encoding"]["x"]["field"] == "alpha"
    assert figure.spec["encoding"]["color"]["sort"] == ["easy", "creasy"]
    assert [row["runs"] for row in figure.spec["data"]["values"]] == ["easy"] * 2 + ["creasy"] * 2
    assert drawn(figure)["png"][:4] == b"\x89PNG"


def test_labels_are_drawn_below_each_other() -> None:
    results = MadeUp(2)
    results.runs["alpha"] = results.runs["alpha"].astype(str) + " s"
    figure = plain_report(results).figures[0]
    assert figure.spec["encoding"]["y"]["field"] == "runs"
    assert figure.spec["data"]["values"][0]["runs"] == "easy, 600 s"
    assert drawn(figure)["png"][:4] == b"\x89PNG"


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
