"""What the league says. In a world of ours it is known who should win; of a log it is not.

An answer is given where the 95 % interval leaves 0 out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from batsched_py.report import Verdict
from batsched_studies.league import RIGID, TEXTS
from batsched_studies.league.standings import SAME_POLICY, SUBMISSIONS, Case, overall
from batsched_studies.league.worlds import CLOSED, WORLDS

JUDGED = (SUBMISSIONS, SAME_POLICY)


def verdicts(cases: Sequence[Case]) -> Iterator[Verdict]:
    """Yield a verdict for each claim that there are runs for.

    Of several logs only what they say together: the tables have each of them.
    """
    logs = [case for case in cases if not case.world]
    for case in cases if len(logs) < 2 else ():
        for group in JUDGED:
            yield from _of_world(case, group) if case.world else _of_log(case, group)
    for group in JUDGED if len(logs) > 1 else ():
        for model in dict.fromkeys(model for case in logs for model in case.models):
            if model != RIGID:
                skill = overall(logs, group, model)
                told: dict[str, Any] = {"model": model, "what": TEXTS[group], "skill": skill}
                yield TEXTS.verdict("overall", skill.above(0), **told)


def _of_world(case: Case, group: str) -> Iterator[Verdict]:
    """The model that is right in the open world is ``rigid`` itself."""
    maker = WORLDS[case.world]
    if maker not in case.models:
        return
    told = _told(case, group, maker)
    if case.world == CLOSED:
        yield TEXTS.verdict("maker", told["skill"].above(0), case.name, **told)
    beaten = told["first"] > 1
    known = any(case.ratio(group, maker, other).is_known for other in case.models)
    yield TEXTS.verdict("not_beaten", not beaten if known else None, case.name, **told)


def _of_log(case: Case, group: str) -> Iterator[Verdict]:
    for model in case.models:
        if model != RIGID:
            told = _told(case, group, model)
            yield TEXTS.verdict("better", told["skill"].above(0), case.name, **told)


def _told(case: Case, group: str, model: str) -> dict[str, Any]:
    first, last = case.places(group)[model]
    skill, number = case.skill(group, model), len(case.models)
    ends = {"first": first, "last": last, "number": number}
    return {"model": model, "what": TEXTS[group], "skill": skill, **ends}
