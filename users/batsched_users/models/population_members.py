"""Reads the members of a population, and gives each its users of the log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec

from batsched_py.errors import InputError, UsageError
from batsched_py.files.readers import is_file, read_toml
from batsched_py.options.checked_values import convert
from batsched_py.support.json_values import did_you_mean
from batsched_py.workload import Workload, WorkloadJob
from batsched_users.behaviour.random_streams import Chance

_FORM = "expected a TOML file with tables [[member]]"
_ROUNDING = 1e-9
"""Tolerance for the sum of shares: ten times 0.1 may differ from 1."""


class Member(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A member of a population: users of one model, as a population file describes them.

    At most one of ``share``, ``users`` and ``rest`` selects its users of the log.
    """

    model: str
    """A name or file.py:Class."""
    name: Annotated[
        str, msgspec.Meta(pattern="^[A-Za-z0-9_.-]+$", description="letters, digits and . _ -")
    ] = ""
    """By default, the name of the model."""
    options: dict[str, Any] = {}
    share: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None
    """Share of the users whom no member names."""
    users: list[str | int] | None = None
    """Names of users of the log."""
    rest: bool = False
    """All users of the log that no other member has, and the jobs of no user."""

    def __post_init__(self) -> None:
        if ", " in self.selection:
            raise ValueError(f"{self.selection} say which users it has: give one of them")

    @property
    def selection(self) -> str:
        """Name of the option that selects the member's users of the log, empty if none does."""
        parts = {"share": self.share is not None, "users": self.users is not None}
        return ", ".join(
            name for name, is_given in (parts | {"rest": self.rest}).items() if is_given
        )


class _PopulationFile(msgspec.Struct, forbid_unknown_fields=True):
    member: Annotated[list[Member], msgspec.Meta(min_length=1, description="tables [[member]]")]


def label_member(path: Path, member: Member) -> str:
    """Return the begin of messages about a member: the file, and the member's name."""
    return f"{path}: member {member.name!r}"


def read_members(path: Path) -> list[Member]:
    """Read a population file, TOML with a table ``[[member]]`` for each.

    Raises :class:`UsageError` if there is no such file and :class:`InputError` for one that is
    wrong, naming the member.
    """
    if not is_file(path):
        raise UsageError(f"file={path}: there is no such file; {_FORM}")
    members: list[Member] = []
    for given in convert(read_toml(path), _PopulationFile, str(path)).member:
        name = given.name or given.model.rpartition(":")[2]
        member = msgspec.structs.replace(given, name=name)
        if member.name in {other.name for other in members}:
            raise InputError(f"{label_member(path, member)} is there twice: give one another name")
        members.append(member)
    if sum(member.share or 0 for member in members) > 1 + _ROUNDING:
        shares = ", ".join(f"{m.name} {m.share:g}" for m in members if m.share is not None)
        raise InputError(f"{path}: the shares sum to more than 1: {shares}")
    return members


def split_workload(
    path: Path, members: Sequence[Member], workload: Workload, chance: Chance
) -> list[Workload]:
    """Split a workload among the members: each gets the jobs of its users, and the same machine.

    ``chance`` puts the users that no member names in random order: the first share gets the first
    users, and so on. A larger last share has the same users, and more. Raises :class:`InputError`
    for users that the log does not have, and for a member without users.
    """
    all_users = list(dict.fromkeys(job.user for job in workload.jobs if job.user is not None))
    owners: dict[str | None, int] = _named(path, members, all_users)
    others = [user for user in all_users if user not in owners]
    chance.stream("shares").shuffle(others)
    total, begin = 0.0, 0
    for place, member in enumerate(members):
        if member.share is not None:
            total += member.share
            end = round(total * len(others))
            owners |= dict.fromkeys(others[begin:end], place)
            begin = end
    for place, member in enumerate(members):
        if member.rest and owners.setdefault(None, place) != place:
            label = label_member(path, member)
            raise InputError(f"{label}: rest=true stands for another member too")
        if member.rest:
            owners |= dict.fromkeys(others[begin:], place)
    parts: list[list[WorkloadJob]] = [[] for _ in members]
    for job in workload.jobs:
        if job.user in owners:
            parts[owners[job.user]].append(job)
    for member, part in zip(members, parts, strict=True):
        if member.selection and not part:
            raise InputError(
                f"{label_member(path, member)}: {member.selection} leaves it nobody of the "
                f"{len(all_users)} users of {workload.name}"
            )
    return [msgspec.structs.replace(workload, jobs=part) for part in parts]


def _named(
    path: Path, members: Sequence[Member], log_users: Iterable[str]
) -> dict[str | None, int]:
    """Return for each user that a member names the place of this member."""
    owners: dict[str | None, int] = {}
    users_of_log = set(log_users)
    for place, member in enumerate(members):
        label = label_member(path, member)
        for user in map(str, member.users or ()):
            if user not in users_of_log:
                hint = did_you_mean(user, users_of_log)
                raise InputError(
                    f"{label}: the log has no user {user!r}{hint}; it has {len(users_of_log)} users"
                )
            if user in owners:
                other = members[owners[user]].name
                raise InputError(f"{label}: user {user!r} is in {other!r} already")
            owners[user] = place
    return owners
