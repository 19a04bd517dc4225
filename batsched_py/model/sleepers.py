"""The processors that sleep or are being switched on or off, and when each is ready for a job."""

from __future__ import annotations

from functools import reduce
from math import inf
from operator import itemgetter, or_
from typing import TYPE_CHECKING

from batsched_py.processors.sets import NO_PROCESSORS, ProcessorSet

if TYPE_CHECKING:
    from batsched_py.workload.processor_power import PowerGroups

Times = list[tuple[float, ProcessorSet]]
"""Pairs of a time (seconds) and processors, which are disjoint."""


class Sleepers:
    """The sleeping processors of a machine, and those that are being switched.

    ``groups`` are the processors that can sleep, with the durations of their switches; all are on
    in the beginning. A processor that is being switched off can only be woken when it is off.

    Example: two of four processors, which sleep after 6 s and are ready after 152 s, are woken.

        >>> from batsched_py.processors.sets import ProcessorSet
        >>> from batsched_py.workload.processor_power import PowerGroup, ProcessorPower
        >>> power = ProcessorPower(off_seconds=6, on_seconds=152)
        >>> machine = ProcessorSet.interval(0, 4)
        >>> sleepers = Sleepers((PowerGroup(machine, power),), machine)
        >>> sleepers.switch_off(ProcessorSet.interval(2, 2))
        >>> sleepers.wake(ProcessorSet.interval(2, 2))
        >>> sleepers.ready_at(ProcessorSet.interval(0, 3))
        158.0
    """

    def __init__(self, groups: PowerGroups, machine: ProcessorSet) -> None:
        self.now = 0.0
        """The time (seconds)."""
        self._groups = [
            (group.processors, float(group.power.off_seconds), float(group.power.on_seconds))
            for group in groups
            if group.power.off_seconds is not None and group.power.on_seconds is not None
        ]
        self.can_sleep = reduce(or_, (each[0] for each in self._groups), NO_PROCESSORS)
        """The processors that can be switched."""
        self.asleep = self.away = self.lost = NO_PROCESSORS
        """The processors that sleep; those that sleep or are being switched; and of these the ones
        that stay away unless they are woken."""
        self.switching_off: Times = []
        self.switching_on: Times = []
        """The processors that are being switched, with the time at which this ends."""
        self.to_wake = NO_PROCESSORS
        """The processors that are being switched off, and are to be woken when they are off."""
        self.longest_way_back = max((off + on for _, off, on in self._groups), default=0.0)
        """Seconds from the beginning of a switch off to the end of the switch on after it."""
        self.changes: list[tuple[float, ProcessorSet, str]] = []
        """Time, processors and new state: switching_off, asleep, switching_on or awake."""
        self._idle: Times = [(0.0, machine)]
        """When processors became idle, ascending; the last time of a processor counts."""
        self._machine, self._most = machine, 64
        """All processors; and the length of that list at which superseded times are removed."""
        self._requests: dict[tuple[bool, float], ProcessorSet] = {}
        self._times: tuple[float, Times] = 0.0, []
        """When those that are away can be ready, with the time at which this was found."""

    @property
    def wakes(self) -> bool:
        """Whether processors are being woken."""
        return self.away != self.lost

    def note_idle(self, processors: ProcessorSet) -> None:
        """Note that processors become idle now."""
        if self._idle and self._idle[-1][0] == self.now:
            processors |= self._idle.pop()[1]
        self._idle.append((self.now, processors))
        if len(self._idle) > self._most:
            self._most = 64 + 2 * len(self.idle_since(self._machine))

    def idle_since(self, idle: ProcessorSet) -> Times:
        """Return when processors became idle, the latest first; ``idle`` are all that are now."""
        times: Times = []
        for since, some in reversed(self._idle):
            if not idle:
                break
            if some := some & idle:
                times.append((since, some))
                idle -= some
        self._idle = times[::-1]
        return times

    def switch_off(self, processors: ProcessorSet) -> None:
        """Switch off processors that are idle."""
        self.away |= processors
        for group, off, _ in self._groups:
            self._switch(processors & group, False, off)
        self._note_change()

    def wake(self, processors: ProcessorSet) -> None:
        """Switch on processors that sleep, and once they are off those that are switched off."""
        self.to_wake |= processors & _join(self.switching_off)
        asleep = processors & self.asleep
        self.asleep -= asleep
        for group, _, on in self._groups:
            self._switch(asleep & group, True, on)
        self._note_change()

    def wake_no_more(self, processors: ProcessorSet) -> None:
        """Let those sleep that are being switched off."""
        self.to_wake -= processors
        self._note_change()

    def _note_change(self) -> None:
        self._times = -inf, []
        self.lost = self.away - _join(self.switching_on) - self.to_wake

    def _switch(self, processors: ProcessorSet, on: bool, seconds: float) -> None:
        if processors:
            others = self._requests.get((on, seconds), NO_PROCESSORS)
            self._requests[on, seconds] = others | processors
            switching = self.switching_on if on else self.switching_off
            switching.append((self.now + seconds, processors))

    def take_requests(self) -> dict[tuple[bool, float], ProcessorSet]:
        """Return the switches that are to begin now, by whether they are on, and seconds."""
        requests, self._requests = self._requests, {}
        for (on, _), processors in requests.items():
            self.changes.append((self.now, processors, "switching_on" if on else "switching_off"))
        return requests

    def end_switch(self, processors: ProcessorSet, *, on: bool) -> float | None:
        """Note that processors have been switched on or off; wake those that are to be woken.

        Returns when this was expected (seconds), None if some of them were not being switched so.
        """
        switching = self.switching_on if on else self.switching_off
        if processors - _join(switching):
            return None
        expected = max(until for until, some in switching if some & processors)
        left = [(until, some - processors) for until, some in switching]
        switching[:] = [each for each in left if each[1]]
        self.changes.append((self.now, processors, "awake" if on else "asleep"))
        if on:
            self.away -= processors
            self.note_idle(processors)
            self._note_change()
        else:
            self.asleep |= processors
            waking = self.to_wake & processors
            self.to_wake -= waking
            self.wake(waking)
        return expected

    def times(self) -> Times:
        """Return when those that are not on would be ready if all were woken now, ascending."""
        if self._times[0] != self.now:
            self._times = self.now, self._find_times()
        return self._times[1]

    def _find_times(self) -> Times:
        times: dict[float, ProcessorSet] = {}
        ready = list(self.switching_on)
        for group, _, on in self._groups:
            ready.append((self.now + on, self.asleep & group))
            ready += ((until + on, some & group) for until, some in self.switching_off)
        for time, processors in ready:
            if processors:
                time = max(time, self.now)
                times[time] = times.get(time, NO_PROCESSORS) | processors
        return sorted(times.items(), key=itemgetter(0))

    def ready_at(self, processors: ProcessorSet) -> float:
        """Return when the last of ``processors`` is ready (seconds) if all are woken now."""
        if not processors & self.away:
            return self.now
        return next(time for time, some in reversed(self.times()) if some & processors)


def _join(times: Times) -> ProcessorSet:
    return reduce(or_, (processors for _, processors in times), NO_PROCESSORS)
