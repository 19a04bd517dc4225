"""The verdicts on the claims of this study about the costs of reservations and limits.

A claim is judged if the 95 % interval over the pairs does not contain 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from batsched_py.report import Verdict
from batsched_py.report.kit import Runs
from batsched_studies.reservations import TEXTS
from batsched_studies.reservations.costs import LIMITS, OTHERS, REQUEST, Case, find_cases

DISPLACING = ", displacing"
"""Ends the name of a policy that admits reservations in place of planned jobs."""


def judge_claims(log: str, runs: Runs) -> Iterator[Verdict]:
    """Yield a verdict on each claim for which the campaign has runs."""
    asked = list(find_cases(runs, REQUEST))
    by_policy: dict[str, list[Case]] = {}
    for case in asked:
        by_policy.setdefault(case.labels["policy"], []).append(case)
    for policy, of_policy in by_policy.items():
        yield from _of_policy(log, policy, of_policy)
    for policy in by_policy:
        if policy.endswith(DISPLACING) and policy.removesuffix(DISPLACING) in by_policy:
            plain = by_policy[policy.removesuffix(DISPLACING)]
            yield _displacing(log, by_policy[policy][-1], plain[-1])
    for case in find_cases(runs, LIMITS):
        change = case.change("wait")
        yield TEXTS.verdict("limits", change.above(0), log, change=change, **case.labels)


def _of_policy(log: str, policy: str, found: list[Case]) -> Iterator[Verdict]:
    """Judge cases in order of width, narrowest first, and then of lead, shortest first."""
    last = found[-1]
    change = last.change(OTHERS)
    yield TEXTS.verdict("cost", change.above(0), log, change=change, **_texts(last))
    narrowest = next(c for c in found if c.labels[REQUEST] == last.labels[REQUEST])
    if narrowest is not last:
        more = last.compare_hours(narrowest)
        other = _texts(narrowest)["share"]
        yield TEXTS.verdict("wider", more.above(0), log, more=more, other=other, **_texts(last))
    soonest = next(c for c in found if c.labels["width"] == last.labels["width"])
    if soonest is not last:
        more = last.compare_hours(soonest)
        yield TEXTS.verdict(
            "lead", more.above(0), log, more=more, other=soonest.labels[REQUEST], **_texts(last)
        )


def _displacing(log: str, displacing: Case, plain: Case) -> Verdict:
    more = displacing.compare_hours(plain)
    admitted = (case.with_it.mean("admitted").value for case in (displacing, plain))
    first, second = admitted
    texts: dict[str, Any] = {"more": more, "displacing": first, "literal": second}
    reading = TEXTS["admission"]
    return TEXTS.verdict(
        "displacing", more.above(0), log, reading=reading, **texts, **_texts(plain)
    )


def _texts(case: Case) -> dict[str, Any]:
    labels = case.labels
    return {
        "policy": labels["policy"],
        "request": labels[REQUEST],
        "share": 100 * labels["width"],
    }
