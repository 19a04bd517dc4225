"""The claims of the paper, and what the runs say of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from batsched_py.report import Verdict
from batsched_py.report.kit.selection import Runs
from batsched_py.support.statistics import Interval
from batsched_studies.creasy.tables import CLASSES, EASY, MOST, TITLES

ALIKE = 5.0
"""Per cent of EASY's value within which policies count as alike with 50 users."""
FLAT = 0.5
"""Sessions are nearly flat if they change by less than this share of EASY's change."""


def verdicts(runs: Runs, published: Mapping[str, Any]) -> Iterator[Verdict]:
    """Yield a verdict for each claim; ``holds`` is None for fewer than two replications."""
    easy, most = (runs.where(nb_users=250, alpha=alpha) for alpha in (EASY, MOST))
    if easy and most:
        yield _throughput(most.change("throughput", easy), published)
        yield _compared("Slowdown is far better", most.change("slowdown", easy), -66, _less)
        yield _compared("Mean response is worse", most.change("response", easy), 27, _more)
        yield _classes(easy, most, published)
    yield from _sessions(runs)
    yield from _alike(runs)
    yield from _monotone(runs)


def _throughput(change: Interval, published: Mapping[str, Any]) -> Verdict:
    printed = published["throughput_gain"][str(MOST)]
    enough = printed / 2
    return Verdict(
        "With 250 users, throughput is much higher under CREASY 6000 than under EASY",
        None if change.nb < 2 else change.low > enough,
        f"{_shown(change)}; the paper: more than +{printed} %. *Much* is taken as half of that.",
    )


def _less(change: Interval) -> bool:
    return change.high < 0


def _more(change: Interval) -> bool:
    return change.low > 0


def _compared(
    what: str, change: Interval, printed: float, holds: Callable[[Interval], bool]
) -> Verdict:
    return Verdict(
        f"{what} under CREASY 6000 than under EASY, with 250 users",
        None if change.nb < 2 else holds(change),
        f"{_shown(change)}; the paper: {printed:+g} %. The sign is judged.",
    )


def _classes(easy: Runs, most: Runs, published: Mapping[str, Any]) -> Verdict:
    changes = {name: most.change(name, easy) for name in CLASSES}
    texts = [
        f"{TITLES[name]}: {_shown(change)} ({published['response_change'][name]:+g} %)"
        for name, change in changes.items()
    ]
    short, medium, long = changes.values()
    return Verdict(
        "CREASY answers short and medium jobs sooner and long ones later, with 250 users",
        None if short.nb < 2 else _less(short) and _less(medium) and _more(long),
        f"Mean response by run time (the paper's change): {'; '.join(texts)}. Signs are judged.",
    )


def _sessions(runs: Runs) -> Iterator[Verdict]:
    changes = {}
    for alpha in (EASY, MOST):
        few, many = (runs.where(alpha=alpha, nb_users=users) for users in (50, 250))
        if few and many:
            changes[alpha] = many.change("session_length", few)
    if len(changes) < 2:
        return
    easy, most = changes.values()
    yield Verdict(
        "From 50 to 250 users sessions become shorter under EASY, and hardly under CREASY 6000",
        None if easy.nb < 2 else easy.high < 0 and abs(most.value) < FLAT * abs(easy.value),
        f"Jobs per session, EASY: {_shown(easy)} (the paper: -36 %); CREASY 6000: "
        f"{_shown(most)}. *Hardly*: less than half as much.",
    )


def _alike(runs: Runs) -> Iterator[Verdict]:
    easy = runs.where(nb_users=50, alpha=EASY)
    by_alpha = {alpha: runs.where(nb_users=50, alpha=alpha) for alpha in runs.labels("alpha")}
    others = [creasy for alpha, creasy in by_alpha.items() if alpha != EASY and creasy]
    if not easy or not others:
        return
    names = ("throughput", "response", "slowdown", "session_length")
    most = {
        name: max((creasy.change(name, easy).value for creasy in others), key=abs) for name in names
    }
    texts = [f"{TITLES[name]} {value:+.1f} %" for name, value in most.items()]
    yield Verdict(
        "With 50 users all policies are alike",
        None if len(easy) < 2 else all(abs(value) <= ALIKE for value in most.values()),
        f"Largest change of the mean against EASY: {', '.join(texts)}. *Alike*: within "
        f"{ALIKE:g} %.",
    )


def _monotone(runs: Runs) -> Iterator[Verdict]:
    alphas = sorted(runs.labels("alpha"))
    by_alpha = {alpha: runs.where(nb_users=250, alpha=alpha) for alpha in alphas}
    means = {alpha: creasy.mean("throughput") for alpha, creasy in by_alpha.items() if creasy}
    if len(means) < 3:
        return
    values = [mean.value for mean in means.values()]
    text = ", ".join(f"{alpha:g}: {mean.value:.1f}" for alpha, mean in means.items())
    yield Verdict(
        "With 250 users, throughput rises with alpha",
        None if next(iter(means.values())).nb < 2 else values == sorted(values),
        f"Jobs/h by alpha: {text}. The order of the means is judged.",
    )


def _shown(change: Interval) -> str:
    if change.low != change.low:
        return f"{change.value:+.1f} % (one replication)"
    return f"{change.value:+.1f} % ({change.low:+.1f} to {change.high:+.1f})"
