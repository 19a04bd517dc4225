"""The deciders of dynP, which choose the next policy by the values of the policies' plans.

Values are by policy, smaller is better; ties prefer the policy that comes first (FCFS, SJF,
LJF). Source: A. Streit's thesis, 2003, section 4.4.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

Values = dict[str, float]
Decider = Callable[[Values, str], str]
"""(values, old policy) -> new policy."""


def choose_best(values: Values, old: str) -> str:
    """Return the best policy, whatever the old one is: the decider ``simple``."""
    return min(values, key=values.__getitem__)


def choose_best_or_stay(values: Values, old: str) -> str:
    """Return the old policy if it is one of the best, else the best: the decider ``advanced``."""
    best = choose_best(values, old)
    return old if values[old] == values[best] else best


def make_preferring(policy: str, reading: str) -> Decider:
    """Return the unfair decider that prefers ``policy``, by an interpretation of the thesis.

    ``minimum``: take the policy whenever it is one of the best. ``old``: return to it as soon as it
    is at least equal to the old policy, even if a third is better.
    """

    def decide(values: Values, old: str) -> str:
        if reading == "old" and old != policy:
            back = values[policy] <= values[old]
        else:
            back = values[policy] == min(values.values())
        return policy if back else choose_best_or_stay(values, old)

    return decide


DECIDERS: dict[str, Callable[[str], Decider]] = {
    "simple": lambda reading: choose_best,
    "advanced": lambda reading: choose_best_or_stay,
    "fcfs-preferred": lambda reading: make_preferring("fcfs", reading),
    "sjf-preferred": lambda reading: make_preferring("sjf", reading),
    "ljf-preferred": lambda reading: make_preferring("ljf", reading),
}
"""Functions that make deciders, by name; each takes the interpretation of the preferred ones."""


def apply_slackness(values: Values, old: str, slackness: float) -> Values:
    """Return the values of the plans, with the old policy's improved by ``slackness`` percent.

    All are scaled by 100, so that whole numbers stay whole and the comparison is exact. At
    exact equality the advanced decider stays, as the thesis's code does.
    """
    if not slackness or values[old] == inf:
        return values
    scaled = {policy: 100 * value for policy, value in values.items()}
    scaled[old] -= abs(values[old]) * slackness
    return scaled


def find_case(values: Values, old: str) -> str:
    """Return the case of the thesis's Table 4.3 for the values of fcfs, sjf and ljf.

    Its cases 5, 7 and 9 are parts of 4b, 2 and 3, and count as these.
    """
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
