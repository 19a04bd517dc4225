"""The kit for studies: selecting, pairing, estimating, beside the published, tables, charts."""

from __future__ import annotations

from math import isnan
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from batsched_py.report import Report
from batsched_py.report.kit.selection import Quantity, Runs
from batsched_py.report.kit.texts import read_published

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "study-reports.md"
WAIT = Quantity("wait", "mean_waiting_time", "wait (min)", 1 / 60)


def runs(**waits: list[float]) -> Runs:
    """Runs of each scheduler, in the reverse order of replications."""
    rows = [
        {"scheduler": name, "replication": at, "mean_waiting_time": 60 * wait}
        for name, values in waits.items()
        for at, wait in reversed(list(enumerate(values)))
    ]
    return Runs(pd.DataFrame(rows), [WAIT])


def test_runs_are_selected_by_labels() -> None:
    both = runs(fcfs=[3, 5], easy=[2])
    assert (len(both.where(scheduler="fcfs")), both.labels("scheduler")) == (2, ["fcfs", "easy"])
    assert not both.where(scheduler="fcfs", replication=7)
    assert not both.where(nodes=4)  # a label that no run has
    assert both.labels("nodes") == []
    assert [key for key, _ in both.groups("scheduler", "nodes")] == [("fcfs",), ("easy",)]
    assert [key for key, _ in both.groups("nodes")] == [()]
    in_order = {name: len(own) for name, own in both.by("scheduler").items()}
    assert list(in_order.items()) == [("easy", 1), ("fcfs", 2)]
    assert both.by("nodes") == {}


def test_values_are_by_replication_in_the_unit_of_the_paper() -> None:
    fcfs_runs = runs(fcfs=[3, 5])
    assert fcfs_runs.values("wait").to_dict() == {0: 3, 1: 5}
    assert fcfs_runs.values("mean_waiting_time").to_list() == [180, 300]
    assert fcfs_runs.values("not measured").empty
    assert (fcfs_runs.mean("wait").value, fcfs_runs.mean("wait").nb) == (4, 2)


def test_changes_are_of_pairs() -> None:
    """Replications differ by a factor of ten; what one has alone does not count."""
    both = runs(fcfs=[1, 10, 3, 4, 5, 500], easy=[2, 20, 6, 8, 10])
    change = both.where(scheduler="easy").change("wait", both.where(scheduler="fcfs"))
    assert (change.value, change.low, change.high, change.nb) == pytest.approx((100, 100, 100, 5))
    middle = both.where(scheduler="easy").median_ratio("wait", both.where(scheduler="fcfs"))
    assert (middle.value, middle.nb) == (2, 5)
    nothing = both.where(scheduler="easy").ratio("wait", both.where(scheduler="none"))
    assert (nothing.nb, isnan(nothing.value)) == (0, True)


def test_the_worked_example_of_the_page(tmp_path: Path) -> None:
    """EASY responds in half the time, of which a number is published; it works without runs too."""
    section = PAGE.read_text(encoding="utf-8").partition("## Use the kit for studies")[2]
    code = section.partition("```python\n")[2].partition("```")[0]
    (tmp_path / "published.toml").write_text("[response]\neasy = 10\n")
    names: dict[str, Any] = {"__file__": str(tmp_path / "report.py")}
    exec(compile(code, PAGE.name, "exec"), names)
    rows = [
        {"scheduler": name, "replication": at, "mean_turnaround_time": 60 * value * (at + 1)}
        | {"utilisation": 0.5}
        for name, value in (("fcfs", 16.0), ("easy", 8.0))
        for at in range(5)
    ]
    made: Report = names["report"](SimpleNamespace(runs=pd.DataFrame(rows)))
    (verdict,) = made.verdicts
    assert verdict.holds
    assert "-50" in verdict.evidence
    (means,) = made.tables
    assert means.frame.query("policy == 'easy'")["difference"].to_list()[0] == pytest.approx(140)
    assert made.figures[0].spec["layer"]
    nothing: Report = names["report"](SimpleNamespace(runs=pd.DataFrame()))
    assert (nothing.sections, nothing.verdicts[0].holds) == ((), None)
    assert read_published(tmp_path) == {"response": {"easy": 10}}
