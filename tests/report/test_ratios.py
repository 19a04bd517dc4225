"""Policies beside each other, seed by seed."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from batsched_py.report.default_report import plain_report
from batsched_py.report.kit.estimates import mean_of_repeats
from batsched_py.report.paired_ratios import compared_axis, ratios_table
from batsched_py.support.statistics import paired_ratio
from helpers.made_up_report import MadeUp


def runs_of(waits: dict[tuple[str, str], list[float]]) -> pd.DataFrame:
    """Return runs by policy and log, a replication for each wait."""
    return pd.DataFrame(
        [
            {"policy": policy, "log": log, "scheduler": policy, "replication": at, "wait": wait}
            for (policy, log), values in waits.items()
            for at, wait in enumerate(values)
        ]
    )


def table_of(runs: pd.DataFrame, repeats: tuple[str, ...] = ("replication",)) -> Any:
    table = ratios_table(runs, ["policy", "log"], ["wait"], repeats)
    assert table is not None
    return table


def test_each_policy_stands_beside_the_first_one_of_its_log() -> None:
    waits = {
        ("easy", "KTH"): [10.0, 20.0, 40.0],
        ("mine", "KTH"): [5.0, 12.0, 18.0],
        ("easy", "CTC"): [1.0, 2.0, 3.0],
        ("mine", "CTC"): [1.5, 1.0, 3.5],
    }
    table = table_of(runs_of(waits))
    for row, log in zip(table.frame.to_dict("records"), ("KTH", "CTC"), strict=True):
        expected = paired_ratio(waits["mine", log], waits["easy", log])
        assert (row["policy"], row["log"], row["pairs"]) == ("mine", log, 3)
        ratio = (row["ratio"], row["low"], row["high"])
        assert ratio == (expected.value, expected.low, expected.high)
    assert table.marks == ((0, "ratio"),)  # of CTC's interval 1 is inside
    assert "policy easy" in table.title


def test_runs_are_paired_by_replication_and_not_by_place() -> None:
    runs = runs_of({("easy", "KTH"): [10.0, 20.0, 40.0], ("mine", "KTH"): [5.0, 10.0, 20.0]})
    runs = runs.drop(index=[1])  # the second of EASY is missing
    (row,) = table_of(runs).frame.to_dict("records")
    assert (row["ratio"], row["pairs"]) == (0.5, 2)
    assert row["low"] == row["high"] == 0.5  # half in each pair, whichever is drawn


def test_replications_that_do_not_differ_have_no_interval() -> None:
    runs = runs_of({("easy", "KTH"): [10.0] * 3, ("mine", "KTH"): [5.0] * 3})
    table = table_of(runs)
    assert [column.name for column in table.shown] == ["log", "policy", "metric", "ratio", "pairs"]
    assert table.frame["ratio"].tolist() == [0.5]
    assert "do not differ" in table.note
    assert table.marks == ()


def test_of_one_run_each_there_is_a_ratio_only() -> None:
    runs = runs_of({("easy", "KTH"): [10.0], ("mine", "KTH"): [5.0]})
    table = table_of(runs, ())
    assert table.frame[["ratio", "pairs"]].to_numpy().tolist() == [[0.5, 1]]
    assert "`replications`" in table.note


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
    ],
)
def test_the_axis_of_the_policies_is_compared(
    columns: dict[str, list[Any]], expected: str | None
) -> None:
    axes = [name for name in columns if name != "scheduler"] or ["scheduler"]
    axes += ["scheduler"] if expected == "scheduler" else []
    assert compared_axis(pd.DataFrame(columns), axes) == expected


def test_the_plain_report_begins_with_the_ratios() -> None:
    report = plain_report(MadeUp(5))  # type: ignore[arg-type]
    first = report.tables[0]
    assert first.name == "ratios"
    waits = first.frame[first.frame["metric"] == "mean waiting time"]
    assert waits[["alpha", "policy"]].to_numpy().tolist() == [[600, "creasy"], [6000, "creasy"]]
    assert (waits["high"] < 1).all()
    assert [section.title for section in report.sections][:2] == ["Compared", "Metrics"]


@pytest.mark.parametrize(("nb", "words"), [(1, "Means over `replication`"), (3, "gave the same")])
def test_a_report_of_equal_replications_says_that_there_are_no_intervals(
    nb: int, words: str
) -> None:
    results = MadeUp(nb)
    for name in ("mean_waiting_time", "mean_bounded_slowdown", "utilisation"):
        results.runs[name] = 5.0
    report = plain_report(results)  # type: ignore[arg-type]
    assert words in report.summary
    assert "bootstrap" not in report.summary
    names = {column.name for table in report.tables for column in table.shown}
    assert not {name for name in names if name == "low" or name.endswith("_low")}
    assert all(len(figure.spec["layer"]) == 1 for figure in report.figures)


def test_an_interval_of_equal_values_is_none() -> None:
    assert mean_of_repeats([3.0, 3.0]).low != mean_of_repeats([3.0, 3.0]).low  # nan
    assert mean_of_repeats([3.0, 4.0]).low == 3.0
