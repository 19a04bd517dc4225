"""The report of the study: the league by log and over all, its evidence, figures and claims."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from batsched_py.report import CampaignResults, Figure, Report, Table
from batsched_py.report.kit import cells, slug
from batsched_studies.league import RECENT, RIGID, TEXTS
from batsched_studies.league.claims import verdicts
from batsched_studies.league.evidence import evidence
from batsched_studies.league.figures import days, skills
from batsched_studies.league.standings import GROUPS, Case, as_skill, overall, read

_ALL = "All logs"
_KNOW_ALL = ("climatology", "resampled", "tbuos", "site")
"""Models that know the weeks which :data:`RIGID` has to spare."""


def report(results: CampaignResults) -> Report:
    """Return the tables, figures and verdicts of the runs that are there."""
    cases = read(results)
    parts = [(_ALL, _of_all(cases)), *((case.name, _of_case(case)) for case in cases)]
    summary = f"{TEXTS['summary']} {TEXTS['question']}" if cases else "No run has finished yet."
    return TEXTS.report(parts, verdicts(cases), summary, results.title)


def _of_all(cases: Sequence[Case]) -> Iterator[Table | Figure | None]:
    if cases:
        yield skills(cases)
    if len(cases) > 1:
        models = dict.fromkeys(model for case in cases for model in case.models if model != RIGID)
        yield TEXTS.table("overall", [_overall(cases, model) for model in models])


def _overall(cases: Sequence[Case], model: str) -> dict[str, Any]:
    row: dict[str, Any] = {"model": model}
    for group in GROUPS:
        skills_of_logs = [case.skill(group, model) for case in cases if model in case.models]
        row |= cells(
            overall(cases, group, model), group, f"{group}_low", f"{group}_high", nb="logs"
        )
        told = [skill.above(0) for skill in skills_of_logs if skill.is_known]
        row[f"{group}_told"] = f"{told.count(True)} / {told.count(False)}"
    return row


def _of_case(case: Case) -> Iterator[Table | Figure | None]:
    number = len(case.models)
    told: dict[str, Any] = {
        "case": case.name,
        "weeks": case.change.weeks,
        "settle": case.change.settle,
    }
    yield TEXTS.table(
        "league",
        _league(case),
        slug("league", case.name),
        pairs=number * (number - 1) // 2,
        **told,
    )
    if RECENT in case.models:
        yield TEXTS.table("recent", list(_recent(case)), slug("recent", case.name), **told)
    yield days(case)
    yield TEXTS.table(
        "evidence",
        evidence(case),
        slug("evidence", case.name),
        learnt=case.change.learnt,
        **told,
    )
    members = len(case.forecasts[RIGID])
    right = 100 * (members - 1) / (members + 1)
    yield TEXTS.table(
        "scores",
        list(_scores(case)),
        slug("scores", case.name),
        case=case.name,
        members=members,
        right=right,
    )


def _league(case: Case) -> list[dict[str, Any]]:
    """Return a row for each model, the best forecast of the submissions first."""
    rows: dict[str, dict[str, Any]] = {model: {"model": model} for model in case.models}
    for group in GROUPS:
        places = case.places(group)
        for model, row in rows.items():
            row |= cells(case.skill(group, model), group, f"{group}_low", f"{group}_high")
            row[f"{group}_places"] = in_places(places[model])
    first = next(iter(GROUPS))
    worth = {model: 0.0 if model == RIGID else row[first] for model, row in rows.items()}
    return [rows[model] for model in sorted(rows, key=lambda model: -worth[model])]


def _recent(case: Case) -> Iterator[dict[str, Any]]:
    for model in _KNOW_ALL:
        row: dict[str, Any] = {"model": model}
        for group in GROUPS:
            skill = as_skill(case.ratio(group, model, RECENT))
            row |= cells(skill, group, f"{group}_low", f"{group}_high")
        yield row


def in_places(places: tuple[int, int]) -> str:
    """Return ``3`` or ``2 to 5``."""
    first, last = places
    return f"{first}" if first == last else f"{first} to {last}"


def _scores(case: Case) -> Iterator[dict[str, Any]]:
    names = TEXTS.published["texts_of_quantities"]
    for group, quantities in GROUPS.items():
        for quantity in quantities:
            for model in case.models:
                yield {
                    "against": TEXTS[group],
                    "quantity": names[quantity],
                    "model": model,
                    "score": case.mean(group, quantity, model),
                    **cells(case.skill(group, model, quantity), "skill"),
                    "covered": 100 * case.covered(group, quantity, model),
                }
