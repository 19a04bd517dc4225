"""Policies by metrics, beside numbers that are counted by hand, and the axes of a campaign."""

from __future__ import annotations

from itertools import product
from math import isnan, nan
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.report import Table
from batsched_py.report.answers import INCONCLUSIVE
from batsched_py.report.campaign_axes import classify_axes, find_compared_axis, shorten_names
from batsched_py.report.formatting import format_headings
from batsched_py.report.metric_matrix import format_change, make_metric_matrix
from batsched_py.report.metric_words import choose_metrics
from batsched_py.support.statistics import Interval, paired_difference, paired_ratio

HOURS = 3600
MINUS = "\N{MINUS SIGN}"


def runs_of(waits: dict[tuple[str, str], list[float]], metric: str) -> pd.DataFrame:
    """Return runs by policy and log, a replication for each value."""
    return pd.DataFrame(
        [
            {"scheduler": policy, "log": log, "replication": at, metric: value}
            for (policy, log), values in waits.items()
            for at, value in enumerate(values)
        ]
    )


def matrix_of(
    waits: dict[tuple[str, str], list[float]],
    metric: str = "mean_waiting_time",
    drop: tuple[int, ...] = (),
) -> Table:
    runs = runs_of(waits, metric).drop(index=list(drop))
    axes = classify_axes(runs, ["scheduler", "log", "replication"])
    shown = choose_metrics(runs, [metric])
    matrix = make_metric_matrix(runs, axes, shown, name="m", title="M", base="easy")
    assert matrix is not None
    return matrix


def test_each_policy_stands_beside_the_first_one_of_its_log() -> None:
    waits = {
        ("easy", "KTH"): [10.0, 20.0, 40.0, 10.0, 20.0],
        ("mine", "KTH"): [5.0, 12.0, 18.0, 5.0, 10.0],
        ("easy", "CTC"): [1.0, 2.0, 3.0, 1.0, 3.0],
        ("mine", "CTC"): [1.5, 1.0, 3.5, 1.0, 3.0],
    }
    matrix = matrix_of(waits)
    rows = matrix.frame.to_dict("records")
    assert [(row["log"], row["scheduler"]) for row in rows] == [
        *(("KTH", "easy"), ("KTH", "mine")),
        *(("CTC", "easy"), ("CTC", "mine")),
    ]
    for row, log in ((rows[1], "KTH"), (rows[3], "CTC")):
        expected = paired_ratio(waits["mine", log], waits["easy", log])
        name = "mean_waiting_time_change"
        ends = (row[name], row[f"{name}_low"], row[f"{name}_high"])
        assert ends == (expected.value - 1, expected.low - 1, expected.high - 1)
        assert row["mean_waiting_time"] == sum(waits["mine", log]) / 5
    assert rows[1]["mean_waiting_time_words"] == f"{MINUS}50 %\n({MINUS}59 to {MINUS}39)\nbetter"
    assert rows[3]["mean_waiting_time_words"].splitlines()[::2] == ["0 %", INCONCLUSIVE]
    assert matrix.better == ((1, "mean_waiting_time"),)
    assert all(isnan(rows[at]["mean_waiting_time_change"]) for at in (0, 2))


def test_runs_are_paired_by_replication_and_not_by_place() -> None:
    easy = [10.0, 20.0, 40.0, 70.0, 90.0, 100.0]
    waits = {("easy", "KTH"): easy, ("mine", "KTH"): [wait / 2 for wait in easy]}
    row = matrix_of(waits, drop=(1,)).frame.to_dict("records")[1]  # the second of EASY is missing
    assert row["mean_waiting_time_change"] == -0.5
    # Half in each pair.
    assert row["mean_waiting_time_words"].splitlines()[1] == f"({MINUS}50 to {MINUS}50)"


def test_a_clear_change_is_better_or_worse_or_has_a_direction() -> None:
    low, high = [1.0, 1.1, 1.2, 1.1, 1.0], [2.0, 2.2, 2.3, 2.2, 2.0]
    cells = ((1, "mean_waiting_time"),)
    shorter = matrix_of({("easy", "KTH"): high, ("mine", "KTH"): low})
    assert (shorter.better, shorter.worse, shorter.marks) == (cells, (), ())
    longer = matrix_of({("easy", "KTH"): low, ("mine", "KTH"): high})
    assert (longer.better, longer.worse, longer.marks) == ((), cells, ())
    busier = matrix_of({("easy", "KTH"): low, ("mine", "KTH"): high}, "utilisation")
    assert (busier.better, busier.worse, busier.marks) == ((), (), ())
    assert busier.frame["utilisation_words"][1].endswith("\nhigher")


