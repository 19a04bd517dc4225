"""The report of the study: Tables 1 and 2 beside the published values, Figures 2 to 11, claims.

It says what the runs at hand allow: of ``campaign.toml`` tables and figures, of ``shake.toml`` and
``confidence.toml`` their spread, of ``models.toml`` other user models.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from batsched_py.report import Report, Section, Text
from batsched_studies.replay_feedback import (
    claims,
    figures,
    models,
    replays,
    session_graphs,
    spread,
    tables,
)

TITLE = "Replay with feedback"
SOURCE = (
    'M. Madon, G. Da Costa, J.-M. Pierson, "Replay with Feedback: How does the performance of HPC '
    'system impact user submission behavior?", Future Generation Computer Systems 155 (2024), '
    "doi 10.1016/j.future.2024.01.024"
)


def report(results: Any) -> Report:
    """Return the report on the runs of ``results`` (``batsched_py.campaign.campaign_folder``)."""
    runs = results.runs
    if runs.empty:
        return Report(TITLE, SOURCE, (), summary="No run has finished yet.")
    published = tables.read_published(results.study)
    cells = [] if len(models.model_runs(runs)) else tables.compare(runs, published)
    studies = [] if len(models.model_runs(runs)) else list(replays.studies(results))
    sections = [
        *_table_sections(cells, published),
        *spread.shake_sections(cells),
        *spread.confidence_sections(runs, published),
        *models.sections(runs, published),
        *_figure_sections(studies),
    ]
    verdicts = claims.verdicts(cells, runs, list(_graphs(studies, published)))
    return Report(TITLE, SOURCE, tuple(sections), tuple(verdicts), _summary(cells))


def _table_sections(cells: Sequence[Any], published: dict[str, Any]) -> list[Section]:
    made = [*tables.tables(cells, published), *tables.count_table(tables.count(cells))]
    return [Section("Tables 1 and 2", tuple(made))] if made else []


def _figure_sections(studies: Sequence[Any]) -> Iterator[Section]:
    for study in studies:
        drawn = figures.figures(study)
        notes = "\n".join(f"- {note}" for note in study.notes)
        parts = [*drawn, Text(notes)] if notes else drawn
        if parts:
            yield Section(f"Figures, {study.log}", tuple(parts))


def _graphs(studies: Sequence[Any], published: dict[str, Any]) -> Iterator[Any]:
    """Yield the session graphs of the logs for which there are published numbers."""
    for study in studies:
        if study.log in published["logs"]:
            try:
                yield session_graphs.of_study(study, published)
            except replays.MissingError:
                continue


def _summary(cells: Sequence[Any]) -> str:
    """Return sentences on what is reproduced to the digit."""
    lines = []
    for c in tables.count(cells):
        line = f"- {c.table.capitalize()[:-1]} {c.table[-1]}, {c.log}, {c.size} sizes: "
        line += f"{c.equal_rows} of {c.rows} rows and {c.equal_values} of {c.values} values have "
        line += "the printed digits"
        if c.spread_values:
            line += f"; {c.inside_values} of {c.spread_values} published values lie in the spread"
            line += " of shaken orders"
        lines.append(f"{line}.")
    return "\n".join(lines)
