"""Charts as files, whatever is in their names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import altair as alt
import pandas as pd
import pytest
import vl_convert

from batsched_py.errors import UsageError
from batsched_py.figures.chart_files import make_drawable, read_format, render_chart, write_chart

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


# Names in charts, whatever is in them ------------------------------------------------------------


def chart(name: str, **title: str) -> dict[str, Any]:
    size = {"field": name, "type": "quantitative", **title}
    who = {"field": "who", "type": "nominal"}
    rows = [{"who": f"{name} & <b>", name: 3}]
    encoding = {"x": who, "y": size, "tooltip": [who, size]}
    return {"data": {"values": rows}, "mark": "bar", "encoding": encoding}


@pytest.mark.parametrize(
    "name",
    [
        *(
            'x\\": warn("run"), "y',
            "back\\",
            "\\",
            'a "quotation"',
            "\x1b[2J\x07\x00",
            "two\nlines",
        ),
        *("\x85\u202e", "\ufffe\uffff", "\ud800", "</text><script>alert(1)</script>"),
    ],
)
def test_a_name_is_drawn_and_never_computed(name: str) -> None:
    spec = chart("size", title=name)
    spec["data"]["values"][0]["who"] = name
    svg = render_chart("svg", spec).decode()
    assert "<script" not in svg
    (mark,) = vl_convert.vegalite_to_vega(make_drawable(spec))["marks"]
    for expression in ("tooltip", "description"):
        # A quotation mark behind two backslashes would end the text.
        assert '\\\\"' not in mark["encode"]["update"][expression]["signal"]
    assert render_chart("png", spec).startswith(b"\x89PNG")
