"""The report: the league of models by log and over all logs, its evidence, and claims."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from batsched_py.report import CampaignResults, Figure, Report, Table, Verdict
from batsched_py.report.kit import cells, slug
from batsched_py.units import DAY, HOUR, WEEK
from batsched_studies.league import RECENT, RIGID, TEXTS, standings
from batsched_studies.league.days import Floats, Jobs
from batsched_studies.league.figures import draw_days, draw_skills
from batsched_studies.league.worlds import CLOSED, WORLDS

_ALL = "All logs"
_KNOW_ALL = ("climatology", "resampled", "tbuos", "site")
"""Models that know the spare weeks of :data:`RIGID`."""


def report(results: CampaignResults) -> Report:
    """Return the report: tables, figures and verdicts, as far as the campaign has runs for them."""
    cases = standings.read(results)
    parts = [(_ALL, _of_all(cases)), *((case.name, _of_case(case)) for case in cases)]
    summary = f"{TEXTS['summary']} {TEXTS['question']}" if cases else "No run has finished yet."
    return TEXTS.report(parts, judge_claims(cases), summary, results.title)


def _of_all(cases: Sequence[standings.Case]) -> Iterator[Table | Figure | None]:
    if cases:
        yield draw_skills(cases)
    if len(cases) > 1:
        models = dict.fromkeys(model for case in cases for model in case.models if model != RIGID)
        yield TEXTS.table("overall", [_overall(cases, model) for model in models])


def _overall(cases: Sequence[standings.Case], model: str) -> dict[str, Any]:
    row: dict[str, Any] = {"model": model}
    for group in standings.GROUPS:
        skills_of_logs = [case.skill(group, model) for case in cases if model in case.models]
        skill_of_all = standings.compute_skill(cases, group, model)
        row |= cells(skill_of_all, group, f"{group}_low", f"{group}_high", nb="logs")
        better = [skill.above(0) for skill in skills_of_logs if skill.is_known]
        row[f"{group}_counts"] = f"{better.count(True)} / {better.count(False)}"
    return row


def _of_case(case: standings.Case) -> Iterator[Table | Figure | None]:
    name, number, members = case.name, len(case.models), len(case.forecasts[RIGID])
    values: dict[str, Any] = {
        "case": name,
        "weeks": case.change.weeks,
        "settle": case.change.settle,
    }
    pairs = number * (number - 1) // 2
    yield TEXTS.table("league", _league(case), slug("league", name), pairs=pairs, **values)
    if RECENT in case.models:
        yield TEXTS.table("recent", list(_recent(case)), slug("recent", name), **values)
    yield draw_days(case)
    values |= {"learnt": case.change.learnt, "members": members}
    yield TEXTS.table("evidence", make_evidence_rows(case), slug("evidence", name), **values)
    values["right"] = 100 * (members - 1) / (members + 1)
    yield TEXTS.table("scores", list(_scores(case)), slug("scores", name), **values)


def _league(case: standings.Case) -> list[dict[str, Any]]:
    """Return a row for each model, the best forecast of the submissions first."""
    rows: dict[str, dict[str, Any]] = {model: {"model": model} for model in case.models}
    for group in standings.GROUPS:
        places = case.find_places(group)
        for model, row in rows.items():
            row |= cells(case.skill(group, model), group, f"{group}_low", f"{group}_high")
            row[f"{group}_places"] = format_places(places[model])
    first = next(iter(standings.GROUPS))
    worth = {model: 0.0 if model == RIGID else row[first] for model, row in rows.items()}
    return [rows[model] for model in sorted(rows, key=lambda model: -worth[model])]


def _recent(case: standings.Case) -> Iterator[dict[str, Any]]:
    for model in _KNOW_ALL:
        row: dict[str, Any] = {"model": model}
        for group in standings.GROUPS:
            skill = standings.convert_to_skill(case.ratio(group, model, RECENT))
            row |= cells(skill, group, f"{group}_low", f"{group}_high")
        yield row


def format_places(places: tuple[int, int]) -> str:
    """Return the range of a model's place as text: ``3`` or ``2 to 5``."""
    first, last = places
    return f"{first}" if first == last else f"{first} to {last}"


