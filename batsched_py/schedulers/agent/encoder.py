"""The encoder: arrays of what a policy sees, for environments and trained agents alike.

It knows the waiting jobs and the machine, as every policy does: no users, no simulator, and no
run times that are not estimates.
"""

from __future__ import annotations

from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Annotated, NamedTuple

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from batsched_py.model.queue.job_arrays import GONE, JobArrays, JobRows
from batsched_py.model.queue.orders import find_order
from batsched_py.schedulers.agent.features import (
    JOB_FEATURES,
    MACHINE_FEATURES,
    JobFeature,
    MachineFeature,
    Scene,
    find_features,
)
from batsched_py.schedulers.easy import shadow_time_and_extra_nodes

if TYPE_CHECKING:
    from batsched_py.model.job import Job
    from batsched_py.model.queue import WaitingQueue
    from batsched_py.model.site import Site

SUBMISSION = "submission"
ENDS = "ends"


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


class Encoder(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True):
    """Makes arrays of the waiting jobs and the machine.

    Raises :class:`UsageError` for unknown names.

    >>> Encoder(window=2, features=("log_estimate", "size")).shape
    (2, 2)
    """

    window: Annotated[int, Meta(ge=1, le=10_000)] = 64
    """W: the most waiting jobs that an agent sees."""
    features: tuple[str, ...] = tuple(JOB_FEATURES)[:7]
    """Names of :data:`JOB_FEATURES`."""
    machine_features: tuple[str, ...] = tuple(MACHINE_FEATURES)
    """Names of :data:`MACHINE_FEATURES`."""
    arrangement: str = SUBMISSION
    """Which jobs are in the window, and in which order: ``submission`` (the oldest), ``ends`` (the
    oldest and the newest, half of each), or the first of an order by name."""

    def __post_init__(self) -> None:
        """Find the features."""
        _ = self._job_features, self._of_machine
        if self.arrangement not in (SUBMISSION, ENDS):
            find_order(self.arrangement, f"{SUBMISSION}, {ENDS} or an order: arrangement")

    @cached_property
    def _job_features(self) -> list[JobFeature]:
        return find_features(self.features, JOB_FEATURES, "feature")

    @cached_property
    def _of_machine(self) -> list[MachineFeature]:
        return find_features(self.machine_features, MACHINE_FEATURES, "machine feature")

    @property
    def shape(self) -> tuple[int, int]:
        """(W, F): rows of jobs, and features of each."""
        return self.window, len(self.features)

    def look(
        self,
        now: float,
        queue: WaitingQueue,
        machine: Site,
        reservation: tuple[Job, float, int] | None = None,
        every: JobArrays | None = None,
    ) -> Scene:
        """Return what is seen at ``now`` (seconds) of a queue that is not empty: its window.

        ``reservation`` is the first job, its shadow time (seconds) and its extra nodes; None: those
        of the job that waits longest, as EASY computes them. If ``every`` waiting job is given,
        all are seen.
        """
        first, shadow_time, extra_nodes = reservation or _reserve(now, queue, machine)
        return Scene(
            now=now,
            jobs=self._choose_jobs(now, queue) if every is None else every,
            nb_waiting=len(queue),
            free=machine.free,
            nb_processors=machine.nb_processors,
            first=first.number,
            shadow_time=shadow_time,
            extra_nodes=extra_nodes,
        )

    def encode(self, scene: Scene, mask: NDArray[np.bool_]) -> Observation:
        """Return the arrays of a scene of at most W jobs, with the ``mask`` of the actions."""
        jobs = np.zeros(self.shape, np.float32)
        jobs[: len(scene.jobs)] = self.describe_jobs(scene)
        return Observation(jobs, self.describe_machine(scene), mask, scene.now)

    def describe_machine(self, scene: Scene) -> NDArray[np.float32]:
        """Return the features of the machine, shape (G,), from 0 to 1."""
        machine = np.array([feature(scene) for feature in self._of_machine], np.float32)
        return np.minimum(machine, 1.0, out=machine)

    def describe_jobs(self, scene: Scene) -> NDArray[np.float64]:
        """Return the features of all n jobs of a scene, shape (n, F), from 0 to 1."""
        features = self._job_features
        rated = np.empty((len(scene.jobs), len(features)))
        for column, feature in enumerate(features):
            rated[:, column] = feature(scene)
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


def _reserve(now: float, queue: WaitingQueue, machine: Site) -> tuple[Job, float, int]:
    """Return the job that waits longest, when it can start (seconds), and its extra nodes."""
    head = queue.head
    assert head is not None
    if head.size <= machine.free:
        return head, now, machine.free - head.size
    return head, *shadow_time_and_extra_nodes(head, machine)
