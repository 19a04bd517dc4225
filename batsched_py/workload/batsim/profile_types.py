"""The types of Batsim's profiles: what a job may do while it runs."""

from __future__ import annotations

from typing import Any, NamedTuple

from batsched_py.support.json_values import whole
from batsched_py.workload.workload import REFERENCE_SPEED


class ProfileType(NamedTuple):
    """What is known of a type of profiles without running it."""

    amounts: tuple[str, ...] = ()
    """Fields that must be numbers, at least 0."""
    registrable: bool = True
    """Whether a scheduler may register it: Batsim 4.2.0 crashes on the others."""


def profile_type(name: Any) -> ProfileType | None:
    """Return the type that a profile says it is of, None if there is no such type."""
    return PROFILE_TYPES.get(name) if isinstance(name, str) else None


def run_time_profile(kind: str, run_time: float) -> dict[str, Any]:
    """Return the profile of a job with a run time (seconds) on the log's machine.

    ``kind`` is ``delay``, which lasts so long on every machine, or ``parallel_homogeneous``, which
    computes; so does a job of no length in any case, since Batsim refuses a delay of 0.
    """
    if kind == "delay" and run_time > 0:
        return {"type": "delay", "delay": whole(run_time)}
    return {"type": "parallel_homogeneous", "cpu": whole(run_time * REFERENCE_SPEED), "com": 0}


PROFILE_TYPES = {
    "delay": ProfileType(("delay",)),
    "parallel": ProfileType(),
    "parallel_homogeneous": ProfileType(("cpu", "com")),
    "parallel_homogeneous_total": ProfileType(("cpu", "com")),
    "parallel_homogeneous_pfs": ProfileType(),
    "data_staging": ProfileType(("nb_bytes",)),
    "composed": ProfileType(registrable=False),
    "smpi": ProfileType(registrable=False),
    "usage_trace": ProfileType(registrable=False),
    "send": ProfileType(),
    "recv": ProfileType(),
}
"""All types by name. Which of them the embedded simulator runs, and how:
:mod:`batsched_py.simulator.profiles`."""
