"""The claims of the paper, and what the runs of one reading say about them.

Systems and think times are compared replication by replication: equal replications are the same
users. One thing is less than another if the 95 % bootstrap interval of the ratio of means is below
1, and is not if it is above; an interval that holds 1 says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

from batsched_py.report import Verdict
from batsched_py.report.kit.selection import Runs
from batsched_py.support.statistics import Interval
from batsched_studies.dynamic_think_times import PUBLISHED
from batsched_studies.dynamic_think_times import cases as c

CONSTANT = ("c20", "c120", "c240")
FALLS = "The workload falls with the constant think time"
BEATS = "EASY has less ART, AWT and ASD than FCFS"
NOT_AWRT = "EASY does not have less AWRT than FCFS"
MORE = "On 1024 cores, lin processes more work than c120"
EQUAL = "On 1024 cores, lin and c120 have about equal metrics"
BETTER = "At equal work, lin has metrics that are 4 to 12 % better (FCFS, 128 cores)"
TITLES = (FALLS, BEATS, NOT_AWRT, MORE, EQUAL, BETTER)

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
    claim = "The published metrics are those of the stated users (p_a = 0.5, 9 to 17, one job each)"
    needs, ours, within = [], [], []
    for case, printed in c.printed():
        replications = runs.where(reading=c.STATED, **case)
        if not replications:
            continue
        needs.append(c.needed(case["nodes"], case["think"], printed).share)
        ours.append(replications.median("busy") / c.ACTIVE_WEEKS)
        for name, (_, middle, _) in printed.items():
            low, high = replications.values(name).quantile([0.025, 0.975])
            within.append(bool(low <= middle <= high))
    if not needs:
        return Verdict(claim, None, "")
    evidence = (
        f"{sum(within)} of {len(within)} published medians are between our 2.5 and 97.5 % "
        f"quantiles. The printed workloads and responses need {100 * min(needs):.0f} to "
        f"{100 * max(needs):.0f} % of all the time of active weeks, nights and weekends included; "
        f"our users, whose days end at 17:00, spend {100 * min(ours):.0f} to {100 * max(ours):.0f} "
        "% of it in responses and thinking."
    )
    return Verdict(claim, all(within), evidence)


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
    evidence += f": {'; '.join(_in_words(at, finite[at]) for at in shown)}."
    for what, those in (("Not", wrong), ("Undecided", unclear)):
        evidence += f" {what} in {_named(those, finite)}." if those else ""
    return Verdict(title, False if wrong else None if unclear else True, evidence + more)


def _named(wrong: Sequence[str], ratios: Ratios) -> str:
    shown = "; ".join(_in_words(at, ratios[at]) for at in wrong[:3])
    return shown + (f" and {len(wrong) - 3} more" if len(wrong) > 3 else "")


def _in_words(at: str, ratio: Interval) -> str:
    return f"{at} {ratio.value:.2f} [{ratio.low:.2f}, {ratio.high:.2f}]"
