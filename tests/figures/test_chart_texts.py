"""Names in charts, whatever is in them."""

from __future__ import annotations

from typing import Any

import pytest
import vl_convert

from batsched_py.figures.chart_files import make_drawable, render_chart


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


def test_a_field_without_a_title_is_called_by_its_name_all_the_same() -> None:
    made = make_drawable(chart('x\\": warn("run"), "y'))
    assert "\\" not in made["encoding"]["y"]["title"]
    assert made["encoding"]["y"]["field"] in made["data"]["values"][0]
    plain = chart("size")
    assert make_drawable(plain) == plain
