"""Sentences of the report on waiting times and work, made from the numbers of the runs."""

from __future__ import annotations

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
HIDDEN = "hidden"
"""Shorter waits of users whose whole wait is hardly larger than the error of the replay may be."""
_NEARLY_ALL = 0.9
DEPENDS, SOME, NONE = "depends", "some", "none"
"""Several kinds of users: less or more, clear for some only, clear for none (several reasons)."""
_ORDER = (LESS, MORE, DEPENDS, SOME, SMALL, HIDDEN, SAME, OPEN, NONE, TAKEN)
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
    if found == OPEN or abs(more.value) >= least:
        return found
    hidden = found == LESS and _NEARLY_ALL * case.base.mean(c.WAIT).value < least
    return HIDDEN if hidden else SMALL


def combine_answers(found: set[str]) -> str:
    """Return one answer for all kinds of users; :data:`DEPENDS` or :data:`SOME` if they differ."""
    if len(found) == 1:
        return next(iter(found))
    if {LESS, MORE} <= found:
        return DEPENDS
    return SOME if found & {LESS, MORE} else NONE


def write_headline(runs: Runs) -> str:
    """Return a line for each change: by how much waits differ, and for which users that is clear.

    Clear changes come first, and changes that take work from the users last, whose shorter waits
    are not judged. A last line names the job sizes that lose.
    """
    by_change = _by_change(runs)
    if not by_change:
        return TEXTS["only_base" if runs.where(change=c.AS_IT_IS) else "no_base"]
    least, lost = fidelity.find_least_change(runs) / HOUR, describe_lost_work(runs)
    lines = []
    for change, cases in by_change.items():
        found = {case.users: judge_wait(case, least) for case in cases}
        kind = combine_answers({*found.values()})
        taken = lost.get(change, "")
        if taken and kind != MORE:
            kind, words = TAKEN, TEXTS["not_judged"].format(lost=taken)
        else:
            words = "; ".join(filter(None, (_describe_states(found), taken)))
        idle = [case.users for case in cases if case.base.mean(c.WAIT).value == 0]
        note = f"; {TEXTS['nobody_waits'].format(who=listed(idle))}" if idle else ""
        size = f"{_describe_sizes(cases)}; " if kind != SAME else ""
        lines.append((_ORDER.index(kind), f"- **{change}**: {size}{words}{note}."))
    losers = describe_losers(runs, {*by_change} - {*lost})
    few = min(case.ratio(c.WAIT).nb for cases in by_change.values() for case in cases)
    hint = f"\n\n{TEXTS['few'].format(runs=few, fewest=FEWEST)}" if few < FEWEST else ""
    ordered = [line for _, line in sorted(lines, key=lambda each: each[0])]
    return "\n".join(filter(None, (*ordered, losers))) + hint


def describe_losers(runs: Runs, changes: set[str]) -> str:
    """Return a line on sizes of jobs that clearly wait longer while the mean wait does not."""
    found: dict[tuple[str, str], list[str]] = {}
    for case in c.find_cases(runs):
        if case.change not in changes or case.ratio(c.WAIT).above(1):
            continue
        for size in c.SIZES:
            ratio = case.ratio(size)
            if ratio.above(1):
                words = f"{case.users}: {100 * (ratio.value - 1):+.0f} %"
                found.setdefault((size, case.change), []).append(words)
    who = [
        TEXTS["loser"].format(
            size=TEXTS[f"size_{size}"], change=change, change_of=", ".join(of_users)
        )
        for (size, change), of_users in found.items()
    ]
    return TEXTS["losers"].format(who="; ".join(who)) if who else ""


def describe_utilisation(runs: Runs) -> str:
    """Return the changes that lower or raise the utilisation for all kinds of users."""
    groups: dict[str, list[str]] = {}
    for change, cases in _by_change(runs).items():
        kind = combine_answers({find_direction(case.ratio(c.BUSY)) for case in cases})
        if kind in (LESS, MORE):
            words = f"**{change}** ({_least_to_most(cases, c.BUSY)})"
            groups.setdefault(kind, []).append(words)
    text = "; ".join(
        TEXTS[f"busy_{kind}"].format(changes=listed(groups[kind]))
        for kind in _ORDER
        if kind in groups
    )
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _by_change(runs: Runs) -> dict[str, list[c.Case]]:
    found: dict[str, list[c.Case]] = {}
    for case in c.find_cases(runs):
        found.setdefault(case.change, []).append(case)
    return found


def _describe_states(found: dict[str, str]) -> str:
    """Return for which kinds of users an answer is clear, and why it is not for others."""
    by_words: dict[str, list[str]] = {}
    either = {LESS, MORE} <= {*found.values()}
    for users, state in found.items():
        begin = "either" if either and state in (LESS, MORE) else "state"
        by_words.setdefault(TEXTS[f"{begin}_{state}"], []).append(users)
    if len(by_words) == 1 and len(found) > 1:
        return f"{next(iter(by_words))} for {TEXTS['for_all']}"
    return "; ".join(f"{words} for {listed(kinds)}" for words, kinds in by_words.items())


def _describe_sizes(cases: list[c.Case]) -> str:
    """Return the smallest and the largest change of the mean wait: ``52 to 73 % shorter``."""
    sizes = [100 * (case.ratio(c.WAIT).value - 1) for case in cases]
    if not all(map(isfinite, sizes)):
        return _least_to_most(cases, c.WAIT)
    low, high = min(sizes), max(sizes)
    if round(low) == round(high) == 0:
        return "0 %"
    if round(low) < 0 < round(high):
        return f"{low:+z.0f} to {high:+z.0f} %"
    ends = sorted({f"{abs(size):.0f}" for size in (low, high)}, key=float)
    key = "shorter" if round(high) <= 0 else "longer"
    return TEXTS[key].format(size=f"{' to '.join(ends)} %")


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
