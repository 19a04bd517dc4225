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
above, below, near = (
    lambda change: change.above(0),
    lambda change: change.below(0),
    lambda change: change.within(-NEAR, NEAR),
)


def judge_claims(log: str, runs: Runs) -> Iterator[Verdict]:
    """Yield a verdict on each claim for which a log has runs."""
    for loop in c.LOOPS:
        times = c.list_idle_times(runs.where(loop=loop))
        long = [time for time in times if time >= c.BREAK_EVEN]
        factors = list(runs.where(loop=loop).by("node_factor"))
        judge, case = partial(_judge, log, loop), partial(c.select, runs, loop)
        changes = {
            f"x{of:g}, {less:g} to {more:g} s": c.compare(case(of, more), case(of, less), c.SAVED)
            for of in factors
            for less, more in pairwise(long)
        }
        yield from judge("idle_time", changes, below)
        changes = {
            f"{at:g} s, x{less:g} to x{more:g}": c.compare(case(more, at), case(less, at), c.SAVED)
            for at in times
            for less, more in pairwise(factors)
        }
        yield from judge("load", changes, above)
        slow = {f"x{of:g}": case(of, c.BREAK_EVEN) for of in factors}
        at_once = {f"x{of:g}": case(of, 0.0) for of in factors}
        changes = {of: c.compare(at_once[of], slow[of], c.SAVED) for of in slow}
        yield from judge("at_once", changes, lambda change: change.above(-MARGIN))
        changes = {of: c.compare(at_once[of], slow[of], c.SWITCHES) for of in slow}
        yield from judge("switches", changes, above)
        rests = {
            f"{at:g} s": case(of, at).mean(c.REST_SHARE) for of in factors[-1:] for at in times
        }
        yield from judge("is_waking", rests, near)
        yield from judge("reserve", dict(_compare_reserve(runs, loop, factors)), above)
        rigid = {f"x{of:g}": c.select(runs, c.RIGID, of, c.BREAK_EVEN) for of in factors}
        for quantity in c.NAMES if loop in c.REACTING else ():
            way, test = ("more", above) if quantity == c.WAKING else ("less", below)
            changes = {of: c.compare(slow[of], rigid[of], quantity) for of in slow}
            yield from judge("reacting", changes, test, what=c.NAMES[quantity], way=way)


def _judge(
    log: str,
    loop: str,
    key: str,
    found: Mapping[str, Interval],
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


def _compare_reserve(runs: Runs, loop: str, factors: list[float]) -> Iterator[tuple[str, Interval]]:
    """Yield what the shortest idle time without reserve that wakes no longer saves more.

    If there is none, yield by how much waking with the reserve is longer than with the longest
    idle time, which is negative.
    """
    for factor in factors:
        kept = c.select(runs, loop, factor, c.BREAK_EVEN, c.RESERVE)
        for time in c.list_idle_times(runs.where(loop=loop)):
            other, name = c.select(runs, loop, factor, time), f"x{factor:g}, {time:g} s"
            change = c.compare(kept, other, c.WAKING)
            if change.value >= 0:
                yield name, c.compare(other, kept, c.SAVED)
                break
        else:
            if kept:
                yield f"{name} wakes longer (s)", change
