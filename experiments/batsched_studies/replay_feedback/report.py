"""The report of the study: Tables 1 and 2 beside the published values, Figures 2 to 11, claims.

It says what the runs at hand allow: of ``campaign.toml`` tables and figures, of ``shake.toml`` and
``confidence.toml`` their spread, of ``models.toml`` other user models.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from batsched_py.report import Part, Report, Text
from batsched_py.report.kit.tables import sections
from batsched_studies.replay_feedback import (
    TEXTS,
    claims,
    figures,
    models,
    session_graphs,
    spread,
    tables,
)
from batsched_studies.replay_feedback.replays import MissingError, Study, studies

if TYPE_CHECKING:
    from batsched_py.campaign.campaign_folder import CampaignResults

TITLE = "Replay with feedback"


def report(results: CampaignResults) -> Report:
    """Return the report on the runs of a campaign of the study."""
    runs = results.runs
    if runs.empty:
        return Report(TITLE, TEXTS["source"], (), summary="No run has finished yet.")
    published = TEXTS.published
    of_models = len(models.model_runs(runs))
    cells = [] if of_models else tables.compare(runs, published)
    logs = [] if of_models else list(studies(results))
    counted = tables.count_table(tables.count(cells))
    made = (
        *sections([("Tables 1 and 2", [*tables.tables(cells, published), counted])]),
        *spread.shake_sections(cells),
        *spread.confidence_sections(runs, published),
        *models.model_sections(runs, published),
        *sections((f"Figures, {study.log}", _figures(study)) for study in logs),
    )
    verdicts = claims.verdicts(cells, runs, list(_graphs(logs, published)))
    return Report(TITLE, TEXTS["source"], made, tuple(verdicts), _summary(cells))


def _figures(study: Study) -> Iterator[Part]:
    yield from figures.figures(study)
    if study.notes:
        yield Text("\n".join(f"- {note}" for note in study.notes))


def _graphs(logs: Sequence[Study], published: dict[str, Any]) -> Iterator[session_graphs.Graphs]:
    """Yield the session graphs of the logs for which there are published numbers."""
    for study in logs:
        if study.log in published["logs"]:
            try:
                yield session_graphs.of_study(study, published)
            except MissingError:
                continue


def _summary(cells: Sequence[tables.Cell]) -> str:
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
