"""The claims of the study, with verdicts by the 95 % intervals over pairs of the same users."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import pairwise

from batsched_py.report import Verdict, kit
from batsched_py.report.kit import Interval, Runs
from batsched_studies.shutdown import PUBLISHED, TEXTS
from batsched_studies.shutdown import cases as c

MARGIN = 0.5
"""Points within which two savings are taken for equal."""
NEAR = 20.0
"""Per cent of the time for waking within which other changes of waits are taken for none."""
Found = Mapping[str, Interval]


def judge_claims(log: str, runs: Runs) -> Iterator[Verdict]:
    """Yield a verdict on each claim for which a log has runs."""
    times = c.list_idle_times(runs)
    for loop in c.LOOPS:
        judge, case = partial(_judge, log, loop), partial(c.select, runs, loop)
        factors = list(runs.where(loop=loop).by("node_factor"))
        changes: Found = {
            f"x{factor:g}, {less:g} to {more:g} s": c.compare(
                case(factor, more), case(factor, less), c.SAVED
            )
            for factor in factors
            for less, more in pairwise(time for time in times if time >= c.BREAK_EVEN)
        }
        yield from judge("idle_time", changes, lambda change: change.below(0))
        changes = {
            f"{time:g} s, x{less:g} to x{more:g}": c.compare(
                case(more, time), case(less, time), c.SAVED
            )
            for time in times
            for less, more in pairwise(factors)
        }
        yield from judge("load", changes, lambda change: change.above(0))
        for key, quantity, bound in (("at_once", c.SAVED, -MARGIN), ("sleeps", c.SLEEPS, 0.0)):
            changes = {
                f"x{factor:g}": c.compare(case(factor, 0.0), case(factor, c.BREAK_EVEN), quantity)
                for factor in factors
            }
            yield from judge(key, changes, lambda change, bound=bound: change.above(bound))
        if factors:
            rests = {f"{time:g} s": _compare_rest(case(factors[-1], time)) for time in times}
            near = partial(Interval.within, low=-NEAR, high=NEAR)
            yield from judge("is_waking", rests, near, factor=factors[-1])
        changes = dict(found for factor in factors for found in _reserve(runs, loop, factor))
        yield from judge("reserve", changes, lambda change: change.above(0))
        for quantity in c.COMPARED if loop in c.REACTING else ():
            changes = {
                f"x{factor:g}": c.compare(
                    case(factor, c.BREAK_EVEN), c.select(runs, c.RIGID, factor, c.BREAK_EVEN), quantity
                )
                for factor in factors
            }
            less = {"what": c.NAMES[quantity], "way": "more" if quantity == c.WAKING else "less"}
            test = Interval.above if quantity == c.WAKING else Interval.below
            yield from judge("reacting", changes, partial(test, bound=0.0), **less)
        pilot = dict(_pilot(log, runs)) if loop == c.RECORDED else {}
        yield from judge("pilot", pilot, lambda distance: distance.value <= 1)


def _judge(
    log: str,
    loop: str,
    key: str,
    found: Found,
    test: Callable[[Interval], bool | None],
    **values: object,
) -> Iterator[Verdict]:
    """Yield the verdict on a claim that holds if it does in each case; none without runs."""
    answers = {name: test(change) for name, change in found.items() if change.nb}
    if answers:
        place = min(kit.deciding(answers), key=lambda name: abs(found[name].value))
        effect = f"{place}: {found[place]}, n = {found[place].nb}"
        seen = "; ".join(f"{name}: {found[name]}" for name in answers)
        values |= {"loop": loop, "found": seen}
        yield TEXTS.verdict(key, kit.all_hold(answers.values()), log, effect=effect, **values)


def _compare_rest(case: Runs) -> Interval:
    """Return how much longer jobs wait than by waking, in per cent of the time for waking."""
    rest, waking = case.mean(c.REST), case.mean(c.WAKING).value
    of_waking = (100 * end / waking for end in (rest.value, rest.low, rest.high))
    return Interval(*of_waking, rest.nb)


def _reserve(runs: Runs, loop: str, factor: float) -> Iterator[tuple[str, Interval]]:
    """Yield what the shortest idle time without reserve that wakes no longer saves more.

    If there is none, yield by how much waking with the reserve is longer than with the longest
    idle time, which is negative.
    """
    kept = c.select(runs, loop, factor, c.BREAK_EVEN, c.RESERVE)
    for time in c.list_idle_times(runs):
        other, name = c.select(runs, loop, factor, time), f"x{factor:g}, {time:g} s"
        change = c.compare(kept, other, c.WAKING)
        if change.value >= 0:
            yield name, c.compare(other, kept, c.SAVED)
            return
    if kept:
        yield f"{name} wakes longer (s)", change


def _pilot(log: str, runs: Runs) -> Iterator[tuple[str, Interval]]:
    """Yield distances of savings from the pilot's, in halves of its intervals."""
    for case, theirs in c.find_pilot(PUBLISHED, log, runs):
        ours, (value, low, high) = case.runs.mean(c.SAVED), theirs[c.SAVED]
        distance = abs(ours.value - value) / ((high - low) / 2)
        yield f"x{case.factor:g}, {case.idle_time:g} s", Interval(distance, distance, distance, ours.nb)
