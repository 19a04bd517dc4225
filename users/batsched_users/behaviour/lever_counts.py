"""What users did about scarce energy in a run, counted and in a sentence."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import Any

from batsched_py.support.durations import format_duration
from batsched_users.behaviour.energy_signal import RED, YELLOW, EnergySignal
from batsched_users.behaviour.levers import LEVERS


class LeverCounts:
    """Jobs by what was done with them, while a signal went on.

    ``levers`` are those that users may choose; they are told also where no job met them.
    """

    def __init__(self, levers: Iterable[str]) -> None:
        self.jobs = 0
        """How many were wished."""
        chosen = set(levers)
        self._jobs_by_lever = {lever: 0 for lever in LEVERS if lever in chosen}
        self._first, self._last = inf, -inf

    def see(self, now: float) -> None:
        """Note that the run has come to ``now`` (seconds)."""
        self._first, self._last = min(self._first, now), max(self._last, now)

    def add(self, lever: str) -> None:
        """Count one job more that met a lever."""
        self._jobs_by_lever[lever] += 1

    def statistics(self, signal: EnergySignal) -> dict[str, Any]:
        """Return all counts, with the seconds of bad states that the run saw, and a sentence."""
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