def _scores(case: standings.Case) -> Iterator[dict[str, Any]]:
    names = TEXTS.published["texts_of_quantities"]
    for group, quantities in standings.GROUPS.items():
        for quantity in quantities:
            for model in case.models:
                yield {
                    "against": TEXTS[group],
                    "quantity": names[quantity],
                    "model": model,
                    "score": case.mean(group, quantity, model),
                    **cells(case.skill(group, model, quantity), "skill"),
                    "covered": 100 * case.compute_coverage(group, quantity, model),
                }


def make_evidence_rows(case: standings.Case) -> list[dict[str, Any]]:
    """Return statistics of the jobs before the change, after it, and under EASY."""
    change, jobs = case.change, case.recorded.jobs
    before = -change.learnt * WEEK, 0.0
    after = change.settle * WEEK, change.horizon * WEEK
    rows = [{"when": "before", **_seen(jobs, *before)}, {"when": "after", **_seen(jobs, *after)}]
    if case.replayed is not None:
        rows.append({"when": "after, EASY", **_seen(case.replayed.jobs, *after)})
    return rows


def _seen(jobs: Jobs, begin: float, end: float) -> dict[str, Any]:
    inside = (jobs.submit >= begin) & (jobs.submit < end)
    run, size, wait = (column[inside] for column in (jobs.run, jobs.size, jobs.wait))
    week = np.floor((jobs.submit[inside] - begin) / WEEK).astype(int).tolist()
    users = {*zip(week, jobs.user[inside].tolist(), strict=True)}
    return {
        "jobs": len(run) / (end - begin) * DAY,
        "users": len(users) / (end - begin) * WEEK,
        "work": 100 * float((run * size).sum()) / (end - begin) / jobs.nb_processors,
        "busy": float(np.quantile(count_busy(jobs, np.arange(begin, end, HOUR / 2)), 0.99)),
        "widest": float(size.max()),
        "run": float(run.mean()) / HOUR,
        "over_a_day": 100 * float((run > DAY).mean()),
        "longest": float(run.max()) / HOUR,
        "wait": float(np.nanmean(wait)) / HOUR,
        "median_wait": float(np.nanmedian(wait)) / HOUR,
    }


def count_busy(jobs: Jobs, moments: Floats) -> Floats:
    """Return how many processors jobs occupy at each of some moments."""
    return jobs.used.at(moments)


JUDGED = (standings.SUBMISSIONS, standings.SAME_POLICY)


def judge_claims(cases: Sequence[standings.Case]) -> Iterator[Verdict]:
    """Yield a verdict on each claim for which the campaign has runs.

    For several logs, verdicts are on all logs together: the tables have each log.
    """
    logs = [case for case in cases if not case.world]
    for case in cases if len(logs) < 2 else ():
        for group in JUDGED:
            yield from _of_world(case, group) if case.world else _of_log(case, group)
    for group in JUDGED if len(logs) > 1 else ():
        for model in dict.fromkeys(model for case in logs for model in case.models):
            if model != RIGID:
                skill = standings.compute_skill(logs, group, model)
                values: dict[str, Any] = {"model": model, "what": TEXTS[group], "skill": skill}
                yield TEXTS.verdict("overall", skill.above(0), **values)


def _of_world(case: standings.Case, group: str) -> Iterator[Verdict]:
    """Judge the model that made the world; in the open world that is ``rigid`` itself."""
    maker = WORLDS[case.world]
    if maker not in case.models:
        return
    values = _standing(case, group, maker)
    if case.world == CLOSED:
        yield TEXTS.verdict("maker", values["skill"].above(0), case.name, **values)
    beaten = values["first"] > 1
    known = any(case.ratio(group, maker, other).is_known for other in case.models)
    yield TEXTS.verdict("not_beaten", not beaten if known else None, case.name, **values)


def _of_log(case: standings.Case, group: str) -> Iterator[Verdict]:
    for model in case.models:
        if model != RIGID:
            values = _standing(case, group, model)
            yield TEXTS.verdict("better", values["skill"].above(0), case.name, **values)


def _standing(case: standings.Case, group: str, model: str) -> dict[str, Any]:
    first, last = case.find_places(group)[model]
    skill, number = case.skill(group, model), len(case.models)
    ends = {"first": first, "last": last, "number": number}
    return {"model": model, "what": TEXTS[group], "skill": skill, **ends}
