"""The claims of the paper, and what the runs say of each; their texts are in ``published.toml``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from batsched_py.report import Verdict
from batsched_py.report.kit import Interval, Runs
from batsched_studies.creasy import PUBLISHED, TEXTS
from batsched_studies.creasy.tables import CLASSES, EASY, MOST, TITLES

ALIKE = 5.0
"""Per cent of EASY's value within which policies count as alike with 50 users."""
FLAT = 0.5
"""Sessions are nearly flat if they change by less than this share of EASY's change."""


def verdicts(runs: Runs) -> Iterator[Verdict]:
    """Yield a verdict for each claim; ``holds`` is None for fewer than two replications."""
    easy, most = (runs.where(nb_users=250, alpha=alpha) for alpha in (EASY, MOST))
    if easy and most:
        yield from _against_easy(easy, most)
    yield from _sessions(runs)
    yield from _alike(runs)
    yield from _monotone(runs)


def _against_easy(easy: Runs, most: Runs) -> Iterator[Verdict]:
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
    texts: dict[str, Any] = {name: _shown(change) for name, change in changes.items()}
    texts |= {"gain": gain, "paper": PUBLISHED["response_change"]}
    for claim, change, right in judged:
        yield TEXTS.verdict(claim, None if change.nb < 2 else right, **texts)


def _sessions(runs: Runs) -> Iterator[Verdict]:
    changes = {}
    for alpha in (EASY, MOST):
        few, many = (runs.where(alpha=alpha, nb_users=users) for users in (50, 250))
        if few and many:
            changes[alpha] = many.change("session_length", few)
    if len(changes) < 2:
        return
    easy, most = changes.values()
    flat = easy.high < 0 and abs(most.value) < FLAT * abs(easy.value)
    holds = None if easy.nb < 2 else flat
    yield TEXTS.verdict("sessions", holds, easy=_shown(easy), most=_shown(most))


def _alike(runs: Runs) -> Iterator[Verdict]:
    others = runs.where(nb_users=50).by("alpha")
    easy = others.pop(EASY, None)
    if easy is None or not others:
        return
    most = {}
    for name in ("throughput", "response", "slowdown", "session_length"):
        changes = (creasy.change(name, easy).value for creasy in others.values())
        most[name] = max(changes, key=abs)
    holds = None if len(easy) < 2 else all(abs(value) <= ALIKE for value in most.values())
    shown = ", ".join(f"{TITLES[name]} {value:+.1f} %" for name, value in most.items())
    yield TEXTS.verdict("alike", holds, changes=shown, within=ALIKE)


def _monotone(runs: Runs) -> Iterator[Verdict]:
    by_alpha = runs.where(nb_users=250).by("alpha")
    means = {alpha: creasy.mean("throughput") for alpha, creasy in by_alpha.items()}
    if len(means) < 3:
        return
    values = [mean.value for mean in means.values()]
    holds = None if next(iter(means.values())).nb < 2 else values == sorted(values)
    shown = ", ".join(f"{alpha:g}: {mean.value:.1f}" for alpha, mean in means.items())
    yield TEXTS.verdict("monotone", holds, means=shown)


def _shown(change: Interval) -> str:
    if change.low != change.low:
        return f"{change.value:+.1f} % (one replication)"
    return f"{change.value:+.1f} % ({change.low:+.1f} to {change.high:+.1f})"
