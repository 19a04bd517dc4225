"""Adjusted feedback: every batch as long after its release as recorded (Zakay)."""

from __future__ import annotations

from batsched_py.workload import Workload
from batsched_users.sessions.batches import JOINS, Batch
from batsched_users.sessions.feedback_engine import SESSIONS, BatchFeedback, Reason, Visit


class Adjusted(BatchFeedback):
    """Users who take as long as recorded between batches, whatever the hour.

    A batch arrives its recorded think time after the end of what it depends on, or its recorded
    distance after the batch before, whichever event comes last. Who finishes two hours late goes
    on two hours late: daily and weekly cycles fade. With the recorded ends, every submission is at
    its recorded time.

    Source: Zakay, PhD thesis, section 4.3 (model A, "adjusted").
    """

    def __init__(self, workload: Workload, *, sessions: str = SESSIONS, tie: str = JOINS) -> None:
        super().__init__(workload.profiles)
        self.replay(workload, sessions, tie, lambda trace: AsRecorded())


class AsRecorded:
    """The reaction: the batch's own recorded gap."""

    def arrival(self, visit: Visit, batch: Batch, now: float, reason: Reason) -> float:
        """Return ``now`` plus the recorded think time, or distance to the batch before."""
        return now + recorded_gap(batch, reason)


def recorded_gap(batch: Batch, reason: Reason) -> float:
    """Return the recorded time from an event to the batch, in seconds.

    The event is the end of what it depends on, or the last submission of the batch before.
    """
    gap = batch.inter_arrival if reason is Reason.FOLLOWS else batch.think_time
    assert gap is not None  # the first batch of a user waits for nothing
    return gap
