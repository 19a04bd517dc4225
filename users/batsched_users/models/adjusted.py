"""Adjusted feedback: each batch arrives its recorded gap after its release (Zakay)."""

from __future__ import annotations

from batsched_py.workload import Workload
from batsched_users.sessions.batches import JOINS, Batch, Tie
from batsched_users.sessions.delimitation import Sessions
from batsched_users.sessions.feedback_engine import SESSIONS, BatchFeedback, Reason, Visit


class Adjusted(BatchFeedback):
    """Users who submit each batch its recorded think time after the batches that it waited for.

    If the jobs of users end two hours late, they continue two hours late, at any hour of the day.
    So daily and weekly cycles fade. With the recorded ends, every submission is at its recorded
    time.

    Source: Zakay, PhD thesis, section 4.3 (model A, "adjusted").
    """

    def __init__(
        self, workload: Workload, *, sessions: Sessions = SESSIONS, tie: Tie = JOINS
    ) -> None:
        super().__init__(workload.profiles)
        self.replay(workload, sessions, tie, lambda trace: AsRecorded())


class AsRecorded:
    """The reaction of users who leave the recorded gap before each batch."""

    def arrival(self, visit: Visit, batch: Batch, now: float, reason: Reason) -> float:
        """Return ``now`` plus the recorded gap before the batch, in seconds."""
        return now + recorded_gap(batch, reason)


def recorded_gap(batch: Batch, reason: Reason) -> float:
    """Return the recorded gap between the event that released a batch and the batch, in seconds.

    It is the think time after the batches that it depends on, or the time since the last submission
    of the batch before.
    """
    gap = batch.inter_arrival if reason is Reason.FOLLOWS else batch.think_time
    assert gap is not None  # only the first batch of a user has no gap
    return gap
