"""Reports as files."""

from __future__ import annotations

from pathlib import Path

import altair as alt
import pandas as pd
import pytest

from batsched_py.errors import OutputError
from batsched_py.report import Figure
from batsched_py.report.forms.export_files import (
    collect_data,
    format_markdown,
    render_figure,
    write_files,
)
from helpers.made_up_report import a_report, published_table


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


def test_markdown_has_verdicts_and_marks() -> None:
    text = format_markdown(a_report())
    assert "| KTH | 10949 | 11000 | \N{MINUS SIGN}0.005 |" in text
    assert "| CTC | **325.5** | 300 | 0.085 |" in text
    assert "| CTC | \N{CHECK MARK} holds |" in text


def test_a_folder_that_cannot_be_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="not a folder"):
        write_files(a_report(), tmp_path / "file")
