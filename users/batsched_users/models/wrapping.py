"""The base class of user models that wrap another model, whose users they extend."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from msgspec import Meta

from batsched_py.errors import UsageError
from batsched_py.model.counters import read_counters
from batsched_py.model.site_view import SiteView
from batsched_py.model.user_model import (
    EndedJob,
    StartedJob,
    UserModel,
    Withdraw,
    ask_next_due,
    find_method,
    makes_up_jobs,
    reacts,
    take_submissions,
)
from batsched_py.plugins import plugins
from batsched_py.workload import Workload, WorkloadJob
from batsched_users.behaviour.random_streams import Seed
from batsched_users.models.rigid import load_model

ModelName = Annotated[
    str,
    Meta(
        title="Model of the users otherwise.", description="a name as for --users, or file.py:Class"
    ),
]
"""The types of options that all wrappers have, with their help."""
ModelOptions = Annotated[
    dict[str, Any] | None,
    Meta(
        title="Options of ``model``.", description='names and values such as {"sessions": "max:20"}'
    ),
]


class Wrapper:
    """A user model that passes all calls on to another one, and what it submits to the system.

    A subclass adds what its users do besides. The wrapped model gets the same ``seed``, so that it
    draws the same numbers as alone. Raises like :func:`batsched_py.plugins.plugins.make_users`.
    """

    def __init__(
        self,
        workload: Workload,
        model: str,
        options: Mapping[str, Any] | None,
        seed: Seed | None = None,
    ) -> None:
        kind = load_model(model)
        if kind is type(self):
            raise UsageError(f"model={model}: expected another model, since this one wraps it")
        self.inner: UserModel = plugins.make_users(kind, model, workload, options or {}, seed)
        self.profiles: Mapping[str, dict[str, Any]] = self.inner.profiles

    @property
    def reacts(self) -> bool | None:
        """Whether the users of the wrapped model react."""
        return reacts(self.inner)

    @property
    def makes_up_jobs(self) -> bool:
        """Whether the wrapped model submits jobs in place of the log's."""
        return makes_up_jobs(self.inner)

    @property
    def follows_dependencies(self) -> bool:
        """Whether the wrapped model follows the recorded dependencies of a log."""
        return bool(getattr(self.inner, "follows_dependencies", False))

    def begin(self, site: SiteView) -> None:
        """Pass on what users see of the site."""
        self._tell("begin", site)

    def next_submission(self) -> float:
        """Return when the wrapped model acts next (seconds), inf if nothing is due."""
        return ask_next_due(self.inner)

    def jobs_to_submit(self, now: float) -> Iterable[WorkloadJob | Withdraw]:
        """Return the submissions and withdrawals of the wrapped model."""
        return self.take_inner(now)

    def take_inner(self, now: float) -> Iterable[WorkloadJob | Withdraw]:
        """Return what the wrapped model does at ``now``, nothing if it is not due."""
        if ask_next_due(self.inner) > now:
            return []
        acts = self.inner.jobs_to_submit(now)
        if type(acts) is list and acts:  # mostly; the simulation checks what is in it
            return acts
        return take_submissions(self.inner, now, jobs=acts)

    def job_started(self, now: float, job: StartedJob) -> None:
        """Report a start to the wrapped model, if it wants to know."""
        self._tell("job_started", now, job)

    def job_ended(self, now: float, job: EndedJob, state: str) -> None:
        """Report the end of a job to the wrapped model."""
        self.inner.job_ended(now, job, state)

    def job_paused(self, now: float, job: EndedJob) -> None:
        """Learn that a job was withdrawn and will be submitted again under the same id.

        Called by :class:`batsched_users.models.resubmits.Resubmits` in place of ``job_ended``.
        """
        self._tell("job_paused", now, job)

    def job_resumed(self, now: float, job: WorkloadJob) -> None:
        """Learn that a job that had paused was submitted again, maybe with another request."""
        self._tell("job_resumed", now, job)

    def statistics(self) -> Mapping[str, Any]:
        """Return the counters of the wrapped model."""
        return read_counters(self.inner) or {}

    def _tell(self, method: str, *arguments: Any) -> None:
        """Call an optional method of the wrapped model."""
        if (call := find_method(self.inner, method)) is not None:
            call(*arguments)
