"""Batsim's profiles in the form that the simulator executes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from batsched_py.errors import WorkloadError
from batsched_py.units import LATEST_TIME
from batsched_py.workload.batsim.profile_fields import (
    ComposedFields,
    DelayFields,
    HomogeneousFields,
    ParallelFields,
    ProfileFields,
    ReceiveFields,
    SendFields,
    read_profile,
)

SIMULATED_TYPES = (
    *("delay", "parallel", "parallel_homogeneous", "parallel_homogeneous_total"),
    *("send", "recv", "composed"),
)
"""Types of profiles that the embedded simulator runs."""


class Parallel(msgspec.Struct, gc=False, frozen=True):
    """A computation whose executors differ, or that communicates (``parallel*``).

    ``flops`` and ``com`` (bytes) are one number per executor and n*n numbers, row to column, or
    one number each: for every executor and for every ordered pair of them.
    """

    flops: float | list[float]
    com: float | list[float]


class Composed(msgspec.Struct, frozen=True):
    """A sequence of profiles, done ``repeat`` times; the first failure ends it."""

    parts: tuple[tuple[str, Profile], ...]
    repeat: int
    height: int = 1
    """The depth of composed profiles: 1 if no part is composed."""


_NUMBERS = frozenset((int, float))
_USUAL_FLOPS = 1e100
Body = Parallel | Composed | SendFields | ReceiveFields
DEEPEST = 100
"""The greatest depth of composed profiles."""


class Profile(msgspec.Struct, gc=False):
    """A parsed profile: a fixed ``delay`` (seconds), ``flops`` to compute, or a ``body``.

    ``flops`` are per processor, or in ``total`` to be shared by all processors; a profile with
    ``total`` runs on any number of processors.
    """

    delay: float | None
    flops: float = 0.0
    total: bool = False
    return_code: int = 0
    body: Body | None = None
    """The content of a profile that is more than a delay or flops."""

    def compute_duration(self, speed: float, nb_processors: int) -> float:
        """Return the run time in seconds on processors of ``speed`` flop/s, without a body."""
        if self.delay is not None:
            return self.delay
        return self.flops / ((nb_processors * speed) if self.total else speed)

    @property
    def is_parallel_task(self) -> bool:
        """Whether the profile only computes or communicates."""
        if self.body is None:
            return self.delay is None
        return isinstance(self.body, Parallel)

    def compute_demand(self, nb_executors: int) -> tuple[float | list[float], float | list[float]]:
        """Return flops per executor and bytes per pair of a computation on ``nb_executors``."""
        body = self.body
        if not isinstance(body, Parallel):
            return self.flops / nb_executors if self.total else self.flops, 0.0
        if not self.total or isinstance(body.flops, list) or isinstance(body.com, list):
            return body.flops, body.com
        return body.flops / nb_executors, body.com / nb_executors


def has_known_length(profile: Any) -> bool:
    """Return whether a job with this Batsim profile has a known run time when it starts.

    That is so for a delay, and for a computation without communication.
    """
    if not isinstance(profile, dict):  # of a user model: an error once a job has it
        return False
    kind = profile.get("type")
    return kind == "delay" or (
        kind in ("parallel_homogeneous", "parallel_homogeneous_total") and profile.get("com") == 0
    )


def make_usual_profile(profile: Any) -> Profile | None:
    """Return a delay or a computation as most logs have, None for one that needs a closer look."""
    if type(profile) is not dict:
        return None
    kind, nb_fields = profile.get("type"), len(profile)
    if kind == "delay" and nb_fields == 2:
        delay = profile.get("delay", 0)
        if type(delay) in _NUMBERS and 0 < delay <= LATEST_TIME:
            return Profile(float(delay))
    elif kind == "parallel_homogeneous" and nb_fields == 3:
        flops, com = profile.get("cpu", 0), profile.get("com", 1)
        if not com and _NUMBERS.issuperset((type(flops), type(com))) and 0 <= flops <= _USUAL_FLOPS:
            return Profile(None, float(flops))
    return None


def parse_registered(
    name: str, profile: Mapping[str, Any], find: Callable[[str], Profile | None] | None = None
) -> Profile:
    """Read a Batsim profile that a scheduler registers; see :func:`parse_profiles`.

    ``find`` returns the parts of a composed profile. Without it, the profile has no parts: Batsim
    4.2.0 takes it, and crashes when a job with it starts.
    """
    if find is None and profile.get("type") == "composed":
        return Profile(None, body=Composed((), 1))
    fields = read_profile(f"profile {name!r}", profile, find)
    if find is not None and isinstance(fields, ComposedFields):
        return _compose(name, fields, find)
    return _make_simple(name, profile["type"], fields)


def parse_profiles(
    names: Iterable[str], profiles: Mapping[str, Mapping[str, Any]]
) -> dict[str, Profile]:
    """Read the Batsim profiles ``names``; ``profiles`` also has the parts of composed ones.

    Raises :class:`WorkloadError` for a profile that Batsim refuses, and for types that the
    embedded simulator does not run.
    """
    parser = _Parser(profiles)
    return {name: parser.parse(name, 0) for name in names}


class _Parser:
    """Reads each profile once, even if several are composed of it."""

    def __init__(self, profiles: Mapping[str, Mapping[str, Any]]) -> None:
        self._profiles = profiles
        self._parsed: dict[str, Profile] = {}
        self._open: set[str] = set()

    def parse(self, name: str, depth: int) -> Profile:
        if name in self._parsed:
            return self._parsed[name]
        if name in self._open or depth > DEEPEST:
            raise _too_deep(name)
        profile = self._profiles[name]
        if usual := make_usual_profile(profile):
            self._parsed[name] = usual
            return usual
        fields = read_profile(f"profile {name!r}", profile, self._profiles.__contains__)
        if isinstance(fields, ComposedFields):
            self._open.add(name)
            parsed = _compose(name, fields, lambda part: self.parse(part, depth + 1))
            self._open.remove(name)
        else:
            parsed = _make_simple(name, profile["type"], fields)
        self._parsed[name] = parsed
        return parsed


def _compose(name: str, fields: ComposedFields, find: Callable[[str], Profile | None]) -> Profile:
    """Return a profile that is composed of others, which are found by their names."""
    parts = tuple((part, found) for part in fields.seq if (found := find(part)) is not None)
    inner = (part.body for _, part in parts)
    height = 1 + max((body.height for body in inner if isinstance(body, Composed)), default=0)
    if height > DEEPEST:
        raise _too_deep(name)
    return Profile(
        None,
        total=all(part.total for _, part in parts),
        return_code=fields.ret,
        body=Composed(parts, fields.repeat, height),
    )


def _make_simple(name: str, kind: str, fields: ProfileFields) -> Profile:
    """Return a profile that is not composed of others."""
    code = fields.ret
    match fields:
        case HomogeneousFields():
            total = kind == "parallel_homogeneous_total"
            if fields.com == 0:
                return Profile(None, fields.cpu, total, code)
            return Profile(None, 0.0, total, code, Parallel(fields.cpu, fields.com))
        case DelayFields():
            return Profile(fields.delay, return_code=code)
        case ParallelFields():
            # SimGrid skips what one executor sends to itself
            communicates = len(fields.cpu) > 1 and any(fields.com)
            body = Parallel(fields.cpu, fields.com if communicates else 0.0)
            return Profile(None, return_code=code, body=body)
        case SendFields():
            return Profile(None, return_code=code, body=fields)
        case ReceiveFields():
            try:
                re.compile(fields.regex)
            except (re.error, OverflowError, RecursionError) as error:
                raise WorkloadError(f"profile {name!r}: regex {fields.regex!r}: {error}") from None
            return Profile(None, return_code=code, body=fields)
    raise WorkloadError(
        f"profile {name!r}: type is {kind!r}, which only real Batsim runs: the embedded simulator "
        f"runs {', '.join(SIMULATED_TYPES)}"
    )


def _too_deep(name: str) -> WorkloadError:
    return WorkloadError(f"profile {name!r} is composed of itself, or more than {DEEPEST} deep")
