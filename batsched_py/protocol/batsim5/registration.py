"""Dynamic registration under Batsim 5, observed from Batsim 5.0.0-rc2."""

from __future__ import annotations

from batsched_py.errors import ProtocolError
from batsched_py.protocol import messages as m
from batsched_py.protocol.dynamic_registration import Registration, split_id


class AnytimeRegistration(Registration):
    """The rules of Batsim 5: jobs may be registered as long as the simulation lasts.

    If it is enabled (``dynamic``), the simulation only does not end before registration is declared
    finished. A job may have a profile of another workload, by its full id.
    """

    def __init__(self, *, dynamic: bool, profile_reuse: bool) -> None:
        super().__init__(dynamic=dynamic, profile_reuse=profile_reuse)
        self._open = True

    def resolve_profile(self, workload: str, profile: str) -> tuple[str, str]:
        """Return the workload and the name of the profile of a job of ``workload``."""
        of, mark, name = profile.partition("!")
        return (of, name) if mark else (workload, profile)

    def handle_notify(self, decision: m.Notify) -> None:
        """Carry out a NOTIFY: registration is finished, which is allowed at any time."""
        self.finished = True

    def check_job(self, decision: m.RegisterJob) -> str:
        """Check a job to register, except whether its id is taken; return its workload."""
        job_id, job = decision.job_id, decision.job
        workload, _ = split_id(job_id, "REGISTER_JOB")
        of, name = self.resolve_profile(workload, job.profile)
        self.check_static(of, name)
        if job.size < 1:
            raise ProtocolError(f"REGISTER_JOB: job {job_id!r} requests no resources")
        vector = (self.find_content(of, name) or {}).get("cpu")
        if isinstance(vector, list) and len(vector) != job.size:
            raise ProtocolError(
                f"REGISTER_JOB: job {job_id!r} requests {job.size} resources, its profile "
                f"{job.profile!r} is for {len(vector)}"
            )
        return workload

    @property
    def releases(self) -> bool:
        """Whether a profile is released when its first job ends."""
        return not (self.dynamic and self.profile_reuse)
