"""The features of waiting jobs and of the machine, numbers from 0 to 1, by name.

Times are on a logarithmic scale up to a month, whatever the log: the longest run time of a log is
known only at its end.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log1p
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from batsched_py.errors import UsageError
from batsched_py.support.json_values import did_you_mean
from batsched_py.units import MONTH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from batsched_py.model.queue.job_arrays import Floats, JobArrays, JobRows

F = TypeVar("F")
_LOG_MONTH = log1p(MONTH)
_LOG_QUEUE = log1p(10_000)
"""As many waiting jobs are a queue of length 1."""
_SHORTEST = 10.0
"""Seconds; a waiting time is compared with at least this estimate, as in the bounded slowdown."""


class Scene(NamedTuple):
    """What a policy sees at an instant; times in seconds."""

    now: float
    jobs: JobArrays | JobRows
    """Waiting jobs, n of them."""
    nb_waiting: int
    """Number of all jobs that wait."""
    free: int
    """Number of free processors."""
    nb_processors: int
    first: int
    """Number of the job that has the reservation, or would have it."""
    shadow_time: float
    """When that job can start by the estimates; inf if it is unknown, -inf if nobody may
    rely on it."""
    extra_nodes: int
    """Number of processors that it leaves free then."""

    @property
    def may_backfill(self) -> NDArray[np.bool_]:
        """Whether each job fits and does not delay the first."""
        size = self.jobs.size
        ends = self.now + self.jobs.estimate <= self.shadow_time
        may: NDArray[np.bool_] = (size <= self.free) & (ends | (size <= self.extra_nodes))
        return may


JobFeature = Callable[[Scene], NDArray[Any]]
"""Returns a number for each of n jobs, shape (n,)."""
MachineFeature = Callable[[Scene], float]


def scale_time(seconds: Floats) -> Floats:
    """Return times of at least 0 on a logarithmic scale, on which a month is 1."""
    scaled: Floats = np.log1p(seconds) / _LOG_MONTH
    return scaled


def _log_estimate(scene: Scene) -> Floats:
    return scale_time(scene.jobs.estimate)


def _log_size(scene: Scene) -> Floats:
    scaled: Floats = np.log1p(scene.jobs.size) / log1p(scene.nb_processors)
    return scaled


def _waited(scene: Scene) -> Floats:
    return np.maximum(scene.now - scene.jobs.submit_time, 0.0)


def _log_slowdown(scene: Scene) -> Floats:
    return scale_time(_waited(scene) / np.maximum(scene.jobs.estimate, _SHORTEST))


JOB_FEATURES: Mapping[str, JobFeature] = {
    "log_estimate": _log_estimate,
    "size": lambda scene: scene.jobs.size / scene.nb_processors,
    "log_wait": lambda scene: scale_time(_waited(scene)),
    "fits": lambda scene: scene.jobs.size <= scene.free,
    "may_backfill": lambda scene: scene.may_backfill,
    "is_first": lambda scene: scene.jobs.number == scene.first,
    "exists": lambda scene: np.ones(len(scene.jobs)),
    "log_size": _log_size,
    "log_slowdown": _log_slowdown,
    "log_area": lambda scene: _log_estimate(scene) * _log_size(scene),
}
"""Features of a waiting job. ``log_slowdown`` is the logarithm of waiting time by estimate,
``log_area`` the product of ``log_estimate`` and ``log_size``."""

MACHINE_FEATURES: Mapping[str, MachineFeature] = {
    "free": lambda scene: scene.free / scene.nb_processors,
    "queue_length": lambda scene: log1p(scene.nb_waiting) / _LOG_QUEUE,
    "time_to_shadow": lambda scene: log1p(max(scene.shadow_time - scene.now, 0.0)) / _LOG_MONTH,
    "extra_nodes": lambda scene: scene.extra_nodes / scene.nb_processors,
}
"""Features of the machine and of the reservation of the first job."""


def find_features(names: tuple[str, ...], known: Mapping[str, F], what: str) -> list[F]:
    """Return the features of these names; raises :class:`UsageError` for others, or one twice."""
    for name in names:
        if name not in known:
            hint = did_you_mean(name, list(known))
            raise UsageError(f"{what} {name!r}{hint}: expected some of {', '.join(known)}")
    if len({*names}) < len(names):
        raise UsageError(f"{what}s {', '.join(names)}: expected each once")
    return [known[name] for name in names]
