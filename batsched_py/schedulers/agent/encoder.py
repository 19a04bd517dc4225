"""The encoder: arrays of what a policy sees, for environments and trained agents alike.

It knows the waiting jobs and the machine, as every policy does: no users, no simulator, and no
run times that are not estimates. Features are numbers from 0 to 1, larger ones count as 1. Times
are on a logarithmic scale up to a month: the longest run time of a log is known only at its end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from math import log1p
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from batsched_py.errors import UsageError
from batsched_py.model.queue.job_arrays import GONE, Floats, JobArrays, JobRows
from batsched_py.model.queue.orders import find_order
from batsched_py.options.option_values import one_of, whole_number
from batsched_py.schedulers.easy import shadow_time_and_extra_nodes
from batsched_py.units import MONTH

if TYPE_CHECKING:
    from batsched_py.model.job import Job
    from batsched_py.model.queue import WaitingQueue
    from batsched_py.model.site import Site

SUBMISSION = "submission"
ENDS = "ends"
_LOG_MONTH = log1p(MONTH)
_SHORTEST = 10.0
"""Seconds; a waiting time is compared with at least this estimate, as in the bounded slowdown."""


class Scene(NamedTuple):
    """What a policy sees at an instant; times in seconds."""

    now: float
    jobs: JobArrays | JobRows
    """Waiting jobs, n of them."""
    queue: WaitingQueue
    machine: Site
    first: Job
    """The job that has the reservation, or would have it."""
    shadow_time: float
    """When it can start by the estimates; inf if unknown, -inf if nobody may rely on it."""
    extra_nodes: int
    """Number of processors that it leaves free then."""

    @property
    def may_backfill(self) -> NDArray[np.bool_]:
        """Whether each job fits and does not delay the first."""
        in_time = self.now + self.jobs.estimate <= self.shadow_time
        may: NDArray[np.bool_] = in_time | (self.jobs.size <= self.extra_nodes)
        return may & (self.jobs.size <= self.machine.free)


def _scale(seconds: Floats) -> Any:
    return np.log1p(seconds) / _LOG_MONTH


def _log_size(scene: Scene) -> Any:
    return np.log1p(scene.jobs.size) / log1p(scene.machine.nb_processors)


def _waited(scene: Scene) -> Floats:
    return np.maximum(scene.now - scene.jobs.submit_time, 0.0)


JOB_FEATURES: Mapping[str, Callable[[Scene], NDArray[Any]]] = {
    "log_estimate": lambda scene: _scale(scene.jobs.estimate),
    "size": lambda scene: scene.jobs.size / scene.machine.nb_processors,
    "log_wait": lambda scene: _scale(_waited(scene)),
    "fits": lambda scene: scene.jobs.size <= scene.machine.free,
    "may_backfill": lambda scene: scene.may_backfill,
    "is_first": lambda scene: scene.jobs.number == scene.first.number,
    "exists": lambda scene: np.ones(len(scene.jobs)),
    "log_size": _log_size,
    "log_slowdown": lambda scene: _scale(
        _waited(scene) / np.maximum(scene.jobs.estimate, _SHORTEST)
    ),
    "log_area": lambda scene: _scale(scene.jobs.estimate) * _log_size(scene),
}
"""Features of waiting jobs, each a function of a scene to shape (n,). ``log_slowdown`` is the
logarithm of waiting time by estimate, ``log_area`` is ``log_estimate`` times ``log_size``."""

MACHINE_FEATURES: Mapping[str, Callable[[Scene], float]] = {
    "free": lambda scene: scene.machine.free / scene.machine.nb_processors,
    "queue_length": lambda scene: log1p(len(scene.queue)) / log1p(10_000),
    "time_to_shadow": lambda scene: log1p(max(scene.shadow_time - scene.now, 0.0)) / _LOG_MONTH,
    "extra_nodes": lambda scene: scene.extra_nodes / scene.machine.nb_processors,
}
"""Features of the machine and of the reservation of the first job."""
Reserved = tuple["Job", float, int]
"""The first job, when it can start (seconds), and its extra nodes."""


class Observation(NamedTuple):
    """What an agent sees: W rows of jobs, F features each, and G features of the machine."""

    jobs: NDArray[np.float32]
    """Shape (W, F), from 0 to 1; rows behind the last job are 0."""
    machine: NDArray[np.float32]
    """Shape (G,), from 0 to 1."""
    mask: NDArray[np.bool_]
    """Shape (A,): which actions are allowed."""
    now: float
    """When it is seen (seconds); networks do not get it."""


class Encoder(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Makes arrays of the waiting jobs and the machine.

    Raises :class:`UsageError` for unknown names.

    >>> Encoder(window=2, features=("log_estimate", "size")).shape
    (2, 2)
    """

    window: int = 64
    """W: the most waiting jobs that an agent sees, up to 10,000."""
    features: tuple[str, ...] = tuple(JOB_FEATURES)[:7]
    """Names of :data:`JOB_FEATURES`."""
    machine_features: tuple[str, ...] = tuple(MACHINE_FEATURES)
    """Names of :data:`MACHINE_FEATURES`."""
    arrangement: str = SUBMISSION
    """Which jobs are in the window, and in which order: ``submission`` (the oldest), ``ends`` (the
    oldest and the newest, half of each), or the first of an order by name."""

    def __post_init__(self) -> None:
        """Check the values."""
        whole_number("window", self.window, 1, 10_000)
        for option, known in (("features", JOB_FEATURES), ("machine_features", MACHINE_FEATURES)):
            names = [one_of(option, name, known) for name in getattr(self, option)]
            if len({*names}) < len(names):
                raise UsageError(f"{option}={', '.join(names)}: expected each once")
        if self.arrangement not in (SUBMISSION, ENDS):
            find_order(self.arrangement, f"{SUBMISSION}, {ENDS} or an order: arrangement")

    @property
    def shape(self) -> tuple[int, int]:
        """(W, F): rows of jobs, and features of each."""
        return self.window, len(self.features)

    def look(
        self, now: float, queue: WaitingQueue, machine: Site, reserved: Reserved | None = None
    ) -> Scene:
        """Return what is seen at ``now`` (seconds) of a queue that is not empty: its window.

        ``reserved`` is by default the reservation that EASY gives the job that waits longest.
        """
        reserved = reserved or reserve(now, queue, machine)
        return Scene(now, self._choose_jobs(now, queue), queue, machine, *reserved)

    def encode(self, scene: Scene, mask: NDArray[np.bool_]) -> Observation:
        """Return the arrays of a scene of at most W jobs, with the ``mask`` of the actions."""
        jobs = np.zeros(self.shape, np.float32)
        jobs[: len(scene.jobs)] = self.describe_jobs(scene)
        return Observation(jobs, self.describe_machine(scene), mask, scene.now)

    def describe_machine(self, scene: Scene) -> NDArray[np.float32]:
        """Return the features of the machine, shape (G,), from 0 to 1."""
        machine = np.array(
            [MACHINE_FEATURES[name](scene) for name in self.machine_features], np.float32
        )
        return np.minimum(machine, 1.0, out=machine)

    def describe_jobs(self, scene: Scene) -> NDArray[np.float64]:
        """Return the features of all n jobs of a scene, shape (n, F), from 0 to 1."""
        rated = np.empty((len(scene.jobs), len(self.features)))
        for column, name in enumerate(self.features):
            rated[:, column] = JOB_FEATURES[name](scene)
        return np.minimum(rated, 1.0, out=rated)

    def _choose_jobs(self, now: float, queue: WaitingQueue) -> JobRows:
        if self.arrangement not in (SUBMISSION, ENDS):
            ranked = find_order(self.arrangement).at(now, queue)
            return JobRows.of(list(islice(ranked, self.window)))
        columns = queue.view(JobArrays)
        rows = np.flatnonzero(columns.size < GONE)
        newest = self.window // 2 if self.arrangement == ENDS else 0
        if newest and len(rows) > self.window:
            rows = np.concatenate((rows[: self.window - newest], rows[-newest:]))
        return columns.select(rows[: self.window])


def reserve(now: float, queue: WaitingQueue, machine: Site) -> Reserved:
    """Return the reservation of the job that waits longest, as EASY computes it."""
    head = queue.head
    assert head is not None
    if head.size <= machine.free:
        return head, now, machine.free - head.size
    return head, *shadow_time_and_extra_nodes(head, machine)
