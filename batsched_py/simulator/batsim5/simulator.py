"""The embedded simulator as Batsim 5, where it differs from Batsim 4.2.

Source: the protocol and the schedules of Batsim 5.0.0-rc2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec

from batsched_py.protocol import messages as m
from batsched_py.simulator.applied_decisions import Decisions
from batsched_py.simulator.batsim5.decisions import Batsim5Decisions
from batsched_py.simulator.batsim5.machines import MachinesOfBatsim5, PowerManagementOfBatsim5
from batsched_py.simulator.engine import Simulator
from batsched_py.simulator.external_events import ExternalEvent
from batsched_py.simulator.options import Options
from batsched_py.simulator.platform.hosts import Host, Platform
from batsched_py.simulator.power.machine_states import TracedMachines
from batsched_py.simulator.power.power_states import PowerManagement
from batsched_py.workload.workload import Workload

BATSIM5 = "v5.0.0-rc2"
"""The version that the embedded simulator behaves as, besides 4.2."""


class Batsim5Simulator(Simulator):
    """Batsim 5 on one platform, in the embedded simulator.

    ``called`` is the command line in the first message, by the protocol's names.
    """

    is_batsim5: ClassVar[bool] = True
    decisions_class: ClassVar[type[Decisions]] = Batsim5Decisions
    power_class: ClassVar[type[PowerManagement]] = PowerManagementOfBatsim5
    shared_machines_class: ClassVar[type[TracedMachines]] = MachinesOfBatsim5

    def __init__(
        self,
        platform: Platform,
        workloads: Sequence[Workload],
        options: Options,
        events: Sequence[ExternalEvent] | None = None,
        called: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(platform, workloads, options, events)
        self._called = called or {}

    def make_new(self, options: Options, called: dict[str, Any]) -> Batsim5Simulator:
        """Return a new simulation with the same inputs, ``options`` and a longer command line."""
        called = self._called | called
        return Batsim5Simulator(self.platform, self.workloads, options, self.events, called)

    def _begin(self) -> m.SimulationBegins:
        """Return the first message as Batsim 5 has it.

        It describes hosts with all their speeds, with properties by name, without a role that
        nobody gave, and always as idle. It has profiles only if they are asked for.
        """
        begins = super()._begin()
        hosts = [*self.platform.hosts, *self.platform.storages]
        described = [_describe(number, host) for number, host in enumerate(hosts)]
        nb_hosts = begins.nb_compute_resources
        return msgspec.structs.replace(
            begins,
            compute_resources=described[:nb_hosts],
            storage_resources=described[nb_hosts:],
            profiles=begins.profiles if self.options.forward_profiles_at_begin else {},
            further={
                "batprotocol_version": m.BATPROTOCOL,
                "batsim_version": BATSIM5,
                "batsim_commit": "",
                "batsim_arguments": [],
                "batsim_execution_context_json": "{}",
                "external_event_lists": [],
                **self._called,
            },
        )


def _describe(number: int, host: Host) -> dict[str, Any]:
    return {
        "id": number,
        "name": host.name,
        "pstate": host.pstate,
        "pstate_count": len(host.speeds),
        "state": "idle",
        "properties": dict(sorted(host.properties.items())),
        "zone_properties": dict(sorted(host.zone_properties.items())),
        "core_count": host.cores,
        "computation_speed": list(host.speeds),
    }
