"""Periodic actions of Batsim 5, which happen at the multiples of a period from time 0 on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import floor

import msgspec

from batsched_py.errors import ProtocolError
from batsched_py.protocol import messages as m
from batsched_py.simulator.agenda import Agenda, Timer

Tick = Callable[[bool], Iterable[m.Event]]
"""A periodic action; it takes whether this is the last time, and returns events."""


class _Periodic(msgspec.Struct, eq=False):
    period: int
    """Milliseconds, as all periods in Batsim 5."""
    multiple: int
    """The next time, as a multiple of the period."""
    left: int | None
    """How many times it still happens, None: without an end."""
    tick: Tick
    timer: Timer | None = None

    @property
    def time(self) -> float:
        """The next time, in seconds."""
        return self.multiple * self.period / 1000


class Grid:
    """All periodic actions by kind and id; of any two live periods, one divides the other."""

    def __init__(self, agenda: Agenda) -> None:
        self._agenda = agenda
        self._live: dict[tuple[str, str], _Periodic] = {}

    def begin(
        self, kind: str, name: str, period: float, nb_periods: int | None, tick: Tick
    ) -> None:
        """Let ``tick`` happen at the next multiples of ``period`` (seconds).

        Raises :class:`ProtocolError` where Batsim 5 aborts.
        """
        if (kind, name) in self._live:
            raise ProtocolError(f"there is a {kind} {name!r} already, which has not ended")
        step = max(1, round(period * 1000))
        for (other_kind, other), live in self._live.items():
            if max(step, live.period) % min(step, live.period):
                raise ProtocolError(
                    f"{kind} {name!r} has the period {step / 1000:g} s, {other_kind} {other!r} "
                    f"{live.period / 1000:g} s: one must divide the other"
                )
        periodic = _Periodic(step, floor(self._agenda.now * 1000 / step), nb_periods, tick)
        while periodic.time <= self._agenda.now:
            periodic.multiple += 1
        self._live[kind, name] = periodic
        self._set(kind, name, periodic)

    def stop(self, kind: str, name: str) -> None:
        """Stop a periodic action; as in Batsim, nothing happens if there is none."""
        periodic = self._live.pop((kind, name), None)
        if periodic is not None and periodic.timer is not None:
            self._agenda.cancel(periodic.timer)

    def _set(self, kind: str, name: str, periodic: _Periodic) -> None:
        periodic.timer = self._agenda.at(periodic.time, lambda: self._come(kind, name, periodic))

    def _come(self, kind: str, name: str, periodic: _Periodic) -> Iterable[m.Event]:
        if periodic.left is not None:
            periodic.left -= 1
        last = periodic.left == 0
        if last:
            del self._live[kind, name]
        else:
            periodic.multiple += 1
            self._set(kind, name, periodic)
        return periodic.tick(last)
