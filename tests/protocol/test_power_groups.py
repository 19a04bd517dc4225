"""The power of processors by Batsim's first message."""

from __future__ import annotations

from typing import Any

import pytest

from batsched_py.errors import ProtocolError
from batsched_py.protocol import messages as m
from batsched_py.protocol.power_groups import read_power_groups
from batsched_py.simulator.batsim5.simulator import Batsim5Simulator
from batsched_py.simulator.engine import Options, Simulator
from batsched_py.simulator.platform.hosts import Platform, add_pstates, make_homogeneous
from batsched_py.workload import Workload
from batsched_py.workload.processor_power import PowerGroup, ProcessorPower
from helpers.powers import TAURUS
from helpers.processors import processors

MACHINE = PowerGroup(processors("0-3"), TAURUS)
UNLIMITED = PowerGroup(processors("0-99999"), TAURUS)


def begins(platform: Platform, kind: type[Simulator] = Simulator) -> m.SimulationBegins:
    """Return the first message of our simulator for some hosts."""
    seen: list[Any] = []

    def answer(message: m.Message) -> m.Message:
        seen.extend(message.events)
        return m.Message(message.now, [])

    load = Workload(name="w", nb_res=4, jobs=[], profiles={})
    protocol = 5 if kind is Batsim5Simulator else 4
    kind(platform, [load], Options(switching=True, protocol=protocol)).run(answer)
    return next(event for event in seen if isinstance(event, m.SimulationBegins))


SLEEPING = add_pstates(make_homogeneous(4), (MACHINE,))


def test_batsim_5_sends_all() -> None:
    (group,) = read_power_groups(begins(SLEEPING, Batsim5Simulator))
    assert group.power.can_sleep
    assert str(group.power) == str(TAURUS)
    assert group.processors == MACHINE.processors


def test_batsim_4_sends_no_seconds() -> None:
    (group,) = read_power_groups(begins(SLEEPING))
    assert group.power == ProcessorPower(idle_watts=95, computing_watts=190.738, asleep_watts=9.75)
    assert read_power_groups(begins(SLEEPING), (UNLIMITED,)) == (MACHINE,)


@pytest.mark.parametrize("kind", [Simulator, Batsim5Simulator])
def test_pstates_are_those_of_batsim(kind: type[Simulator]) -> None:
    hosts = [
        type(host)(
            host.name,
            (*host.speeds[:1], 1 / TAURUS.on_seconds, 1 / TAURUS.off_seconds, 5.0),
            {"sleep_pstates": "3:2:1"},
        )
        for host in SLEEPING.hosts
    ]
    half = PowerGroup(processors("2-8"), TAURUS)
    (group,) = read_power_groups(begins(Platform(hosts), kind), (half,))
    assert group == PowerGroup(processors("2-3"), TAURUS, 0, 3)


def test_hosts_without_power() -> None:
    begun = begins(make_homogeneous(4))
    assert read_power_groups(begun) == ()
    known = ProcessorPower(idle_watts=95)
    (group,) = read_power_groups(begun, (PowerGroup(processors("0-9"), known),))
    assert (group.processors, group.power) == (processors("0-3"), known)


def test_what_contradicts_batsim() -> None:
    with pytest.raises(ProtocolError, match="hosts 0-3: they have no sleep_pstates in Batsim's"):
        read_power_groups(begins(make_homogeneous(4)), (UNLIMITED,))
    slower = PowerGroup(processors("0-3"), ProcessorPower(off_seconds=6, on_seconds=152))
    with pytest.raises(ProtocolError, match=r"\(6.0, 152.0\) s .* Batsim has \(6.1"):
        read_power_groups(begins(SLEEPING, Batsim5Simulator), (slower,))


def test_malformed_properties() -> None:
    begun = begins(SLEEPING)
    begun.compute_resources = [
        {**host, "properties": {"wattage_per_state": "hot"}} for host in begun.compute_resources
    ]
    with pytest.raises(ProtocolError, match="SIMULATION_BEGINS: host 'node0': wattage_per_state"):
        read_power_groups(begun)
