"""Sentences on waiting times and work, made from the numbers of the runs."""

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
"""Told, but by less than the replay may be off; and not changed at all."""
DEPENDS, SOME, NONE = "depends", "some", "none"
"""Of several kinds of users: less or more, told of some only, told of none for several reasons."""
_ORDER = (TAKEN, LESS, MORE, DEPENDS, SOME, SMALL, SAME, OPEN, NONE)
_LEAST_TAKEN = 0.01
"""A share of the work of users who do not react: if less is missing, it is not worth a word."""


def direction(ratio: Interval) -> str:
    """Return whether something is :data:`LESS` or :data:`MORE` than as it is, or :data:`OPEN`."""
    if ratio.above(1):
        return MORE
    return LESS if ratio.below(1) else OPEN


def of_wait(case: c.Case, least: float) -> str:
    """Return a sentence on the mean wait; a change below ``least`` hours is small.

    Where nobody waits as it is, or nobody any more, there is no ratio: the difference tells.
    """
    if case.same(c.WAIT):
        return SAME
    ratio, more = case.ratio(c.WAIT), case.more(c.WAIT)
    if ratio.is_known:
        found = direction(ratio)
    else:
        found = MORE if more.above(0) else LESS if more.below(0) else OPEN
    return SMALL if found != OPEN and abs(more.value) < least else found


def of_all(found: set[str]) -> str:
    """Return one answer on a change if it is the same for all kinds of users."""
    if len(found) == 1:
        return next(iter(found))
    if {LESS, MORE} <= found:
        return DEPENDS
    return SOME if found & {LESS, MORE} else NONE


def headline(runs: Runs) -> str:
    """Return which changes shorten waits, which lengthen them, and which are inconclusive.

    First comes what takes work from the users: its waits are not judged, unless they are longer.
    """
    by_change = _by_change(runs)
    if not by_change:
        return TEXTS["only_base" if runs.where(change=c.AS_IT_IS) else "no_base"]
    least, missing = fidelity.least_change(runs) / HOUR, taken(runs)
    groups: dict[str, list[str]] = {}
    for change, cases in by_change.items():
        kind, words = _answer(cases, least)
        if change in missing and kind != MORE:
            kind = TAKEN  # that the others wait less is no gain
        inside = "; ".join(filter(None, (missing.get(change), words)))
        groups.setdefault(kind, []).append(f"**{change}**{f' ({inside})' * bool(inside)}")
    few = min(case.ratio(c.WAIT).nb for cases in by_change.values() for case in cases)
    hint = f" {TEXTS['few'].format(runs=few, fewest=FEWEST)}" if few < FEWEST else ""
    return f"{_sentence('wait', groups)}{hint}"


def utilisation(runs: Runs) -> str:
    """Return the changes with lower and with higher utilisation for all kinds of users."""
    groups: dict[str, list[str]] = {}
    for change, cases in _by_change(runs).items():
        kind = of_all({direction(case.ratio(c.BUSY)) for case in cases})
        if kind in (LESS, MORE):
            words = f"**{change}** ({_least_to_most(cases, c.BUSY)})"
            groups.setdefault(kind, []).append(words)
    return _sentence("busy", groups) if groups else ""


def _by_change(runs: Runs) -> dict[str, list[c.Case]]:
    found: dict[str, list[c.Case]] = {}
    for case in c.cases(runs):
        found.setdefault(case.change, []).append(case)
    return found


def _sentence(of: str, groups: dict[str, list[str]]) -> str:
    told = (
        TEXTS[f"{of}_{kind}"].format(changes=listed(groups[kind]))
        for kind in _ORDER
        if kind in groups
    )
    text = "; ".join(told)
    return f"{text[0].upper()}{text[1:]}."


def _answer(cases: list[c.Case], least: float) -> tuple[str, str]:
    """Return what becomes of the mean wait for all kinds of users, and by how much or for whom."""
    found = {case.people: of_wait(case, least) for case in cases}
    kind = of_all({*found.values()})
    if kind in (DEPENDS, SOME, NONE):
        words = ", ".join(_each(found))
    else:
        words = "" if kind == SAME else _least_to_most(cases, c.WAIT)
    idle = [case.people for case in cases if case.base.mean(c.WAIT).value == 0]
    note = TEXTS["nobody_waits"].format(who=listed(idle)) if idle else ""
    return kind, "; ".join(filter(None, (words, note)))


