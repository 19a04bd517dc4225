"""Pages of the documentation that a command writes: a summary, and its data as CSV files."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from batsched_py.files.csv_text import csv_of_rows
from batsched_py.files.readers import csv_rows, read_text
from batsched_py.files.writers import write_whole

DOCS = Path(__file__).parents[2] / "docs"
Row = Sequence[object]
"""The cells of a line of a table."""


class WrittenPage(NamedTuple):
    """A page as Markdown, and the tables of its data, whose first rows have the column names."""

    text: str
    tables: Mapping[str, Sequence[Row]] = {}

    def write(self, path: Path) -> None:
        """Write the page to ``path``, and each table to ``data/NAME.csv`` next to it."""
        write_whole(path, self.text)
        for name, (header, *rows) in self.tables.items():
            content = csv_of_rows(map(str, header), rows)
            write_whole(path.parent / "data" / f"{name}.csv", content)


def read_data(name: str) -> list[list[str]]:
    """Return the rows of a table of a page of ``docs/validation``, without the column names."""
    path = DOCS / "validation" / "data" / f"{name}.csv"
    return list(csv_rows(read_text(path).splitlines(keepends=True), path))[1:]


def format_lines(rows: Iterable[Row]) -> str:
    """Return the lines of a Markdown table.

    >>> format_lines([("easy", 1), ("fcfs", 2)])
    '| easy | 1 |\\n| fcfs | 2 |'
    """
    return "\n".join(f"| {' | '.join(map(str, cells))} |" for cells in rows)


def fill_template(template: Path, parts: Mapping[str, object]) -> str:
    """Return the template with each ``{{name}}`` replaced by the part of that name."""
    text = read_text(template)
    for name, part in parts.items():
        text = text.replace("{{" + name + "}}", str(part))
    return text


def make_page_parser(study: str, page: Path, shared: str = "") -> ArgumentParser:
    """Return the command-line parser of ``python -m batsched_studies.STUDY``, which writes a page.

    ``shared`` is the help of the option ``--shared``; without it there is no such option.
    """
    description = f"Write docs/validation/{page.name}, and its data in CSV files next to it."
    parser = ArgumentParser(f"python -m batsched_studies.{study}", description=description)
    if shared:
        parser.add_argument("--shared", type=Path, required=True, help=shared)
    parser.add_argument("--output", type=Path, default=page, help="the page")
    return parser
