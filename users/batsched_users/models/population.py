"""Populations: users of several models on one machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from batsched_py.errors import InputError, InvariantError, UsageError
from batsched_py.files.readers import is_file
from batsched_py.model.counters import read_counters
from batsched_py.model.site_view import OwnJob, SiteView
from batsched_py.model.user_model import (
    EndedJob,
    StartedJob,
    UserModel,
    Withdraw,
    any_reacts,
    ask_next_due,
    find_method,
    make_plain_job,
    reacts,
    take_submissions,
)
from batsched_py.options import option_values as options
from batsched_py.plugins import plugins
from batsched_py.workload import Workload, WorkloadJob
from batsched_users.behaviour.random_streams import Chance, Seed
from batsched_users.models.population_members import (
    Member,
    label_member,
    read_members,
    split_workload,
)
from batsched_users.models.rigid import load_model


class _Group(msgspec.Struct, eq=False):
    """A member of the population with its user model."""

    name: str
    label: str
    """Begin of messages about the member."""
    prefix: str
    """Prefix of its names in the simulation, so that names of two members never clash."""
    model: UserModel
    started: Callable[..., Any] | None
    """The model's method ``job_started``, if it has one."""

    def due(self) -> float:
        try:
            return ask_next_due(self.model)
        except InvariantError as error:
            raise InvariantError(f"{self.label}: {error}") from None

    def acts(self, now: float) -> Iterator[WorkloadJob | Withdraw]:
        try:
            yield from take_submissions(self.model, now)
        except InvariantError as error:
            raise InvariantError(f"{self.label}: {error}") from None

    def renamed(self, job: WorkloadJob | Withdraw) -> WorkloadJob | Withdraw:
        if isinstance(job, Withdraw):
            return msgspec.structs.replace(job, job=self.prefix + job.job)
        job = make_plain_job(job, self.model)
        user = None if job.user is None else self.prefix + job.user
        names = {"id": self.prefix + job.id, "profile": self.prefix + job.profile}
        after = tuple(self.prefix + before for before in job.after)
        return msgspec.structs.replace(job, user=user, after=after, **names)


class Population:
    """Several user models on one machine, each for some of the users.

    A TOML file has a table for each member:

    .. code-block:: toml

        [[member]]
        model = "feedback"          # a name as for --users, or file.py:Class
        share = 0.7                 # of the log's users, drawn at random
        options.sessions = "max:20" # of the model

        [[member]]
        name = "machines"           # by default the name of the model
        model = "rigid"             # users who submit at the recorded times
        users = ["12", "17"]        # of the log

        [[member]]
        model = "site"
        options = { nb_users = 20, weeks = 8 }

    ``share`` (of the users that no member names), ``users`` or ``rest = true`` select the users of
    the log that a member gets: it sees a log of their jobs only. A member without these keys gets
    the machine and the clock, but no jobs, which suits models that make up jobs. Users without a
    member submit nothing; jobs without user belong to the member with the rest.

    Jobs, users and profiles of a member have the prefix ``NAME:`` (``site:5``), unless it is the
    only member. Jobs of earlier members come first at the same instant. Each member has its own
    seed, which depends on ``seed`` and its name; its option ``seed`` replaces it. A ``file.py`` is
    looked for in the folder of the population file, then in the working directory.

    Raises :class:`UsageError` and :class:`InputError`, naming file and member.

    Args:
        file: TOML file of the members. Allowed: a path.
    """

    def __init__(self, workload: Workload, *, file: str, seed: Seed = 0) -> None:
        path = options.path("file", file)
        members = read_members(path)
        chance = Chance(seed)
        parts = split_workload(path, members, workload, chance)
        self._groups = [
            _Group(
                member.name,
                label_member(path, member),
                "" if len(members) == 1 else f"{member.name}:",
                model := _make(path, member, part, chance),
                find_method(model, "job_started"),
            )
            for member, part in zip(members, parts, strict=True)
        ]
        for member, group in zip(members, self._groups, strict=True):
            if not member.selection and group.due() == inf:
                raise InputError(
                    f"{group.label} will never submit anything: a model that replays the log needs "
                    "share, users or rest = true"
                )
        self.profiles: Mapping[str, dict[str, Any]] = _Profiles(self._groups)
        self._active: dict[str, tuple[_Group, WorkloadJob]] = {}
        """Name of each job in the system -> its group, and the job as the group's model made it."""

    @property
    def reacts(self) -> bool | None:
        """Whether any member reacts; None if unknown, as some members do not declare it."""
        return any_reacts(reacts(group.model) for group in self._groups)

    @property
    def follows_dependencies(self) -> bool:
        """Whether a member follows the recorded dependencies of a log."""
        return any(getattr(group.model, "follows_dependencies", False) for group in self._groups)

    def next_submission(self) -> float:
        """Return the time of the next submission of any member, inf if none is planned."""
        return min(group.due() for group in self._groups)

    def jobs_to_submit(self, now: float) -> Iterable[WorkloadJob | Withdraw]:
        """Yield what all members who are due by ``now`` do, in order of the members."""
        for group in self._groups:
            if group.due() <= now:
                for original in group.acts(now):
                    act = group.renamed(original)
                    if isinstance(original, WorkloadJob) and isinstance(act, WorkloadJob):
                        self._active[act.id] = group, original
                    yield act

    def begin(self, site: SiteView) -> None:
        """Show the site to the members that look at it; each sees its own jobs."""
        for group in self._groups:
            if (begin := find_method(group.model, "begin")) is not None:
                begin(_MemberView(site, group, self._active))

    def job_started(self, now: float, job: StartedJob) -> None:
        """Report the start of a job to the member that submitted it, if it wants to know."""
        group, submitted = self._active[job.id]
        if group.started is not None:
            group.started(now, msgspec.structs.replace(job, submitted=submitted))

    def job_ended(self, now: float, job: EndedJob, state: str) -> None:
        """Report the end of a job to the member that submitted it."""
        group, submitted = self._active.pop(job.id)
        group.model.job_ended(now, msgspec.structs.replace(job, submitted=submitted), state)

    def statistics(self) -> dict[str, Any]:
        """Return the counters of each member by name, with a summary text."""
        of_groups = ((group.name, read_counters(group.model)) for group in self._groups)
        counted = {name: counters for name, counters in of_groups if counters}
        said = [f"{name}: {c['summary']}" for name, c in counted.items() if c.get("summary")]
        return {"members": counted, "summary": "; ".join(said)} if counted else {}


