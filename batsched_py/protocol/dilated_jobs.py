"""Dilated jobs: a job that runs longer where it is placed is replaced by one with a longer profile.

Batsim runs a job by its profile on any machine, and ends it at its walltime. So if a policy starts
a job with a dilation or a transfer, the reply rejects the job, and registers and executes another
form of it, with longer profile, estimate and walltime. The id of the form, and the metadata of the
rejected job (not in version 5), name each other, so that results have the job once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from batsched_py.errors import InvariantError, ProtocolError
from batsched_py.model.job import Job
from batsched_py.protocol import messages as m
from batsched_py.protocol.decision_rules import Refusal, round_up_to_six_decimals
from batsched_py.support.json_values import quote
from batsched_py.workload.workload import REFERENCE_SPEED

PLACED = "placed"
"""The workload of the jobs that run in place of others."""
_PREFIX = f"{PLACED}!"
RUNS_AS = f"runs as {_PREFIX}"
"""The beginning of the metadata of a job that was rejected because another form of it runs."""

_LEAST = 1e-6
"""The least seconds that Batsim does not take for 0."""
_NOISE = 1 + 2**-50
"""A factor for rounding errors: a computation may take exactly its walltime."""


def make_placed_id(job_id: str) -> str:
    """Return the id of the other form of a job: ``placed!w0:15`` for ``w0!15``."""
    return f"{_PREFIX}{job_id.replace('!', ':', 1)}"


def is_replaced(metadata: str) -> bool:
    """Return whether a job with this metadata was rejected because another form of it runs."""
    return metadata.startswith(RUNS_AS)


def is_placed(job_id: str) -> bool:
    """Return whether a job with this id runs in place of another job."""
    return job_id.startswith(_PREFIX)


def find_original_id(job_id: str) -> str:
    """Return the id of a job as it was submitted, from that id or from its other form's id."""
    return job_id.removeprefix(_PREFIX).replace(":", "!", 1) if is_placed(job_id) else job_id


def find_original(workload: str, name: str) -> tuple[str, str]:
    """Return workload and name of a job as it was submitted, also from its dilated form's."""
    workload, _, name = find_original_id(f"{workload}!{name}").partition("!")
    return workload, name


class DilatedJobs:
    """Replaces jobs that a policy dilates by longer ones; ``speed_factor`` is the machine's speed.

    ``six_decimals``: Batsim rounds numbers, so that no run time may become 0, and no walltime end
    a job that it would not end otherwise. ``has_metadata``: jobs may have a metadata text.
    ``refused`` returns why a job cannot be registered.
    """

    def __init__(
        self,
        profiles: Mapping[str, Any],
        *,
        reuse: bool,
        speed_factor: float,
        six_decimals: bool = False,
        has_metadata: bool = True,
        refused: Refusal | None = None,
    ) -> None:
        self._refused = refused
        self._has_metadata = has_metadata
        self._six_decimals = six_decimals
        self._profiles = profiles
        """Profiles of the static workloads, by workload and name."""
        self._reuse = reuse
        self._flops = REFERENCE_SPEED * speed_factor
        self._waiting: dict[str, tuple[m.JobDescription, Mapping[str, Any]]] = {}
        self._registered: set[str] = set()

    def add_waiting(self, description: m.JobDescription, profile: Mapping[str, Any] | None) -> None:
        """Store a waiting job that may start in a longer form, and its profile if known."""
        workload = description.id.partition("!")[0]
        known = profile or self._profiles.get(workload, {}).get(description.profile) or {}
        self._waiting[description.id] = description, known

    def forget(self, job_id: str) -> None:
        """Remove a job that no longer waits."""
        self._waiting.pop(job_id, None)

    def start(self, job: Job, now: float, speed: float) -> Iterator[m.Event]:
        """Yield the decisions that replace ``job``, which the policy has started, by a longer one.

        ``speed`` is that of the slowest of its processors, relative to the reference. Raises
        :class:`InvariantError` for a profile that cannot be dilated, :class:`ProtocolError` for
        one that Batsim does not have.
        """
        description, content = self._waiting.pop(job.id)
        name = make_placed_id(job.id)
        if self._has_metadata:
            metadata = f"runs as {name}".replace('"', "'")  # which Batsim cannot write
            yield m.SetJobMetadata(timestamp=now, job_id=job.id, metadata=metadata)
        yield m.RejectJob(timestamp=now, job_id=job.id)
        workload = job.id.partition("!")[0]
        profile = f"{workload}:{description.profile}*{job.dilation!r}+{job.transfer!r}"
        profile += f"@{speed!r}x{job.size}" if speed != 1 or job.size != description.size else ""
        if not self._reuse:  # Batsim forgets a profile with its first job
            profile += f"#{name}"
        computed = speed / _NOISE**2 if self._six_decimals else speed
        try:
            longer = dilate_profile(
                content, job, description.size, computed, self._flops * computed
            )
        except (KeyError, TypeError):
            raise ProtocolError(
                f"the profile {description.profile!r} of job {job.id} is {quote(content)}: "
                "expected one of Batsim's, with numbers"
            ) from None
        walltime = _walltime(job, longer, self._six_decimals)
        if profile not in self._registered:
            if self._reuse:
                self._registered.add(profile)
            yield m.RegisterProfile(
                timestamp=now, workload_name=PLACED, profile_name=profile, profile=longer
            )
        extra = {key: field for key, field in description.extra.items() if key != "transfer"}
        extra["dilation"] = job.dilation
        if job.transfer:
            extra["transfer"] = job.transfer
        form = m.JobDescription(
            name,
            description.submit_time,
            job.size,
            profile,
            walltime,
            None if description.estimate is None else job.lasts(job.dilation, job.transfer),
            description.user,
            extra,
        )
        if self._refused and (reason := self._refused(form, longer)):
            raise InvariantError(
                f"job {job.id} was started with a dilation, so {name} is registered: {reason}"
            )
        yield m.RegisterJob(timestamp=now, job_id=name, job=form)
        yield m.ExecuteJob(timestamp=now, job_id=name, alloc=job.processors, waking=job.waking)


