"""The power of Batsim's hosts, by the properties that platform files give them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import NamedTuple

from batsched_py.errors import PlatformError
from batsched_py.processors.sets import ProcessorSet
from batsched_py.workload.processor_power import PowerGroup, PowerGroups, ProcessorPower

WATTS, SLEEP = "wattage_per_state", "sleep_pstates"
"""The properties with the watts in each pstate, and with the pstates to sleep in."""
_PSTATE = re.compile(r"\s*[0-9]{1,9}\s*")
_Host = tuple[str, Mapping[str, str], Sequence[float], int]
"""Name, properties, speed in each pstate (empty: unknown), and the pstate that it begins in."""


class Watts(NamedTuple):
    """The power of a host in one pstate, watts: idle, with the least work, and at full load."""

    idle: float
    epsilon: float
    full: float

    def at(self, load: float) -> float:
        """Return the power in watts at a load (achieved flop rate / speed) of 0 to 1."""
        if load <= 0:
            return self.idle
        return self.epsilon + min(load, 1.0) * (self.full - self.epsilon)


class SleepState(NamedTuple):
    """The pstates that a host passes on its way into a sleep pstate and out of it.

    Each lasts as long as one flop takes at its speed, fully loaded.
    """

    switch_off: int
    switch_on: int


def read_sleep_pstates(
    name: str, properties: Mapping[str, str], nb_pstates: float
) -> dict[int, SleepState]:
    """Return the ways into and out of each sleep pstate; raises :class:`PlatformError`."""
    sleep: dict[int, SleepState] = {}
    for part in filter(None, map(str.strip, properties.get(SLEEP, "").split(","))):
        texts = part.split(":")
        pstates = [int(text) if _PSTATE.fullmatch(text) else -1 for text in texts]
        if len(pstates) != 3 or not all(0 <= pstate < nb_pstates for pstate in pstates):
            raise PlatformError(
                f"host {name!r}: sleep_pstates {part!r}, expected SLEEP:OFF:ON, pstates from "
                f"0 to {nb_pstates - 1}"
            )
        if pstates[0] in pstates[1:] or pstates[0] in sleep:
            raise PlatformError(
                f"host {name!r}: sleep_pstates {part!r}, expected a pstate to sleep in that "
                "is there once, and others to be switched off and on by"
            )
        sleep[pstates[0]] = SleepState(*pstates[1:])
    return sleep


def read_watts(name: str, text: str, nb_pstates: int | None = None) -> tuple[Watts, ...]:
    """Return the watts in each pstate; raises :class:`PlatformError` if there are not as many."""
    watts = tuple(_read_watts(name, part) for part in text.split(","))
    if nb_pstates not in (None, len(watts)):
        raise PlatformError(
            f"host {name!r} has {nb_pstates} speeds and {len(watts)} values of "
            f"{WATTS}: expected as many"
        )
    return watts


def _read_watts(host: str, text: str) -> Watts:
    try:
        values = [float(value) for value in text.split(":")]
    except ValueError:
        values = []
    if len(values) not in (2, 3) or not all(0 <= value < float("inf") for value in values):
        raise PlatformError(
            f"host {host!r}: wattage_per_state {text.strip()!r}, expected IDLE:FULL or "
            "IDLE:EPSILON:FULL, watts"
        )
    return Watts(values[0], values[-2], values[-1])  # of two values the first is the least, too


def find_power_groups(hosts: Iterable[_Host]) -> PowerGroups:
    """Return the power of numbered hosts, equal ones as a group; none if nothing is known.

    A host sleeps in the first of its sleep pstates. One that begins asleep, or whose speeds are
    unknown, cannot be switched. Raises :class:`PlatformError` for malformed properties.

    >>> watts = {"wattage_per_state": "95:190"}
    >>> find_power_groups([("a", watts, [1e9], 0), ("b", watts, [1e9], 0)])[0].power.idle_watts
    95.0
    """
    described = list(hosts)
    if not any(WATTS in each or each.get(SLEEP) for _, each, *_ in described):
        return ()
    groups: dict[tuple[ProcessorPower, int, int], list[int]] = {}
    for number, host in enumerate(described):
        groups.setdefault(_read_power(*host), []).append(number)
    return tuple(PowerGroup(ProcessorSet.of(of), *power) for power, of in groups.items())


def _read_power(
    name: str, properties: Mapping[str, str], speeds: Sequence[float], pstate: int
) -> tuple[ProcessorPower, int, int]:
    """Return the power of a host, and the pstates that it is awake and asleep in."""
    text, known, asleep = properties.get(WATTS), dict[str, float](), -1
    watts = () if text is None else read_watts(name, text, len(speeds) or None)
    sleep = read_sleep_pstates(name, properties, len(speeds) or len(watts) or inf)
    if watts:
        known |= {"idle_watts": watts[pstate].idle, "computing_watts": watts[pstate].full}
    if sleep and pstate not in sleep:
        asleep, ways = next(iter(sleep.items()))
        if watts:
            known["asleep_watts"] = watts[asleep].idle
        for way, passed in zip(("off", "on"), ways, strict=True) if speeds else ():
            seconds = known[f"{way}_seconds"] = 1 / speeds[passed] if speeds[passed] else inf
            if watts:
                known[f"{way}_joules"] = seconds * watts[passed].full
    try:
        return ProcessorPower(**known), pstate, asleep
    except ValueError as error:
        raise PlatformError(f"host {name!r}: {error}") from None
