"""Writes charts as PNG, SVG, PDF, HTML or JSON files, without a network."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from batsched_py.errors import UsageError
from batsched_py.files.writers import write_whole
from batsched_py.support import palette
from batsched_py.support.terminal_text import escape_controls, one_line

WIDTH = 640
"""Width in pixels of a figure that is as wide as its container."""
LOOKS = {
    "background": "white",
    # as in HTML reports (charts.js)
    "range": {
        "category": list(palette.CATEGORIES),
        "ramp": {"scheme": "viridis"},
        "heatmap": {"scheme": "viridis"},
        "diverging": {"scheme": "blueorange"},
    },
    "mark": {"color": palette.BLUE},
    "axis": {"gridColor": "#d5dae0", "labelFontSize": 11, "titleFontSize": 11},
    "legend": {"labelFontSize": 11, "titleFontSize": 11, "labelLimit": 260},
    "view": {"stroke": "#d5dae0"},
}
"""Default colours and sizes of a figure."""
SCALE = 2.0
"""Pixels of a PNG file per pixel of the figure."""
FORMATS = ("png", "svg", "pdf", "html", "json")

_CLIP = re.compile(r'(id="|url\(#)clip(\d+)')


def read_format(path: Path) -> str:
    """Return the format of a figure by the end of its file name; raises :class:`UsageError`."""
    form = path.suffix.lower().removeprefix(".")
    if form not in FORMATS:
        names = " or .".join(", .".join(FORMATS).rsplit(", .", 1))
        raise UsageError(f"{path}: the name of a figure ends with .{names}")
    return form


def show_charts_offline() -> None:
    """Make notebooks show all charts without a network, unless another renderer was chosen.

    Notebooks that know Vega-Lite show an interactive chart, others show a picture. Altair's default
    loads three scripts from the Internet.
    """
    import altair as alt

    if alt.renderers.active == "default":
        alt.renderers.register("offline", render_for_notebook)
        alt.renderers.enable("offline")


def render_for_notebook(spec: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Return a Vega-Lite specification and its SVG by their MIME types."""
    version = spec.get("$schema", "/v6").rpartition("/v")[2].partition(".")[0]
    vega_lite = f"application/vnd.vegalite.v{version}+json"
    return {vega_lite: spec, "image/svg+xml": render_chart("svg", spec).decode()}


def write_chart(chart: Any, path: Path) -> None:
    """Write a chart of altair, however large, in the format of the file's name.

    The file is written whole or not at all. The same chart gives the same bytes, except for PDF. An
    HTML file needs no network. Raises :class:`UsageError` for an unknown format.
    """
    import altair as alt  # heavy: only if something is drawn

    form = read_format(path)
    with alt.data_transformers.enable("default", max_rows=None):
        spec = chart.to_dict()
    write_whole(path, render_chart(form, spec))


def render_chart(form: str, spec: dict[str, Any]) -> bytes:
    """Return a Vega-Lite specification as the bytes of a file in one of the :data:`FORMATS`."""
    import vl_convert

    spec = make_drawable(set_width(spec))
    options: Any = {"config": LOOKS, "allowed_base_urls": []}
    match form:
        case "png":
            return convert_to_png(vl_convert.vegalite_to_svg(spec, **options).encode())
        case "svg":
            return _numbered_anew(vl_convert.vegalite_to_svg(spec, **options)).encode()
        case "pdf":
            return vl_convert.vegalite_to_pdf(spec, **options)
        case "html":
            return vl_convert.vegalite_to_html(spec, config=LOOKS, bundle=True).encode()
        case _:
            return msgspec.json.format(msgspec.json.encode(spec), indent=1) + b"\n"


def convert_to_png(svg: bytes) -> bytes:
    """Return the SVG of a figure as PNG."""
    import vl_convert

    return vl_convert.svg_to_png(svg.decode(), scale=SCALE)


def set_width(spec: dict[str, Any]) -> dict[str, Any]:
    """Return a specification with a width in pixels in place of that of the container."""
    return spec | {"width": WIDTH} if spec.get("width") == "container" else spec


def _numbered_anew(svg: str) -> str:
    """Return an SVG whose clip paths are numbered from 1."""
    numbers: dict[str, int] = {}

    def counted(match: re.Match[str]) -> str:
        return f"{match[1]}clip{numbers.setdefault(match[2], len(numbers) + 1)}"

    return _CLIP.sub(counted, svg)


_ROWS = ("data", "datasets")
_NO_XML = re.compile("[\ufffe\uffff]")
_BACKSLASH = "\N{REVERSE SOLIDUS OPERATOR}"


def make_drawable(spec: Any, *, is_data: bool = False) -> Any:
    """Return a Vega-Lite specification without texts that break the drawing library.

    Control characters, which end the process of the drawing library, are shown as numbers.
    Backslashes in titles are replaced, since Vega-Lite puts titles (or names of fields) between
    quotation marks into expressions.
    """
    if isinstance(spec, list | tuple):
        return [make_drawable(item, is_data=is_data) for item in spec]
    if not isinstance(spec, dict):
        return _text(spec) if isinstance(spec, str) else spec
    made = {
        _text(key): make_drawable(value, is_data=is_data or key in _ROWS)
        for key, value in spec.items()
    }
    title = None if is_data else spec.get("title", spec.get("field"))
    if isinstance(title, str) and (clean := one_line(title).replace("\\", _BACKSLASH)) != title:
        made["title"] = clean
    return made


@lru_cache(1 << 12)  # the names of columns come again in each row
def _text(text: str) -> str:
    return _NO_XML.sub("\ufffd", escape_controls(text))
