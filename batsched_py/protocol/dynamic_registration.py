"""Dynamic registration: the rules by which a scheduler may add jobs and profiles.

The embedded simulator obeys these rules, and :mod:`batsched_py.protocol.referee` judges by
them; for Batsim 5 see :mod:`batsched_py.protocol.batsim5.registration`. Source: the protocol as
observed from Batsim 4.2.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from batsched_py.errors import ProtocolError
from batsched_py.protocol import messages as m
from batsched_py.support.old_names import hint_new_name

Profiles = Mapping[str, dict[str, Any]]
"""Profiles as written, by name."""


class Registration:
    """The profiles of a simulation, and whether more profiles and jobs may be registered."""

    def __init__(self, *, dynamic: bool, profile_reuse: bool) -> None:
        self.dynamic = dynamic
        self.profile_reuse = profile_reuse
        self.finished = not dynamic
        """Whether no more is registered: it is disabled, or was declared finished."""
        self._static: dict[str, Profiles] = {}
        """Profiles of the static workloads, also released ones."""
        self._registered: dict[str, dict[str, dict[str, Any]]] = {}
        self._released: dict[str, set[str]] = {}
        """Names by workload: of registered profiles there may be any number."""
        self._open = dynamic
        self.reopens = False
        """Whether a message asked for registration to be open again, from the next one on."""

    def load(self, workload: str, profiles: Profiles) -> None:
        """Add the profiles of a static workload."""
        self._static[workload] = profiles

    def assume(self, workload: str, profile: str) -> None:
        """Assume that a static workload has a profile."""
        known = self._static.get(workload, {})
        if profile not in known:
            self._static[workload] = {**known, profile: {"type": ""}}

    def find_content(self, workload: str, profile: str) -> dict[str, Any] | None:
        """Return a profile as it was written, None if there is none or it was released.

        Released profiles of static workloads stay: later jobs may have them.
        """
        static = self._static.get(workload, {}).get(profile)
        return static or self._registered.get(workload, {}).get(profile)

    def reopen(self) -> None:
        """Reopen registration, as an earlier message requested."""
        self._open, self.reopens = True, False

    def resolve_profile(self, workload: str, profile: str) -> tuple[str, str]:
        """Return the workload and the name of the profile of a job of ``workload``."""
        return workload, profile

    def handle_notify(self, decision: m.Notify) -> None:
        """Carry out a NOTIFY of the scheduler: registration is finished, or continues."""
        if decision.type not in ("registration_finished", "continue_registration"):
            raise ProtocolError(
                f"NOTIFY: type {decision.type!r}{hint_new_name(decision.type)}, expected "
                "registration_finished or continue_registration"
            )
        if not self.dynamic:
            raise self._not_open(decision.type)
        if decision.type == "registration_finished":
            self._open, self.reopens, self.finished = False, False, True
        else:
            self.reopens, self.finished = True, False

    def add_profile(self, decision: m.RegisterProfile) -> None:
        """Check and carry out REGISTER_PROFILE."""
        if not self._open:
            raise self._not_open("REGISTER_PROFILE")
        workload, name = decision.workload_name, decision.profile_name
        if self.find_content(workload, name) is not None or self._is_released(workload, name):
            raise ProtocolError(
                f"REGISTER_PROFILE: profile {name!r} of workload {workload!r} was registered "
                "before: give each profile its own name, or start with profile reuse"
            )
        self._registered.setdefault(workload, {})[name] = decision.profile

    def check_job(self, decision: m.RegisterJob) -> str:
        """Check REGISTER_JOB, except whether the id is taken; return the job's workload."""
        if not self._open:
            raise self._not_open("REGISTER_JOB")
        job_id, job = decision.job_id, decision.job
        workload, name = split_id(job_id, "REGISTER_JOB")
        if job.id != job_id:
            _check_short_id(decision, workload, name)
        if job.profile not in self._registered.get(workload, ()):  # else it is not released yet
            self.check_static(workload, job.profile)
        if job.size < 1 or (job.walltime is not None and job.walltime <= 0):
            raise ProtocolError(
                f"REGISTER_JOB: job {job_id!r} has res {job.size} and walltime "
                f"{job.walltime}, expected both above 0 (walltime -1: none)"
            )
        return workload

    def check_static(self, workload: str, profile: str) -> None:
        """Raise :class:`ProtocolError` for a profile that does not exist or was released."""
        released = self._is_released(workload, profile)
        if released or self.find_content(workload, profile) is None:
            why = "was released with its first job" if released else "does not exist"
            raise ProtocolError(f"REGISTER_JOB: profile {profile!r} of workload {workload!r} {why}")

    @property
    def releases(self) -> bool:
        """Whether a profile is released when its first job ends: if profiles are not reused."""
        return self.dynamic and not self.profile_reuse

    def release(self, workload: str, profile: str) -> None:
        """Release a profile, as the scheduler has learned of the end of a job with it.

        Batsim does so even while another job with it runs, and its name stays taken.
        """
        self._registered.get(workload, {}).pop(profile, None)
        self._released.setdefault(workload, set()).add(profile)

    def _is_released(self, workload: str, profile: str) -> bool:
        return profile in self._released.get(workload, ())

    def _not_open(self, doing: str) -> ProtocolError:
        if not self.dynamic:
            return ProtocolError(f"{doing}: dynamic jobs are not enabled (--enable-dynamic-jobs)")
        return ProtocolError(
            f"{doing}: registration was declared finished; send continue_registration in an "
            "earlier message"
        )


def _check_short_id(decision: m.RegisterJob, workload: str, name: str) -> None:
    """Raise :class:`ProtocolError` unless a short id is the job's name without its workload."""
    job_id, own_id = decision.job_id, decision.job.id
    if own_id != name:
        raise ProtocolError(f"REGISTER_JOB: job {job_id!r} calls itself {own_id!r}")
    if workload in name:
        raise ProtocolError(
            f"REGISTER_JOB: job {job_id!r} calls itself {own_id!r}, which contains the name "
            f"of its workload: write {job_id!r}"
        )


def split_id(job_id: str, doing: str) -> tuple[str, str]:
    """Return workload and name of a job's id; raises :class:`ProtocolError`."""
    workload, mark, name = job_id.partition("!")
    if not mark or "!" in name:
        raise ProtocolError(f"{doing}: id {job_id!r}, expected WORKLOAD!NAME")
    return workload, name
