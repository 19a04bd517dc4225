"""The report of the study: the thesis's tables beside ours, figures, and its claims.

A campaign calls :func:`report` of this file; any of the study's campaign files will do: what was
not run is left out.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from batsched_py.campaign.study_files import study_module
from batsched_py.report.document import Report, Section

if TYPE_CHECKING:
    from load import Load
    from measures import Measured

HERE = Path(__file__).parent
SOURCE = (
    "A. Streit, Self-Tuning Job Scheduling Strategies for the Resource Management of HPC Systems "
    "and Computational Grids, PhD thesis, University of Paderborn, 2003"
)
SUMMARY = """
A planning system whose order of the waiting jobs (FCFS, SJF, LJF) is chosen anew while it runs:
at each step the three plans are made, a metric of each is computed from the estimates, and a
*decider* says which order is active next.
"""


def report(results: Any) -> Report:
    """Return the tables, figures and verdicts that the runs of a campaign allow."""
    published = tomllib.loads((HERE / "published.toml").read_text())
    runs, loads = [], []
    if len(results.runs):
        runs = _sibling("measures").read_runs(results, published)
        loads = _sibling("load").read_loads(results, published)
    tables, counted = (
        getattr(_sibling("tables"), name)(runs, published) for name in ("build", "cases")
    )
    figures = tuple(_sibling("figures").figures(runs, loads, published))
    return Report(
        title="dynP: self-tuning planning",
        source=SOURCE,
        sections=(
            *_sibling("layout").sections(tables, counted),
            *_sibling("load_tables").sections(loads, published),
            *([Section("Figures", figures)] if figures else []),
        ),
        verdicts=tuple(_sibling("claims").verdicts(runs, loads)),
        summary=SUMMARY.strip() + "\n\n" + "\n".join(_compared(runs, loads, published)),
    )


def _compared(
    runs: list[Measured], loads: list[Load], published: Mapping[str, Any]
) -> Iterator[str]:
    """Yield what each log is compared with, as items of a list."""
    yield from dict.fromkeys(f"- {compared(run, published)}" for run in runs)
    for load in loads:
        sets = max(len(values["SLDwA"]) for values in load.cells.values())
        as_thesis = f"the thesis's {load.trace}" if load.trace else "not those of the thesis"
        yield f"- {load.log}: up to {sets} synthetic job sets; {as_thesis}."


def compared(run: Measured, published: Mapping[str, Any]) -> str:
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


def _sibling(name: str) -> Any:
    """Return the module ``name.py`` of this folder."""
    return study_module(HERE / f"{name}.py")
