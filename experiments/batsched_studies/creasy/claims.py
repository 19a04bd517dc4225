"""The verdicts on the claims of the paper, whose texts are in ``published.toml``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from batsched_py.report import Verdict
from batsched_py.report.kit import Interval, Runs, all_hold
from batsched_studies.creasy import PUBLISHED, TEXTS
from batsched_studies.creasy.tables import CLASSES, EASY, MORE, MOST, TITLES

ALIKE = 5.0
"""Per cent of EASY's value within which policies count as alike with 50 users."""
FLAT = 0.5
"""Sessions are nearly flat if they change by less than this share of EASY's change."""
CLOSE = 10.0
"""Percentage points up to which a change agrees with the printed one."""
MARGINAL = 5.0
"""Per cent of throughput beyond which a further gain is more than marginal."""


def judge_claims(runs: Runs, reading: str) -> Iterator[Verdict]:
    """Yield a verdict on each claim of the paper; ``holds`` is None without an interval."""
    yield from judge_most_users(runs, reading)
    yield from _amounts(runs, reading)
    yield from _sessions(runs, reading)
    yield from _alike(runs, reading)
    yield from _monotone(runs, reading)


def judge_alphas(runs: Runs, reading: str) -> Iterator[Verdict]:
    """Yield the verdicts on claims about several values of alpha, for one interpretation."""
    yield from _amounts(runs, reading)
    yield from _monotone(runs, reading)
    yield from _marginal(runs, reading)


def judge_most_users(runs: Runs, reading: str) -> Iterator[Verdict]:
    """Yield the verdicts that compare CREASY 6000 with EASY, both with 250 users."""
    easy, most = (runs.where(nb_users=250, alpha=alpha) for alpha in (EASY, MOST))
    if easy and most:
        yield from _against_easy(easy, most, reading)


def _against_easy(easy: Runs, most: Runs, reading: str) -> Iterator[Verdict]:
    compared = ("throughput", "slowdown", "response", *CLASSES)
    changes = {name: most.change(name, easy) for name in compared}
    throughput, slowdown, response, short, medium, long = changes.values()
    gain = PUBLISHED["throughput_gain"][str(MOST)]
    sooner = (short.below(0), medium.below(0), long.above(0))
    judged = (
        ("throughput", throughput, throughput.above(gain / 2)),
        ("slowdown", slowdown, slowdown.below(0)),
        ("response", response, response.above(0)),
        ("classes", short, all_hold(sooner)),
    )
    texts: dict[str, Any] = {name: format_change(change) for name, change in changes.items()}
    texts |= {"gain": gain, "paper": PUBLISHED["response_change"]}
    for claim, change, holds in judged:
        effect = format_change(change) if claim != "classes" else _in_classes(changes)
        yield TEXTS.verdict(claim, holds, effect=effect, reading=reading, **texts)


def _amounts(runs: Runs, reading: str) -> Iterator[Verdict]:
    """Yield for each alpha whether it changes turnaround times by class as the paper prints."""
    by_alpha = runs.where(nb_users=250).by("alpha")
    for alpha in (MOST, MORE):
        if EASY not in by_alpha or alpha not in by_alpha:
            continue
        easy = by_alpha[EASY]
        changes = {name: by_alpha[alpha].change(name, easy) for name in CLASSES}
        paper = PUBLISHED["response_change"]
        holds = all_hold(
            change.within(paper[name] - CLOSE, paper[name] + CLOSE)
            for name, change in changes.items()
        )
        texts: dict[str, Any] = {name: format_change(change) for name, change in changes.items()}
        texts |= {"alpha": alpha, "within": CLOSE, "paper": paper}
        effect = _in_classes(changes)
        yield TEXTS.verdict("amounts", holds, effect=effect, reading=reading, **texts)


def _in_classes(changes: Mapping[str, Interval]) -> str:
    return "; ".join(f"{TITLES[name]}: {format_change(changes[name])}" for name in CLASSES)


