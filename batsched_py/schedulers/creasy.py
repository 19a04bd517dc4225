"""CREASY: EASY backfilling in the order of how critical the response time is to the user."""

from __future__ import annotations

from functools import partial

from batsched_py.model.queue.job_arrays import Floats, JobArrays
from batsched_py.model.queue.orders import ClockOrder, FixedOrder
from batsched_py.model.queue.waiting_queue import by_submission
from batsched_py.options.option_values import number
from batsched_py.schedulers.backfilling import Backfilling
from batsched_py.schedulers.easy import ExtraNodes, easy_reservation
from batsched_py.units import MINUTE


def criticality(response: Floats) -> Floats:
    """Return ``0.04 / (0.05 R + 1)^2`` for response times R in minutes.

    It is how fast the probability that a user continues the session falls with the response time.
    """
    return 0.04 / (0.05 * response + 1) ** 2


def priority(alpha: float, now: float, columns: JobArrays) -> Floats:
    """Return ``alpha * criticality + seniority`` of each row, seniority being minutes waited.

    The response time is taken to be the time waited so far plus the estimate.
    """
    seniority = (now - columns.submit_time) / MINUTE
    return alpha * criticality(seniority + columns.estimate / MINUTE) + seniority


class Creasy(Backfilling):
    """EASY backfilling that serves short jobs first while their users are likely to be still there.

    The priority of a job is ``alpha * criticality + seniority``. Seniority is the time waited, in
    minutes. Criticality is 0.04 / (0.05 R + 1)^2 for an expected response time of R minutes: how
    fast the user loses patience. It never exceeds 0.04, so no job starves.

    Source: E. Shmueli and D. Feitelson, IEEE TPDS 20(7), 2009, section 6.

    Args:
        alpha: Weight of criticality. 0 is EASY; the source studies values up to 6000. Allowed: a
            number, at least 0.
    """

    packs_nodes = True

    def __init__(self, *, alpha: float = 6000.0, extra_nodes: ExtraNodes = "first") -> None:
        alpha = number("alpha", alpha, 0)
        # By seniority alone, jobs are in the order of their submissions: nothing to compute.
        order = ClockOrder(partial(priority, alpha)) if alpha else FixedOrder(by_submission)
        super().__init__(easy_reservation(extra_nodes), order)
