"""Measures how delimitations cut a log into sessions, to choose a method and its threshold.

Logs do not record when users began and stopped to work, so a delimitation is judged by its results:
its threshold is where inter-arrival times are no longer typical of work, think times do not depend
on how a batch was found, and sessions have a plausible length.

Source: N. Zakay, PhD thesis, chapter 2. All times here are in **minutes**, as there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, pairwise

import msgspec
import numpy as np
from numpy.typing import NDArray

from batsched_py.errors import UsageError
from batsched_py.units import DAY, MINUTE
from batsched_py.workload import WorkloadJob
from batsched_users.sessions.batches import find_batches
from batsched_users.sessions.delimitation import Delimitation, Session, partition

Values = NDArray[np.float64]

DAY_MINUTES = round(DAY / MINUTE)
"""Minutes; longer inter-arrival times say nothing about a session."""
LONG = 1_000.0
"""Minutes; a longer session, of more than 16 hours, is not plausible."""
USUAL = tuple(
    Delimitation.parse(text)
    for text in (
        *("arrival:60:>", "last:20", "max:20"),
        *(f"{method}+{cut}:20" for method in ("last", "max") for cut in (30, 60, 120)),
    )
)
"""The delimitations that the thesis compares."""


class InterArrivalCurve(msgspec.Struct, frozen=True, eq=False):
    """The distribution of inter-arrival times within a day, by minutes."""

    minutes: Values
    """0, 1, ..., 1440; shape (1441,)."""
    cumulative: Values
    """Share of the times that are at most these minutes, 0 to 1; shape (1441,)."""
    derivative: Values
    """Share of the times in each minute, begin excluded and end included, shape (1440,). Times of
    0 are in no minute."""


class ThinkTimes(msgspec.Struct, frozen=True, eq=False):
    """Think times after batches found by both Last and Max (common), or by one only (unique).

    A think time by Last begins at the end of the batch's last job, a think time by Max at the end
    of all its jobs. In minutes, shape (number,), in order of users and submission.
    """

    common_last: Values
    common_max: Values
    """Of the same batches as ``common_last``."""
    unique_last: Values
    unique_max: Values


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers of jobs, batches and sessions that a delimitation finds; shares are 0 to 1."""

    jobs: int
    batches: int
    sessions: int
    jobs_per_batch: float
    batches_per_session: float
    single_job_sessions: float
    """Share of the sessions that have exactly one job."""
    single_job_batches: float
    long_sessions: float
    """Share of the sessions that last longer than 1,000 minutes."""
    longest_session: float
    """Minutes."""


class ThresholdStudy(msgspec.Struct, frozen=True, eq=False):
    """Sessions, think times and inter-arrival times of a log, by the rule that cuts sessions."""

    name: str
    inter_arrival: InterArrivalCurve
    think_times: ThinkTimes
    lengths: dict[str, Values]
    """Delimitation -> session lengths in minutes."""
    counts: dict[str, Counts]


def study_thresholds(
    name: str, jobs: Sequence[WorkloadJob], delimitations: Iterable[Delimitation] = USUAL
) -> ThresholdStudy:
    """Measure the sessions of a log under each delimitation, and its inter-arrival times.

    Raises :class:`UsageError` without jobs, and for jobs without user or recorded finish.
    """
    if not jobs:
        raise UsageError(f"{name}: there are no jobs, so there are no sessions to look at")
    lengths: dict[str, Values] = {}
    counts: dict[str, Counts] = {}
    for delimitation in delimitations:
        sessions = partition(jobs, delimitation)
        lengths[str(delimitation)] = measure_session_lengths(sessions, delimitation)
        counts[str(delimitation)] = count_sessions(sessions, delimitation)
    return ThresholdStudy(
        name, measure_inter_arrivals(jobs), compare_think_times(jobs), lengths, counts
    )


def measure_inter_arrivals(jobs: Iterable[WorkloadJob]) -> InterArrivalCurve:
    """Measure the distribution of times between consecutive submissions, over all users.

    The derivative should be flat at a threshold (in the thesis: 40 to 100 minutes). Raises
    :class:`UsageError` for jobs without user.
    """
    everything = Delimitation("arrival", float("inf"))
    submits = [
        np.array([job.submit_time for job in session.jobs])
        for sessions in partition(jobs, everything).values()
        for session in sessions
    ]
    gaps = np.concatenate([np.empty(0), *(np.diff(times) for times in submits)]) / MINUTE
    gaps = np.sort(gaps[gaps <= DAY_MINUTES])
    minutes = np.arange(DAY_MINUTES + 1, dtype=float)
    cumulative = np.searchsorted(gaps, minutes, side="right") / max(len(gaps), 1)
    return InterArrivalCurve(minutes, cumulative, np.diff(cumulative))


