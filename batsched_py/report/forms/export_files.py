"""Writes a report as files: CSV and Markdown of tables, PNG, SVG and data of figures."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from batsched_py.errors import OutputError
from batsched_py.figures.chart_files import convert_to_png, render_chart
from batsched_py.files.csv_text import format_frame_csv
from batsched_py.files.writers import write_whole
from batsched_py.report.document import Figure, Report, Table, Text
from batsched_py.report.formatting import (
    find_marked_cells,
    format_answer,
    format_headings,
    format_method,
    format_rows,
    format_verdict,
    is_numeric,
)

PAGE = "report.html"
"""The HTML file, in the folder of the campaign."""
FOLDER = "report"
"""The folder next to it that holds the other files."""
TABLES = "tables.md"
_HTML = re.compile(r"(?<!\\)<(?=[A-Za-z/!?])(?!https?:)")


def find_files_folder(page: Path) -> Path:
    """Return the folder of the files that belong to a page."""
    return page.with_name(FOLDER if page.name == PAGE else f"{page.stem}_files")


def write_files(report: Report, folder: Path, rendered: Iterable[dict[str, bytes]]) -> list[Path]:
    """Write tables and figures, ``rendered`` by :func:`render_figure`, into a folder; return paths.

    ``NAME.csv`` of a table holds all columns of its frame with all digits, that of a figure the
    data it shows; ``tables.md`` holds verdicts and tables as they are shown. Each file is written
    whole or not at all; raises :class:`batsched_py.errors.OutputError`, also for a folder that is a
    link, since a link in a stranger's results may lead anywhere.
    """
    if folder.is_symlink():
        raise OutputError(f"{folder} is a link: files are written only into a real folder")
    written = []

    def write(name: str, content: str | bytes) -> None:
        write_whole(folder / name, content)
        written.append(folder / name)

    for table in report.tables:
        write(f"{table.name}.csv", format_frame_csv(table.frame))
    write(TABLES, format_markdown(report))
    for figure, contents in zip(report.figures, rendered, strict=True):
        for suffix, content in contents.items():
            write(f"{figure.name}.{suffix}", content)
        data = collect_data(figure.spec)
        if data is not None:
            write(f"{figure.name}.csv", format_frame_csv(data))
    return written


def format_markdown(report: Report) -> str:
    """Return a report without its figures as Markdown; HTML in it is shown as text."""
    parts = [f"# {report.title}", format_answer(report), *report.cautions]
    if report.verdicts:
        parts += ["## Claims", _verdicts(report)]
    for section in report.sections:
        shown = [part for part in section.parts if not isinstance(part, Figure)]
        if shown:
            parts.append(f"## {section.title}")
        for part in shown:
            parts += [part.markdown] if isinstance(part, Text) else _table(part)
    method = [format_method(report), report.source]
    method += ["\n".join(f"- **{term}**: {means}" for term, means in report.terms)]
    if any(method):
        parts += ["## How it was made", *method]
    text = "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"
    return _HTML.sub(r"\\<", text)


def render_figure(spec: dict[str, Any]) -> dict[str, bytes]:
    """Return a Vega-Lite specification as the bytes of a PNG and an SVG file."""
    svg = render_chart("svg", spec)
    return {"png": convert_to_png(svg), "svg": svg}


def collect_data(spec: dict[str, Any]) -> pd.DataFrame | None:
    """Return the data in a Vega-Lite specification, None if it has none.

    Of several data sets the rows are one below the other, the first column says which is which.
    """
    sets = _data_sets(spec)
    frames = {name: pd.DataFrame(rows) for name, rows in sets.items() if rows}
    if len(frames) < 2:
        return next(iter(frames.values()), None)
    for number, frame in enumerate(frames.values(), 1):
        frame.insert(0, "data_set", number, allow_duplicates=True)
    return pd.concat(frames.values(), ignore_index=True)


def _data_sets(spec: Any) -> dict[str, list[Any]]:
    sets: dict[str, list[Any]] = {}
    if isinstance(spec, dict):
        sets |= spec.get("datasets") or {}
        data = spec.get("data")
        if isinstance(data, dict) and isinstance(data.get("values"), list):
            sets[f"{id(data)}"] = data["values"]
        for key in ("layer", "hconcat", "vconcat", "concat"):
            for inner in spec.get(key) or []:
                sets |= _data_sets(inner)
        sets |= _data_sets(spec.get("spec"))
    return sets


def _verdicts(report: Report) -> str:
    rows = [["Claim", "Log", "Verdict", "Evidence"], ["---"] * 4]
    rows += [[of.claim, of.log, format_verdict(of), of.reasons] for of in report.verdicts]
    return _lines(rows)


def _table(table: Table) -> list[str]:
    shown = table.shown
    rules = ["---:" if is_numeric(table, column) else "---" for column in shown]
    rows = [format_headings(table), rules]
    emphasised = find_marked_cells(table)
    rows += [
        [
            f"**{text}**" if emphasised.get((at, to)) == "mark" else text
            for to, text in enumerate(texts)
        ]
        for at, texts in enumerate(format_rows(table))
    ]
    return [f"### {table.title}", _lines(rows), table.note]


def _lines(rows: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(map(_cell, row)) + " |" for row in rows)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
