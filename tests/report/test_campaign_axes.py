"""What the axes of a campaign are for, and how their values are called."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from batsched_py.report.campaign_axes import (
    classify_axes,
    find_compared_axis,
    shorten_names,
)


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


def test_users_are_an_axis_also_by_variants() -> None:
    runs = pd.DataFrame(
        {
            "scheduler": ["easy", "fcfs"] * 4,
            "replay": ["plain", "plain", "people", "people"] * 2,
            "users": ["rigid", "rigid", "feedback", "feedback"] * 2,
            "speed_factor": [1.0] * 4 + [2.0] * 4,
            "replication": [0] * 8,
        }
    )
    axes = classify_axes(runs, ["scheduler", "replay", "speed_factor", "replication", "never_run"])
    assert (axes.compared, axes.users, axes.others) == ("scheduler", "replay", ("speed_factor",))
    assert (axes.repeats, axes.labels) == (
        ("replication",),
        ("replay", "speed_factor", "scheduler"),
    )


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["easy", "mine/a.py:Best"], ["easy", "Best"]),
        (["a.py:Best", "b.py:Best"], ["a.py:Best", "b.py:Best"]),
        (["x/a.py:Best", "y/a.py:Best", "c.py:Other"], ["x/a.py:Best", "y/a.py:Best", "Other"]),
        (["Best", "a.py:Best"], ["Best", "a.py:Best"]),
        (["/logs/KTH.swf.gz", "sample"], ["KTH", "sample"]),
        (["/one/KTH.swf", "/two/KTH.swf"], ["one/KTH.swf", "two/KTH.swf"]),
        ([0.5, 1.0], ["0.5", "1"]),
        ([None, "2x64"], ["none", "2x64"]),
    ],
)
def test_names_are_short_and_differ(values: list[Any], expected: list[str]) -> None:
    assert list(shorten_names(values).values()) == expected
