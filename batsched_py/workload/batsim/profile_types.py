"""The types of Batsim's profiles."""

from __future__ import annotations

from typing import Any

from batsched_py.support.json_values import whole
from batsched_py.workload.workload import REFERENCE_SPEED

REGISTRABLE = {
    *("delay", "parallel", "parallel_homogeneous", "parallel_homogeneous_total"),
    *("parallel_homogeneous_pfs", "data_staging", "send", "recv"),
}
"""Types that a scheduler may register."""
PROFILE_TYPES = REGISTRABLE | {"composed", "smpi", "usage_trace"}
"""All types. Batsim 4.2.0 crashes if a scheduler registers one that is not registrable."""


def run_time_profile(kind: str, run_time: float) -> dict[str, Any]:
    """Return the profile of a job with a run time (seconds) on the log's machine.

    ``kind`` is ``delay``, which lasts equally long on every machine, or ``parallel_homogeneous``,
    which computes. Zero-length jobs always compute, since Batsim refuses a delay of 0.
    """
    if kind == "delay" and run_time > 0:
        return {"type": "delay", "delay": whole(run_time)}
    return {"type": "parallel_homogeneous", "cpu": whole(run_time * REFERENCE_SPEED), "com": 0}
