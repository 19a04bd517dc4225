"""Describes a calibration in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan

from batsched_py.calibration.agreement import FACTOR, MARGIN
from batsched_py.calibration.groups import FEWEST_JOBS, USER, Group
from batsched_py.calibration.policy_calibrations import USUAL, Difference, PolicyCalibrations
from batsched_py.calibration.resource_use import MOST_UNEXPLAINED, UNKNOWN_LIMITS
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
_COMPARED = (
    "it is closer to the log than",
    "it is farther from the log than",
    "it is as close to the log as",
    "it is inconclusive whether it is closer to the log than",
)
_UNBELIEVABLE = "Levels of waits cannot be believed; relative changes may."
_KINDS = {"hour": "hours", "requested time": "requested times"}

THRESHOLDS = (
    f"The order of waits is reproduced from a rank correlation of {ORDER_REPRODUCED:g} on, and not "
    f"below {ORDER_IN_PART:g}; their level if the means differ by at most {100 * SAME_LEVEL:g} %; "
    f"that of a group if they are within a factor of {FACTOR:g} or {MARGIN / MINUTE:g} min. A "
    "result is inconclusive if its 95 % interval is on both sides of such a limit."
)


def describe_calibration(found: PolicyCalibrations) -> list[str]:
    """Return a description of the agreement with the log, in a few sentences."""
    of_site = found.of_site
    measures = of_site.agreement
    level = describe_level(
        measures.mean_simulated.value, measures.mean_recorded.value, measures.relative_bias
    )
    sentences = [
        _describe_doubts(found),
        f"{_name_closer_policy(found)}Under {found.site}, {level}. "
        f"{describe_order(measures.rank_correlation)}.",
        _compare_with_others(found.differences),
        describe_wrong_groups(of_site),
        f"{_describe_trust(of_site)}.",
    ]
    return [sentence for sentence in sentences if sentence]


def _describe_doubts(found: PolicyCalibrations) -> str:
    """Return why levels of waits cannot be believed by the records; empty if they can be."""
    doubts = [
        f"In {use['partition']}, running jobs hold more {use['resource']} than the simulated "
        f"machine has, {100 * use['over']:.0f} % of the time."
        for use in found.used.to_dict("records")
        if use["counted"] and use["over"] > MOST_UNEXPLAINED
    ]
    doubts += [
        f"In {held['partition']}, {UNKNOWN_LIMITS} held {100 * held['share']:.0f} % of the "
        f"{held['hours']}."
        for held in found.held.to_dict("records")
        if held["by"] == UNKNOWN_LIMITS and held["share"] > MOST_UNEXPLAINED
    ]
    return " ".join([_UNBELIEVABLE, *doubts]) if doubts else ""


def _name_closer_policy(found: PolicyCalibrations) -> str:
    """Return a sentence on the policy that is clearly closest to the log; empty if none is."""
    closer = [
        (each.share_explained.value, each.other)
        for each in found.differences
        if each.other in found.policies and each.share_explained.below(0)
    ]
    if not closer:
        return ""
    _, name = min(closer)
    of = found.policies[name].agreement
    numbers = f"rank correlation {of.rank_correlation.value:.2f}"
    if not isnan(of.relative_bias.value):
        numbers += f", mean wait {100 * of.relative_bias.value:+z.0f} %"
    return (
        f"{name} is clearly closer to the log than {found.site} ({numbers}): if it is the policy "
        f"of your site, calibrate again with --scheduler {name}. "
    )


def describe_order(rank: Interval) -> str:
    """Return a sentence on the order of waits by their rank correlation, without full stop."""
    if isnan(rank.value):
        return "The order of waits has no measure, as all simulated or all recorded waits are equal"
    shown = f"(rank correlation {format_number(rank)})"
    if not rank.is_known:
        return f"The rank correlation of waits is {rank.value:.2f}"
    if rank.above(ORDER_REPRODUCED):
        return f"The order of waits is reproduced {shown}"
    if rank.below(ORDER_IN_PART):
        return f"The order of waits is not reproduced {shown}"
    return f"The order of waits is reproduced in part {shown}"


def describe_level(simulated: float, recorded: float, relative: Interval) -> str:
    """Return a sentence on mean waits (s) and their relative bias, without full stop."""
    means = (
        f"jobs wait {format_duration(simulated)} on average and {format_duration(recorded)} "
        "in the log"
    )
    if isnan(relative.value):
        return f"{means}, where no job waited"
    middle, low, high = (100 * end for end in (relative.value, relative.low, relative.high))
    in_percent = Interval(middle, low, high, relative.nb)
    means = f"{means} ({format_number(in_percent, '+z.0f')} %)"
    if not relative.is_known:
        return f"{means}; fewer than {FEWEST} weeks have no interval"
    within = relative.within(-SAME_LEVEL, SAME_LEVEL)
    if within is None:
        return f"{means}; it is inconclusive whether the level of waits is reproduced"
    return f"{means}, so the level of waits is {'' if within else 'not '}reproduced"


def _compare_with_others(differences: list[Difference]) -> str:
    by_words: dict[str, list[str]] = {words: [] for words in _COMPARED}
    nearer, farther, same, unclear = by_words.values()
    for each in differences:
        change = each.share_explained
        name = f"the usual wait {each.other}" if each.other == USUAL else each.other
        if isnan(change.value):  # no variation to explain
            continue
        if change.low == change.high == 0:
            same.append(name)
            continue
        kind = (nearer if change.value > 0 else farther) if change.is_clear else unclear
        kind.append(f"{name} ({format_number(change, '+z.2f')})")
    parts = [f"{words} {' and '.join(names)}" for words, names in by_words.items() if names]
    if not parts:
        return ""
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}, by the share of the waits' variation that is explained."


def describe_wrong_groups(found: Calibration) -> str:
    """Return a sentence on the groups of jobs whose waits are not reproduced."""
    bounds = f"a factor of {FACTOR:g} and {MARGIN / MINUTE:g} min"
    groups = [group for group in found.groups if group.jobs < found.jobs.compared]
    if all(group.reproduced is None for group in groups):
        return (
            f"It is inconclusive for all groups of jobs whether they are off by more than {bounds}."
        )
    if all(group.reproduced is not False for group in groups):
        return f"No group of {FEWEST_JOBS} jobs or more is clearly off by more than {bounds}."
    return f"Mean waits are off by more than {bounds} for {'; '.join(_by_kind(groups))}."


def _by_kind(groups: list[Group]) -> Iterator[str]:
    """Yield how many groups of each kind are off, with the worst one."""
    for kind in dict.fromkeys(group.kind for group in groups):
        of_kind = [group for group in groups if group.kind == kind]
        wrong = [group for group in of_kind if group.reproduced is False]
        if not wrong:
            continue
        worst = max(wrong, key=lambda group: abs(group.bias.value))
        word = kind if len(of_kind) == 1 else _KINDS.get(kind, f"{kind}s")
        yield (
            f"{len(wrong)} of {len(of_kind)} {word} (worst: {worst.name}, "
            f"{format_duration(worst.mean_simulated)} instead of "
            f"{format_duration(worst.mean_recorded)})"
        )


def find_least_change(bias: Interval) -> float:
    """Return the smallest change of the mean wait, in seconds, that the replay can predict.

    It is the larger end of the interval of the bias, the error of the replay; nan without an
    interval.
    """
    return max(abs(bias.low), abs(bias.high)) if bias.is_known else float("nan")


def describe_least_change(bias: Interval) -> str:
    """Return a sentence on the least change that can be predicted, without the full stop."""
    least = find_least_change(bias)
    if isnan(least):
        return "The smallest change of the mean wait that the replay can predict is unknown"
    if least < _NOTHING:
        return "The mean wait is exact, so the replay can predict any change of it"
    time = format_duration(least)
    return f"Predicted changes of the mean wait below {time} are within the error of the replay"


def _describe_trust(found: Calibration) -> str:
    rank = found.agreement.rank_correlation
    more = f"; results for single {USER}s, hours or sizes are unreliable"
    poor = isnan(rank.value) or rank.value < ORDER_IN_PART
    return describe_least_change(found.agreement.bias) + more * poor


def format_number(value: Interval, form: str = "z.2f") -> str:
    """Return an estimate as ``0.83, 0.80 to 0.86``; ``-`` for nan."""
    if isnan(value.value):
        return "-"
    if not value.is_known:
        return f"{value.value:{form}}"
    return f"{value.value:{form}}, {value.low:{form}} to {value.high:{form}}"
