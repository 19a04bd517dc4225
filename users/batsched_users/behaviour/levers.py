"""The levers of digital sufficiency: how users change a job while energy is scarce.

Names are those of Madon's thesis (2024): delay, reconfiguration, space degradation, time
degradation, renounce. A user who applies no lever is rigid.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import ceil, inf, isnan
from typing import Any

import msgspec

from batsched_py.errors import UsageError
from batsched_py.options.durations import format_duration
from batsched_py.options.option_values import finite, number
from batsched_py.support.json_values import did_you_mean
from batsched_py.workload import WorkloadJob
from batsched_users.behaviour.energy_signal import RED, YELLOW, EnergySignal
from batsched_users.behaviour.job_profiles import run_time_of

LEVERS = DELAY, RECONFIGURATION, SPACE_DEGRADATION, TIME_DEGRADATION, RENOUNCE = (
    "delay",
    "reconfiguration",
    "space_degradation",
    "time_degradation",
    "renounce",
)
_AND = "+"
"""Separates levers in the column ``lever``, for a job that was delayed and then changed."""
_LARGEST_ALPHA = 10.0
_ROUNDING = 1e-9
"""Tolerance for the sum of probabilities: five times 0.2 may differ from 1."""
_MARK = "*"
"""Separates the name of a profile from the factor of its run time."""


def read_levers(option: str, text: str) -> dict[str, float]:
    """Read an option such as ``delay:0.5,renounce:0.1``: levers with their probabilities.

    The example delays half of the jobs and renounces a tenth. A lever without a number gets the
    rest. The result has the order of :data:`LEVERS`. Raises :class:`UsageError`.
    """
    shares: dict[str, float | None] = {}
    for part in filter(None, str(text).split(",")):
        name, colon, amount = part.strip().partition(":")
        if name not in LEVERS:
            hint = did_you_mean(name, LEVERS)
            raise UsageError(
                f"{option}={text}: {name!r}{hint}: expected some of {', '.join(LEVERS)}"
            )
        if name in shares:
            raise UsageError(f"{option}={text}: {name} is there twice")
        share = finite(amount) if colon else None
        if share is not None and not 0 <= share <= 1:
            raise UsageError(
                f"{option}={text}: {amount!r} is no probability; expected a number from 0 to 1"
            )
        shares[name] = share
    left = 1 - sum(share or 0 for share in shares.values())
    without = [name for name, share in shares.items() if share is None]
    if left < -_ROUNDING or len(without) > 1:
        raise UsageError(f"{option}={text}: expected probabilities that sum to at most 1")
    shares.update(dict.fromkeys(without, max(0.0, left)))
    return {name: share for name in LEVERS if (share := shares.get(name))}


def choose_lever(levers: Mapping[str, float], whether: float, which: float) -> str:
    """Choose a lever by two uniform numbers of [0, 1); ``""`` if the user leaves the job unchanged.

    ``whether`` decides if any lever is chosen, ``which`` selects it. If all probabilities grow in
    proportion, users who chose a lever keep it, and further users choose one.
    """
    total = sum(levers.values())
    if whether >= total:
        return ""
    *others, last = levers
    for name in others:
        share = levers[name] / total
        if which < share:
            return name
        which -= share
    return last


def join_levers(*levers: str) -> str:
    """Write levers as a value of the column ``lever``: ``delay``, or ``delay+reconfiguration``."""
    return _AND.join(filter(None, levers))


def split_levers(column: Any) -> list[str]:
    """Read the levers of a job from its column ``lever``; an empty cell gives none."""
    return column.split(_AND) if isinstance(column, str) and column else []


class Reduction(msgspec.Struct, frozen=True):
    """How far levers reduce a job; raises :class:`UsageError` for numbers out of range."""

    space_factor: float = 0.5
    """Processors of a reconfigured or space-degraded job, as a share of the wished processors."""
    time_factor: float = 0.5
    """Run time of a time-degraded job, as a share of the wished run time."""
    alpha: float = 1.0
    """A job on 1/k of the processors runs k^alpha times as long; 1: perfect speedup."""

    def __post_init__(self) -> None:
        for name in ("space_factor", "time_factor"):
            if not getattr(self, name):
                raise UsageError(f"{name}=0: expected a number above 0")
            number(name, getattr(self, name), 0, 1)
        number("alpha", self.alpha, 0, _LARGEST_ALPHA)

    def apply(self, lever: str, size: int) -> tuple[int, float]:
        """Return a job's processors after a lever, and the factor of its run time."""
        if lever == TIME_DEGRADATION:
            return size, self.time_factor
        smaller = max(1, ceil(round(size * self.space_factor, 9)))
        longer = (size / smaller) ** self.alpha if lever == RECONFIGURATION else 1.0
        return smaller, longer