def _sessions(runs: Runs, reading: str) -> Iterator[Verdict]:
    changes = {}
    for alpha in (EASY, MOST):
        few, many = (runs.where(alpha=alpha, nb_users=users) for users in (50, 250))
        if few and many:
            changes[alpha] = many.change("session_length", few)
    if len(changes) < 2:
        return
    easy, most = changes.values()
    flat = FLAT * abs(easy.value)
    yield TEXTS.verdict(
        "sessions",
        all_hold((easy.below(0), most.within(-flat, flat))),
        easy=format_change(easy),
        most=format_change(most),
        effect=f"EASY {format_change(easy)}; CREASY {format_change(most)}",
        reading=reading,
    )


def _alike(runs: Runs, reading: str) -> Iterator[Verdict]:
    others = {a: own for a, own in runs.where(nb_users=50).by("alpha").items() if a <= MOST}
    easy = others.pop(EASY, None)
    if easy is None or not others:
        return
    most, answers = {}, []
    for name in ("throughput", "response", "slowdown", "session_length"):
        changes = [creasy.change(name, easy) for creasy in others.values()]
        answers += [change.within(-ALIKE, ALIKE) for change in changes]
        most[name] = max(changes, key=_reach)
    holds = all_hold(answers)
    listing = ", ".join(f"{TITLES[name]} {format_change(change)}" for name, change in most.items())
    worst = max(most, key=lambda name: _reach(most[name]))
    texts: dict[str, Any] = {"changes": listing, "within": ALIKE}
    effect = f"{TITLES[worst]} {format_change(most[worst])}"
    yield TEXTS.verdict("alike", holds, effect=effect, reading=reading, **texts)


def _reach(change: Interval) -> float:
    """Return the largest distance of a change's interval from 0."""
    return max(abs(change.low), abs(change.high)) if change.is_known else abs(change.value)


def _monotone(runs: Runs, reading: str) -> Iterator[Verdict]:
    by_alpha = runs.where(nb_users=250).by("alpha")
    scan = {alpha: own for alpha, own in by_alpha.items() if alpha <= MOST}
    if len(scan) < 3:
        return
    steps = {a: scan[a].change("throughput", scan[before]) for before, a in pairwise(sorted(scan))}
    listing = ", ".join(f"to {alpha:g} {format_change(step)}" for alpha, step in steps.items())
    least = min(steps, key=lambda alpha: steps[alpha].low)
    effect = f"{format_change(steps[least])} in the step to {least:g}"
    holds = all_hold(step.above(0) for step in steps.values())
    yield TEXTS.verdict("monotone", holds, steps=listing, effect=effect, reading=reading)


def _marginal(runs: Runs, reading: str) -> Iterator[Verdict]:
    by_alpha = runs.where(nb_users=250).by("alpha")
    beyond = {alpha: own for alpha, own in by_alpha.items() if alpha > MOST}
    if EASY not in by_alpha or MOST not in by_alpha or not beyond:
        return
    easy = by_alpha[EASY]
    most = by_alpha[MOST].change("throughput", easy)
    gains = {alpha: own.change("throughput", easy) for alpha, own in beyond.items()}
    listing = ", ".join(f"{alpha:,.0f}: {format_change(gain)}" for alpha, gain in gains.items())
    further = [own.change("throughput", by_alpha[MOST]) for own in beyond.values()]
    largest = max(further, key=_reach)
    yield TEXTS.verdict(
        "marginal",
        all_hold(gain.below(MARGINAL) for gain in further),
        most=format_change(most),
        means=listing,
        within=MARGINAL,
        effect=f"up to {format_change(largest)} above 6000",
        reading=reading,
    )


def format_change(change: Interval) -> str:
    """Return a change in per cent with its interval and the number of pairs."""
    if not change.is_known:
        return f"{change.value:+.1f} % (n = {change.nb})"
    return f"{change.value:+.1f} % ({change.low:+.1f} to {change.high:+.1f}, n = {change.nb})"
