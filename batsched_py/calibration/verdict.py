"""Describes a calibration in sentences; the thresholds are ours."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan

from batsched_py.calibration.agreement import FACTOR, MARGIN
from batsched_py.calibration.groups import FEWEST_JOBS, USER, Group
from batsched_py.calibration.policy_calibrations import USUAL, Difference, PolicyCalibrations
from batsched_py.calibration.run_calibration import Calibration
from batsched_py.options.durations import format_duration
from batsched_py.support.statistics import FEWEST, Interval
from batsched_py.units import MINUTE

ORDER_REPRODUCED = 0.7
"""Rank correlation from which on the order of waits is reproduced ..."""
ORDER_IN_PART = 0.4
"""... and below which it is not."""
SAME_LEVEL = 0.2
"""Share of the recorded mean wait within which the simulated one is at the same level."""
_NOTHING = 0.5
"""Seconds: less is no bias."""
_NAMED = 3
"""Groups that a sentence names."""
_BESIDE = (
    "it is nearer to the record than",
    "it is farther from the record than",
    "it is as near to the record as",
    "it cannot be told whether it is nearer than",
)
_KINDS = {"hour": "hours", "requested time": "requested times"}

THRESHOLDS = (
    f"The order of waits is reproduced from a rank correlation of {ORDER_REPRODUCED:g} on, and not "
    f"below {ORDER_IN_PART:g}; their level if the means differ by at most {100 * SAME_LEVEL:g} %; "
    f"that of a group if they are within a factor of {FACTOR:g} or {MARGIN / MINUTE:g} min. Each "
    "is said only if the whole 95 % interval says it."
)


def describe_calibration(found: PolicyCalibrations) -> list[str]:
    """Return a description of the agreement with the log, in at most four sentences."""
    of_site = found.of_site
    told = [
        f"Under {found.site}, {_order(of_site)}, and {_level(of_site)}.",
        _beside_others(found.differences),
        describe_wrong_groups(of_site),
        f"{_believable(of_site)}.",
    ]
    return [sentence for sentence in told if sentence]


def _order(found: Calibration) -> str:
    rank = found.agreement.rank_correlation
    if isnan(rank.value):
        return "nothing can be said of the order of waits, as all are equal on one side"
    shown = f"(rank correlation {format_number(rank)})"
    if not rank.is_known:
        return f"the rank correlation of waits is {rank.value:.2f}"
    if rank.above(ORDER_REPRODUCED):
        return f"the order of waits is reproduced {shown}"
    if rank.below(ORDER_IN_PART):
        return f"the order of waits is not reproduced {shown}"
    return f"the order of waits is reproduced in part {shown}"


def _level(found: Calibration) -> str:
    said, relative = found.agreement, found.agreement.relative_bias
    simulated = format_duration(said.mean_simulated.value)
    means = f"mean {simulated}, recorded {format_duration(said.mean_recorded.value)}"
    if isnan(relative.value):
        return f"their level has no measure, as nobody waited in the log ({means})"
    shown = f"({means}: {format_percent(relative)})"
    if not relative.is_known:
        return (
            f"their level differs by {format_percent(relative)} ({means}); of fewer than {FEWEST} "
            "weeks there are no intervals, so that nothing is known about chance"
        )
    within = relative.within(-SAME_LEVEL, SAME_LEVEL)
    if within is None:
        return f"whether their level is reproduced cannot be told {shown}"
    return f"their level is {'' if within else 'not '}reproduced {shown}"


def _beside_others(differences: list[Difference]) -> str:
    told: dict[str, list[str]] = {words: [] for words in _BESIDE}
    nearer, farther, same, unclear = told.values()
    for each in differences:
        change = each.share_explained
        name = f"the usual wait {each.other}" if each.other == USUAL else each.other
        if isnan(change.value):  # nothing there is to explain
            continue
        if change.low == change.high == 0:
            same.append(name)
            continue
        kind = (nearer if change.value > 0 else farther) if change.is_clear else unclear
        kind.append(f"{name} ({format_number(change, '+z.2f')})")
    parts = [f"{words} {' and '.join(names)}" for words, names in told.items() if names]
    if not parts:
        return ""
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}, by the share of the waits' variation that is explained."


def describe_wrong_groups(found: Calibration) -> str:
    """Return a sentence on the groups of jobs whose waits are not reproduced."""
    bounds = f"a factor of {FACTOR:g} and {MARGIN / MINUTE:g} min"
    groups = [group for group in found.groups if group.jobs < found.jobs.compared]
    if all(group.reproduced is None for group in groups):
        return f"Of no group of jobs it can be told whether it is off by more than {bounds}."
    wrong = [group for group in groups if group.reproduced is False]
    if not wrong:
        return f"No group of {FEWEST_JOBS} jobs or more is clearly off by more than {bounds}."
    return f"Off by more than {bounds}: {'; '.join(_by_kind(wrong))}."


def _by_kind(groups: list[Group]) -> Iterator[str]:
    kinds = dict.fromkeys(group.kind for group in groups)
    for kind in kinds:
        of_kind = [group for group in groups if group.kind == kind]
        of_kind.sort(key=lambda group: -abs(group.bias.value))
        named = [
            f"{group.name} ({format_duration(group.mean_simulated)} instead of "
            f"{format_duration(group.mean_recorded)})"
            for group in of_kind[:_NAMED]
        ]
        more = f" and {len(of_kind) - _NAMED} more" if len(of_kind) > _NAMED else ""
        word = kind if len(of_kind) == 1 else _KINDS.get(kind, f"{kind}s")
        yield f"{word} {', '.join(named)}{more}"


def find_least_change(bias: Interval) -> float:
    """Return the change of the mean wait, in seconds, that is too small to be predicted.

    It is the larger end of the interval of the bias: the replay itself is off by so much. nan
    without an interval.
    """
    return max(abs(bias.low), abs(bias.high)) if bias.is_known else float("nan")


def describe_least_change(bias: Interval) -> str:
    """Return a sentence on the least change that can be predicted, without the full stop."""
    least = find_least_change(bias)
    if isnan(least):
        return "How small a predicted change of the mean wait can be believed is not known"
    if least < _NOTHING:
        return "The mean wait is off by nothing: no change of it is too small to be believed"
    time = format_duration(least)
    return f"A predicted change of the mean wait by less than {time} cannot be believed"


def _believable(found: Calibration) -> str:
    least, rank = find_least_change(found.agreement.bias), found.agreement.rank_correlation
    of_single = f"what is said of single {USER}s, hours or sizes"
    more = f", nor can {of_single}" if least >= _NOTHING else f"; {of_single} cannot be believed"
    poor = isnan(rank.value) or rank.value < ORDER_IN_PART
    return describe_least_change(found.agreement.bias) + more * poor


def format_number(value: Interval, form: str = "z.2f") -> str:
    """Return an estimate as ``0.83, 0.80 to 0.86``; ``-`` for nan."""
    if isnan(value.value):
        return "-"
    if not value.is_known:
        return f"{value.value:{form}}"
    return f"{value.value:{form}}, {value.low:{form}} to {value.high:{form}}"


def format_percent(value: Interval) -> str:
    """Return an estimate of a share in per cent, as ``+5, -3 to +12 %``."""
    middle, low, high = (100 * end for end in (value.value, value.low, value.high))
    shown = format_number(Interval(middle, low, high, value.nb), "+z.0f")
    return shown if shown == "-" else f"{shown} %"
