"""The report of the study: Tables 1 and 2 beside the published values, and Figures 2 to 11.

A campaign calls :func:`report` of this file; it is loaded from its path, hence the modules beside
it are as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

from batsched_py.campaign.modules import study_module
from batsched_py.files import write_whole

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

    from batsched_py.workload import Workload


class Results(Protocol):
    """What a campaign hands over."""

    out: Path
    """Where tables and figures go."""
    study: Path
    """The folder of this file."""

    @property
    def runs(self) -> pd.DataFrame:
        """A row per finished run: ``log``, ``infrastructure``, ``replay``, ``size``, ``shake``
        (seed, missing for the given order of events), if need be ``first`` (number of jobs
        replayed, missing for all), ``nb_res``, and the metrics in SI units."""

    def jobs(self, run: Any) -> pd.DataFrame:
        """Return the job table of a row of :attr:`runs`."""

    def workload(self, run: Any) -> Workload:
        """Return the recorded jobs of a row of :attr:`runs`."""


def report(results: Results, console: Console | None = None) -> list[Path]:
    """Write tables (CSV, Markdown) and figures (PNG) to ``results.out``; return the files.

    ``README.md`` there lists them, and says which figures could not be drawn and why. With a
    ``console`` the tables are also printed (:func:`show`).
    """
    if console is not None:
        show(results, console)
    results.out.mkdir(parents=True, exist_ok=True)
    paths, text = _write_tables(results)
    figures, notes = _sibling("figures").draw_figures(results)
    text += _figure_list(figures, notes)
    readme = results.out / "README.md"
    write_whole(readme, text.encode())
    return [readme, *paths, *figures]


def show(results: Results, console: Console) -> None:
    """Print the tables and what they say to a terminal."""
    tables = _sibling("tables")
    published = tables.read_published(results.study)
    cells = tables.compare(results.runs, published)
    for title, own in tables.sections(cells, published):
        tables.print_whole(tables.rich_table(title, *tables.grid(own)), console)
    for line in tables.summary_lines(tables.count(cells), tables.rank(cells)):
        console.print(line, markup=False, highlight=False)


def _write_tables(results: Results) -> tuple[list[Path], str]:
    """Write CSV files and ``tables.md``; return them, and the beginning of the README."""
    tables = _sibling("tables")
    published = tables.read_published(results.study)
    cells = tables.compare(results.runs, published)
    counts = tables.count(cells)
    contents = {
        f"{name}.csv": tables.cells_csv(cell for cell in cells if cell.table == name)
        for name in tables.TABLES
    }
    contents["counts.csv"] = tables.counts_csv(counts)
    contents["tables.md"] = "\n".join(
        f"## {title}\n\n{tables.markdown(*tables.grid(own))}"
        for title, own in tables.sections(cells, published)
    )
    paths = []
    for name, content in contents.items():
        write_whole(results.out / name, content.encode())
        paths.append(results.out / name)
    lines = tables.summary_lines(counts, tables.rank(cells))
    items = "".join(f"- {line}\n" for line in lines).replace("*", r"\*")
    text = f"# Replay with feedback\n\n{items}\nTables: [tables.md](tables.md); with full precision"
    text += " and units: table1.csv, table2.csv; counts: counts.csv.\n"
    return paths, text


def _figure_list(figures: Sequence[Path], notes: Sequence[str]) -> str:
    pictures = "".join(f"![{path.stem}]({path.name})\n\n" for path in figures)
    items = "".join(f"- {note}\n" for note in notes)
    left_out = f"## Notes on the figures\n\n{items}\n" if items else ""
    return f"\n{left_out}## Figures\n\n{pictures}".rstrip() + "\n"


def _sibling(name: str) -> ModuleType:
    """Return the module ``name.py`` of this folder."""
    return study_module(Path(__file__).with_name(f"{name}.py"))