def _least_to_most(cases: list[c.Case], name: str) -> str:
    """Return the changes for the kinds of users with the least and with the most.

    In per cent; those of waits in time if somebody did not wait as it is.
    """
    sizes = [case.ratio(name).value - 1 for case in cases]
    shown = [f"{100 * size:+z.0f} %" for size in sizes]
    if not all(map(isfinite, sizes)):
        sizes = [case.more(name).value for case in cases]
        shown = [_in_time(size) for size in sizes]
    order = sorted(range(len(cases)), key=lambda at: sizes[at])
    least, most = order[0], order[-1]
    if shown[least] == shown[most]:
        return shown[least]
    return " to ".join(f"{shown[at]} for {cases[at].people}" for at in (least, most))


def _in_time(hours: float) -> str:
    return f"{format_duration(abs(hours) * HOUR)} {'more' if hours > 0 else 'less'}"


def _each(found: dict[str, str]) -> Iterator[str]:
    by_state: dict[str, list[str]] = {}
    for people, state in found.items():
        by_state.setdefault(state, []).append(people)
    for state, kinds in by_state.items():
        yield f"{TEXTS[f'each_{state}']}: {listed(kinds)}"


def taken(runs: Runs) -> dict[str, str]:
    """Return how much limits or width take, by change, where that is worth a word.

    Who submits at recorded times does less work only if some of it is cut or refused. Without such
    users the refused jobs tell.
    """
    found: dict[str, str] = {}
    for case in c.cases(runs):
        work = 1 - case.ratio(c.WORK).value if not case.reacts else 0.0
        refused = case.more("refused").value / 100
        if work > _LEAST_TAKEN:
            found[case.change] = TEXTS["taken_work"].format(share=100 * work)
        elif refused > _LEAST_TAKEN and case.rigid is None:
            found.setdefault(case.change, TEXTS["taken_jobs"].format(share=100 * refused))
    return found


def submitting(runs: Runs) -> str:
    """Return the kinds of users that submit more or less work; empty if no users react.

    It is told beside users who do not react: what limits take, they take from both.
    """
    fixed = c.fixed_work(runs)
    reacting = [case for case in c.cases(runs) if case.reacts]
    free = [case for case in reacting if case.people not in fixed]
    told = [_more_or_less(free)] if free else []
    if fixed:
        told.append(TEXTS["submit_fixed"].format(who=listed(fixed)))
    missing = [f"**{change}** ({words})" for change, words in taken(runs).items()]
    if missing:
        told.append(TEXTS["taken"].format(changes=listed(missing)))
    return " ".join(told)


def _more_or_less(cases: list[c.Case]) -> str:
    if all(case.rigid is None for case in cases):
        return TEXTS["submit_alone"]
    told: dict[str, list[str]] = {MORE: [], LESS: []}
    besides = [(case, case.beside_rigid(c.WORK)) for case in cases]
    for case, beside in besides:
        if direction(beside) in told:
            words = f"{case.people} with **{case.change}** ({per_cent(beside)})"
            told[direction(beside)].append(words)
    if not any(told.values()):
        equal = all(beside.low == beside.high == 1 for _, beside in besides)
        return TEXTS["submit_same" if equal else "submit_open"]
    return " ".join(
        TEXTS[f"submit_{word}"].format(who="; ".join(who)) for word, who in told.items() if who
    )


def per_cent(ratio: Interval) -> str:
    """Return a ratio as the change that it is: ``+7, +5 to +9 %``."""
    value, low, high = (100 * (end - 1) for end in (ratio.value, ratio.low, ratio.high))
    return f"{format_number(Interval(value, low, high, ratio.nb), '+z.0f')} %"


def waits_as_it_is(runs: Runs) -> str:
    """Return the waiting times on the present site, with the recorded ones if known."""
    waits = {
        kind: runs.where(people=kind, change=c.AS_IT_IS).mean(c.WAIT).value
        for kind in c.people(runs)
    }
    told = [
        f"{format_duration(wait * HOUR)} ({kind})"
        for kind, wait in waits.items()
        if not isnan(wait)
    ]
    recorded = fidelity.read_measure(runs, "mean_recorded").value
    if not told or isnan(recorded):
        return ""
    return TEXTS["waits_as_it_is"].format(waits=listed(told), recorded=format_duration(recorded))
