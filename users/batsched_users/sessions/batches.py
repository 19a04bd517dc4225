"""Batches: sets of overlapping jobs of a session, and the batches that each waited for.

Source: N. Zakay, PhD thesis, chapters 2 and 4. A batch is a set of jobs of one session that
overlap each other, directly or through others; it is submitted without waiting for any of its
own jobs, and is the unit of think times.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from batsched_py.options.option_values import one_of
from batsched_py.workload import WorkloadJob
from batsched_users.sessions.delimitation import Delimitation, Session, partition
from batsched_users.sessions.session_graph import build_graph

Tie = Annotated[
    Literal["joins", "opens"],
    Meta(title="Whether a job submitted when a batch ends joins it, or opens the next batch."),
]
"""The type of a model's option ``tie``, with its help."""
JOINS: Final = "joins"
"""A job submitted at the instant at which a batch ends joins it. This reproduces the counts of the
thesis, while its formal definition (strict overlap) would open another batch."""


class Batch(msgspec.Struct, gc=False, eq=False):
    """A batch: overlapping jobs of one session, with their recorded times in seconds."""

    session: int
    """Id of its session."""
    jobs: list[WorkloadJob]
    """At least one, in submission order."""
    start: float
    """First submission."""
    last: float
    """Last submission."""
    end: float
    """Latest finish."""
    opens_session: bool
    depends_on: tuple[int, ...] = ()
    """Places of the user's batches that it waited for, transitively reduced."""
    think_time: float | None = None
    """From the end of the batches that it depends on to its start; None if there are none."""
    inter_arrival: float | None = None
    """From the last submission of the batch before to its start; None for the first of a user."""


class Trace(msgspec.Struct, gc=False, eq=False):
    """The trace of a user: the recorded jobs of one user, in sessions and batches."""

    user: str
    sessions: list[Session]
    batches: list[Batch]
    """In order of submission; each batch *follows* the one before."""

    @property
    def start(self) -> float:
        """First submission, seconds."""
        return self.batches[0].start

    @property
    def last(self) -> float:
        """Last submission, seconds."""
        return self.batches[-1].last


def traces(
    jobs: Iterable[WorkloadJob], sessions: Delimitation, tie: str = JOINS
) -> dict[str, Trace]:
    """Cut the jobs of each user into sessions and batches; users in order of first appearance.

    Raises :class:`batsched_py.errors.UsageError` for jobs without user or recorded finish.
    """
    return {
        user: Trace(user, user_sessions, find_batches(user_sessions, tie))
        for user, user_sessions in partition(jobs, sessions).items()
    }


def find_batches(sessions: Sequence[Session], tie: str = JOINS) -> list[Batch]:
    """Find the batches in the sessions of a user, in order, with their dependencies.

    The batches of a session are the connected components of overlapping jobs. A batch depends on
    the batch before it in its session. The first batch of a session depends on the last batch of
    each session that had ended when it began. Only the transitive reduction is kept, which changes
    no think time: a batch that it leaves out ended before a batch that it keeps began.

    ``tie`` decides whether a job submitted at the end of a batch ``joins`` it or ``opens`` another.
    Raises :class:`batsched_py.errors.UsageError` for jobs without recorded finish.

    Source: Zakay, section 4.1 (follows, depends on) and the definitions there.
    """
    one_of("tie", tie, Tie)
    before = build_graph(sessions).predecessors
    batches: list[Batch] = []
    lasts: list[int] = []  # place of the last batch of each session
    for session, predecessors in zip(sessions, before, strict=True):
        for number, jobs in enumerate(_components(session.jobs, tie)):
            first, last = jobs[0].submit_time, jobs[-1].submit_time
            end = max(job.finish_time or 0.0 for job in jobs)
            batch = Batch(session.id, jobs, first, last, end, opens_session=not number)
            if number:
                batch.depends_on = (len(batches) - 1,)
            else:
                batch.depends_on = tuple(sorted(lasts[index] for index, _ in predecessors))
            if batch.depends_on:
                batch.think_time = batch.start - max(batches[i].end for i in batch.depends_on)
            if batches:
                batch.inter_arrival = batch.start - batches[-1].last
            batches.append(batch)
        lasts.append(len(batches) - 1)
    return batches


def _components(jobs: Sequence[WorkloadJob], tie: str) -> list[list[WorkloadJob]]:
    groups: list[list[WorkloadJob]] = []
    latest = 0.0
    for job in jobs:
        assert job.finish_time is not None  # the session graph has checked it
        gap = job.submit_time - latest
        if not groups or gap > 0 or (gap == 0 and tie != JOINS):
            groups.append([job])
            latest = job.finish_time
        else:
            groups[-1].append(job)
            latest = max(latest, job.finish_time)
    return groups
