"""The kit for studies: selecting, pairing, estimating, beside the published, tables, charts."""

from __future__ import annotations

from math import isnan, nan
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import altair as alt
import pandas as pd
import pytest

from batsched_py.report import Column, Report, Text, Verdict
from batsched_py.report.kit.charts import inline_data, intervals, numbers, scale_of
from batsched_py.report.kit.selection import Quantity, Runs
from batsched_py.report.kit.tables import columns, where_known
from batsched_py.report.kit.texts import Texts, find_published, in_column, read_published
from batsched_py.support import palette

PAGE = Path(__file__).parents[2] / "docs" / "reports.md"
WAIT = Quantity("wait", "mean_waiting_time", "wait (min)", 1 / 60)
PUBLISHED = {
    "levels": {"columns": ["fcfs", "easy"], "KTH": {"0.5": [3, 4], "1": [5]}},
    "plain": {"6000": 71},
}


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


def test_published_numbers_are_found_by_their_path() -> None:
    assert find_published(PUBLISHED, "plain", 6000) == 71
    assert find_published(PUBLISHED, "plain", 1500, otherwise=0) == 0
    assert find_published(PUBLISHED, "plain", 6000, "deeper") is None
    assert in_column(PUBLISHED, ("levels", "KTH", 0.5), "easy") == 4
    assert in_column(PUBLISHED["levels"], ("KTH", 1), "easy") is None  # the row is shorter
    assert in_column(PUBLISHED, ("levels", "CTC", 1), "easy") is None


def test_texts_are_those_of_the_file_filled_in(tmp_path: Path) -> None:
    figure = 'title = "Waits ({log})"\ncaption = "Of {runs} runs."'
    (tmp_path / "published.toml").write_text(f'[texts]\nnote = "N"\n[figures.waits]\n{figure}')
    texts = Texts(tmp_path)
    assert (texts["note"], texts.title("waits", log="KTH")) == ("N", "Waits (KTH)")
    chart = alt.Chart(pd.DataFrame({"a": [1]})).mark_point()
    made = texts.figure("waits", chart, log="KTH", runs=3)
    assert (made.name, made.title, made.caption) == ("waits", "Waits (KTH)", "Of 3 runs.")
    assert texts.figure("waits", chart, name="other", log="", runs=3).name == "other"


def test_reports_are_told_in_the_file(tmp_path: Path) -> None:
    texts = '[texts]\ntitle = "T"\nsource = "S"\n[verdicts.less]\n'
    claim = 'claim = "Less under {policy}"\nevidence = "{change:+.1f} %"'
    (tmp_path / "published.toml").write_text(texts + claim)
    told = Texts(tmp_path)
    less = told.verdict("less", True, "KTH", policy="EASY", change=-2.5)
    assert less == Verdict("Less under EASY", True, "-2.5 %", "KTH")
    (tmp_path / "published.toml").write_text(f'{texts}{claim}\nreading = "less: below {{change}}"')
    read = Texts(tmp_path).verdict("less", True, "KTH", policy="EASY", change=-2.5)
    assert read == Verdict("Less under EASY", True, "-2.5 %", "KTH", reading="less: below -2.5")
    untold = Texts(tmp_path).verdict("less", None, policy="EASY", tell=False)
    assert untold.reading == untold.evidence == ""
    with pytest.raises(KeyError, match="change"):
        told.verdict("less", True, "KTH", policy="EASY")
    parts = [("Shown", [Text("a"), None]), ("Left out", [None])]
    made = told.report(parts, [less], "Short.")
    assert (made.title, made.source, made.summary, made.verdicts) == ("T", "S", "Short.", (less,))
    assert [section.title for section in made.sections] == ["Shown"]
    assert told.report([], [], "", title="Other").title == "Other"


def test_columns_about_published_numbers_are_shown_where_there_is_one() -> None:
    shown = [
        *columns("a", {"b, low": "from"}, decimals=1, kind="ours", c="to"),
        *columns("theirs", "more", kind="published"),
    ]
    assert shown[1] == Column("b, low", "from", 1, "ours")
    rows = [{"a": nan, "theirs": None, "more": 1}, {"a": 1, "theirs": nan, "more": None}]
    assert [column.name for column in where_known(rows, shown)] == ["a", "b, low", "c", "more"]


def test_parts_of_charts() -> None:
    scale = scale_of({"easy": "red", "fcfs": "blue", "sjf": "green"}, {"sjf", "easy"})
    assert scale.to_dict() == {"domain": ["easy", "sjf"], "range": ["red", "green"]}
    plain, titled = (tip.to_dict() for tip in numbers("low", ours="mean"))
    assert (plain["field"], titled["title"], titled["format"]) == ("low", "mean", ".4~g")
    assert inline_data([{"a": nan}, {"a": 1.0}]).to_dict() == {"values": [{"a": None}, {"a": 1.0}]}


def test_the_worked_example_of_the_page(tmp_path: Path) -> None:
    """EASY responds in half the time, of which a number is published; it works without runs too."""
    section = PAGE.read_text(encoding="utf-8").partition("### The kit for studies")[2]
    code = section.partition("```python\n")[2].partition("```")[0]
    (tmp_path / "published.toml").write_text("[response]\neasy = 10\n")
    names: dict[str, Any] = {"__file__": str(tmp_path / "report.py")}
    exec(compile(code, "reports.md", "exec"), names)
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


def test_intervals_are_drawn_only_where_there_are_some() -> None:
    """A single run has none: a layer without lines would only widen the axis."""
    whole, single = {"low": 1.0, "high": 2.0}, {"low": None, "high": None}
    assert intervals(alt.Chart(), [single, single], "waits") == []
    (layer,) = intervals(alt.Chart(), [whole, single], "waits", color=palette.BLUE)
    drawn_layer = layer.to_dict()
    assert drawn_layer["transform"] == [{"filter": "isValid(datum.low)"}]
    assert drawn_layer["encoding"]["y2"] == {"field": "high"}


def test_runs_without_a_label_or_replications() -> None:
    """A campaign of one run for each case has no replications."""
    runs = Runs(pd.DataFrame({"policy": ["a", "b"], "mean_waiting_time": [60.0, 90.0]}), [WAIT])
    assert runs.values("wait").to_list() == [1.0, 1.5]
    assert runs.where(policy="b").change("wait", runs.where(policy="a")).value == 50
    runs = Runs(pd.DataFrame({"users": [3.0, nan, 1.0]}))
    assert {value: len(of_value) for value, of_value in runs.by("users").items()} == {1: 1, 3: 1}
    assert list(Runs(pd.DataFrame({"users": ["b", None, "a"]})).by("users")) == ["a", "b"]
