"""Sentences of the report on waiting times and work, made from the numbers of the runs."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite, isnan

from batsched_py.calibration.verdict import format_number
from batsched_py.options.durations import format_duration
from batsched_py.report.kit import Interval, Runs, listed
from batsched_py.support.statistics import FEWEST
from batsched_py.units import HOUR
from batsched_studies.site import TEXTS, fidelity
from batsched_studies.site import cases as c

TAKEN, LESS, MORE, OPEN = "taken", "less", "more", "open"
SMALL, SAME = "small", "same"
"""A change smaller than the error of the replay may be; and no change at all."""
DEPENDS, SOME, NONE = "depends", "some", "none"
"""Several kinds of users: less or more, clear for some only, clear for none (several reasons)."""
_ORDER = (LESS, MORE, DEPENDS, SOME, SMALL, SAME, OPEN, NONE, TAKEN)
_LEAST_TAKEN = 0.01
"""If less than this share of work is missing in rigid replay, the report does not mention it."""


def find_direction(ratio: Interval) -> str:
    """Return whether a ratio shows less (:data:`LESS`) or more than now, or is inconclusive."""
    if ratio.above(1):
        return MORE
    return LESS if ratio.below(1) else OPEN


def judge_wait(case: c.Case, least: float) -> str:
    """Return how a change affects the mean wait; an effect below ``least`` hours is small.

    Without waits on one side there is no ratio; the difference decides.
    """
    if case.is_unchanged(c.WAIT):
        return SAME
    ratio, more = case.ratio(c.WAIT), case.difference(c.WAIT)
    if ratio.is_known:
        found = find_direction(ratio)
    else:
        found = MORE if more.above(0) else LESS if more.below(0) else OPEN
    return SMALL if found != OPEN and abs(more.value) < least else found


def combine_answers(found: set[str]) -> str:
    """Return one answer for all kinds of users; :data:`DEPENDS` or :data:`SOME` if they differ."""
    if len(found) == 1:
        return next(iter(found))
    if {LESS, MORE} <= found:
        return DEPENDS
    return SOME if found & {LESS, MORE} else NONE


def write_headline(runs: Runs) -> str:
    """Return a list of the changes that shorten waits, lengthen them, or are inconclusive.

    Changes that take work from the users come last; their waits are judged only if longer.
    """
    by_change = _by_change(runs)
    if not by_change:
        return TEXTS["only_base" if runs.where(change=c.AS_IT_IS) else "no_base"]
    least, missing = fidelity.find_least_change(runs) / HOUR, describe_lost_work(runs)
    groups: dict[str, list[str]] = {}
    for change, cases in by_change.items():
        kind, words = _answer(cases, least)
        if change in missing and kind != MORE:
            kind = TAKEN  # shorter waits of the other users are no gain
        inside = "; ".join(filter(None, (missing.get(change), words)))
        groups.setdefault(kind, []).append(f"**{change}**{f' ({inside})' * bool(inside)}")
    few = min(case.ratio(c.WAIT).nb for cases in by_change.values() for case in cases)
    lines = [f"- {text}." for text in _texts("wait", groups)]
    hint = f"\n\n{TEXTS['few'].format(runs=few, fewest=FEWEST)}" if few < FEWEST else ""
    return "\n".join(lines) + hint


def describe_utilisation(runs: Runs) -> str:
    """Return the changes that lower or raise the utilisation for all kinds of users."""
    groups: dict[str, list[str]] = {}
    for change, cases in _by_change(runs).items():
        kind = combine_answers({find_direction(case.ratio(c.BUSY)) for case in cases})
        if kind in (LESS, MORE):
            words = f"**{change}** ({_least_to_most(cases, c.BUSY)})"
            groups.setdefault(kind, []).append(words)
    text = "; ".join(_texts("busy", groups))
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _by_change(runs: Runs) -> dict[str, list[c.Case]]:
    found: dict[str, list[c.Case]] = {}
    for case in c.find_cases(runs):
        found.setdefault(case.change, []).append(case)
    return found


def _texts(of: str, groups: dict[str, list[str]]) -> list[str]:
    return [
        TEXTS[f"{of}_{kind}"].format(changes=listed(groups[kind]))
        for kind in _ORDER
        if kind in groups
    ]


def _answer(cases: list[c.Case], least: float) -> tuple[str, str]:
    """Return how the mean wait changes for all kinds of users, and by how much or for whom."""
    found = {case.users: judge_wait(case, least) for case in cases}
    kind = combine_answers({*found.values()})
    if kind in (DEPENDS, SOME, NONE):
        words = ", ".join(_each(found))
    else:
        words = "" if kind == SAME else _least_to_most(cases, c.WAIT)
    idle = [case.users for case in cases if case.base.mean(c.WAIT).value == 0]
    note = TEXTS["nobody_waits"].format(who=listed(idle)) if idle else ""
    return kind, "; ".join(filter(None, (words, note)))


def _least_to_most(cases: list[c.Case], name: str) -> str:
    """Return the smallest and the largest change among the kinds of users.

    In per cent; changes of waits are in time if some users do not wait on the present site.
    """
    sizes = [case.ratio(name).value - 1 for case in cases]
    shown = [f"{100 * size:+z.0f} %" for size in sizes]
    if not all(map(isfinite, sizes)):
        sizes = [case.difference(name).value for case in cases]
        shown = [_in_time(size) for size in sizes]
    order = sorted(range(len(cases)), key=lambda at: sizes[at])
    least, most = order[0], order[-1]
    if shown[least] == shown[most]:
        return shown[least]
    return " to ".join(f"{shown[at]} for {cases[at].users}" for at in (least, most))


def _in_time(hours: float) -> str:
    return f"{format_duration(abs(hours) * HOUR)} {'more' if hours > 0 else 'less'}"


def _each(found: dict[str, str]) -> Iterator[str]:
    by_state: dict[str, list[str]] = {}
    for users, state in found.items():
        by_state.setdefault(state, []).append(users)
    for state, kinds in by_state.items():
        yield f"{TEXTS[f'each_{state}']}: {listed(kinds)}"


def describe_lost_work(runs: Runs) -> dict[str, str]:
    """Return by change how much work or how many jobs limits or job widths take from users.

    In rigid replay less work means that some of it is cut or refused. Without rigid replay the
    refused jobs are counted.
    """
    found: dict[str, str] = {}
    for case in c.find_cases(runs):
        work = 1 - case.ratio(c.WORK).value if not case.reacts else 0.0
        refused = case.difference("refused").value / 100
        if work > _LEAST_TAKEN:
            found[case.change] = TEXTS["taken_work"].format(share=100 * work)
        elif refused > _LEAST_TAKEN and case.rigid is None:
            found.setdefault(case.change, TEXTS["taken_jobs"].format(share=100 * refused))
    return found


def describe_submissions(runs: Runs) -> str:
    """Return which kinds of users submit more or less work; empty if no users react.

    It is relative to rigid replay, since limits take work from both.
    """
    fixed = c.list_kinds_with_fixed_work(runs)
    reacting = [case for case in c.find_cases(runs) if case.reacts]
    free = [case for case in reacting if case.users not in fixed]
    texts = [_more_or_less(free)] if free else []
    if fixed:
        texts.append(TEXTS["submit_fixed"].format(who=listed(fixed)))
    missing = [f"**{change}** ({words})" for change, words in describe_lost_work(runs).items()]
    if missing:
        texts.append(TEXTS["taken"].format(changes=listed(missing)))
    return " ".join(texts)


def _more_or_less(cases: list[c.Case]) -> str:
    if all(case.rigid is None for case in cases):
        return TEXTS["submit_alone"]
    texts: dict[str, list[str]] = {MORE: [], LESS: []}
    besides = [(case, case.compare_with_rigid(c.WORK)) for case in cases]
    for case, beside in besides:
        if find_direction(beside) in texts:
            words = f"{case.users} with **{case.change}** ({format_change(beside)})"
            texts[find_direction(beside)].append(words)
    if not any(texts.values()):
        equal = all(beside.low == beside.high == 1 for _, beside in besides)
        return TEXTS["submit_same" if equal else "submit_open"]
    return " ".join(
        TEXTS[f"submit_{word}"].format(who="; ".join(who)) for word, who in texts.items() if who
    )


def format_change(ratio: Interval) -> str:
    """Return a ratio as a change in per cent: ``+7, +5 to +9 %``."""
    value, low, high = (100 * (end - 1) for end in (ratio.value, ratio.low, ratio.high))
    return f"{format_number(Interval(value, low, high, ratio.nb), '+z.0f')} %"


def describe_present_waits(runs: Runs) -> str:
    """Return the waiting times on the present site, with the recorded ones if known."""
    waits = {
        kind: runs.where(user_kind=kind, change=c.AS_IT_IS).mean(c.WAIT).value
        for kind in c.list_user_kinds(runs)
    }
    texts = [
        f"{format_duration(wait * HOUR)} ({kind})"
        for kind, wait in waits.items()
        if not isnan(wait)
    ]
    recorded = fidelity.read_measure(runs, "mean_recorded").value
    if not texts or isnan(recorded):
        return ""
    return TEXTS["waits_as_it_is"].format(waits=listed(texts), recorded=format_duration(recorded))
