"""The policy ``agent``: a trained agent decides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from batsched_py.model.decisions import Decision
from batsched_py.model.job import Job
from batsched_py.model.policy import ExplainingScheduler, Scheduler
from batsched_py.model.queue.orders import ClockOrder
from batsched_py.options.option_values import path
from batsched_py.schedulers.agent.choices import Asker, make_asking_policy
from batsched_py.schedulers.agent.encoder import Scene, reserve
from batsched_py.schedulers.agent.networks import Agent, Priority, load_agent
from batsched_py.schedulers.backfilling import Backfilling
from batsched_py.schedulers.easy import easy_reservation

if TYPE_CHECKING:
    from batsched_py.model.machine import Machine
    from batsched_py.model.queue import WaitingQueue
    from batsched_py.model.queue.job_arrays import Floats, JobArrays
    from batsched_py.model.site import Site
    from batsched_py.model.waiting_reason import WaitingReason


class TrainedAgent:
    """A trained agent decides: which job is backfilled, starts, or is first, or in which order.

    The file says what it decides, what it sees, and how its network computes. It sees the waiting
    jobs and the machine, as each policy does, and takes the best action of its network.

    Args:
        weights: File of the agent. Allowed: a JSON file that the training wrote.
    """

    def __init__(self, *, weights: str) -> None:
        self._policy = make_policy(load_agent(path("weights", weights)))

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        """Decide as the agent does."""
        return self._policy.schedule(now, queue, machine)

    def held(
        self, job: Job, now: float, queue: WaitingQueue, machine: Machine
    ) -> WaitingReason | None:
        """Return the reason why ``job`` still waits after the pass at ``now``."""
        if isinstance(self._policy, ExplainingScheduler):
            return self._policy.held(job, now, queue, machine)
        return None


def make_policy(agent: Agent) -> Scheduler:
    """Return a policy for one simulation in which a trained agent decides."""
    if isinstance(agent.decides, Priority):
        return _PriorityPolicy(agent)
    return make_asking_policy(agent.decides, Asker(agent.encoder, agent.choose))


class _PriorityPolicy(Backfilling):
    """EASY backfilling in the order that an agent's network gives the waiting jobs."""

    def __init__(self, agent: Agent) -> None:
        super().__init__(easy_reservation(), ClockOrder(self._rate))
        self._agent = agent

    def schedule(self, now: float, queue: WaitingQueue, machine: Site) -> Iterator[Decision]:
        self._queue, self._machine = queue, machine
        return super().schedule(now, queue, machine)

    def _rate(self, now: float, columns: JobArrays) -> Floats:
        encoder = self._agent.encoder
        reserved = reserve(now, self._queue, self._machine)
        scene = Scene(now, columns, self._queue, self._machine, *reserved)
        jobs, machine = encoder.describe_jobs(scene), encoder.describe_machine(scene)
        return self._agent.compute(jobs, machine)[:, 0]
