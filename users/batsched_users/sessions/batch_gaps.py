"""Collects the recorded gaps between the batches of a user, to draw gaps from them."""

from __future__ import annotations

from math import inf
from random import Random
from typing import Self

import msgspec

from batsched_users.sessions.batches import Trace
from batsched_users.sessions.feedback_engine import Reason


class Gaps(msgspec.Struct, frozen=True):
    """Recorded gaps before the batches of one user in seconds, by the event that released each.

    Source: Zakay, PhD thesis, section 4.3.
    """

    think_times: list[float]
    """From the end of the batches that a batch depends on to its start."""
    inter_arrivals: list[float]
    """From the last submission of the batch before to its start."""

    @classmethod
    def collect(cls, trace: Trace, *, opening_sessions: bool, below: float = inf) -> Self:
        """Collect gaps shorter than ``below``, before batches that open a session or do not."""
        batches = [batch for batch in trace.batches if batch.opens_session is opening_sessions]
        think_times = (batch.think_time for batch in batches)
        inter_arrivals = (batch.inter_arrival for batch in batches)
        return cls(
            [gap for gap in think_times if gap is not None and gap < below],
            [gap for gap in inter_arrivals if gap is not None and gap < below],
        )

    def draw(self, reason: Reason, random: Random) -> float | None:
        """Draw one of the gaps after a release by ``reason``, None if there is none."""
        gaps = self.inter_arrivals if reason is Reason.FOLLOWS else self.think_times
        return random.choice(gaps) if gaps else None
