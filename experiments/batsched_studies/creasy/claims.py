"""The claims of the paper, and what the runs say of each; their texts are in ``published.toml``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from batsched_py.report import Verdict
from batsched_py.report.kit import Interval, Runs
from batsched_studies.creasy import PUBLISHED, TEXTS
from batsched_studies.creasy.tables import CLASSES, EASY, MORE, MOST, TITLES

ALIKE = 5.0
"""Per cent of EASY's value within which policies count as alike with 50 users."""
FLAT = 0.5
"""Sessions are nearly flat if they change by less than this share of EASY's change."""
CLOSE = 10.0
"""Percentage points within which a change is the printed one."""
MARGINAL = 5.0
"""Percentage points of throughput beyond which a further gain is more than marginal."""


def verdicts(runs: Runs, reading: str) -> Iterator[Verdict]:
    """Yield a verdict for each claim; ``holds`` is None without an interval."""
    easy, most = (runs.where(nb_users=250, alpha=alpha) for alpha in (EASY, MOST))
    if easy and most:
        yield from _against_easy(easy, most, reading)
    yield from _amounts(runs, reading)
    yield from _sessions(runs, reading)
    yield from _alike(runs, reading)
    yield from _monotone(runs, reading)


def over_alpha(runs: Runs, reading: str) -> Iterator[Verdict]:
    """Yield what the scan of alpha says of a reading."""
    yield from _amounts(runs, reading)
    yield from _monotone(runs, reading)
    yield from _marginal(runs, reading)


def _against_easy(easy: Runs, most: Runs, reading: str) -> Iterator[Verdict]:
    compared = ("throughput", "slowdown", "response", *CLASSES)
    changes = {name: most.change(name, easy) for name in compared}
    throughput, slowdown, response, short, medium, long = changes.values()
    gain = PUBLISHED["throughput_gain"][str(MOST)]
    sooner = short.high < 0 and medium.high < 0
    judged = (
        ("throughput", throughput, throughput.low > gain / 2),
        ("slowdown", slowdown, slowdown.high < 0),
        ("response", response, response.low > 0),
        ("classes", short, sooner and long.low > 0),
    )
    texts: dict[str, Any] = {name: shown(change) for name, change in changes.items()}
    texts |= {"gain": gain, "paper": PUBLISHED["response_change"]}
    for claim, change, right in judged:
        effect = shown(change) if claim != "classes" else _in_classes(changes)
        holds = right if change.is_known else None
        yield TEXTS.verdict(claim, holds, effect=effect, reading=reading, **texts)


def _amounts(runs: Runs, reading: str) -> Iterator[Verdict]:
    """Yield for each alpha whether it changes responses by class as the paper prints."""
    by_alpha = runs.where(nb_users=250).by("alpha")
    for alpha in (MOST, MORE):
        if EASY not in by_alpha or alpha not in by_alpha:
            continue
        easy = by_alpha[EASY]
        changes = {name: by_alpha[alpha].change(name, easy) for name in CLASSES}
        paper = PUBLISHED["response_change"]
        near = all(abs(change.value - paper[name]) <= CLOSE for name, change in changes.items())
        known = all(change.is_known for change in changes.values())
        texts: dict[str, Any] = {name: shown(change) for name, change in changes.items()}
        texts |= {"alpha": alpha, "within": CLOSE, "paper": paper}
        holds, effect = near if known else None, _in_classes(changes)
        yield TEXTS.verdict("amounts", holds, effect=effect, reading=reading, **texts)


def _in_classes(changes: Mapping[str, Interval]) -> str:
    return "; ".join(f"{TITLES[name]}: {shown(changes[name])}" for name in CLASSES)


def _sessions(runs: Runs, reading: str) -> Iterator[Verdict]:
    changes = {}
    for alpha in (EASY, MOST):
        few, many = (runs.where(alpha=alpha, nb_users=users) for users in (50, 250))
        if few and many:
            changes[alpha] = many.change("session_length", few)
    if len(changes) < 2:
        return
    easy, most = changes.values()
    flat = easy.high < 0 and abs(most.value) < FLAT * abs(easy.value)
    yield TEXTS.verdict(
        "sessions",
        flat if easy.is_known and most.is_known else None,
        easy=shown(easy),
        most=shown(most),
        effect=f"EASY {shown(easy)}; CREASY {shown(most)}",
        reading=reading,
    )


def _alike(runs: Runs, reading: str) -> Iterator[Verdict]:
    others = {a: own for a, own in runs.where(nb_users=50).by("alpha").items() if a <= MOST}
    easy = others.pop(EASY, None)
    if easy is None or not others:
        return
    most = {}
    for name in ("throughput", "response", "slowdown", "session_length"):
        changes = (creasy.change(name, easy) for creasy in others.values())
        most[name] = max(changes, key=lambda change: abs(change.value))
    holds = _within(most.values(), ALIKE)
    told = ", ".join(f"{TITLES[name]} {shown(change)}" for name, change in most.items())
    worst = max(most, key=lambda name: abs(most[name].value))
    texts: dict[str, Any] = {"changes": told, "within": ALIKE}
    effect = f"{TITLES[worst]} {shown(most[worst])}"
    yield TEXTS.verdict("alike", holds, effect=effect, reading=reading, **texts)


def _within(changes: Iterable[Interval], most: float) -> bool | None:
    """Tell whether all changes are within so many per cent; None if an interval has both."""
    known = [change for change in changes if change.is_known]
    if any(change.low > most or change.high < -most for change in known):
        return False
    inside = all(-most <= change.low and change.high <= most for change in known)
    return True if known and inside else None


def _monotone(runs: Runs, reading: str) -> Iterator[Verdict]:
    by_alpha = runs.where(nb_users=250).by("alpha")
    means = {a: creasy.mean("throughput") for a, creasy in by_alpha.items() if a <= MOST}
    if len(means) < 3:
        return
    values = [mean.value for mean in means.values()]
    holds = values == sorted(values) if next(iter(means.values())).is_known else None
    told = ", ".join(f"{alpha:g}: {mean.value:.1f}" for alpha, mean in means.items())
    gain = by_alpha[max(means)].change("throughput", by_alpha[min(means)])
    effect = f"{shown(gain)} from {min(means):g} to {max(means):g}"
    yield TEXTS.verdict("monotone", holds, means=told, effect=effect, reading=reading)


def _marginal(runs: Runs, reading: str) -> Iterator[Verdict]:
    by_alpha = runs.where(nb_users=250).by("alpha")
    beyond = {alpha: own for alpha, own in by_alpha.items() if alpha > MOST}
    if EASY not in by_alpha or MOST not in by_alpha or not beyond:
        return
    easy = by_alpha[EASY]
    most = by_alpha[MOST].change("throughput", easy)
    gains = {alpha: own.change("throughput", easy) for alpha, own in beyond.items()}
    best = max(gains.values(), key=lambda gain: gain.value)
    told = ", ".join(f"{alpha:,.0f}: {shown(gain)}" for alpha, gain in gains.items())
    yield TEXTS.verdict(
        "marginal",
        best.value <= most.value + MARGINAL if best.is_known else None,
        most=shown(most),
        means=told,
        within=MARGINAL,
        effect=f"{shown(most)} at 6000, up to {shown(best)} beyond",
        reading=reading,
    )


def shown(change: Interval) -> str:
    """Return a change in per cent with its interval and the number of pairs."""
    if not change.is_known:
        return f"{change.value:+.1f} % (n = {change.nb})"
    return f"{change.value:+.1f} % ({change.low:+.1f} to {change.high:+.1f}, n = {change.nb})"
