"""Rewards: parts of a metric that come when jobs end, and sum to the metric."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import chain
from math import inf
from typing import Any, NamedTuple

import numpy as np

from batsched_py.errors import UsageError
from batsched_py.metrics.slowdown import BOUND
from batsched_py.model.job import WAITING, Job
from batsched_py.model.system import System
from batsched_py.model.user_model import find_method
from batsched_py.workload.workload import ORIGINAL_SUBMISSION


class Recorded(NamedTuple):
    """A job of an episode as it was recorded; times in seconds."""

    submit_time: float
    run_time: float
    size: int


class Life(NamedTuple):
    """What became of a job in an episode, or of several, as arrays of one shape.

    Times are in seconds, and none is after the end of the episode.
    """

    recorded: Any
    """Recorded submission."""
    submit: Any
    start: Any
    """The episode's end if it still waits then; when it was withdrawn, if it was."""
    end: Any
    run_time: Any
    """Of a job that has not ended, as it was recorded."""
    size: Any
    has_started: Any
    """Whether it ran."""
    has_ended: Any
    """Whether it ran to its end."""


Reward = Callable[[Life], Any]
"""The reward of one job."""
REWARDS: Mapping[str, Reward] = {
    "slowdown": lambda life: np.minimum(
        (life.submit - life.start - life.run_time) / np.maximum(life.run_time, BOUND), -1.0
    ),
    "wait": lambda life: life.submit - life.start,
    "response": lambda life: life.recorded - life.end,
    "work": lambda life: life.has_started * life.size * (life.end - life.start),
}
"""Rewards by name. Their sum over the measured jobs is divided by the number of recorded jobs, that
of ``work`` by the recorded processor-seconds."""


class Meter:
    """Sums the rewards of the measured jobs of an episode.

    ``reward`` is a name, or a function of each job. Measured are the jobs whose recorded submission
    is at ``begin`` or later; ``recorded`` has them by name. The episode ends at ``end``, or with
    its last job if that is inf (seconds). Jobs that wait or run at the end count as far as they
    have come. In ``response``, recorded jobs that were not submitted count until then; users who
    make up their jobs give :class:`UsageError`.
    """

    def __init__(
        self, reward: str | Reward, recorded: Mapping[str, Recorded], begin: float, end: float
    ) -> None:
        self.driver: System
        """What drives the simulation."""
        self._recorded, self._begin, self._end = recorded, begin, end
        self._compute = REWARDS[reward] if isinstance(reward, str) else reward
        self._scale = float(len(recorded))
        if reward == "work":
            self._scale = sum(job.size * job.run_time for job in recorded.values())
        self._counts_missing = reward == "response"
        self._submitted: set[str] = set()
        self._others: set[str] = set()
        self._sum = 0.0

    def watch(self, policy: Any) -> Any:
        """Return a policy whose ended and withdrawn jobs the meter learns of, too."""
        for name in ("job_ended", "job_withdrawn"):
            own, note = find_method(policy, name), getattr(self, name)
            setattr(policy, name, note if own is None else partial(_call_both, own, note))
        return policy

    def take(self) -> float:
        """Return the rewards since the last call."""
        taken, self._sum = self._sum / (self._scale or 1.0), 0.0
        return taken

    def job_ended(self, now: float, job: Job) -> None:
        """Add the reward of a job that ran."""
        if job.state is not WAITING:  # else its processors were still woken: it waits again
            self._add(job, now if job.start_time < inf else inf)

    def job_withdrawn(self, now: float, job: Job) -> None:
        """Add the reward of a job that has waited until now, and does not run."""
        self._add(job)

    def finish(self) -> float:
        """Return the rewards since the last call of :meth:`take`, at the end of the episode.

        They are also those of the jobs that wait or run, and of those that were not submitted.
        """
        driver = self.driver
        running = (job for job in driver.machine.releases() if not driver.is_bound(job))
        for job in chain(driver.waiting_jobs(), running):
            self._add(job)
        if self._counts_missing:
            if len(self._others) > len(self._submitted):
                raise UsageError(
                    "reward=response counts recorded jobs that are not submitted: it is not for "
                    "users who make up their jobs"
                )
            end = min(self._end, driver.now)
            missing = self._recorded.keys() - self._submitted
            self._sum -= sum(max(0.0, end - self._recorded[name].submit_time) for name in missing)
        return self.take()

    def _add(self, job: Job, end: float = inf) -> None:
        """Add the reward of a job that ran until ``end``, or does not run to its end."""
        limit = min(self._end, self.driver.now)
        submitted: float = job.extra.get(ORIGINAL_SUBMISSION, job.submit_time)
        if submitted < self._begin or job.submit_time > limit:
            return
        name = job.id.partition("!")[2]
        recorded = self._recorded.get(name)
        if recorded is not None and abs(recorded.submit_time - submitted) > 1e-3:
            recorded = None  # users made up a job of this name
        (self._others if recorded is None else self._submitted).add(name)
        if end <= limit:
            run_time = end - job.start_time
        else:
            run_time = job.estimate if recorded is None else recorded.run_time
        life = Life(
            recorded=submitted,
            submit=job.submit_time,
            start=min(job.start_time, limit),
            end=min(end, limit),
            run_time=run_time,
            size=job.size,
            has_started=job.start_time < limit or end <= limit,
            has_ended=end <= limit,
        )
        self._sum += float(self._compute(life))


def _call_both(own: Callable[..., Any], note: Callable[..., Any], now: float, job: Job) -> None:
    own(now, job)
    note(now, job)
