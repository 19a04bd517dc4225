"""Reports in all forms: the page, with its schedules, users and runs; files; a terminal."""

from __future__ import annotations

import io
import json
import math
import re
from html.parser import HTMLParser
from pathlib import Path

import altair as alt
import msgspec
import numpy as np
import pandas as pd
import pytest
import vl_convert
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from batsched_py.figures import run_figures
from batsched_py.figures.chart_files import LOOKS, SCALE, make_drawable, set_width
from batsched_py.report import Column, Report, Section, Table
from batsched_py.report.formatting import format_cell, format_rows
from batsched_py.report.forms.export_files import (
    collect_data,
    format_markdown,
    render_figure,
    write_files,
)
from batsched_py.report.forms.html_page import encode_safe_json, render_markdown, render_page
from batsched_py.report.forms.runs_table import make_runs_table, pack_column
from batsched_py.report.forms.schedule_view import (
    draw_schedule_view,
    draw_schedules,
    summarise_users,
)
from batsched_py.report.forms.terminal import print_table
from batsched_py.report.shown_runs import read_all_stored
from helpers.examples import few_examples
from helpers.made_up_report import EVIL, MadeUp, a_report, published_table, some_jobs


@pytest.fixture(scope="module")
def made() -> str:
    return render_page(a_report(), MadeUp(1, nb_jobs=30))


