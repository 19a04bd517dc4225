"""Users of any model whose jobs have deadlines, and who withdraw jobs that cannot meet them."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush
from itertools import count
from math import exp, inf, lgamma, log1p

import msgspec

from batsched_py.errors import UsageError
from batsched_py.model.user_model import EndedJob, StartedJob, Withdraw, ask_next_due
from batsched_py.options.option_values import number
from batsched_py.plugins import plugins
from batsched_py.units import LATEST_TIME
from batsched_py.workload import Workload, WorkloadJob
from batsched_users.behaviour.job_names import JobNames
from batsched_users.behaviour.random_streams import Chance, Seed
from batsched_users.models.wrapping import ModelName, ModelOptions, Wrapper


class Deadline(Wrapper):
    """Users of another model who need each result by a deadline, and withdraw late jobs.

    At submission, the user draws a slack S, a multiple of the requested time R. The deadline is the
    submission plus (1 + S) R. A job that still waits S R after its submission cannot surely meet
    the deadline, so its user withdraws it. Policies see the deadline in ``job.extra["deadline"]``,
    and results have the column ``deadline``. The requested time is the walltime, else the estimate;
    jobs without either have no deadline. A job that the wrapped model gives a deadline keeps it.

    S has a Weibull distribution. Random numbers depend on the seed and the job, so a job has the
    same slack under every policy. Logs do not show S, which is our assumption: try several values.
    For the wrapped model, a withdrawn job has ended.

    Args:
        slack: Mean slack, as a multiple of the requested time. Allowed: a number above 0.
        shape: Shape of the Weibull distribution: 1 is exponential, below 1 many users have little
            slack and few have much, large values make all slacks equal. Allowed: a number from 0.05
            to 100.
    """

    def __init__(
        self,
        workload: Workload,
        *,
        model: ModelName = plugins.RIGID,
        model_options: ModelOptions = None,
        slack: float = 10.0,
        shape: float = 1.0,
        seed: Seed = 0,
    ) -> None:
        if not number("slack", slack, 0):
            raise UsageError("slack=0: expected a number above 0")
        self._power = 1 / number("shape", shape, 0.05, 100)
        self._scale = slack / exp(lgamma(1 + self._power))
        self._chance, self._names = Chance(seed), JobNames()
        self._waiting: dict[str, int] = {}
        """Id of each waiting job with a deadline -> number of its plan."""
        self._plans: list[tuple[float, int, str]] = []  # time, number of the plan, job
        self._number = count()
        super().__init__(workload, model, model_options, seed)

    def next_submission(self) -> float:
        """Return when users act next (seconds): submissions, and withdrawals of late jobs."""
        plans = self._plans
        while plans and self._waiting.get(plans[0][2]) != plans[0][1]:
            heappop(plans)
        return min(plans[0][0] if plans else inf, ask_next_due(self.inner))

    def jobs_to_submit(self, now: float) -> Iterable[WorkloadJob | Withdraw]:
        """Yield what the wrapped model does, with deadlines, and withdrawals of late jobs."""
        for item in self.take_inner(now):
            yield self._with_deadline(now, item) if isinstance(item, WorkloadJob) else item
        while self._plans and self._plans[0][0] <= now:
            _, plan, job_id = heappop(self._plans)
            if self._waiting.get(job_id) == plan:
                yield Withdraw(job_id)

    def job_started(self, now: float, job: StartedJob) -> None:
        """Note that a job waits no longer."""
        self._waiting.pop(job.id, None)
        super().job_started(now, job)

    def job_ended(self, now: float, job: EndedJob, state: str) -> None:
        """Note the end of a job, which may be that of a waiting job."""
        self._waiting.pop(job.id, None)
        super().job_ended(now, job, state)

    def job_paused(self, now: float, job: EndedJob) -> None:
        """Note that a job was withdrawn and will be submitted again."""
        self._waiting.pop(job.id, None)
        super().job_paused(now, job)

    def job_resumed(self, now: float, job: WorkloadJob) -> None:
        """Note that a job that had paused waits again, with the same deadline."""
        requested = _find_request(job)
        if job.deadline is not None and requested is not None:
            self._plan(max(now, job.deadline - requested), job.id)
        super().job_resumed(now, job)

    def _with_deadline(self, now: float, job: WorkloadJob) -> WorkloadJob:
        drawn = self._chance.number("slack", job.user, self._names.make_name(job))
        requested = _find_request(job)
        if requested is None:
            return job
        deadline = job.deadline
        if deadline is None:
            slack = self._scale * (-log1p(-drawn)) ** self._power
            deadline = now + (1 + slack) * requested
        if deadline > LATEST_TIME:  # later than any simulation ends
            return job
        self._plan(max(now, deadline - requested), job.id)
        return msgspec.structs.replace(job, deadline=deadline)

    def _plan(self, time: float, job_id: str) -> None:
        self._waiting[job_id] = plan = next(self._number)
        heappush(self._plans, (time, plan, job_id))


def _find_request(job: WorkloadJob) -> float | None:
    """Return the requested time of a job (seconds), None if it is unknown."""
    return job.estimate if job.walltime is None else job.walltime