class _MemberView:
    """What the users of a member see of the site, with the names that the member knows."""

    def __init__(
        self, site: SiteView, group: _Group, active: Mapping[str, tuple[_Group, WorkloadJob]]
    ) -> None:
        self._site, self._prefix, self._active = site, group.prefix, active

    def __getattr__(self, name: str) -> Any:
        return getattr(self._site, name)  # all that names neither users nor jobs

    def own_jobs(self, user: str | None) -> list[OwnJob]:
        """Return the jobs of a user that wait or run, as the member made them."""
        name = None if user is None else self._prefix + user
        return [
            job._replace(submitted=self._active[job.submitted.id][1])
            for job in self._site.own_jobs(name)
            if job.submitted.id.startswith(self._prefix)  # jobs of no user are of any member
        ]

    def expected_start(self, job_id: str) -> float | None:
        """Return when a waiting job of the member starts by the policy's plan (seconds)."""
        return self._site.expected_start(self._prefix + job_id)


class _Profiles(Mapping[str, dict[str, Any]]):
    """The profiles of all members, looked up on demand: a member may have endlessly many."""

    def __init__(self, groups: Sequence[_Group]) -> None:
        self._groups = groups

    def __getitem__(self, name: str) -> dict[str, Any]:
        for group in self._groups:
            if name.startswith(group.prefix):
                return group.model.profiles[name.removeprefix(group.prefix)]
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        for group in self._groups:
            yield from (group.prefix + name for name in group.model.profiles)

    def __len__(self) -> int:
        return sum(len(group.model.profiles) for group in self._groups)


def _make(path: Path, member: Member, part: Workload, chance: Chance) -> UserModel:
    """Make the user model of a member, with the jobs of its users."""
    try:
        plugin = load_model(_place(path, member.model))
        if plugin is Population:
            raise UsageError("a population cannot be a member: list its members here")
        seed = np.random.SeedSequence(chance.stream("member", member.name).getrandbits(128))
        model: UserModel = plugins.make_users(plugin, member.model, part, member.options, seed)
    except (UsageError, InputError) as error:
        raise type(error)(f"{label_member(path, member)}: {error}") from None
    return model


def _place(path: Path, model: str) -> str:
    """Return the name of a model for :func:`plugins.load`, with the path of its file, if any."""
    beside = path.parent / model
    return str(beside) if is_file(str(beside).rpartition(":")[0]) else model
