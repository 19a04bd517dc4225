"""The energy of hosts, as SimGrid's energy plug-in and Batsim account for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from batsched_py.errors import PlatformError
from batsched_py.files.packed_rows import PackedList
from batsched_py.processors.sets import ProcessorSet
from batsched_py.simulator.platform.hosts import Host
from batsched_py.support.old_names import hint_old_name
from batsched_py.workload.host_power import SleepState, Watts, read_sleep_pstates, read_watts

_ALL = slice(None)


class PowerStates(msgspec.Struct, frozen=True):
    """The power of a host in each pstate, and its pstates to sleep in."""

    watts: tuple[Watts, ...]
    sleep: dict[int, SleepState]
    """The ways into and out of each sleep pstate."""

    @property
    def passing(self) -> set[int]:
        """The pstates that a host only passes on its way into sleep and out of it."""
        return {pstate for state in self.sleep.values() for pstate in state}


_NO_WATTS = Watts(0.0, 0.0, 0.0)


def read_power_states(host: Host, *, metered: bool = True) -> PowerStates:
    """Read the properties ``wattage_per_state`` and ``sleep_pstates`` of a host.

    If it is not ``metered``, the first is ignored. Raises :class:`PlatformError` if they are
    missing or malformed.
    """
    text = host.properties.get("wattage_per_state")
    if not metered:
        watts = (_NO_WATTS,) * len(host.speeds)
    elif text is None:
        hint = hint_old_name("wattage_per_state", host.properties)
        raise PlatformError(
            f"host {host.name!r} has no property wattage_per_state{hint}, such as "
            "'100:120:200' (idle, least and full load, watts; one for each pstate): "
            "without it there is no energy"
        )
    else:
        watts = read_watts(host.name, text, len(host.speeds))
    states = PowerStates(watts, read_sleep_pstates(host.name, host.properties, len(host.speeds)))
    for pstate, speed in enumerate(host.speeds if host.computes else ()):
        if not speed and pstate not in states.sleep:
            raise PlatformError(
                f"host {host.name!r} has speed 0 in pstate {pstate}, not a pstate to sleep in: "
                "expected a higher speed, such as '1Gf'"
            )
    if host.pstate in states.passing:
        raise PlatformError(
            f"host {host.name!r} begins in pstate {host.pstate}, in which its sleep_pstates do not "
            "let it stay: expected another one"
        )
    return states


class Energy:
    """Accounts for the energy of all hosts since the beginning, joules; times in seconds.

    A host's power is that of its pstate at its load. As in SimGrid, the energy since the last
    accounting of a host counts with its latest load, even if the load has changed in between: call
    :meth:`account` where SimGrid accounts for a host, not where a load changes. Sums have 80 bits,
    as in Batsim. Hosts that are not ``metered`` consume nothing, but have pstates.
    """

    def __init__(self, hosts: Sequence[Host], *, metered: bool = True) -> None:
        self.metered = metered
        self.states = [read_power_states(host, metered=metered) for host in hosts]
        self._pstates = [host.pstate for host in hosts]
        self._loads = [0.0] * len(hosts)
        first = [states.watts[p] for states, p in zip(self.states, self._pstates, strict=True)]
        self._power = np.array([watts.idle for watts in first])
        self._least = np.array([watts.epsilon for watts in first])
        self._joules = np.zeros(len(hosts))
        self._since = np.zeros(len(hosts))
        self._events: PackedList[tuple[float, float, str, float, float | None]] = PackedList()
        self._last = (0.0, np.longdouble(0))
        """Time and energy of the last event."""
        self._at_start: dict[str, np.longdouble] = {}
        """The joules that the machines of each running job had consumed before its start."""
        self._at_first_submission = self._at_last_end = np.longdouble(-1)

    def pstate(self, host: int) -> int:
        """Return the number of the pstate that a host is in."""
        return self._pstates[host]

    def find_asleep(self) -> ProcessorSet:
        """Return the hosts that are in a sleep pstate."""
        pstates = enumerate(zip(self.states, self._pstates, strict=True))
        return ProcessorSet.of(host for host, (of, pstate) in pstates if pstate in of.sleep)

    def set_load(self, host: int, load: float) -> None:
        """Set the load of a host, which counts from its last accounting on."""
        if load != self._loads[host]:
            self._loads[host] = load
            self._set_power(host)

    def set_pstate(self, host: int, pstate: int, now: float, load: float | None = None) -> None:
        """Switch a host to a pstate at once, and to a load if one is given."""
        self.account([host], now)
        self._pstates[host] = pstate
        if load is not None:
            self._loads[host] = load
        self._least[host] = self.states[host].watts[pstate].epsilon
        self._set_power(host)

    def account(self, hosts: Sequence[int] | slice, now: float) -> None:
        """Add the energy of hosts since their last accounting."""
        self._joules[hosts] += self._power[hosts] * (now - self._since[hosts])
        self._since[hosts] = now

    def consumed(self, hosts: ProcessorSet, now: float) -> np.longdouble:
        """Return the joules that a set of hosts has consumed until now."""
        at = list(hosts)
        self.account(at, now)
        return np.longdouble(self._joules[at].sum(dtype=np.longdouble))

    def consumed_by_each(self, hosts: ProcessorSet, now: float) -> list[float]:
        """Return the joules that each of a set of hosts has consumed until now."""
        at = list(hosts)
        self.account(at, now)
        return [float(joules) for joules in self._joules[at]]

    def total(self, now: float) -> np.longdouble:
        """Return the joules that all hosts have consumed until now."""
        self.account(_ALL, now)
        return np.longdouble(self._joules.sum(dtype=np.longdouble))

    def note_job_start(self, job: str, hosts: ProcessorSet, now: float) -> None:
        """Note the start of a job, and the energy that its hosts consumed before."""
        self._at_start[job] = self.consumed(hosts, now)
        self.note("s", now)

    def note_job_end(self, job: str, hosts: ProcessorSet, now: float) -> float:
        """Note the end of a job, and return the joules that its hosts consumed while it ran.

        A job that was only set to running has no start and no hosts.
        """
        joules = self.consumed(hosts, now) - self._at_start.pop(job, 0.0)
        self.note("e", now)
        return float(joules)

    def note_submission(self, now: float) -> None:
        """Note the energy at the submission of a static job, if it is the first."""
        if self._at_first_submission < 0:
            self._at_first_submission = self.total(now)

    def note(self, kind: str, now: float) -> None:
        """Note the energy at an event: start (``s``), end (``e``) or change of pstates (``p``)."""
        energy, (time, before) = self.total(now), self._last
        mean = float(energy - before) / (now - time) if now > time else None
        self._events.append((now, float(energy), kind, float(self._least.sum()), mean))
        self._last = (now, energy)
        if kind == "e":
            self._at_last_end = energy

    def events(self) -> Iterator[tuple[float, float, str, float, float | None]]:
        """Yield the noted events: time, joules, kind, least power now, mean power since the last.

        Powers are in watts; the mean is None if no time has passed. The least power is at work.
        """
        return iter(self._events)

    @property
    def summed_up(self) -> float:
        """Batsim's energy of a run, joules: from the first static submission to the last end.

        The energy at either time is -1 if there was none.
        """
        return float(self._at_last_end - self._at_first_submission)

    def _set_power(self, host: int) -> None:
        self._power[host] = self.states[host].watts[self._pstates[host]].at(self._loads[host])
