"""The power of processors, as Batsim's first message describes its hosts."""

from __future__ import annotations

from math import isclose
from operator import attrgetter

from msgspec.structs import replace

from batsched_py.errors import PlatformError, ProtocolError, located, parameter
from batsched_py.processors.sets import ProcessorSet, to_text
from batsched_py.protocol import messages as m
from batsched_py.workload.host_power import find_power_groups
from batsched_py.workload.processor_power import PowerGroup, PowerGroups, ProcessorPower

_SECONDS = attrgetter("off_seconds", "on_seconds")


def read_power_groups(begins: m.SimulationBegins, known: PowerGroups = ()) -> PowerGroups:
    """Return the power of all processors: what is ``known``, else what Batsim sends.

    Pstates are those of Batsim. Version 4.2 sends no seconds of a switch, so by its message alone
    no processor can sleep. Raises :class:`ProtocolError` for malformed properties of hosts, and for
    known seconds where Batsim's hosts have other ones or no sleep_pstates.
    """
    with located(begins.tag, PlatformError, ProtocolError):
        sent = find_power_groups(
            (
                str(host.get("name")),
                host.get("properties") or {},
                host.get("computation_speed") or (),
                host.get("pstate") or 0,
            )
            for host in begins.compute_resources
        )
    if not known:
        return sent
    every = ProcessorSet.interval(0, begins.nb_compute_resources)
    hosts = sent or (PowerGroup(every, ProcessorPower(), asleep_pstate=-1),)
    pairs = ((ours, of, ours.processors & of.processors) for ours in known for of in hosts)
    return tuple(_join(ours, of, both) for ours, of, both in pairs if both)


def _join(known: PowerGroup, sent: PowerGroup, both: ProcessorSet) -> PowerGroup:
    where = f"SIMULATION_BEGINS: {parameter('power')} of the hosts {to_text(both)}"
    if known.power.can_sleep and sent.asleep_pstate < 0:
        raise ProtocolError(f"{where}: they have no sleep_pstates in Batsim's platform file")
    ours, theirs = _SECONDS(known.power), _SECONDS(sent.power)
    if None not in (*ours, *theirs) and not all(map(isclose, ours, theirs)):
        raise ProtocolError(f"{where}: {ours} s to switch off and on, but Batsim has {theirs}")
    return replace(sent, processors=both, power=known.power)
