"""Why a job still waits, as a policy explains it to ``batsched-py explain``."""

from __future__ import annotations

from math import inf
from typing import Literal

import msgspec

Why = Literal["head", "processors", "reservation", "behind", "plan", "limit", "unknown"]


class WaitingReason(msgspec.Struct, frozen=True, omit_defaults=True):
    """The reason why a job still waits after a scheduling pass."""

    why: Why
    """``head``: it is first and does not fit; ``processors``: it may overtake and does not fit;
    ``reservation``: it fits and would delay the reservation of ``by``; ``behind``: it fits, but
    no job overtakes ``by``; ``plan``: it is planned for ``until``; ``limit``: a rule of the site
    forbids to run it now."""
    place: int | None = None
    """Its place in the order of the queue, 1 for the first."""
    by: str | None = None
    """The job that is in the way."""
    until: float = inf
    """The start of the reservation or the plan (seconds), inf if it is unknown."""
    free: int | None = None
    """Free processors after the pass."""
    extra: int = 0
    """Extra nodes: processors that the reservation leaves free."""
    site: str = ""
    """The name of the site on which the reservation is, ``""`` if it is on the whole machine."""
    lasts: float | None = None
    """Seconds that the job would run if it started now, where that is not its estimate."""
    note: str = ""
    """A further explanation in words, such as the active policy."""
