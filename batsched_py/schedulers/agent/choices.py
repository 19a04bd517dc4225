"""What an agent may choose, and the policies that ask for it.

An agent is asked only where several actions are allowed. The same policies run in an environment,
which answers with the actions that it gets, and as the policy ``agent``, which answers from a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf, nextafter
from typing import TYPE_CHECKING, get_args

import msgspec
import numpy as np

from batsched_py.errors import UsageError
from batsched_py.model import decisions as d
from batsched_py.model.job import Job
from batsched_py.model.queue.job_arrays import JobRows
from batsched_py.model.queue.orders import RankedJobs, find_order
from batsched_py.options.checked_values import check_fields
from batsched_py.schedulers.agent.encoder import Encoder, Observation, Scene
from batsched_py.schedulers.backfilling import Backfilling
from batsched_py.schedulers.easy import easy_reservation, shadow_time_and_extra_nodes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from batsched_py.model.policy import Scheduler
    from batsched_py.model.queue import WaitingQueue
    from batsched_py.model.site import Site
    from batsched_py.model.waiting_reason import WaitingReason


class Asker:
    """Asks an agent, whose ``answer`` to what the ``encoder`` shows it is an action."""

    def __init__(self, encoder: Encoder, answer: Callable[[Observation], int]) -> None:
        self.encoder, self._answer = encoder, answer
        self.nb_invalid = 0
        """Number of actions that were not allowed, and replaced."""

    def ask(self, scene: Scene, mask: NDArray[np.bool_], otherwise: int = 0) -> int:
        """Return an action that ``mask`` allows, shape (A,).

        ``otherwise`` is the place, among the allowed actions, of the one that replaces others.
        """
        allowed = mask.nonzero()[0]
        if len(allowed) == 1:
            return int(allowed[0])
        action = int(self._answer(self.encoder.encode(scene, mask)))
        if not (0 <= action < len(mask) and mask[action]):
            self.nb_invalid += 1
            action = int(allowed[otherwise])
        return action

    def ask_for_job(
        self, scene: Scene, allowed: NDArray[np.bool_], *, wait: bool | None
    ) -> Job | None:
        """Return one of the jobs of a scene, by ``allowed`` of shape (n,); None is to wait.

        ``wait`` is whether waiting is allowed, None if it is no action at all.
        """
        nb_rows = self.encoder.window
        mask = np.zeros(nb_rows + (wait is not None), np.bool_)
        mask[: len(allowed)] = allowed
        mask[nb_rows:] = bool(wait)
        action = self.ask(scene, mask, -1 if wait else 0)
        if action == nb_rows:
            return None
        assert isinstance(scene.jobs, JobRows)
        return scene.jobs.jobs()[action]


class Backfill(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """EASY backfilling: the agent chooses which job is backfilled next, or to wait.

    Only jobs that do not delay the first one are allowed; with the order ``fcfs`` no job starves.
    """

    order: str = "fcfs"
    """Order of the queue, whose first job has the reservation."""

    def __post_init__(self) -> None:
        """Raise :class:`UsageError` for an unknown order."""
        find_order(self.order)


class Start(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """The agent chooses which job that fits starts next, or to wait until the next event.

    Waiting is not allowed while no job runs. Wide jobs can starve.
    """


class Head(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """The agent chooses the first job of the queue: it starts, or gets EASY's reservation.

    Others are backfilled in the order of submission.
    """

    commit: bool = False
    """Whether the choice holds until the job starts; otherwise the agent is asked in each pass.

    As in RLScheduler (Zhang et al., SC 2020), jobs then overtake only if they end before the shadow
    time as of the choice, and there are no extra nodes."""
    backfill: bool = True
    """Whether others may overtake the first job."""

    def __post_init__(self) -> None:
        """Raise :class:`UsageError` for values that are not true or false."""
        check_fields(self)


class Order(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """EASY backfilling: the agent chooses the order of the queue in each pass, by its name."""

    orders: tuple[str, ...] = ("fcfs", "sjf", "ffia", "expansion_factor")

    def __post_init__(self) -> None:
        """Raise :class:`UsageError` for unknown orders, or fewer than two."""
        if len(self.orders) < 2:
            raise UsageError(f"orders {', '.join(self.orders)}: expected at least two")
        for name in self.orders:
            find_order(name, "orders")


Choice = Backfill | Start | Head | Order
"""What an agent chooses."""
CHOICES: dict[str, type[Choice]] = {kind.__name__: kind for kind in get_args(Choice)}


def count_actions(choice: Choice, window: int) -> int:
    """Return the number of actions: orders, or jobs of the window and mostly, last, to wait."""
    if isinstance(choice, Order):
        return len(choice.orders)
    return window if isinstance(choice, Head) else window + 1


def make_asking_policy(choice: Choice, asker: Asker) -> Scheduler:
    """Return a policy that asks what an agent chooses."""
    match choice:
        case Backfill():
            return _BackfillPolicy(asker, choice.order)
        case Head():
            return _HeadPolicy(asker, choice)
        case Order():
            return _OrderPolicy(asker, choice.orders)
        case Start():
            return _StartPolicy(asker)


class _BackfillPolicy(Backfilling):
    def __init__(self, asker: Asker, order: str) -> None:
        super().__init__(easy_reservation(), order, "fcfs")
        self._asker = asker

    def schedule(self, now: float, queue: WaitingQueue, machine: Site) -> Iterator[d.Decision]:
        self._queue = queue
        return super().schedule(now, queue, machine)

    def _choose(self, ranked: RankedJobs, now: float, horizon: float, machine: Site) -> Job | None:
        if super()._choose(ranked, now, horizon, machine) is None:  # after most events
            return None
        head, extra = self.head, self.extra_nodes
        assert head is not None
        scene = self._asker.encoder.look(now, self._queue, machine, (head, horizon, extra))
        allowed = scene.may_backfill & (scene.jobs.number != head.number)
        if machine.sleepers is not None:  # jobs may begin later
            begins = np.array([machine.begins(size) for size in scene.jobs.size.tolist()])
            in_time = begins + scene.jobs.estimate <= horizon
            allowed &= in_time | (scene.jobs.size <= extra)
        return self._asker.ask_for_job(scene, allowed, wait=True)


class _HeadPolicy:
    """EASY backfilling in the order of submission, but for the head; it is this order itself."""

    def __init__(self, asker: Asker, choice: Head) -> None:
        self._backfilling = Backfilling(self._reserve, self)
        self._asker, self._choice = asker, choice
        self._chosen: Job | None = None
        self._until: float | None = None  # as of the choice

    def schedule(self, now: float, queue: WaitingQueue, machine: Site) -> Iterator[d.Decision]:
        self._now, self._queue, self._machine = now, queue, machine
        if self._chosen is not None and self._chosen not in queue:  # maybe withdrawn
            self._chosen = None
        return self._backfilling.schedule(now, queue, machine)

    def at(self, now: float, queue: WaitingQueue) -> RankedJobs:
        return self

    @property
    def head(self) -> Job | None:
        queue, chosen = self._queue, self._chosen
        if len(queue) < 2:
            chosen = queue.head
        elif not self._choice.commit or chosen is None or chosen not in queue:
            scene = self._asker.encoder.look(self._now, queue, self._machine)
            every = np.ones(len(scene.jobs), np.bool_)
            chosen = self._asker.ask_for_job(scene, every, wait=None)
        if chosen is not self._chosen:
            self._chosen, self._until = chosen, None
        return chosen

    def __iter__(self) -> Iterator[Job]:
        return iter(self._queue)

    def first_to_backfill(self, now: float, free: int, horizon: float, extra: int) -> Job | None:
        return self._queue.first_to_backfill(now, free, horizon, extra)

    def _reserve(self, head: Job, machine: Site) -> tuple[float, int]:
        """Return shadow time and extra nodes; -inf and 0 let no job overtake."""
        if not self._choice.backfill:
            return -inf, 0
        if not self._choice.commit:
            return shadow_time_and_extra_nodes(head, machine)
        if self._until is None:
            until, _ = shadow_time_and_extra_nodes(head, machine)
            self._until = nextafter(until, -inf) if until < inf else inf
        return self._until, 0

    def held(self, job: Job, now: float, queue: WaitingQueue, machine: Site) -> WaitingReason:
        reason = self._backfilling.held(job, now, queue, machine)
        if self._choice.backfill:
            return reason
        why = "behind" if reason.why == "reservation" else reason.why
        return msgspec.structs.replace(reason, why=why, until=inf)


class _OrderPolicy(Backfilling):
    def __init__(self, asker: Asker, names: tuple[str, ...]) -> None:
        super().__init__(easy_reservation(), names[0])
        self._asker, self._orders = asker, [find_order(name) for name in names]

    def schedule(self, now: float, queue: WaitingQueue, machine: Site) -> Iterator[d.Decision]:
        if len(queue) > 1:
            scene = self._asker.encoder.look(now, queue, machine)
            action = self._asker.ask(scene, np.ones(len(self._orders), np.bool_))
            self.order = self.backfill_order = self._orders[action]
        return super().schedule(now, queue, machine)


class _StartPolicy:
    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    def schedule(self, now: float, queue: WaitingQueue, machine: Site) -> Iterator[d.Decision]:
        while (first := queue.first_to_backfill(now, machine.free, inf, 0)) is not None:
            scene = self._asker.encoder.look(now, queue, machine)
            fits = scene.jobs.size <= machine.free
            must_start = next(machine.releases(), None) is None
            if not fits.any():  # no job of the window
                job = first if must_start else None
            else:
                job = self._asker.ask_for_job(scene, fits, wait=not must_start)
            if job is None:
                return
            yield d.Start(job)
