"""The first message: what the scheduler is told of the machine, the options and the workloads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from batsched_py.protocol import messages as m
from batsched_py.simulator.options import Options
from batsched_py.simulator.platform.hosts import Host, Platform
from batsched_py.workload.workload import Workload


def simulation_begins(
    platform: Platform,
    options: Options,
    workloads: Mapping[str, Workload],
    asleep: int,
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
            **({"exact-times": True} if options.exact_times else {}),
        },
        compute_resources=[
            _described(number, host, "sleeping" if asleep >> number & 1 else "idle", "")
            for number, host in enumerate(platform.hosts)
        ],
        storage_resources=[
            _described(number, host, "idle", "storage")
            for number, host in enumerate(platform.storages, start=nb_hosts)
        ],
        workloads={name: workload.name for name, workload in workloads.items()},
        profiles={name: dict(workload.profiles) for name, workload in workloads.items()},
    )


def _described(number: int, host: Host, state: str, role: str) -> dict[str, Any]:
    return {
        "id": number,
        "name": host.name,
        "state": state,
        "properties": {"role": role, **host.properties},
        "zone_properties": host.zone_properties,
    }
