"""The deciders of dynP: which policy follows from the values of the plans.

Values are by policy, smaller is better; ties prefer the policy that comes first in them (FCFS,
SJF, LJF). Source: A. Streit's thesis, 2003, section 4.4.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

Values = dict[str, float]
Decider = Callable[[Values, str], str]
"""(values, old policy) -> new policy."""


def simple(values: Values, old: str) -> str:
    """Take the best, whatever the old policy is."""
    return min(values, key=values.__getitem__)


def advanced(values: Values, old: str) -> str:
    """Take the best, and stay with the old policy if it is one of the best."""
    best = simple(values, old)
    return old if values[old] == values[best] else best


def preferred(policy: str, reading: str) -> Decider:
    """Return the unfair decider that likes ``policy``.

    Reading ``minimum``: take it whenever it is one of the best. Reading ``old``: go back to it as
    soon as it is at least equal to the old policy, even if a third is better.
    """

    def decide(values: Values, old: str) -> str:
        if reading == "old" and old != policy:
            back = values[policy] <= values[old]
        else:
            back = values[policy] == min(values.values())
        return policy if back else advanced(values, old)

    return decide


DECIDERS: dict[str, Callable[[str], Decider]] = {
    "simple": lambda reading: simple,
    "advanced": lambda reading: advanced,
    "fcfs-preferred": lambda reading: preferred("fcfs", reading),
    "sjf-preferred": lambda reading: preferred("sjf", reading),
    "ljf-preferred": lambda reading: preferred("ljf", reading),
}
"""Makers of deciders by name; each takes the reading of the preferred ones."""


def with_slackness(values: Values, old: str, slackness: float) -> Values:
    """Return the values with the old policy's improved by ``slackness`` percent.

    All are scaled by 100, so that whole numbers stay whole and the comparison is exact. At
    exact equality the advanced decider stays, as the thesis's code does.
    """
    if not slackness or values[old] == inf:
        return values
    scaled = {policy: 100 * value for policy, value in values.items()}
    scaled[old] -= abs(values[old]) * slackness
    return scaled


def case_of(values: Values, old: str) -> str:
    """Return the case of Table 4.3 for values of fcfs, sjf and ljf; 5, 7 and 9 are parts of
    4b, 2 and 3, and counted there."""
    fcfs, sjf, ljf = values["fcfs"], values["sjf"], values["ljf"]
    best = min(fcfs, sjf, ljf)
    tied = (fcfs == best, sjf == best, ljf == best)
    if tied == (True, True, True):
        return "1"
    if tied == (False, True, False):
        return "2"
    if tied == (True, False, False):
        return "3"
    if tied == (False, False, True):
        return "4a" if fcfs < sjf else "4b" if fcfs == sjf else "4c"
    family = {(True, True, False): "6", (True, False, True): "8", (False, True, True): "10"}[tied]
    return family + {"fcfs": "a", "sjf": "b", "ljf": "c"}[old]
