"""Makes the HTML page of a report, one file that needs no network.

The file has the drawing libraries (Vega, Vega-Lite, vega-embed) and the specifications of the
figures with their data. Its content security policy forbids every request.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from numbers import Real
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from batsched_py.figures.chart_files import make_drawable
from batsched_py.files.csv_text import format_frame_csv
from batsched_py.files.readers import read_text
from batsched_py.report.document import Column, Figure, Report, Table, Text
from batsched_py.report.formatting import (
    SYMBOLS,
    WORDS,
    find_marked_cells,
    format_answer,
    format_full_headings,
    format_heading,
    format_method,
    format_value,
    is_nothing,
    is_numeric,
    list_texts_below,
)
from batsched_py.report.forms.runs_table import list_provenance, make_runs_table
from batsched_py.report.forms.schedule_view import pack_schedules
from batsched_py.report.shown_runs import ShownRuns, read_all_stored

MOST_ROWS = 1_000
"""Rows of a table in the page; its CSV file has all rows."""
_SCRIPTS = ("base.js", "tables.js", "charts.js", "runs.js", "schedule.js", "start.js")
_KEYS = {True: "holds", False: "fails", None: "unknown"}
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'; connect-src 'none'"
)


def render_page(
    report: Report,
    results: ShownRuns | None = None,
    *,
    refresh: int | None = None,
    views: Iterable[dict[str, Any]] | None = None,
) -> str:
    """Return the HTML page of a report.

    With ``results`` it has a table of all runs, and the schedules and users of a few runs, which
    are ``views`` if they are already drawn. The page reloads every ``refresh`` seconds, if given.
    """
    stored = [] if results is None else read_all_stored(results)
    figure, of_one = report.main_figure, results is not None and results.what == "run"
    schedules = None if results is None else pack_schedules(results, views)
    made_with = {} if results is None else list_provenance(results, stored)
    with ThreadPoolExecutor(1) as thread:
        vega = thread.submit(bundle_vega)
        data = {
            "figures": {figure.name: _described(figure) for figure in report.figures},
            "runs": None if results is None else make_runs_table(results, stored),
            "schedules": schedules,
        }
    template = _environment().get_template("page.html.jinja")
    return template.render(
        report=report,
        answer=format_answer(report),
        figure=figure,
        method=format_method(report),
        sections=[
            {
                "id": f"section-{at}",
                "title": section.title,
                "for_reference": section.for_reference,
                "parts": [_part(part) for part in section.parts if part is not figure],
            }
            for at, section in enumerate(report.sections, 1)
            if section.parts != (figure,)
        ],
        keys=_KEYS,
        symbols=SYMBOLS,
        words=WORDS,
        results=results,
        schedules=schedules,
        schedule_title="Schedule and users" if of_one else "Schedule and users of one run",
        runs_title="Settings" if of_one else "All runs",
        failures=[] if results is None else [(str(path), why) for path, why in results.failures],
        made_with=[(name, ", ".join(values)) for name, values in made_with.items()],
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        program=f"batsched_py {version('batsched_py')}",
        refresh=refresh,
        policy=_POLICY,
        css=Markup(_asset("page.css")),
        data=Markup(encode_safe_json(data)),
        vega=Markup(vega.result()),
        script=Markup("\n".join(map(_asset, _SCRIPTS))),
    )


def encode_safe_json(value: Any) -> str:
    """Return JSON that may stand in a script element of a page.

    nan and infinite numbers become null.
    """
    text = msgspec.json.encode(value, enc_hook=_as_builtin).decode()
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


@cache
def bundle_vega() -> str:
    """Return the drawing libraries as one script; takes seconds the first time."""
    import vl_convert

    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    for text in ("</script", "<!--"):  # neither is in it today
        bundle = bundle.replace(text, f"\\x3c{text[1:]}")
    return bundle


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("batsched_py.report.forms", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["markdown"] = render_markdown
    environment.filters["code"] = lambda text: Markup(
        re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text)))
    )
    environment.globals["kinds"] = {
        "ours": "simulated",
        "published": "published",
        "difference": "difference",
    }
    environment.filters["inline"] = lambda text: Markup(_markdown().renderInline(text))
    return environment


def render_markdown(text: str) -> Markup:
    """Return Markdown as HTML: raw HTML is shown as text, pictures are left out."""
    return Markup(_markdown().render(text))


@cache
def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")


@cache
def _asset(name: str) -> str:
    return read_text(Path(__file__).parent / "templates" / name)


def _described(figure: Figure) -> dict[str, Any]:
    """Return the specification of a figure with a description for screen readers."""
    spec: dict[str, Any] = make_drawable(figure.spec)
    spec.pop("$schema", None)  # an address
    spec.setdefault("description", f"{figure.title}. {figure.caption}".strip())
    return spec


def _part(part: Table | Figure | Text) -> dict[str, Any]:
    if isinstance(part, Table):
        return {"kind": "table", "table": part, **_table(part)}
    if isinstance(part, Figure):
        return {"kind": "figure", "figure": part}
    return {"kind": "text", "markdown": part.markdown}


def _table(table: Table) -> dict[str, Any]:
    shown = table.shown
    compares = any(column.kind == "published" for column in shown)
    columns = [
        {
            "title": format_heading(column),
            "label": label,
            "kind": column.kind if compares else "",
            "numeric": is_numeric(table, column),
            "first": compares and _begins_group(shown, at),
        }
        for at, (column, label) in enumerate(zip(shown, format_full_headings(table), strict=True))
    ]
    emphasised = find_marked_cells(table)
    kept = table.frame.head(MOST_ROWS)
    values = [
        list(zip(kept[column.name].tolist(), list_texts_below(table, column), strict=False))
        for column in shown
    ]
    rows = [
        [
            _cell(value, below, column, emphasised.get((at, place), ""))
            for place, ((value, below), column) in enumerate(zip(row, shown, strict=True))
        ]
        for at, row in enumerate(zip(*values, strict=True))
    ]
    csv = quote(format_frame_csv(table.frame))
    return {
        "columns": columns,
        "rows": rows,
        "csv": f"data:text/csv;charset=utf-8,{csv}",
        "left_out": len(table.frame) - len(kept),
    }


def _begins_group(shown: tuple[Column, ...], at: int) -> bool:
    """Return whether a simulated and published pair of columns begins here."""
    kind, before = shown[at].kind, shown[at - 1].kind if at else ""
    if not kind:
        return bool(before)
    order = ("ours", "published", "difference")
    return not before or order.index(kind) < order.index(before)


def _cell(value: Any, below: str, column: Column, emphasised: str) -> dict[str, Any]:
    sort = None
    if isinstance(value, Real) and not isinstance(value, bool) and not is_nothing(value):
        sort = repr(float(value))
    text = format_value(value, column)
    return {"text": text, "below": below, "sort": sort, "mark": emphasised}


def _as_builtin(value: Any) -> Any:
    """Return a value that JSON does not know as one that it does."""
    if hasattr(value, "tolist"):  # numpy's arrays and scalars
        return value.tolist()
    return str(value)
