"""The claims of the paper, and what the runs of one reading say about them.

Systems and think times are compared replication by replication: equal replications are the same
users. One thing is less than another if the 95 % bootstrap interval of the ratio of means is below
1, and is not if it is above; an interval that holds 1 says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import Any

from batsched_py.report import Verdict
from batsched_py.report.kit import Interval, Runs
from batsched_studies.dynamic_think_times import PUBLISHED, TEXTS
from batsched_studies.dynamic_think_times import cases as c

CONSTANT = ("c20", "c120", "c240")
TITLES: list[str] = PUBLISHED["claims"]
FALLS, BEATS, NOT_AWRT, MORE, EQUAL, BETTER = TITLES
GAIN = (0.88, 0.96)
"""The paper's 4 to 12 %, as ratios."""

Ratios = Mapping[str, Interval]
"""By what is compared."""


def verdicts(runs: Runs, reading: str) -> list[Verdict]:
    """Return what the runs of a reading say of each claim."""
    runs = runs.where(reading=reading)
    if not runs:
        return [Verdict(title, None, "") for title in TITLES]
    beside, tolerance = _think_times(runs), equal()
    return [
        _all(FALLS, _falls(runs), _less),
        _all(BEATS, _systems(runs, ("art", "awt", "asd")), _less),
        _all(NOT_AWRT, _systems(runs, ("awrt",)), lambda ratio: ratio.high >= 1),
        _all(MORE, {at: r for at, r in beside.items() if "workload" in at}, _more),
        _all(
            EQUAL,
            {at: ratio for at, ratio in beside.items() if "workload" not in at},
            lambda ratio: _within(ratio, 1 / tolerance, tolerance),
            f" Equal: within a factor of {tolerance:.2f}, the largest of the paper's own medians.",
        ),
        _all(BETTER, _gains(runs), _better),
    ]


def equal() -> float:
    """Return the largest ratio of a metric of lin and c120 that the paper calls about equal."""
    ratios: list[float] = []
    for scheduler in c.SCHEDULERS:
        lin, base = (PUBLISHED["cases"][scheduler]["1024"][think] for think in ("lin", "c120"))
        ratios += [lin[metric.name][1] / base[metric.name][1] for metric in c.QUALITY]
    return max(max(ratio, 1 / ratio) for ratio in ratios)


def stated(runs: Runs) -> Verdict:
    """Return whether the published numbers can be those of the stated set-up."""
    needs, ours, within = [], [], []
    for case, printed in c.printed():
        replications = runs.where(reading=c.STATED, **case)
        if not replications:
            continue
        needs.append(c.needed(case["nodes"], case["think"], printed)["share"])
        ours.append(100 * (replications.median("busy") / c.ACTIVE_WEEKS))
        for name, (_, middle, _) in printed.items():
            low, high = replications.values(name).quantile([0.025, 0.975])
            within.append(bool(low <= middle <= high))
    if not needs:
        return TEXTS.verdict("stated", None, tell=False)
    told: dict[str, Any] = {"within": sum(within), "medians": len(within)}
    told["needs"], told["ours"] = (
        f"{min(shares):.0f} to {max(shares):.0f} %" for shares in (needs, ours)
    )
    return TEXTS.verdict("stated", all(within), **told)


def _falls(runs: Runs) -> Ratios:
    ratios = {}
    for (scheduler, nodes), of_system in runs.groups("scheduler", "nodes"):
        for shorter, longer in pairwise(CONSTANT):
            ratio = of_system.where(think=longer).ratio("work", of_system.where(think=shorter))
            ratios[f"{longer} / {shorter}, {scheduler} {nodes}"] = ratio
    return ratios


def _systems(runs: Runs, metrics: Iterable[str]) -> Ratios:
    ratios: dict[str, Interval] = {}
    for (nodes, think), of_users in runs.groups("nodes", "think"):
        easy, fcfs = (of_users.where(scheduler=name) for name in ("easy", "fcfs"))
        ratios |= {f"{name.upper()}, {nodes} {think}": easy.ratio(name, fcfs) for name in metrics}
    return ratios


def _think_times(runs: Runs) -> Ratios:
    ratios: dict[str, Interval] = {}
    for (scheduler,), of_system in runs.where(nodes=1024).groups("scheduler"):
        lin, base = (of_system.where(think=think) for think in ("lin", "c120"))
        ratios |= {f"{m.title}, {scheduler}": lin.ratio(m.name, base) for m in c.METRICS}
    return ratios


def _gains(runs: Runs) -> Ratios:
    pairs = c.at_equal_work(runs.where(scheduler="fcfs", nodes=128))
    ratios = c.ratios_at_equal_work(pairs)
    return {metric.title: ratios[metric.name] for metric in c.QUALITY}


def _less(ratio: Interval) -> bool | None:
    return True if ratio.high < 1 else False if ratio.low >= 1 else None


def _more(ratio: Interval) -> bool | None:
    return True if ratio.low > 1 else False if ratio.high <= 1 else None


def _within(ratio: Interval, low: float, high: float) -> bool | None:
    if ratio.high < low or ratio.low > high:
        return False
    return True if low <= ratio.value <= high else None


def _better(ratio: Interval) -> bool | None:
    by_that_much = _within(ratio, *GAIN)
    return _less(ratio) if by_that_much else by_that_much


def _all(
    title: str, ratios: Ratios, holds: Callable[[Interval], bool | None], more: str = ""
) -> Verdict:
    """Return the verdict on what is to hold of all ratios; None if it does not follow of some."""
    finite = {at: ratio for at, ratio in ratios.items() if ratio.low == ratio.low}
    if not finite:
        return Verdict(title, None, "")
    answers = {at: holds(ratio) for at, ratio in finite.items()}
    wrong, unclear = ([at for at in answers if answers[at] is what] for what in (False, None))
    low = min(finite, key=lambda at: finite[at].value)
    high = max(finite, key=lambda at: finite[at].value)
    shown = dict.fromkeys((low, high)) if len(finite) > 4 else finite
    evidence = f"In {len(finite) - len(wrong) - len(unclear)} of {len(finite)} comparisons"
    evidence += f": {_in_words(shown, finite)}."
    for what, those in (("Not", wrong), ("Undecided", unclear)):
        others = f" and {len(those) - 3} more" if len(those) > 3 else ""
        evidence += f" {what} in {_in_words(those[:3], finite)}{others}." if those else ""
    return Verdict(title, False if wrong else None if unclear else True, evidence + more)


def _in_words(places: Iterable[str], ratios: Ratios) -> str:
    shown = ((at, ratios[at]) for at in places)
    return "; ".join(f"{at} {r.value:.2f} [{r.low:.2f}, {r.high:.2f}]" for at, r in shown)