def _walltime(job: Job, profile: dict[str, Any], six_decimals: bool) -> float | None:
    """Return the walltime (seconds) of the form of ``job`` that runs ``profile``.

    With ``six_decimals`` it is rounded, and so is a delay, in the profile.
    """
    delay = profile.get("delay")
    if six_decimals and delay is not None:
        profile["delay"] = max(round(delay, 6), _LEAST)
    if job.walltime is None:
        return None
    walltime = job.walltime * job.dilation + job.transfer
    if delay is None:
        return round_up_to_six_decimals(walltime / _NOISE) if six_decimals else walltime * _NOISE
    if not six_decimals:
        return walltime
    least = profile["delay"] + _LEAST if delay < walltime else _LEAST
    return max(round(walltime, 6), round(least, 6))


def dilate_profile(
    profile: Mapping[str, Any], job: Job, size: int, speed: float, flops: float
) -> dict[str, Any]:
    """Return ``profile`` made longer by the dilation and the transfer of ``job``.

    A computation is faster on processors of ``speed`` times the reference, and on more processors
    than the ``size`` that the job asked for; the amounts compensate for both. ``flops`` (flop/s) is
    the speed of a processor during the transfer. Raises
    :class:`InvariantError` for profiles of other types than delays and computations.
    """
    kind = profile.get("type")
    factor, flop = job.dilation * speed, job.transfer * flops
    if kind == "delay":
        return {**profile, "delay": profile["delay"] * job.dilation + job.transfer}
    if kind == "parallel_homogeneous":
        return {**profile, **_amounts(profile, factor, flop, job.dilation)}
    if kind == "parallel_homogeneous_total":
        shares = job.size / size
        amounts = _amounts(profile, factor * shares, flop * job.size, job.dilation * shares)
        return {**profile, **amounts}
    if kind == "parallel":
        cpu, com = profile["cpu"], profile["com"]
        if len(cpu) != job.size:
            raise InvariantError(
                f"job {job.id} was started on {job.size} processors, but its profile, of type "
                f"parallel, is for {len(cpu)}: expected the same number"
            )
        longer = [amount * factor + flop for amount in cpu]
        return {**profile, "cpu": longer, "com": [amount * job.dilation for amount in com]}
    raise InvariantError(
        f"job {job.id} was started with a dilation, but its profile is of type {kind!r}: expected "
        "delay, parallel_homogeneous, parallel_homogeneous_total or parallel"
    )


def _amounts(
    profile: Mapping[str, Any], factor: float, flop: float, com_factor: float
) -> dict[str, float]:
    """Return flop and bytes of a longer computation."""
    return {"cpu": profile["cpu"] * factor + flop, "com": profile["com"] * com_factor}
