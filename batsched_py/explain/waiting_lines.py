"""Merges the passes after which a job waits into the lines of an explanation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any

import msgspec

from batsched_py.explain.job_history import Life
from batsched_py.explain.job_watch import Happened, Pass, Started, Watch
from batsched_py.model.policy import ExplainingScheduler
from batsched_py.model.waiting_reason import Why
from batsched_py.processors.sets import to_text

MOST = 30
"""Most lines of an explanation; if there are more, lines are merged."""

MOVABLE: tuple[Why, ...] = ("plan", "head")
"""Reasons with a planned start, which may move."""


class Line(msgspec.Struct, omit_defaults=True):
    """Successive passes with the same reason; pairs are first and last, or least and greatest."""

    begin: float
    end: float
    """The next pass, at which the reason was another one (seconds)."""
    decisions: int
    why: Why
    by: list[str]
    """The jobs in the way, in the order in which they were."""
    until: tuple[float, float]
    place: tuple[int | None, int | None]
    waiting: tuple[int, int]
    """Jobs in the queue, first and last."""
    free: tuple[int, int]
    """Free processors, least and most."""
    extra: tuple[int, int]
    note: str
    moves: int
    """How often the time of the reservation or the planned start changed meanwhile."""
    site: str = ""
    """The last site on which the reservation was."""
    lasts: float | None = None
    """Seconds that it would have run in the first place where it fits, if known."""
    needs_end_of: list[str] = []
    moved_from: float | None = None
    """When the start was planned before."""
    moved_by: Happened | None = None


class Explanation(msgspec.Struct, rename={"submit_time": "submitted"}, omit_defaults=True):
    """The explanation of a job's start, or of why it did not start."""

    job: str
    size: int
    estimate: float
    policy: str
    nb_processors: int
    explains_itself: bool
    """Whether the policy gives reasons."""
    submit_time: float
    start: float | None
    end: float | None
    state: str
    processors: str
    waited: float
    """Seconds, up to the end of the log if it waits then."""
    log_end: float
    """Time of the last message that was looked at."""
    overtaken_by: list[str]
    """Jobs submitted later that started earlier, in the order of their starts."""
    held: list[Line]
    started: Started | None
    extra: dict[str, Any]
    dilation: float | None = None
    """The factor by which it runs longer where it was placed, None for 1."""
    transfer: float | None = None
    """Further seconds that it runs there, None for none."""


def explain_job(watch: Watch, policy: str, most: int) -> Explanation:
    """Return the explanation of the watched job, in at most about ``most`` lines."""
    life = watch.life
    assert life is not None  # find_job knew it
    left = next((time for time in (life.start, life.end) if time is not None), watch.now)
    decided = left if watch.started is None else watch.started.time
    return Explanation(
        job=life.id,
        size=life.size,
        estimate=life.estimate,
        policy=policy,
        nb_processors=watch.nb_processors,
        explains_itself=isinstance(watch.policy, ExplainingScheduler),
        submit_time=life.submit_time,
        start=life.start,
        end=life.end,
        state=life.state,
        processors=to_text(life.processors),
        waited=left - life.submit_time,
        log_end=watch.now,
        overtaken_by=find_overtakers(watch.jobs, life, left),
        held=merge_passes(watch.passes, decided, most),
        started=watch.started,
        extra=life.extra,
        dilation=None if life.dilation == 1 else life.dilation,
        transfer=life.transfer or None,
    )


def find_overtakers(jobs: Mapping[str, Life], life: Life, left: float) -> list[str]:
    """Return the jobs submitted after ``life`` that started before it did."""
    later = [
        (job.start, job.number, job.id)
        for job in jobs.values()
        if job.number > life.number and job.start is not None and job.start < left
    ]
    return [name for _, _, name in sorted(later)]


def merge_passes(passes: Sequence[Pass], left: float, most: int = MOST) -> list[Line]:
    """Merge successive passes with the same reason; ``left`` is when the wait ended.

    Each place of a reservation has its own line if that gives at most ``most`` lines. Otherwise
    each job that holds a reservation has one, and at last each kind of reason.
    """
    merged: list[Line] = []
    for key in (_exactly, _by_job, lambda waited: waited.held.why):
        merged = _merged(passes, left, key)
        if len(merged) <= most:
            break
    return merged


def _exactly(waited: Pass) -> Any:
    held = waited.held
    return held.why if held.why == "processors" else (_by_job(waited), held.until)


def _by_job(waited: Pass) -> Any:
    held = waited.held
    return held.why if held.why == "processors" else (held.why, held.by, held.site, held.note)


def _merged(passes: Sequence[Pass], left: float, key: Callable[[Pass], Any]) -> list[Line]:
    groups = [list(group) for _, group in groupby(passes, key)]
    ends = [group[0].time for group in groups[1:]] + [left]
    before = [None, *(group[-1] for group in groups)]
    return [
        _line(group, end, previous)
        for group, end, previous in zip(groups, ends, before, strict=False)
    ]


def _line(group: list[Pass], end: float, before: Pass | None) -> Line:
    first, last = group[0], group[-1]
    helds = [waited.held for waited in group]
    free = [-1 if held.free is None else held.free for held in helds]
    extra = [held.extra for held in helds]
    moved_from = None
    if before is not None and before.held.why == first.held.why and first.held.why in MOVABLE:
        moved_from = before.held.until if before.held.until != first.held.until else None
    return Line(
        begin=first.time,
        end=end,
        decisions=len(group),
        why=first.held.why,
        by=[] if first.held.why == "processors" else _distinct(held.by for held in helds),
        until=(first.held.until, last.held.until),
        place=(first.held.place, last.held.place),
        waiting=(first.waiting, last.waiting),
        free=(min(free), max(free)),
        extra=(min(extra), max(extra)),
        note="; ".join(_distinct(held.note for held in helds)[:3]),
        moves=sum(first.until != second.until for first, second in pairwise(helds)),
        site=last.held.site,
        lasts=first.held.lasts,
        needs_end_of=last.needs_end_of,
        moved_from=moved_from,
        moved_by=first.happened if moved_from is not None else None,
    )


def _distinct(values: Any) -> list[str]:
    return [value for value in dict.fromkeys(values) if value]
