"""What a job does while it runs: Batsim's profiles, read once when they are loaded."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import msgspec

from batsched_py.errors import WorkloadError
from batsched_py.support.json_values import is_integer, is_number
from batsched_py.support.old_names import renamed, renamed_to
from batsched_py.workload.batsim.profile_types import profile_type


class Parallel(msgspec.Struct, gc=False, frozen=True):
    """A computation whose executors differ, or that communicates (``parallel*``).

    ``flops`` and ``com`` (bytes) are one number per executor and n*n numbers, row to column, or
    one number each: for every executor and for every ordered pair of them.
    """

    flops: float | list[float]
    com: float | list[float]


class Composed(msgspec.Struct, frozen=True):
    """Profiles by name, one after the other, ``repeat`` times; the first that fails ends it."""

    parts: tuple[tuple[str, Profile], ...]
    repeat: int
    height: int = 1
    """How deep it is composed of composed ones: 1 if it is of none."""


class Send(msgspec.Struct, frozen=True):
    """Say something to the scheduler, then sleep (seconds)."""

    message: Any
    sleep: float


class Receive(msgspec.Struct, frozen=True):
    """Take the next message of the scheduler, and go on with the profile that fits it.

    A message that matches ``pattern`` leads to ``success``, another to ``failure``. Without a
    message it goes on with ``timeout`` at once, or else looks again every ``poll`` seconds.
    """

    pattern: re.Pattern[str]
    success: str
    failure: str
    timeout: str
    poll: float


Body = Parallel | Composed | Send | Receive
DEEPEST = 100
"""Profiles are composed of composed ones at most so deep."""


class Profile(msgspec.Struct, gc=False):
    """A parsed profile: a fixed ``delay`` (seconds), ``flops`` to compute, or a ``body``.

    ``flops`` are per processor, or in ``total`` to be shared by all processors; ``total`` means
    for any profile that it takes whatever number of processors it is given.
    """

    delay: float | None
    flops: float = 0.0
    total: bool = False
    return_code: int = 0
    body: Body | None = None
    """All that is more than a delay or flops."""

    def duration(self, speed: float, nb_processors: int) -> float:
        """Return the run time in seconds on processors of ``speed`` flop/s, without a body."""
        if self.delay is not None:
            return self.delay
        return self.flops / ((nb_processors * speed) if self.total else speed)

    @property
    def is_parallel_task(self) -> bool:
        """Whether it computes or communicates, and nothing else."""
        if self.body is None:
            return self.delay is None
        return isinstance(self.body, Parallel)

    def demand(self, nb_executors: int) -> tuple[float | list[float], float | list[float]]:
        """Return flops per executor and bytes per pair of a computation on that many."""
        body = self.body
        if not isinstance(body, Parallel):
            return self.flops / nb_executors if self.total else self.flops, 0.0
        if not self.total or isinstance(body.flops, list) or isinstance(body.com, list):
            return body.flops, body.com
        return body.flops / nb_executors, body.com / nb_executors


def parse_registered(
    name: str, profile: Mapping[str, Any], known: Callable[[str], Profile | None] | None = None
) -> Profile:
    """Read a Batsim profile that is registered by a scheduler; see :func:`parse_profiles`.

    A composed one is made of those that are ``known``. Without, it has no parts: Batsim 4.2.0 takes
    it, and crashes when a job with it starts.
    """
    if profile.get("type") != "composed":
        return _parse_other(name, profile)
    if known is None:
        return Profile(None, body=Composed((), 1))
    return _compose(name, profile, lambda part: known(part) is not None, known)


def parse_profiles(
    names: Iterable[str], profiles: Mapping[str, Mapping[str, Any]]
) -> dict[str, Profile]:
    """Read the Batsim profiles ``names``; ``profiles`` has those that they are composed of, too.

    Raises :class:`WorkloadError` for a profile that Batsim refuses, and for types that the
    embedded simulator does not do.
    """
    parser = _Parser(profiles)
    return {name: parser.parse(name, 0) for name in names}


class _Parser:
    """Reads each profile once, however many are composed of it."""

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
        if profile.get("type") == "composed":
            self._open.add(name)
            parsed = _compose(
                name, profile, self._profiles.__contains__, lambda part: self.parse(part, depth + 1)
            )
            self._open.remove(name)
        else:
            parsed = _parse_other(name, profile)
        self._parsed[name] = parsed
        return parsed


def _compose(
    name: str,
    profile: Mapping[str, Any],
    is_known: Callable[[str], bool],
    find: Callable[[str], Profile | None],
) -> Profile:
    """Read a profile that is composed of others, which are found by their names."""
    names, repeat = profile.get("seq"), profile.get("repeat", 1)
    if "repeat" not in profile and (hint := renamed_to("repeat", profile)):
        raise WorkloadError(f"profile {name!r}: there is no repeat{hint}")
    are_profiles = isinstance(names, list) and all(
        isinstance(part, str) and is_known(part) for part in names
    )
    if not names or not are_profiles:
        raise WorkloadError(f"profile {name!r}: seq is {names!r}, expected names of profiles")
    if not is_integer(repeat) or repeat < 1:
        raise WorkloadError(f"profile {name!r}: repeat is {repeat!r}, expected at least 1")
    parts = tuple((part, found) for part in names if (found := find(part)) is not None)
    inner = (part.body for _, part in parts)
    height = 1 + max((body.height for body in inner if isinstance(body, Composed)), default=0)
    if height > DEEPEST:
        raise _too_deep(name)
    return Profile(
        None,
        total=all(part.total for _, part in parts),
        return_code=_return_code(name, profile),
        body=Composed(parts, repeat, height),
    )


def _parse_other(name: str, profile: Mapping[str, Any]) -> Profile:
    """Read a profile that is not composed of others."""
    kind = profile.get("type")
    parse = _KINDS.get(kind) if isinstance(kind, str) else None
    if parse is None:
        rest = ", which only real Batsim does" if profile_type(kind) else renamed(kind)
        raise WorkloadError(
            f"profile {name!r} is of type {kind!r}{rest}: the embedded simulator runs "
            f"{', '.join(_KINDS)}, composed"
        )
    parsed = parse(name, profile)
    if "ret" in profile:
        parsed.return_code = _return_code(name, profile)
    return parsed


def _return_code(name: str, profile: Mapping[str, Any]) -> int:
    code = profile.get("ret", 0)
    if not is_integer(code):
        raise WorkloadError(f"profile {name!r}: ret is {code!r}, expected an integer")
    return code


def _too_deep(name: str) -> WorkloadError:
    return WorkloadError(f"profile {name!r} is composed of itself, or more than {DEEPEST} deep")


def _delay(name: str, profile: Mapping[str, Any]) -> Profile:
    delay = _number(name, profile, "delay")
    if not delay > 0:
        raise WorkloadError(f"profile {name!r}: a delay of {delay}, expected more than 0")
    return Profile(delay)


def _homogeneous(name: str, profile: Mapping[str, Any], *, total: bool) -> Profile:
    flops = _amount(name, profile, "cpu")
    com = _amount(name, profile, "com")
    if com == 0:
        return Profile(None, flops, total)
    return Profile(None, 0.0, total, body=Parallel(flops, com))


def _parallel(name: str, profile: Mapping[str, Any]) -> Profile:
    cpu, com = profile.get("cpu"), profile.get("com")
    for field, values in (("cpu", cpu), ("com", com)):
        if not isinstance(values, list) or not all(is_number(v) and v >= 0 for v in values):
            raise WorkloadError(f"profile {name!r}: {field} is no list of numbers of at least 0")
    assert isinstance(cpu, list)
    assert isinstance(com, list)
    if len(com) != len(cpu) ** 2:
        raise WorkloadError(
            f"profile {name!r}: {len(cpu)} values of cpu and {len(com)} of com, expected n and n*n"
        )
    communicates = len(cpu) > 1 and any(com)  # SimGrid skips what one executor sends to itself
    return Profile(
        None, body=Parallel([float(f) for f in cpu], list(map(float, com)) if communicates else 0.0)
    )


def _send(name: str, profile: Mapping[str, Any]) -> Profile:
    if not isinstance(profile.get("msg"), dict):
        raise WorkloadError(f"profile {name!r}: msg is {profile.get('msg')!r}, expected an object")
    sleep = _amount(name, profile, "sleeptime") if "sleeptime" in profile else 1e-7
    return Profile(None, body=Send(profile["msg"], sleep))


def _receive(name: str, profile: Mapping[str, Any]) -> Profile:
    try:
        pattern = re.compile(profile.get("regex", ".*"))
    except (re.error, TypeError, OverflowError, RecursionError) as error:
        raise WorkloadError(f"profile {name!r}: regex {profile['regex']!r}: {error}") from None
    poll = _number(name, profile, "polltime") if "polltime" in profile else 0.005
    if not poll > 0:
        raise WorkloadError(f"profile {name!r}: polltime is {poll}, expected more than 0")
    targets = {field: profile.get(field, "") for field in ("success", "failure", "timeout")}
    for field, target in targets.items():
        if not isinstance(target, str):
            raise WorkloadError(f"profile {name!r}: {field} is {target!r}, expected a profile")
    return Profile(None, body=Receive(pattern, poll=poll, **targets))


_KINDS: dict[str, Callable[[str, Mapping[str, Any]], Profile]] = {
    "delay": _delay,
    "parallel": _parallel,
    "parallel_homogeneous": partial(_homogeneous, total=False),
    "parallel_homogeneous_total": partial(_homogeneous, total=True),
    "send": _send,
    "recv": _receive,
}


def _amount(name: str, profile: Mapping[str, Any], field: str) -> float:
    value = _number(name, profile, field)
    if value < 0:
        raise WorkloadError(f"profile {name!r}: {field} is {value}, expected at least 0")
    return value


def _number(name: str, profile: Mapping[str, Any], field: str) -> float:
    value = profile.get(field)
    if not is_number(value):
        shown = repr(value) if field in profile else "missing"
        raise WorkloadError(f"profile {name!r}: {field} is {shown}, expected a number")
    return float(value)