def test_lateness_changes_by_hours_and_not_by_a_share_of_what_may_be_0() -> None:
    late = {
        ("easy", "KTH"): [at * HOURS for at in (-2.0, 0.0, 2.0, 1.0, 1.0)],
        ("mine", "KTH"): [at * HOURS for at in (1.0, 3.5, 4.5, 3.5, 4.5)],
    }
    matrix = matrix_of(late, "mean_lateness")
    row = matrix.frame.to_dict("records")[1]
    expected = paired_difference(late["mine", "KTH"], late["easy", "KTH"])
    assert row["mean_lateness_change"] == expected.value == 3 * HOURS
    assert row["mean_lateness_words"] == "+3.0 h\n(+2.4 to +3.6)\nlater"
    assert format_headings(matrix) == ["policy", "mean lateness [h]"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (Interval(2.64, nan, nan, 1), "+2.6 %"),
        (Interval(-0.0512, nan, nan, 1), f"{MINUS}0.05 %"),
        (Interval(0.0001, nan, nan, 1), "0.00 %"),
        (Interval(-2.0, -4.0, -0.02, 5), f"{MINUS}2.0 %\n({MINUS}4.0 to {MINUS}0.02)"),
        (Interval(2.64, 1.01, 4.2, 5), "+2.6 %\n(+1.0 to +4.2)"),
        (Interval(2.64, -1.01, 4.2, 5), f"+2.6 %\n({MINUS}1.0 to +4.2)\n{INCONCLUSIVE}"),
        (Interval(nan, nan, nan, 0), ""),
    ],
)
def test_changes_in_words(change: Interval, expected: str) -> None:
    assert format_change(change, "%") == expected


# What the axes of a campaign are for, and how their values are called ----------------------------


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        # The schedulers tell the policies from the machines, wherever they stand.
        ({"nodes": [1, 1, 2, 2], "system": ["a", "b"] * 2, "scheduler": ["e", "f"] * 2}, "system"),
        ({"nodes": [1, 1, 2, 2], "scheduler": ["e", "f"] * 2}, "scheduler"),
        # One scheduler for all: the first axis that is no input.
        ({"log": ["k", "c"] * 2, "nodes": [1, 1, 2, 2], "scheduler": ["e"] * 4}, "nodes"),
        # Logs are not compared with each other, nor are sweeps of many values.
        ({"log": ["k", "c"]}, None),
        ({"alpha": list(range(9))}, None),
        ({"alpha": list(range(8))}, "alpha"),
        # Many policies are.
        ({"scheduler": [str(number) for number in range(9)]}, "scheduler"),
    ],
)
def test_the_axis_of_the_policies_is_compared(
    columns: dict[str, list[Any]], expected: str | None
) -> None:
    axes = [name for name in columns if name != "scheduler"] or ["scheduler"]
    axes += ["scheduler"] if expected == "scheduler" and "scheduler" not in axes else []
    assert find_compared_axis(pd.DataFrame(columns), axes) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["easy", "mine/a.py:Best"], ["easy", "Best"]),
        (["x/a.py:Best", "y/a.py:Best", "c.py:Other"], ["x/a.py:Best", "y/a.py:Best", "Other"]),
        (["/logs/KTH.swf.gz", "sample"], ["KTH", "sample"]),
        ([0.5, 1.0], ["0.5", "1"]),
        ([None, "2x64"], ["none", "2x64"]),
    ],
)
def test_names_are_short(values: list[Any], expected: list[str]) -> None:
    assert list(shorten_names(values).values()) == expected


PLACES = list(map("".join, product(("", "x/", "y/"), ("a.py:", "b.py:"), ("One", "Two"))))


@given(st.lists(st.sampled_from(PLACES), unique=True))
def test_no_two_names_are_alike(values: list[str]) -> None:
    assert len(set(shorten_names(values).values())) == len(values)