class Elements(HTMLParser):
    """Counts elements, and keeps their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def test_texts_do_not_become_elements(made: str) -> None:
    elements = Elements(made)
    assert elements.all("b") == []
    assert len(elements.all("script")) == 3
    assert "&lt;b id=" in made


@given(st.text() | st.sampled_from([EVIL, "\u2028", "<!-- <script>", "&amp;", "]]>"]))
def test_data_cannot_leave_their_script_element(text: str) -> None:
    encoded = encode_safe_json({"x": text})
    assert not set(encoded) & set("<>&\u2028\u2029")
    assert json.loads(encoded) == {"x": text}


def test_nothing_is_asked_of_the_network(made: str) -> None:
    elements = Elements(made)
    for tag, attributes in elements.tags:
        for name in ("src", "href", "data", "poster", "srcset", "action"):
            address = attributes.get(name)
            assert address is None or address.startswith(("#", "data:")), (tag, address)
    (policy,) = [meta["content"] for meta in elements.all("meta") if "http-equiv" in meta]
    assert policy is not None
    assert "default-src 'none'" in policy
    assert "connect-src 'none'" in policy
    assert "http" not in policy


def test_markdown_is_rendered_without_html_and_pictures() -> None:
    assert render_markdown("**a** `b`") == "<p><strong>a</strong> <code>b</code></p>\n"
    assert "<img" not in render_markdown("![x](https://example.org/x.png) <img src=x>")
    assert "<a" not in render_markdown("[x](javascript:alert(1))")


# Windows of schedules, users, and the table of runs, as the page gets them -----------------------


def run_of(jobs: pd.DataFrame) -> run_figures.JobsOfRun:
    return run_figures.JobsOfRun(jobs, {"nb_processors": 64})


def shown_jobs(chart: dict) -> list[str]:
    """Return the jobs of the schedule, the first panel, row by row."""
    return chart["datasets"][chart["vconcat"][0]["data"]["name"]]["job_id"]


@settings(few_examples)
@given(st.integers(2, 40), st.integers(1, 20), st.integers(0, 3))
def test_a_window_is_bounded_and_has_all_that_runs_in_it(nb: int, most: int, seed: int) -> None:
    jobs = some_jobs(nb, seed=seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_figures, "READABLE_RECTANGLES", most)
        patch.setattr(run_figures, "MOST_RECTANGLES", most)
        begin, end = run_figures.find_window(jobs)
        shown = shown_jobs(draw_schedule_view(run_of(jobs)))
    inside = (jobs["starting_time"] < end) & (jobs["finish_time"] > begin)
    assert 1 <= len(shown) <= most
    if inside.sum() <= most:  # else more than that run at one instant
        assert set(shown) == set(jobs["job_id"][inside])


def test_users_are_means_over_their_own_jobs() -> None:
    jobs = some_jobs(100)
    users = summarise_users(jobs)
    at = users["user"].index("3")
    jobs_of_user = jobs[jobs["user"] == "3"]
    run = jobs_of_user["finish_time"] - jobs_of_user["starting_time"]
    turnaround = jobs_of_user["finish_time"] - jobs_of_user["submission_time"]
    expected = {
        "jobs": len(jobs_of_user),
        "wait": (jobs_of_user["starting_time"] - jobs_of_user["submission_time"]).mean(),
        "slowdown": np.maximum(1, turnaround / np.maximum(run, 10)).mean(),
        "lateness": jobs_of_user["lateness"].mean(),
        "activity": jobs_of_user["submission_time"].max() - jobs_of_user["submission_time"].min(),
        "area": (run * jobs_of_user["requested_number_of_resources"]).sum(),
    }
    assert {name: users[name][at] for name in expected} == pytest.approx(expected, rel=1e-5)


_VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**60), 2**60), st.floats(), st.text(max_size=5)
)


def unpacked(column: dict, row: int) -> object:
    if "v" in column:
        return column["v"][row]
    return column["u"][column["i"][row] if "i" in column else 0]


@given(st.lists(_VALUES, min_size=1, max_size=30))
def test_a_packed_column_gives_its_values_back(values: list) -> None:
    column = msgspec.json.decode(msgspec.json.encode(pack_column(values)))
    for row, value in enumerate(values):
        restored = unpacked(column, row)
        if value is None or value != value:
            assert restored is None
        elif isinstance(value, bool | str):
            assert restored is value or restored == value
        elif isinstance(value, int):
            assert restored == (value if abs(value) <= 2**53 else str(value))
        elif abs(value) == float("inf"):
            assert restored == str(value)
        else:
            assert restored == pytest.approx(value, rel=1e-5)


def test_no_run_at_all_is_no_error() -> None:
    results = MadeUp(0)
    results.runs = pd.DataFrame()
    assert list(draw_schedules(results)) == []
    assert make_runs_table(results, read_all_stored(results))["n"] == 0


# Cells, files and terminals -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        (17.25, None, "17.25"),
        (0.00123456, None, "0.001235"),
        (1.5e-7, None, "1.500e-07"),
        (np.int64(7), None, "7"),
        (-0.0045951, 3, "\N{MINUS SIGN}0.005"),
        (-0.0001, 2, "0.00"),  # not minus nothing
        (7, 2, "7.00"),
        (float("nan"), 2, "\N{EN DASH}"),
        (pd.NA, None, "\N{EN DASH}"),
        (math.inf, None, "\N{INFINITY}"),
        (np.bool_(False), None, "no"),
        ("easy", 3, "easy"),
    ],
)
def test_a_value_is_shown(value: object, decimals: int | None, text: str) -> None:
    assert format_cell(value, decimals) == text


@given(st.floats(min_value=1e-4, max_value=1e8))
def test_four_significant_digits_are_enough_to_read_a_number_back(value: float) -> None:
    assert float(format_cell(value)) == pytest.approx(value, rel=6e-4)


def test_lines_below_a_value_stay_in_their_row() -> None:
    """Of a campaign with replications: a change, its interval, and whether it is clear."""
    frame = pd.DataFrame({"wait": [10.0], "words": ["+5 %\n(\N{MINUS SIGN}1 to +11)\nwithin\x1b"]})
    table = Table("t", "T", frame, (Column("wait", below="words"),))
    change = "+5 %\n(\N{MINUS SIGN}1 to +11)\nwithin\\u001b"
    assert format_rows(table) == [[f"10.00\n{change}"]]
    report = Report("T", "", (Section("S", (table,)),))
    assert f"| 10.00 {' '.join(change.split(chr(10)))} |" in format_markdown(report)


# Reports as files --------------------------------------------------------------------------------


def test_cells_of_a_narrow_screen_have_whole_labels() -> None:
    frame = pd.DataFrame({"log": ["KTH"], "ours": [1.0], "theirs": [2.0], "other": [1.0]})
    shown = (
        *(Column("log"), Column("ours", "makespan (d)", kind="ours")),
        Column("theirs", "paper", kind="published"),
        Column("other", "here - paper", kind="difference"),
    )
    html = render_page(Report("R", "", (Section("S", (Table("t", "T", frame, shown),)),)))
    labels = re.findall('data-label="(.*?)"', html)
    wanted = ["log", "makespan (d)", "makespan (d): paper", "makespan (d): here - paper"]
    assert labels == wanted


def test_every_table_and_figure_has_its_files(tmp_path: Path) -> None:
    rendered = [render_figure(figure.spec) for figure in a_report().figures]
    paths = write_files(a_report(), tmp_path / "report", rendered)
    names = ["waits.csv", "tables.md", "curve.png", "curve.svg", "curve.csv"]
    assert [path.name for path in paths] == names
    assert sorted(path.name for path in (tmp_path / "report").iterdir()) == sorted(names)
    spec, looks = a_report().figures[0].spec, {"config": LOOKS, "allowed_base_urls": []}
    drawn = vl_convert.vegalite_to_png(make_drawable(set_width(spec)), scale=SCALE, **looks)
    assert (tmp_path / "report" / "curve.png").read_bytes() == drawn  # made from the SVG
    assert "offered load" in (tmp_path / "report" / "curve.svg").read_text()
    frame = pd.read_csv(tmp_path / "report" / "waits.csv")
    pd.testing.assert_frame_equal(frame, published_table().frame)  # all columns, all digits
    data = pd.read_csv(tmp_path / "report" / "curve.csv")
    assert data.shape == (40, 3)
    assert data.iloc[0].to_dict() == {"load": 0.5, "wait": 27.5, "policy": "easy"}


def test_the_data_of_layers_are_one_below_the_other() -> None:
    frames = [pd.DataFrame({"x": [1.0, 2.0]}), pd.DataFrame({"x": [5.0], "y": [7.0]})]
    layers = [alt.Chart(frame).mark_point().encode(x="x:Q") for frame in frames]
    data = collect_data(alt.layer(*layers).to_dict())
    assert data is not None
    assert data.to_csv(index=False) == "data_set,x,y\n1,1.0,\n1,2.0,\n2,5.0,7.0\n"


def test_nothing_is_fetched_for_a_figure() -> None:
    spec = {"data": {"url": "https://example.org/data.csv"}, "mark": "point", "encoding": {}}
    with pytest.raises(ValueError, match=r"example\.org"):
        render_figure(spec)


# Reports on a terminal ---------------------------------------------------------------------------


def printed(width: int = 80, *, terminal: bool = False) -> tuple[Console, io.StringIO]:
    text = io.StringIO()
    plain = {"color_system": None, "legacy_windows": False}
    return Console(file=text, width=width, force_terminal=terminal, **plain), text  # type: ignore[arg-type]


def test_a_narrow_table_without_styles_has_stars_and_whole_headings() -> None:
    frame = pd.DataFrame({"ours": [1.0, 3.0], "theirs": [1.0, 2.0]})
    shown = (Column("ours", "wait", kind="ours"), Column("theirs", "paper", kind="published"))
    console = Console(file=io.StringIO(), width=40)
    print_table(Table("t", "T", frame, shown, marks=((0, "ours"),)), console)
    printed = console.file.getvalue()  # type: ignore[attr-defined]
    assert "wait: paper" in printed
    assert printed.count("* 1.000") == printed.count("*: marked.") == 1


def test_brackets_are_no_markup() -> None:
    console, text = printed()
    print_table(Table("t", "T [s]", pd.DataFrame({"x [red]": ["[bold]y[/bold]"]})), console)
    for words in ("T [s]", "x [red]", "[bold]y[/bold]"):
        assert words in text.getvalue()
