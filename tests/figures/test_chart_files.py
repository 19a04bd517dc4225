"""Charts as files."""

from __future__ import annotations

import json
from pathlib import Path

import altair as alt
import pandas as pd
import pytest

from batsched_py.errors import UsageError
from batsched_py.figures.chart_files import read_format, write_chart

SMALL = pd.DataFrame({"x": [1.0, 2.0], "y": [3.0, 5.0]})


def a_chart(data: pd.DataFrame = SMALL) -> alt.Chart:
    return alt.Chart(data).mark_rect(clip=True).encode(x="x:Q", y="y:Q").properties(width=300)


@pytest.mark.parametrize(
    ("form", "beginning"),
    [
        ("png", b"\x89PNG"),
        ("SVG", b"<svg"),
        ("pdf", b"%PDF"),
        ("html", b"<!DOCTYPE html>"),
        ("json", b"{"),
    ],
)
def test_the_end_of_the_name_says_the_format(form: str, beginning: bytes, tmp_path: Path) -> None:
    path = tmp_path / "deep" / f"chart.{form}"
    write_chart(a_chart(), path)
    assert path.read_bytes().startswith(beginning)
    if form != "pdf":
        write_chart(a_chart(), tmp_path / f"again.{form}")
        assert (tmp_path / f"again.{form}").read_bytes() == path.read_bytes()


def test_another_end_is_refused() -> None:
    with pytest.raises(UsageError, match=r"a\.gif"):
        read_format(Path("a.gif"))


def test_a_chart_of_many_rows_is_written_and_altair_is_left_as_it_was(tmp_path: Path) -> None:
    many = pd.DataFrame({"x": range(6000), "y": range(6000)})
    write_chart(a_chart(many), tmp_path / "many.json")
    (rows,) = json.loads((tmp_path / "many.json").read_text())["datasets"].values()
    assert len(rows) == 6000
    with pytest.raises(alt.MaxRowsError):
        a_chart(many).to_dict()


def test_a_page_needs_no_network(tmp_path: Path) -> None:
    write_chart(a_chart(), tmp_path / "chart.html")
    page = (tmp_path / "chart.html").read_text()
    assert 'src="http' not in page
    assert "vegaEmbed" in page
