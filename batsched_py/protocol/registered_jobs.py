"""Registers the jobs of users with Batsim: REGISTER_PROFILE and REGISTER_JOB of each."""

from __future__ import annotations

from typing import Any

from batsched_py.errors import InvariantError, ProtocolError
from batsched_py.model.user_model import UserModel, find_profile
from batsched_py.protocol import messages as m
from batsched_py.protocol.decision_rules import (
    Refusal,
    explain_batsim4_refusal,
    explain_batsim5_refusal,
)
from batsched_py.workload.workload import DYNAMIC, WorkloadJob


class RegisteredJobs:
    """Makes the decisions that register jobs, as the options in SIMULATION_BEGINS allow.

    ``six_decimals``: messages come from a program, with times of six decimals unless it announces
    exact ones. What Batsim cannot register is refused then.
    """

    def __init__(self, begins: m.SimulationBegins, *, six_decimals: bool) -> None:
        config = begins.config
        if config.get("redis-enabled"):
            raise ProtocolError(
                "Batsim keeps its jobs in redis, which is not supported: start it without "
                "--enable-redis"
            )
        self.refused: Refusal | None = None
        """Explains what Batsim cannot register; None: the embedded simulator checks it itself."""
        if six_decimals and begins.is_batsim5:
            self.refused = explain_batsim5_refusal
        elif six_decimals and not config.get(m.EXACT_TIMES):
            self.refused = explain_batsim4_refusal
        self.six_decimals = six_decimals and not config.get(m.EXACT_TIMES)
        """Whether calls can only be requested at times of six decimals."""
        self.enabled = bool(config.get("dynamic-jobs-enabled"))
        """Whether Batsim lets the scheduler register jobs."""
        self.reuses_profiles = bool(config.get("profile-reuse-enabled"))
        self._profiles: set[str] = set()
        """Those registered to be used again: as many as users have different ones."""

    def check_enabled(self) -> None:
        """Raise :class:`ProtocolError` if jobs of users cannot be registered."""
        if not self.enabled:
            raise ProtocolError(
                "a user model submits jobs dynamically: start Batsim with --enable-dynamic-jobs"
            )

    def register(
        self,
        reply: list[m.Event],
        now: float,
        description: m.JobDescription,
        job: WorkloadJob,
        users: UserModel,
        content: dict[str, Any] | None = None,
    ) -> None:
        """Add to ``reply`` what registers ``job`` of ``users``, which ``description`` describes.

        The name of its profile in the description may change. ``content`` is the profile, None if
        it was not looked up yet. Raises :class:`InvariantError` for what Batsim cannot register.
        """
        if not self.reuses_profiles:  # Batsim forgets a profile with its first job
            # What follows the last "#" is the job's id, which is written without one.
            description.profile += "#" + job.id.replace("%", "%25").replace("#", "%23")
        profile = description.profile
        if profile not in self._profiles:
            content = content or find_profile(job, users)
            if self.reuses_profiles:
                self._profiles.add(profile)
            reply.append(
                m.RegisterProfile(
                    timestamp=now, workload_name=DYNAMIC, profile_name=profile, profile=content
                )
            )
        if self.refused is not None:
            content = content or find_profile(job, users)
            if reason := self.refused(description, content):
                raise InvariantError(f"{type(users).__name__} submitted job {job.id}: {reason}")
        reply.append(m.RegisterJob(timestamp=now, job_id=description.id, job=description))
