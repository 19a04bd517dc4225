"""The claims of the study, with verdicts by the 95 % intervals over pairs of the same users."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import pairwise
from typing import Any

from batsched_py.report import Verdict, kit
from batsched_py.report.kit import Interval, Runs
from batsched_studies.shutdown import TEXTS
from batsched_studies.shutdown import cases as c

MARGIN = 0.5
"""Points within which two savings are taken for equal."""
NEAR = 20.0
"""Per cent of the time for waking within which other changes of waits are taken for none."""
Found = Mapping[str, Interval]
above, below, near = (
    lambda change: change.above(0),
    lambda change: change.below(0),
    lambda change: change.within(-NEAR, NEAR),
)


def judge_claims(log: str, runs: Runs) -> Iterator[Verdict]:
    """Yield a verdict on each claim for which a log has runs."""
    times = c.list_idle_times(runs)
    long = [time for time in times if time >= c.BREAK_EVEN]
    for loop in c.LOOPS:
        factors = list(runs.where(loop=loop).by("node_factor"))
        judge, case = partial(_judge, log, loop), partial(c.select, runs, loop)
        changes: Found = {
            f"x{of:g}, {less:g} to {more:g} s": c.compare(case(of, more), case(of, less), c.SAVED)
            for of in factors
            for less, more in pairwise(long)
        }
        yield from judge("idle_time", changes, below)
        changes = {
            f"{time:g} s, x{less:g} to x{more:g}": c.compare(
                case(more, time), case(less, time), c.SAVED
            )
            for time in times
            for less, more in pairwise(factors)
        }
        yield from judge("load", changes, above)
        at_once, slow, rigid = (
            {of: c.select(runs, *place) for of in factors for place in [(users, of, time)]}
            for users, time in ((loop, 0.0), (loop, c.BREAK_EVEN), (c.RIGID, c.BREAK_EVEN))
        )
        changes = _compare(at_once, slow, c.SAVED)
        yield from judge("at_once", changes, lambda change: change.above(-MARGIN))
        yield from judge("sleeps", _compare(at_once, slow, c.SLEEPS), above)
        on_largest = {time: case(of, time) for of in factors[-1:] for time in times}
        rests = {f"{time:g} s": of.mean(c.REST_SHARE) for time, of in on_largest.items()}
        yield from judge("is_waking", rests, near)
        changes = dict(found for of in factors for found in _reserve(runs, loop, of))
        yield from judge("reserve", changes, above)
        for quantity in c.COMPARED if loop in c.REACTING else ():
            way, test = ("more", above) if quantity == c.WAKING else ("less", below)
            what = {"what": c.NAMES[quantity], "way": way}
            yield from judge("reacting", _compare(slow, rigid, quantity), test, **what)


def _compare(ours: Mapping[float, Runs], base: Mapping[float, Runs], quantity: str) -> Found:
    return {f"x{of:g}": c.compare(ours[of], base[of], quantity) for of in ours}


def _judge(
    log: str,
    loop: str,
    key: str,
    found: Found,
    test: Callable[[Interval], bool | None],
    **values: Any,
) -> Iterator[Verdict]:
    """Yield the verdict on a claim that holds if it does in each case; none without runs."""
    answers = {name: test(change) for name, change in found.items() if change.nb}
    if answers:
        place = min(kit.deciding(answers), key=lambda name: abs(found[name].value))
        effect = f"{place}: {found[place]}, n = {found[place].nb}"
        values |= {"loop": loop, "found": "; ".join(f"{name}: {found[name]}" for name in answers)}
        yield TEXTS.verdict(key, kit.all_hold(answers.values()), log, effect=effect, **values)


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