def compare_think_times(jobs: Iterable[WorkloadJob]) -> ThinkTimes:
    """Compare think times after batches by Last with think times after batches by Max.

    Batches are found over all jobs of each user. A job submitted at the end of a batch joins it.
    The think time after a user's last batch is unknown. Raises :class:`UsageError` like
    :func:`partition`.
    """
    jobs = list(jobs)
    by_last, by_max = _think_times(jobs, "last"), _think_times(jobs, "max")
    common = by_last.keys() & by_max.keys()

    def values(times_by_batch: dict[_Batch, float], *, shared: bool) -> Values:
        return np.array(
            [time for batch, time in times_by_batch.items() if (batch in common) is shared]
        )

    return ThinkTimes(
        values(by_last, shared=True),
        values(by_max, shared=True),
        values(by_last, shared=False),
        values(by_max, shared=False),
    )


def measure_session_lengths(
    sessions: Mapping[str, Sequence[Session]], delimitation: Delimitation
) -> Values:
    """Measure the lengths of sessions in minutes, in order; shape (sessions,).

    A session lasts from its first submission to the last one (Arrival), to the end of the last job
    (Last) or to the end of all jobs (Max), ends being limited by a cut.
    """

    def end(jobs: Sequence[WorkloadJob]) -> float:
        if delimitation.method == "arrival":
            return jobs[-1].submit_time
        if delimitation.method == "last":
            return delimitation.seen_finish(jobs[-1])
        return max(map(delimitation.seen_finish, jobs))

    lengths = [end(session.jobs) - session.start for session in chain(*sessions.values())]
    return np.array(lengths, dtype=float) / MINUTE


def count_sessions(sessions: Mapping[str, Sequence[Session]], delimitation: Delimitation) -> Counts:
    """Count the jobs, batches and sessions of ``sessions``, which ``delimitation`` found.

    Needs at least one session. By Last and Max (with or without cut), batches are those of the
    method: a job opens one if it comes after the end of the last job, or of all jobs. In sessions
    by Arrival, batches are sets of overlapping jobs.
    """
    in_session = [len(session.jobs) for session in chain(*sessions.values())]
    in_batch = _batch_sizes(sessions, delimitation)
    lengths = measure_session_lengths(sessions, delimitation)
    return Counts(
        jobs=sum(in_session),
        batches=len(in_batch),
        sessions=len(in_session),
        jobs_per_batch=sum(in_batch) / len(in_batch),
        batches_per_session=len(in_batch) / len(in_session),
        single_job_sessions=in_session.count(1) / len(in_session),
        single_job_batches=in_batch.count(1) / len(in_batch),
        long_sessions=float(np.mean(lengths > LONG)),
        longest_session=float(lengths.max()),
    )


def survival(values: Values, at: Values) -> Values:
    """Return the share of ``values`` (at least one) that exceed each number of ``at``."""
    return 1 - np.searchsorted(np.sort(values), at, side="right") / len(values)


def ks_distance_of_samples(a: Values, b: Values) -> float:
    """Return the Kolmogorov-Smirnov distance of two samples, 0 to 1.

    It is the largest difference of their cumulative distributions. Both need a value.
    """
    everywhere = np.concatenate([a, b])
    return float(np.abs(survival(a, everywhere) - survival(b, everywhere)).max())


_Batch = tuple[str, int, int]
"""User, and the places of the first job and of the one after the last among the user's jobs:
batches are runs of consecutive jobs."""


def _think_times(jobs: Sequence[WorkloadJob], method: str) -> dict[_Batch, float]:
    """Return the minutes from the end of each batch to the beginning of the next."""
    # With a threshold of 0, the "sessions" are the batches by that method.
    batches = partition(jobs, Delimitation(method, 0, ">"))
    minutes: dict[_Batch, float] = {}
    for user, batches_of_user in batches.items():
        first = 0
        for batch, following in pairwise(batches_of_user):
            after = first + len(batch.jobs)
            end = batch.finish if method == "max" else batch.jobs[-1].finish_time
            assert end is not None  # partition has checked it
            minutes[user, first, after] = (following.start - end) / MINUTE
            first = after
    return minutes


def _batch_sizes(
    sessions: Mapping[str, Sequence[Session]], delimitation: Delimitation
) -> list[int]:
    if delimitation.method == "arrival":
        return [len(batch.jobs) for user in sessions.values() for batch in find_batches(user)]
    # Sessions with a threshold of 0 may be cut where batches are not, at gaps of exactly 0.
    boundary = ">" if delimitation.threshold > 0 else delimitation.boundary
    rule = msgspec.structs.replace(delimitation, threshold=0, boundary=boundary)
    jobs = [job for session in chain(*sessions.values()) for job in session.jobs]
    return [len(batch.jobs) for batch in chain(*partition(jobs, rule).values())]
