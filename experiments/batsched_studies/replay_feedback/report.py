"""The report of the study: Tables 1 and 2 beside the published values, Figures 2 to 11, claims.

It says what the runs at hand allow: of ``campaign.toml`` tables and figures, of ``shake.toml`` and
``confidence.toml`` their spread, of ``models.toml`` other user models.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from batsched_py.report import CampaignResults, Part, Report, Text
from batsched_studies.replay_feedback import (
    PUBLISHED,
    TEXTS,
    claims,
    figures,
    models,
    session_graphs,
    spread,
    summary,
    tables,
    text_claims,
)
from batsched_studies.replay_feedback.replays import MissingError, Study, studies


def report(results: CampaignResults) -> Report:
    """Return the report on the runs of a campaign of the study."""
    runs = results.runs
    if runs.empty:
        return TEXTS.report((), (), "No run has finished yet.")
    of_models = len(models.model_runs(runs))
    cells = [] if of_models else tables.compare(runs)
    logs = [] if of_models else list(studies(results))
    counts = tables.count(cells)
    parts = (
        ("Tables 1 and 2", [*tables.tables(cells), tables.count_table(counts)]),
        ("The order of simultaneous events", spread.shake_parts(cells)),
        ("Confidence by resampled logs", spread.confidence_parts(runs)),
        ("Other user models", models.model_parts(runs)),
        *((f"Figures, {study.log}", _figures(study)) for study in logs),
    )
    verdicts = claims.verdicts(cells, runs, list(_graphs(logs)))
    verdicts += [verdict for study in logs for verdict in text_claims.verdicts(study)]
    head = summary.summary(runs, counts)
    return TEXTS.report(parts, verdicts, head, terms=summary.terms(runs))


def _figures(study: Study) -> Iterator[Part]:
    yield from figures.figures(study)
    if study.left_out:
        yield Text("\n".join(f"- {figure}" for figure in study.left_out))


def _graphs(logs: Sequence[Study]) -> Iterator[session_graphs.Graphs]:
    """Yield the session graphs of the logs for which there are published numbers."""
    for study in logs:
        if study.log in PUBLISHED["logs"]:
            with suppress(MissingError):
                yield session_graphs.of_study(study)