class ScaledProfiles(Mapping[str, dict[str, Any]]):
    """The profiles of a user model, and copies of them with scaled run times."""

    def __init__(self, profiles: Mapping[str, dict[str, Any]]) -> None:
        self._profiles = profiles
        self._scaled: dict[str, tuple[str, float]] = {}

    def scale(self, job: WorkloadJob, factor: float) -> str:
        """Make a copy of a job's profile with ``factor`` times its run time, and return its name.

        Raises :class:`UsageError` for a profile whose run time only a simulator knows.
        """
        profile = self._profiles[job.profile]
        if isnan(run_time_of(profile)):
            raise UsageError(
                f"job {job.id}: nobody knows how long its profile {job.profile!r} "
                f"({profile.get('type')}) runs on fewer processors or in part; expected delay, or "
                "parallel_homogeneous without com"
            )
        if factor == 1:
            return job.profile
        name = f"{job.profile}{_MARK}{factor:.17g}"
        self._scaled[name] = job.profile, factor
        return name

    def __getitem__(self, name: str) -> dict[str, Any]:
        """Return an original or a scaled profile; raises KeyError."""
        scaled = self._scaled.get(name)
        if scaled is None:
            return self._profiles[name]
        base, factor = scaled
        profile = self._profiles[base]
        amount = "delay" if profile["type"] == "delay" else "cpu"
        return {**profile, amount: profile[amount] * factor}

    def __iter__(self) -> Iterator[str]:
        """Yield the names of the original and of the scaled profiles."""
        yield from self._profiles
        yield from self._scaled

    def __len__(self) -> int:
        """Return the number of original and scaled profiles."""
        return len(self._profiles) + len(self._scaled)


class LeverCounts:
    """Counts the jobs that each lever changed, and the time that a run covers.

    ``levers`` are the levers that users may choose; those without a job are reported with 0.
    """

    def __init__(self, levers: Iterable[str]) -> None:
        self.jobs = 0
        """Number of jobs that users wished to submit."""
        chosen = set(levers)
        self._jobs_by_lever = {lever: 0 for lever in LEVERS if lever in chosen}
        self._first, self._last = inf, -inf

    def note_time(self, now: float) -> None:
        """Note that the run has reached ``now`` (seconds), which extends the time it covers."""
        self._first, self._last = min(self._first, now), max(self._last, now)

    def add(self, lever: str) -> None:
        """Count one more job that its user changed with ``lever``."""
        self._jobs_by_lever[lever] += 1

    def statistics(self, signal: EnergySignal) -> dict[str, Any]:
        """Return the counts, the seconds of red and yellow in the run, and a summary text."""
        begin, end = (self._first, self._last) if self._first < inf else (0.0, 0.0)
        seconds = {
            state: sum((b - a for a, b in signal.spans(state, begin, end)), 0.0)
            for state in (RED, YELLOW)
            if signal.has(state)
        }
        done = ", ".join(f"{lever} {nb}" for lever, nb in self._jobs_by_lever.items())
        bad = ", ".join(f"{state} for {format_duration(time)}" for state, time in seconds.items())
        return {
            "jobs": self.jobs,
            "levers": dict(self._jobs_by_lever),
            "seconds": {**seconds, "all": end - begin},
            "summary": f"levers: {done or 'none'} of {self.jobs} jobs; {bad or 'always green'}"
            + (f" of {format_duration(end - begin)}" if bad else ""),
        }
