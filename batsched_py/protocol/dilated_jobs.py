"""Jobs whose run time depends on where they run: another form of them runs in their place.

Batsim runs a job as its profile says, wherever it runs, and ends it at the walltime that it was
submitted with. So where a policy starts a job with a dilation or a transfer, the job is refused,
and in the same reply a job with the dilated profile, estimate and walltime is registered and
executed. Its id says whose form it is, and the metadata of the refused one says so too: the results
have the job once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from batsched_py.errors import InvariantError
from batsched_py.model.job import Job
from batsched_py.protocol import messages as m
from batsched_py.workload.workload import REFERENCE_SPEED

PLACED = "placed"
"""The workload of the jobs that run in place of others."""
RUNS_AS = f"runs as {PLACED}!"
"""How the metadata of a job begins that was refused since another form of it runs."""


def placed_id(job_id: str) -> str:
    """Return the id of the form in which the job ``w0!15`` runs: ``placed!w0:15``."""
    return f"{PLACED}!{job_id.replace('!', ':', 1)}"


def is_replaced(metadata: str) -> bool:
    """Tell by its metadata whether a job was refused since another form of it runs."""
    return metadata.startswith(RUNS_AS)


def original(workload: str, name: str) -> tuple[str, str]:
    """Return workload and name of a job, where another form of it ran those of the job itself."""
    if workload != PLACED:
        return workload, name
    workload, _, name = name.partition(":")
    return workload, name


class DilatedJobs:
    """Registers the forms in which jobs run; ``speed_factor`` multiplies the machine's speed."""

    def __init__(self, profiles: Mapping[str, Any], *, reuse: bool, speed_factor: float) -> None:
        self._profiles = profiles
        """Those of the static workloads, by workload and name."""
        self._reuse = reuse
        self._flops = REFERENCE_SPEED * speed_factor
        self._waiting: dict[str, tuple[m.JobDescription, Mapping[str, Any]]] = {}
        self._registered: set[str] = set()

    def waits(self, description: m.JobDescription, profile: Mapping[str, Any] | None) -> None:
        """Keep what a job is that may be started with a dilation; its profile as far as known."""
        workload = description.id.partition("!")[0]
        known = profile or self._profiles.get(workload, {}).get(description.profile) or {}
        self._waiting[description.id] = description, known

    def forget(self, job_id: str) -> None:
        """Forget a job that waits no more."""
        self._waiting.pop(job_id, None)

    def start(self, job: Job, now: float, speed: float) -> Iterator[m.Event]:
        """Yield what lets ``job``, which runs by now, run in its form.

        ``speed`` is that of the slowest of its processors, relative to the reference. Raises
        :class:`InvariantError` for a profile that cannot be dilated.
        """
        description, content = self._waiting.pop(job.id)
        name = placed_id(job.id)
        yield m.SetJobMetadata(timestamp=now, job_id=job.id, metadata=f"runs as {name}")
        yield m.RejectJob(timestamp=now, job_id=job.id)
        workload = job.id.partition("!")[0]
        profile = f"{workload}:{description.profile}*{job.dilation!r}+{job.transfer!r}"
        profile += f"@{speed!r}x{job.size}" if speed != 1 or job.size != description.size else ""
        if not self._reuse:  # Batsim forgets a profile with its first job
            profile += f"#{name}"
        if profile not in self._registered:
            if self._reuse:
                self._registered.add(profile)
            yield m.RegisterProfile(
                timestamp=now,
                workload_name=PLACED,
                profile_name=profile,
                profile=dilated(content, job, speed, self._flops * speed),
            )
        extra = {"dilation": job.dilation} | ({"transfer": job.transfer} if job.transfer else {})
        form = m.JobDescription(
            name,
            description.submit_time,
            job.size,
            profile,
            None if job.walltime is None else job.walltime * job.dilation + job.transfer,
            None if description.estimate is None else job.lasts(job.dilation, job.transfer),
            description.user,
            {**description.extra, **extra},
        )
        yield m.RegisterJob(timestamp=now, job_id=name, job=form)
        yield m.ExecuteJob(timestamp=now, job_id=name, alloc=job.processors)


def dilated(profile: Mapping[str, Any], job: Job, speed: float, flops: float) -> dict[str, Any]:
    """Return the profile of what runs as much longer as was decided of ``job``.

    A computation on processors of ``speed`` times the reference runs that much faster by itself,
    which is made up for; ``flops`` (flop/s) is what they compute during the transfer. Raises
    :class:`InvariantError` for profiles of other types than delays and computations.
    """
    transform = _DILATED.get(profile.get("type", ""))
    if transform is None:
        raise InvariantError(
            f"job {job.id} was started with a dilation, but its profile is of type "
            f"{profile.get('type')!r}: expected one of {', '.join(_DILATED)}"
        )
    return {**profile, **transform(profile, job, job.dilation * speed, job.transfer * flops)}


def _delay(profile: Mapping[str, Any], job: Job, factor: float, flop: float) -> dict[str, Any]:
    return {"delay": profile["delay"] * job.dilation + job.transfer}


def _homogeneous(
    profile: Mapping[str, Any], job: Job, factor: float, flop: float
) -> dict[str, Any]:
    return {"cpu": profile["cpu"] * factor + flop, "com": profile["com"] * job.dilation}


def _total(profile: Mapping[str, Any], job: Job, factor: float, flop: float) -> dict[str, Any]:
    return _homogeneous(profile, job, factor, flop * job.size)


def _parallel(profile: Mapping[str, Any], job: Job, factor: float, flop: float) -> dict[str, Any]:
    cpu = [amount * factor + flop for amount in profile["cpu"]]
    return {"cpu": cpu, "com": [amount * job.dilation for amount in profile["com"]]}


_DILATED: dict[str, Callable[[Mapping[str, Any], Job, float, float], dict[str, Any]]] = {
    "delay": _delay,
    "parallel_homogeneous": _homogeneous,
    "parallel_homogeneous_total": _total,
    "parallel": _parallel,
}
