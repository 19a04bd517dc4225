"""Charts as files."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from struct import unpack_from

import altair as alt
import pandas as pd
import pytest
import vl_convert

from batsched_py.errors import UsageError
from batsched_py.figures.chart_files import LOOKS, SCALE, format_of, render_chart, write_chart

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


def test_a_png_is_packed_well_and_has_the_same_pixels() -> None:
    made = vl_convert.vegalite_to_png(a_chart().to_dict(), scale=SCALE, config=LOOKS)
    packed = render_chart("png", a_chart().to_dict())
    assert len(packed) < len(made) / 2
    header, pixels, end = chunks(packed)
    kinds = [kind for kind, _ in (header, pixels, end)]
    assert kinds == [b"IHDR", b"IDAT", b"IEND"]
    as_made = [content for kind, content in chunks(made) if kind == b"IDAT"]
    assert zlib.decompress(pixels[1]) == zlib.decompress(b"".join(as_made))
    assert header in chunks(made)


def chunks(png: bytes) -> list[tuple[bytes, bytes]]:
    """Return kind and content of each, but for how large a pixel is; their sums are checked."""
    at, found = 8, []
    while at < len(png):
        (length,) = unpack_from(">I", png, at)
        kind, content = png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        assert unpack_from(">I", png, at + 8 + length)[0] == zlib.crc32(kind + content)
        found.append((kind, content))
        at += length + 12
    return [chunk for chunk in found if chunk[0] != b"pHYs"]


def test_another_end_is_refused() -> None:
    with pytest.raises(UsageError, match=r"a\.gif: a figure is \.png, \.svg, \.pdf, \.html or"):
        format_of(Path("a.gif"))


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
