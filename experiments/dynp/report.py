"""The report of the study: the thesis's tables beside ours, and the monthly figure.

A campaign calls :func:`report` of this file; it is loaded from its path, hence the modules beside
it are as well.
"""

from __future__ import annotations

import csv
import io
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import astuple, fields
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

from batsched_py.campaign.modules import study_module
from batsched_py.data import data_folder
from batsched_py.files import write_whole

if TYPE_CHECKING:
    import pandas as pd
    from measures import Measured
    from rich.console import Console

FILES = {
    "static": ["static"],
    "deciders": ["deciders", "estimates"],
    "metrics": ["metrics"],
    "slackness": ["slackness"],
    "monthly": ["monthly"],
}
"""The tables in each CSV file."""


class Results(Protocol):
    """What a campaign hands over."""

    out: Path
    """Where tables and figures go."""

    @property
    def runs(self) -> pd.DataFrame:
        """A row per finished run: ``log``, ``scheduler``, ``folder``, ``nb_res``, ``size``, the
        metrics in SI units, and where set ``scheduler_options``, ``walltime``, ``first``."""

    def jobs(self, run: Any) -> pd.DataFrame:
        """Return the job table of a row of :attr:`runs`."""


def report(results: Results, console: Console | None = None) -> list[Path]:
    """Write tables (CSV, Markdown) and figures (PNG) to ``results.out``; return the files.

    Tables without runs are not written. With a ``console`` all but the monthly ones are printed.
    """
    published = tomllib.loads(Path(__file__).with_name("published.toml").read_text())
    runs = _sibling("measures").read_runs(results, published)
    tables = _sibling("tables").build(runs, published)
    cases = _sibling("tables").cases(runs, published)
    sections = list(_sibling("texts").sections(tables, cases))
    if console is not None:
        show(sections, console)
    results.out.mkdir(parents=True, exist_ok=True)
    contents = {
        f"{file}.csv": _csv(rows, "relative_difference")
        for file, names in FILES.items()
        if (rows := [row for name in names for row in tables.get(name, [])])
    }
    if cases:
        contents["cases.csv"] = _csv(cases)
    contents["tables.md"] = _markdown(runs, published, sections)
    for name, content in contents.items():
        write_whole(results.out / name, content.encode())
    return [
        *(results.out / name for name in contents),
        *_sibling("figures").draw_figures(runs, results.out),
    ]


def show(sections: Iterable[tuple[str, Any]], console: Console) -> None:
    """Print the tables, months excepted, to a terminal."""
    for title, (header, lines) in sections:
        if header[0] == "month":
            continue
        table = _shared().rich_table(title, header, lines)
        for row in table.rows:
            row.end_section = False
        _shared().print_whole(table, console)


def _markdown(
    runs: Sequence[Measured], published: dict[str, Any], sections: Iterable[tuple[str, Any]]
) -> str:
    items = dict.fromkeys(_compared(run, published) for run in runs)
    text = "# dynP\n\n" + "".join(f"- {item}\n" for item in items)
    for title, (header, lines) in sections:
        text += f"\n## {title}\n\n{_shared().markdown(header, lines, texts=_texts(header))}"
    return text


def _compared(run: Measured, published: dict[str, Any]) -> str:
    """Return a sentence on what a run is compared with."""
    ours = f"{run.log}: {run.jobs:,} jobs, {run.nodes} nodes, {run.size} sizes; "
    if run.trace is not None:
        thesis = published["traces"][run.trace]
        months = f"months by the clock of UTC{thesis['clock']}"
        return f"{ours}the thesis's {run.trace}: {thesis['jobs']:,} jobs; {months}."
    trace = published["logs"].get(run.log)
    if trace is not None and published["traces"][trace]["nodes"] != run.nodes:
        nodes = published["traces"][trace]["nodes"]
        return f"{ours}not compared: {trace} of the thesis has {nodes} nodes."
    return f"{ours}the thesis has no such log."


def _texts(header: Sequence[str]) -> int:
    """Return the number of columns that are no numbers."""
    return sum(name in ("policy", "FCFS list", "estimates", "month", "what") for name in header)


def _csv(rows: Sequence[Any], *derived: str) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*(field.name for field in fields(rows[0])), *derived])
    for row in rows:
        writer.writerow([*astuple(row), *(getattr(row, name) for name in derived)])
    return text.getvalue()


def _sibling(name: str) -> ModuleType:
    """Return the module ``name.py`` of this folder."""
    return study_module(Path(__file__).with_name(f"{name}.py"))


def _shared() -> ModuleType:
    """Return the module of tables of the study of replay with feedback."""
    return study_module(data_folder("experiments") / "replay_feedback" / "tables.py")
