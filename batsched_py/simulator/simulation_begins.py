"""The first message to the scheduler: the machine, the options and the workloads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from batsched_py.processors.sets import ProcessorSet
from batsched_py.protocol import messages as m
from batsched_py.simulator.options import Options
from batsched_py.simulator.platform.hosts import Host, Platform
from batsched_py.workload.workload import Workload


def make_simulation_begins(
    platform: Platform,
    options: Options,
    workloads: Mapping[str, Workload],
    asleep: ProcessorSet,
) -> m.SimulationBegins:
    """Return SIMULATION_BEGINS; ``asleep`` are the machines that sleep in the beginning."""
    nb_hosts = len(platform.hosts)
    return m.SimulationBegins(
        timestamp=0.0,
        nb_resources=nb_hosts + len(platform.storages),
        nb_compute_resources=nb_hosts,
        nb_storage_resources=len(platform.storages),
        allow_compute_sharing=options.compute_sharing,
        allow_storage_sharing=options.storage_sharing,
        config={
            "redis-enabled": False,
            "redis-hostname": "127.0.0.1",
            "redis-port": 6379,
            "redis-prefix": "default",
            "profiles-forwarded-on-submission": options.forward_profiles,
            "dynamic-jobs-enabled": options.dynamic_jobs,
            "dynamic-jobs-acknowledged": options.acknowledge_dynamic_jobs,
            "profile-reuse-enabled": options.profile_reuse,
            "sched-config": options.sched_config,
            "forward-unknown-events": options.forward_unknown_events,
            **({m.EXACT_TIMES: True} if options.exact_times else {}),
        },
        compute_resources=_Described(platform.hosts, asleep),
        storage_resources=[
            _described(number, host, "idle", "storage")
            for number, host in enumerate(platform.storages, start=nb_hosts)
        ],
        workloads={name: workload.name for name, workload in workloads.items()},
        profiles={name: dict(workload.profiles) for name, workload in workloads.items()},
    )


class _Described(Sequence[dict[str, Any]]):
    """The descriptions of hosts, each made when it is read: most are never read."""

    def __init__(self, hosts: Sequence[Host], asleep: ProcessorSet) -> None:
        self._hosts, self._asleep = hosts, asleep

    def __len__(self) -> int:
        return len(self._hosts)

    def __getitem__(self, at: Any) -> Any:
        numbers = range(len(self))[at]
        if isinstance(numbers, range):
            return [self[number] for number in numbers]
        state = "sleeping" if numbers in self._asleep else "idle"
        return _described(numbers, self._hosts[numbers], state, "")


def _described(number: int, host: Host, state: str, role: str) -> dict[str, Any]:
    return {
        "id": number,
        "name": host.name,
        "state": state,
        "properties": {"role": role, **host.properties},
        "zone_properties": host.zone_properties,
    }
