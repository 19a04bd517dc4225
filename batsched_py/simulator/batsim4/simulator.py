"""The embedded simulator with all of Batsim 4.2: energy, pstates and external events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import msgspec

from batsched_py.errors import PlatformError
from batsched_py.simulator.batsim4.external_events import ExternalEvent, schedule_events
from batsched_py.simulator.energy import Energy
from batsched_py.simulator.engine import Simulator
from batsched_py.simulator.machines import Machines
from batsched_py.simulator.options import Options
from batsched_py.simulator.outcome import Outcome
from batsched_py.simulator.platform.hosts import Platform
from batsched_py.simulator.power.machine_states import TracedMachines
from batsched_py.simulator.power.power_states import PowerManagement
from batsched_py.workload.workload import Workload


class Batsim4Simulator(Simulator):
    """Batsim 4.2 on one platform, with energy, pstates, shared machines and external ``events``.

    Raises :class:`WorkloadError` for jobs and :class:`PlatformError` for machines that cannot be
    simulated.
    """

    power_class: ClassVar[type[PowerManagement]] = PowerManagement
    shared_machines_class: ClassVar[type[TracedMachines]] = TracedMachines
    """Of machines that may run several jobs."""

    def __init__(
        self,
        platform: Platform,
        workloads: Sequence[Workload] = (),
        options: Options | None = None,
        events: Sequence[ExternalEvent] | None = None,
    ) -> None:
        self.events = events
        self._states: TracedMachines | None = None
        """The machines, if their states are followed."""
        self._pstates: Energy | None = None
        """The pstates of the hosts, also where their energy is not accounted for."""
        super().__init__(platform, workloads, options)
        if self._pstates is not None and self._states is not None:
            self._decisions.power = self.power_class(
                self.agenda, self.platform, self._states, self._pstates, self._stepwise.tasks
            )
        if events is not None:
            assert self._states is not None
            schedule_events(events, self.agenda, self._states)

    def _make_machines(self) -> Machines:
        """Return the machines; only what the options ask for is followed."""
        platform, options = self.platform, self.options
        # Exact times are for our own process, which gives no machine to two jobs, nor switches it.
        sharing = options.compute_sharing or (self.is_batsim5 and not options.exact_times)
        self._varying = options.energy or sharing
        if self._varying and (several := platform.find_multicore_hosts()):
            raise PlatformError(
                f"host {several[0].name!r} has {several[0].cores} cores, which cannot be simulated "
                "where jobs share hosts (as always under Batsim 5) or energy is accounted for: "
                "give one host per core"
            )
        if options.energy or (self.is_batsim5 and sharing):
            hosts = [*platform.hosts, *platform.storages]
            self._pstates = Energy(hosts, metered=options.energy)
            self._asleep = self._pstates.find_asleep()
        self._energy = self._pstates if options.energy else None
        if self.events is None and not (self._varying or options.trace_machines):
            return Machines(len(platform.hosts))
        self._states = (self.shared_machines_class if sharing else TracedMachines)(
            len(platform.hosts),
            sharing=sharing,
            asleep=self._asleep,
            traced=options.trace_machines,
        )
        return self._states

    def _outcome(self) -> Outcome:
        return msgspec.structs.replace(
            super()._outcome(), machines=self._states, power=self._decisions.power
        )
