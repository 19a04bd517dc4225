"""Dynamic registration: which jobs and profiles a scheduler may add, and when.

The embedded simulator obeys these rules, and :mod:`batsched_py.protocol.referee` judges by them.
Source: the protocol as observed from Batsim 4.2.0.
"""

from __future__ import annotations

from typing import Any

from batsched_py.errors import ProtocolError
from batsched_py.protocol import messages as m


class Registration:
    """The state of registration, the profiles by workload, and their lifetime."""

    def __init__(self, *, dynamic: bool, profile_reuse: bool) -> None:
        self.dynamic = dynamic
        self.profile_reuse = profile_reuse
        self.finished = not dynamic
        """No registration is to come: it is disabled, or was declared finished."""
        self.profiles: dict[str, dict[str, dict[str, Any]]] = {}
        """Profiles as written, by workload and name, also those that were released."""
        self._released: set[tuple[str, str]] = set()
        self._open = dynamic
        self._reopens = False

    def message_begins(self) -> None:
        """Reopen registration if an earlier message asked for it."""
        if self._reopens:
            self._open, self._reopens = True, False

    def notified(self, decision: m.Notify) -> None:
        """Carry out a NOTIFY of the scheduler: registration is finished, or continues."""
        if decision.type not in ("registration_finished", "continue_registration"):
            raise ProtocolError(
                f"NOTIFY: type {decision.type!r}, expected registration_finished or "
                "continue_registration"
            )
        self._check_enabled(decision.type)
        if decision.type == "registration_finished":
            self._open, self._reopens, self.finished = False, False, True
        else:
            self._reopens, self.finished = True, False

    def add_profile(self, decision: m.RegisterProfile) -> None:
        """Check and carry out REGISTER_PROFILE."""
        self._check_open("REGISTER_PROFILE")
        profiles = self.profiles.setdefault(decision.workload_name, {})
        if decision.profile_name in profiles:
            raise ProtocolError(
                f"REGISTER_PROFILE: profile {decision.profile_name!r} of workload "
                f"{decision.workload_name!r} was registered before: give each profile a name of "
                "its own, or start with profile reuse"
            )
        profiles[decision.profile_name] = decision.profile

    def check_job(self, decision: m.RegisterJob) -> None:
        """Check REGISTER_JOB, but for whether the id is taken."""
        self._check_open("REGISTER_JOB")
        job_id, job = decision.job_id, decision.job
        workload, name = split_id(job_id, "REGISTER_JOB")
        if job.id not in (job_id, name):
            raise ProtocolError(f"REGISTER_JOB: job {job_id!r} calls itself {job.id!r}")
        if job.id == name and workload in name:
            raise ProtocolError(
                f"REGISTER_JOB: job {job_id!r} calls itself {job.id!r}, which contains the name "
                f"of its workload: write {job_id!r}"
            )
        known = job.profile in self.profiles.get(workload, {})
        if not known or (workload, job.profile) in self._released:
            past = "was released with its first job" if known else "does not exist"
            raise ProtocolError(
                f"REGISTER_JOB: profile {job.profile!r} of workload {workload!r} {past}"
            )
        if job.res < 1 or (job.walltime is not None and job.walltime <= 0):
            raise ProtocolError(
                f"REGISTER_JOB: job {job_id!r} has res {job.res} and walltime "
                f"{job.walltime}, expected both above 0 (walltime -1: none)"
            )

    @property
    def releases(self) -> bool:
        """Whether a profile is released with its first job: if none could be reused."""
        return self.dynamic and not self.profile_reuse

    def release(self, workload: str, profile: str) -> None:
        """Release the profile of a job of whose end the scheduler was told.

        Batsim does so even while another job with it runs, and its name stays taken.
        """
        self._released.add((workload, profile))

    def _check_enabled(self, doing: str) -> None:
        if not self.dynamic:
            raise ProtocolError(f"{doing}: dynamic jobs are not enabled (--enable-dynamic-jobs)")

    def _check_open(self, doing: str) -> None:
        self._check_enabled(doing)
        if not self._open:
            raise ProtocolError(
                f"{doing}: registration was declared finished; send continue_registration in an "
                "earlier message"
            )


def split_id(job_id: str, doing: str) -> tuple[str, str]:
    """Return workload and name of a job's id; raises :class:`ProtocolError`."""
    workload, mark, name = job_id.partition("!")
    if not mark or "!" in name:
        raise ProtocolError(f"{doing}: id {job_id!r}, expected WORKLOAD!NAME")
    return workload, name
