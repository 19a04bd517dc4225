"""Turns an explanation into sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import inf

from batsched_py.explain.job_watch import Ended, Happened, Started
from batsched_py.explain.waiting_lines import Explanation, Line
from batsched_py.model.waiting_reason import Why
from batsched_py.options.durations import format_exact_duration
from batsched_py.protocol.batsim_jobs_columns import NEVER_RAN, REJECTED, WITHDRAWN
from batsched_py.units import DAY, HOUR, MINUTE
from batsched_py.workload.logs.clock import format_moment
from batsched_py.workload.unused_input import RESERVATION
from batsched_py.workload.workload import AFTER, DYNAMIC

LISTED = 5
"""The most jobs that a list names; for the others it has their number."""


def describe(found: Explanation) -> Iterator[str]:
    """Yield the lines of an explanation, the summary first."""
    yield _summary(found)
    if found.overtaken_by:
        later = _counted(len(found.overtaken_by), "later job")
        yield f"overtaken by {later}: {list_names(found.overtaken_by)}"
    if found.state == REJECTED:
        yield _rejection(found)
    if after := _list_dependencies(found):
        yield f"it may start only after these jobs have ended well: {list_names(after)}"
    if found.held:
        yield f"why it waited under {found.policy}:"
        if not found.explains_itself:
            yield (
                f"  ({found.policy} gives no reasons: shown are free processors, and the place in "
                "submission order)"
            )
        for line in found.held:
            during = f"from {format_time(line.begin)} to {format_time(line.end)}"
            decisions = _counted(line.decisions, "decision")
            yield f"  {during} ({decisions}): {_REASONS[line.why](found, line)}"
    if found.started is not None:
        yield from _start(found, found.started)


def describe_dates(found: Explanation, unix_start_time: float, time_zone: str) -> str:
    """Return the dates of submission, start and end; ``unix_start_time`` is that of second 0.

    Raises :class:`InputError` as :func:`~batsched_py.workload.logs.clock.format_moment` does.
    """
    moments = (("submitted", found.submit_time), ("started", found.start), ("ended", found.end))
    shown = [
        f"{what} {format_moment(time, unix_start_time, time_zone):%a %Y-%m-%d %H:%M:%S}"
        for what, time in moments
        if time is not None
    ]
    return f"on the clock ({time_zone}): {', '.join(shown)}"


def _summary(found: Explanation) -> str:
    estimate = format_exact_duration(found.estimate)
    job = f"{found.job} ({_processors(found.size)}, expected to run {estimate}): "
    job += f"submitted at {format_time(found.submit_time)}"
    if found.start is None and found.state in NEVER_RAN:
        what = "rejected" if found.state == REJECTED else "withdrawn by its user"
        if found.state == WITHDRAWN and _list_dependencies(found):
            what += " or since a job that it depends on did not end well"
        waited = f", after {format_exact_duration(found.waited)}" if found.waited else ""
        return f"{job}, {what} at {format_time(found.submit_time + found.waited)}{waited}"
    if found.start is None:
        return (
            f"{job}, never started: the log ends at {format_time(found.log_end)}, when it had "
            f"waited {format_exact_duration(found.waited)}"
        )
    waited = f"waited {format_exact_duration(found.waited)}" if found.waited else "did not wait"
    ended = "" if found.end is None else f"; it ended at {format_time(found.end)} ({found.state})"
    return f"{job}, started at {format_time(found.start)}, {waited}{ended}"


def _list_dependencies(found: Explanation) -> list[str]:
    """Return the ids of the jobs that a job depends on, if users submitted it."""
    if not found.job.startswith(f"{DYNAMIC}!"):
        return []
    return [f"{DYNAMIC}!{name}" for name in found.extra.get(AFTER, ())]


def _rejection(found: Explanation) -> str:
    if not 0 < found.size <= found.nb_processors:
        return (
            f"it asked for {_processors(found.size)}, but the machine has {found.nb_processors}: "
            "no policy sees such a job"
        )
    if found.extra.keys() & {*RESERVATION}:
        return f"it asked for an advance reservation, but {found.policy} had no room at that time"
    if found.started is not None:
        return f"{found.policy} ended it while its processors were being woken"
    return f"{found.policy} rejected it without a reason (it may be over a limit, for example)"


# Why it waited -------------------------------------------------------------------------------


def _needed(found: Explanation, line: Line) -> str:
    return f"{_processors(found.size)} needed, {_between(line.free)} free"


def _place(line: Line) -> str:
    first, last = line.place
    if first is None or last is None:
        return ""
    before = f"place {first} of {line.waiting[0]}"
    if (first, line.waiting[0]) == (last, line.waiting[1]):
        return f"; {before}"
    return f"; {before}, at last {last} of {line.waiting[1]}"


def _head(found: Explanation, line: Line) -> str:
    text = f"{_needed(found, line)}; head of the queue"
    note = f"; {line.note}" if line.note else ""
    if line.until[1] == inf:
        return text + note
    text += f", reservation{_on_site(line)} at {_moving(line)}"
    if line.needs_end_of:
        text += f", when {_all_of(line.needs_end_of)} should have ended"
    return text + _moved(line) + note


def _reserved(found: Explanation, line: Line) -> str:
    holder = f"the reservation of {list_names(line.by)}{_on_site(line)} at {_moving(line)}"
    if line.until[1] == inf:
        holder = f"the start of {list_names(line.by)}, at an unknown time"
    there = " there" if line.site else ""
    end = line.begin + (found.estimate if line.lasts is None else line.lasts)
    ends = f"it would run until {format_time(end)}" if end < inf else "its run time is unknown"
    return (
        f"fits into the {_between(line.free)} free processors, but would delay {holder}: "
        f"{ends}, and needs more than the {_between(line.extra)} extra nodes{there}"
        f"{_place(line)}"
    )


def _on_site(line: Line) -> str:
    return f" on {line.site}" if line.site else ""


def _behind(found: Explanation, line: Line) -> str:
    fits = "it fits, but" if found.size <= line.free[0] else f"{_needed(found, line)}, and"
    return f"{fits} nobody overtakes {list_names(line.by)}{_place(line)}"


def _planned(found: Explanation, line: Line) -> str:
    note = f" ({line.note.removeprefix('planned ')})" if line.note else ""
    when = f"planned for {_moving(line)}" if line.until[1] < inf else "not planned"
    return f"{when}{note}; {_needed(found, line)}{_place(line)}{_moved(line)}"


def _limited(found: Explanation, line: Line) -> str:
    until = f" before {_moving(line)}" if line.until[1] < inf else ""
    note = f" ({line.note})" if line.note else ""
    return f"a rule of the site forbids it to run{until}{note}{_place(line)}"


def _only_needed(found: Explanation, line: Line) -> str:
    note = f"; {line.note}" if line.note else ""
    return _needed(found, line) + _place(line) + note


_REASONS: dict[Why, Callable[[Explanation, Line], str]] = {
    "head": _head,
    "processors": _only_needed,
    "reservation": _reserved,
    "behind": _behind,
    "plan": _planned,
    "limit": _limited,
    "unknown": _only_needed,
}


def _moving(line: Line) -> str:
    first, last = line.until
    if not line.moves:
        return format_time(last)
    times = "once" if line.moves == 1 else f"{line.moves} times"
    return f"{format_time(last)} (at first {format_time(first)}; it moved {times})"


def _moved(line: Line) -> str:
    if line.moved_from is None or line.moved_by is None:
        return ""
    before = format_time(line.moved_from) if line.moved_from < inf else "an unknown time"
    return f"; moved from {before}{_when(line.moved_by)}"


def _when(happened: Happened) -> str:
    """Return what happened when a plan moved: early ends make room, submissions take it."""
    parts = []
    early = [ended for ended in happened.ended if 0 < ended.early < inf]
    if early:
        parts.append(f"{_ends(early)} before the expected end")
    elif happened.ended:
        parts.append(_ends(happened.ended))
    if happened.submitted:
        parts.append(f"{list_names(happened.submitted)} {_was(happened.submitted)} submitted")
    if happened.machine_changed:
        parts.append("processors failed or came back")
    return f", when {' and '.join(parts)}" if parts else ""


# How it started ------------------------------------------------------------------------------


def _start(found: Explanation, started: Started) -> Iterator[str]:
    what = f"started at {format_time(started.time)} on processors {found.processors}"
    if started.waking_until is not None:
        what = f"bound to {found.processors} at {format_time(started.time)}, waking until "
        what += format_time(started.waking_until)
    yield f"{what}: {_cause(found, started)}"
    if placed := _placed(found, started):
        yield f"  placed {placed}"
    if started.behind is not None:
        when = f" at {format_time(started.reservation)}" if started.reservation < inf else ""
        yield f"  backfilled: it does not delay the reservation of {started.behind}{when}"
    if started.still_waiting:
        jobs = _counted(len(started.still_waiting), "job")
        waiting = list_names(started.still_waiting)
        yield f"  overtook {jobs} submitted before it, still waiting: {waiting}"
    if started.together_with:
        yield f"  at the same instant started {list_names(started.together_with)}"


def _placed(found: Explanation, started: Started) -> str:
    """Return the sites on which it runs and how much longer it runs there, if there is any."""
    sites = [f"{name} ({_processors(number)})" for name, number in started.sites.items()]
    parts = [f"on {list_names(sites)}"] if sites else []
    if found.dilation is not None:
        parts.append(f"to run {found.dilation:.6g} times as long")
    if found.transfer is not None:
        parts.append(f"with a transfer of {format_exact_duration(found.transfer)}")
    return ", ".join(parts)


def _cause(found: Explanation, started: Started) -> str:
    needed = f"{_processors(found.size)} needed, {started.free} free"
    happened = started.happened
    if not found.held:
        text = f"at once, {needed}"
        return f"{text}, as {_ends(happened.ended)} at that instant" if happened.ended else text
    if happened.ended:
        freed = sum(ended.size for ended in happened.ended)
        before = started.free - freed
        return f"{_ends(happened.ended)}, which made {started.free} free instead of {before}"
    if happened.machine_changed:
        return f"processors came back: {needed}"
    if happened.submitted:
        jobs = list_names(happened.submitted)
        return f"{needed}; {jobs} {_was(happened.submitted)} submitted, and the order changed"
    return f"its planned time came: {needed}"


# Small words ---------------------------------------------------------------------------------


def format_time(time: float) -> str:
    """Return a time as text: in seconds, and as days and clock time."""
    days, rest = divmod(int(time), int(DAY))
    clock = f"{rest // HOUR:02.0f}:{rest % HOUR // MINUTE:02.0f}:{rest % MINUTE:02.0f}"
    day = f"{days} d " if days else ""
    return f"t={time:.15g} ({day}{clock})"


def list_names(names: Sequence[str]) -> str:
    """Return the first names of a list, and how many more there are."""
    if len(names) <= LISTED + 1:
        return ", ".join(names)
    return f"{', '.join(names[:LISTED])} and {len(names) - LISTED} more"


def _all_of(names: Sequence[str]) -> str:
    """Return the last of the jobs that must end, and the number of the others."""
    more = len(names) - 1
    return names[-1] if not more else f"{names[-1]} and {more} {'other' if more == 1 else 'others'}"


def _ends(ended: Sequence[Ended]) -> str:
    return list_names([f"{end.job} ({_processors(end.size)})" for end in ended]) + " ended"


def _processors(count: int) -> str:
    return _counted(count, "processor")


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _between(pair: tuple[int, int]) -> str:
    return str(pair[0]) if pair[0] == pair[1] else f"{pair[0]} to {pair[1]}"


def _was(names: Sequence[str]) -> str:
    return "was" if len(names) == 1 else "were"
