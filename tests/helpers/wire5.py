"""Messages as Batsim 5 sends them."""

from __future__ import annotations

import json
from typing import Any

INIT = bytes(4)
"""The first frame of a Batsim 5 that was started without a text for the scheduler."""


def message(now: float, *events: tuple[str, dict[str, Any]]) -> bytes:
    """Return a message with all events at ``now``."""
    listed = [{"timestamp": now, "event_type": kind, "event": event} for kind, event in events]
    return json.dumps({"now": now, "events": listed}).encode() + b"\0"


def begins(nb_hosts: int = 4) -> bytes:
    hosts = [{"id": number, "name": f"n{number}", "state": "IDLE"} for number in range(nb_hosts)]
    content = {
        "batsim_version": "v5.0.0-rc2",
        "host_number": nb_hosts,
        "computation_host_number": nb_hosts,
        "computation_hosts": hosts,
        "storage_host_number": 0,
        "storage_hosts": [],
        "workloads": [{"name": "w0", "filename": "workload.json"}],
    }
    return message(0.0, ("SimulationBeginsEvent", content))


def submitted(name: str, size: int = 1, now: float = 0.0) -> bytes:
    job = {"resource_request": size, "walltime": 10.0, "profile_id": "w0!p"}
    content = {"job_id": f"w0!{name}", "job": job, "submission_time": now}
    return message(now, ("JobSubmittedEvent", content))


def completed(name: str, now: float) -> bytes:
    state = "COMPLETED_SUCCESSFULLY"
    content = {"job_id": f"w0!{name}", "state": state, "return_code": 0}
    return message(now, ("JobCompletedEvent", content))


def ends(now: float = 0.0) -> bytes:
    return message(now, ("SimulationEndsEvent", {}))


def decisions(reply: bytes) -> list[tuple[str, dict[str, Any]]]:
    return [(event["event_type"], event["event"]) for event in json.loads(reply)["events"]]
