"""The report of the study: Tables 1 and 2 beside the published values, Figures 2 to 11, claims.

It says what the runs at hand allow: of ``campaign.toml`` tables and figures, of ``shake.toml`` and
``confidence.toml`` their spread, of ``models.toml`` other user models.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

import pandas as pd

from batsched_py.report import CampaignResults, Part, Report, Text, Verdict
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
    head = summary.summary(runs, counts)
    verdicts = _verdicts(cells, runs, logs)
    return TEXTS.report(parts, verdicts, head, terms=summary.terms(runs))


def _verdicts(
    cells: Sequence[tables.Cell], runs: pd.DataFrame, logs: Sequence[Study]
) -> list[Verdict]:
    """Return the verdicts; of ``first.toml`` those on the first n jobs only.

    Its runs of all jobs are those of ``campaign.toml``, which are asked about the other claims.
    """
    of_first = [verdict for study in logs for verdict in text_claims.of_first_jobs(study)]
    of_text = (verdict for study in logs for verdict in text_claims.verdicts(study))
    return of_first or [*claims.verdicts(cells, runs, list(_graphs(logs))), *of_text]


def _figures(study: Study) -> Iterator[Part]:
    yield from figures.figures(study)
    if study.left_out:
        yield Text("\n".join(f"- {figure}" for figure in study.left_out))


def _graphs(logs: Sequence[Study]) -> Iterator[session_graphs.Graphs]:
    """Yield the session graphs of the logs with published numbers, if a0 and a60 were replayed."""
    for study in logs:
        replayed = {replay for _, replay in study.replays}
        if study.log in PUBLISHED["logs"] and replayed >= set(claims.FEEDBACK):
            with suppress(MissingError):
                yield session_graphs.of_study(study)
