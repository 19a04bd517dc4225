"""Pages of the documentation that a command writes: a template with its tables filled in."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path

from batsched_py.files.readers import read_text

DOCS = Path(__file__).parents[2] / "docs"


def format_line(*cells: object) -> str:
    """Return a line of a Markdown table."""
    return f"| {' | '.join(map(str, cells))} |"


def fill_template(template: Path, parts: Mapping[str, str]) -> str:
    """Return the template with each ``{{name}}`` replaced by the part of that name."""
    text = read_text(template)
    for name, part in parts.items():
        text = text.replace("{{" + name + "}}", part)
    return text


def make_page_parser(study: str, page: Path, shared: str = "") -> ArgumentParser:
    """Return the command-line parser of ``python -m batsched_studies.STUDY``, which writes a page.

    ``shared`` is the help of the option ``--shared``; without it there is no such option.
    """
    description = f"Write docs/validation/{page.name}."
    parser = ArgumentParser(f"python -m batsched_studies.{study}", description=description)
    if shared:
        parser.add_argument("--shared", type=Path, required=True, help=shared)
    parser.add_argument("--output", type=Path, default=page, help="the page")
    return parser
