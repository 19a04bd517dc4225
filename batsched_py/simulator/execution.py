"""The processors and what runs on them: start, end, reject and kill, with Batsim's states."""

from __future__ import annotations

from typing import Any

from batsched_py.errors import ProtocolError
from batsched_py.processors import to_text
from batsched_py.protocol import messages as m
from batsched_py.protocol.referee import check_mapping
from batsched_py.simulator.ended import EndedJobs
from batsched_py.simulator.platform import Platform
from batsched_py.simulator.registry import SimulatedJob, State

KILLED = "COMPLETED_KILLED"
REJECTED = "REJECTED"


class Execution:
    """Who uses which processor, and how each job ended.

    The jobs go to ``ended``, in order of completion or rejection.
    """

    def __init__(self, platform: Platform, ended: list[SimulatedJob] | EndedJobs) -> None:
        self.ended = ended
        self._speed = platform.uniform_speed
        self._speeds = _by_speed(platform)
        self._free = (1 << len(platform.hosts)) - 1

    def start(self, job: SimulatedJob, decision: m.ExecuteJob, now: float) -> None:
        """Run ``job`` as decided, and set when and how it will end.

        Raises :class:`ProtocolError` where Batsim would abort.
        """
        alloc = decision.alloc
        self._check(job, decision)
        self._free &= ~alloc
        job.alloc = alloc
        job.state = State.RUNNING
        job.start_time = now
        profile = job.profile
        walltime = job.description.walltime
        duration = self._duration(job)
        job.return_code = profile.return_code
        job.final_state = "COMPLETED_FAILED" if profile.return_code else "COMPLETED_SUCCESSFULLY"
        # A delay as long as the walltime counts as too long, a computation does not: so does
        # Batsim (of 13,096 such computations on KTH, 13,045 succeeded).
        if walltime is not None and (
            walltime < duration or (walltime == duration and profile.delay is not None)
        ):
            duration = walltime
            job.final_state, job.return_code = "COMPLETED_WALLTIME_REACHED", -1
        job.finish_time = now + duration

    def end(self, job: SimulatedJob) -> None:
        """Free the processors of a job that ended or was killed."""
        job.state = State.ENDED
        self._free |= job.alloc
        self.ended.append(job)

    def reject(self, job: SimulatedJob) -> None:
        """Refuse a submitted job; raises :class:`ProtocolError` for others."""
        if job.state is not State.SUBMITTED:
            raise ProtocolError(f"REJECT_JOB: job {job.description.id} is {job.state.value}")
        job.state = State.FORGOTTEN
        job.final_state = REJECTED
        self.ended.append(job)

    def kill(self, job: SimulatedJob, now: float) -> bool:
        """Stop a job; return whether it still ran (a job that ends at ``now`` ends by itself)."""
        if job.state is not State.RUNNING or job.finish_time <= now:
            return False
        job.state = State.ENDED
        job.finish_time = now
        job.final_state = KILLED
        job.return_code = -1 if job.profile.delay is not None else -2
        return True

    def progress(self, job: SimulatedJob) -> dict[str, Any]:
        """Return how much of a killed job was done, as Batsim reports it."""
        duration = self._duration(job)
        done = (job.finish_time - job.start_time) / duration if duration else 1.0
        return {"profile_name": job.description.profile, "progress": done}

    def _duration(self, job: SimulatedJob) -> float:
        speed = self._speed
        if speed is None:  # the slowest processor decides
            speed = next(speed for speed, processors in self._speeds if processors & job.alloc)
        return job.profile.duration(speed, job.alloc.bit_count())

    def _check(self, job: SimulatedJob, decision: m.ExecuteJob) -> None:
        alloc = decision.alloc
        size = job.description.res
        if job.state is not State.SUBMITTED:
            raise ProtocolError(f"EXECUTE_JOB: job {decision.job_id} is {job.state.value}")
        if not alloc or (alloc.bit_count() != size and not job.profile.total):
            raise ProtocolError(
                f"EXECUTE_JOB: job {decision.job_id} of size {size} was given "
                f"{alloc.bit_count()} processors ({to_text(alloc)!r})"
            )
        if alloc & ~self._free:
            raise ProtocolError(
                f"EXECUTE_JOB: job {decision.job_id} was given {to_text(alloc & ~self._free)!r}, "
                "which is in use or does not exist"
            )
        if decision.mapping is not None and len(set(check_mapping(decision, size))) < size:
            raise ProtocolError(
                f"EXECUTE_JOB: job {decision.job_id} has several executors on one processor, which "
                "the embedded simulator does not support"
            )
        if decision.storage_mapping is not None or decision.additional_io_job is not None:
            raise ProtocolError("EXECUTE_JOB: the embedded simulator has no storage")


def _by_speed(platform: Platform) -> list[tuple[float, int]]:
    """Return the processors of each speed as bitmasks, slowest first."""
    masks: dict[float, int] = {}
    for number, host in enumerate(platform.hosts):
        masks[host.speeds[0]] = masks.get(host.speeds[0], 0) | 1 << number
    return sorted(masks.items())
