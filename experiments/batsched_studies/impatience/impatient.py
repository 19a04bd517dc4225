"""The users of the study: rigid or waiting for their sessions, patient or not."""

from __future__ import annotations

from typing import Any, Literal

from batsched_py.options.option_values import boolean, one_of
from batsched_py.workload import Workload
from batsched_users.behaviour.random_streams import Seed
from batsched_users.models.wrapping import Wrapper

Loop = Literal["rigid", "sessions"]


class Impatient(Wrapper):
    """Users of a log who withdraw waiting jobs, and may submit them again.

    They are users of ``withdraws``, which wraps ``rigid`` or ``feedback``. With ``resubmit`` the
    model ``resubmits`` wraps both.

    Args:
        loop: Whether jobs come at recorded times (``rigid``), or users wait for their sessions
            (``sessions``, as in ``feedback``).
        rate: Factor of the rates of withdrawals; 0 for patient users.
        resubmit: Whether users submit withdrawn jobs again.
        clock: Whether rates depend on the user's last act or on the age of the job.
        habits: The log of which the users have the habits, or a file.
    """

    def __init__(
        self,
        workload: Workload,
        *,
        loop: Loop = "rigid",
        rate: float = 1.0,
        resubmit: bool = False,
        clock: Literal["user", "job"] = "user",
        habits: str = "sdsc_sp2",
        seed: Seed = 0,
    ) -> None:
        closed = one_of("loop", loop, Loop) == "sessions"
        model, options = "withdraws", {"clock": clock, "habits": habits, "rate": rate}
        options |= {"model": "feedback" if closed else "rigid"}
        if boolean("resubmit", resubmit):
            outer: dict[str, Any] = {"model": model, "model_options": options, "habits": habits}
            model, options = "resubmits", outer
        super().__init__(workload, model, options, seed)
