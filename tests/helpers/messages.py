"""Messages of Batsim as objects: a simulation begins, a job is submitted."""

from __future__ import annotations

from typing import Any

from batsched_py.protocol import messages as m


def begins(nb_processors: int = 4, **fields: Any) -> m.SimulationBegins:
    """Return the begin of a simulation, in which jobs may be registered unless told otherwise."""
    usual = {"nb_resources": nb_processors, "config": {"dynamic-jobs-enabled": True}}
    return m.SimulationBegins(
        timestamp=0.0,
        nb_compute_resources=nb_processors,
        **{**usual, "compute_resources": [], **fields},
    )


def submitted(
    name: str, size: int = 1, now: float = 0.0, walltime: float | None = 10, **extra: Any
) -> m.JobSubmitted:
    """Return the submission of a job with the profile ``p``."""
    job = m.JobDescription(f"w0!{name}", now, size, "p", walltime, extra=extra)
    return m.JobSubmitted(timestamp=now, job_id=job.id, job=job)
