"""How values are shown, in files and on a terminal."""

from __future__ import annotations

import io
import math
from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from batsched_py.errors import OutputError
from batsched_py.report import Column, Figure, Report, Section, Table
from batsched_py.report.formatting import format_cell, format_rows
from batsched_py.report.forms.export_files import (
    collect_data,
    format_markdown,
    render_figure,
    write_files,
)
from batsched_py.report.forms.terminal import print_table
from helpers.made_up_report import a_report, published_table


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


def test_every_table_and_figure_has_its_files(tmp_path: Path) -> None:
    paths = write_files(a_report(), tmp_path / "report")
    names = ["waits.csv", "tables.md", "curve.png", "curve.svg", "curve.csv"]
    assert [path.name for path in paths] == names
    assert sorted(path.name for path in (tmp_path / "report").iterdir()) == sorted(names)
    assert (tmp_path / "report" / "curve.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
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
        render_figure(Figure("f", "F", spec))


def test_a_folder_that_cannot_be_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="not a folder"):
        write_files(a_report(), tmp_path / "file")


# Reports on a terminal ---------------------------------------------------------------------------


def printed(width: int = 80, *, terminal: bool = False) -> tuple[Console, io.StringIO]:
    text = io.StringIO()
    plain = {"color_system": None, "legacy_windows": False}
    return Console(file=text, width=width, force_terminal=terminal, **plain), text  # type: ignore[arg-type]


def test_brackets_are_no_markup() -> None:
    console, text = printed()
    print_table(Table("t", "T [s]", pd.DataFrame({"x [red]": ["[bold]y[/bold]"]})), console)
    for words in ("T [s]", "x [red]", "[bold]y[/bold]"):
        assert words in text.getvalue()
