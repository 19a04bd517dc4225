"""Events that Batsim 5 sends, in the JSON of its protocol, batprotocol.

Unknown members are ignored, since a later Batsim may send more. Events are written as Batsim
5.0.0-rc2 writes them.

Source: the protocol as observed from Batsim 5.0.0-rc2.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import msgspec

from batsched_py.errors import InputError, ProtocolError, WorkloadError
from batsched_py.files.readers import parse_json
from batsched_py.processors.sets import NO_PROCESSORS, ProcessorSet, to_text
from batsched_py.protocol import messages as m
from batsched_py.protocol.batsim5.batprotocol_decisions import read_job, write_job
from batsched_py.protocol.message_json import read_processors
from batsched_py.support.json_values import is_number, quote
from batsched_py.workload.batsim.batsim5_profiles import from_message, make_full_id, to_event

_MACHINES = {
    "machine_available": "event_machine_available",
    "machine_unavailable": "event_machine_unavailable",
}
"""Types in the text of an external event, and the types of NOTIFY that they become."""
_NOTICES = {
    "AllStaticJobsHaveBeenSubmittedEvent": "no_more_static_job_to_submit",
    "AllStaticExternalEventsHaveBeenInjectedEvent": "no_more_external_event_to_occur",
}
_SIGN, _RANGE = 2**31, 2**32
"""Return codes below 0 are written as numbers from 2**31 on."""
_ReturnCode = Annotated[int, msgspec.Meta(ge=-_SIGN, lt=_RANGE)]
_ATOMIC, _SEQUENTIAL = "KillProgressAtomicProfile", "KillProgressSequentialProfile"
_Table = dict[str, Any]


class _Content:
    """The members of an event, read with their types."""

    def __init__(self, members: _Table, nb_resources: int) -> None:
        self.members, self.nb_resources = members, nb_resources

    def get(self, name: str, kind: Any, default: Any = ...) -> Any:
        """Return a member; raises :class:`ProtocolError` for another type, or if it is missing."""
        value = self.members.get(name)
        if value is None and default is not ...:
            return default
        try:
            return msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            raise ProtocolError(f"{name} is {quote(value)}: {error}") from None

    def set(self, name: str) -> ProcessorSet:
        return read_processors(self.members.get(name, ""), name, self.nb_resources)


# Reading -------------------------------------------------------------------------------------


def read_event(name: str, content: Any, timestamp: float, nb_resources: int) -> m.Event:
    """Return the event ``name`` of Batsim as a struct; raises :class:`ProtocolError`.

    Batsim 5 names neither the processors of a job that ended nor its configuration.
    """
    read = _READERS.get(name)
    if read is None:
        return m.UnknownEvent(timestamp=timestamp, type=name, data=content)
    if not isinstance(content, dict):
        raise ProtocolError(f"{name}: event is {quote(content)}, expected an object")
    try:
        read_event = read(_Content(content, nb_resources))
    except (ProtocolError, WorkloadError) as error:
        raise ProtocolError(f"{name}: {error}") from None
    read_event.timestamp = timestamp
    return read_event


def _begins(content: _Content) -> m.SimulationBegins:
    nb_machines = content.get("computation_host_number", m.NbResources)
    nb_storages = content.get("storage_host_number", m.NbResources, 0)
    nb_hosts = content.get("host_number", m.NbResources, nb_machines + nb_storages)
    profiles: dict[str, dict[str, _Table]] = {}
    for written in content.get("profiles", list[_Table], []):
        workload, name, profile = from_message(written)
        profiles.setdefault(workload, {})[name] = profile
    return m.SimulationBegins(
        timestamp=0.0,
        nb_resources=nb_hosts,
        nb_compute_resources=nb_machines,
        nb_storage_resources=nb_storages,
        config={},
        compute_resources=[_host(host) for host in content.get("computation_hosts", list[_Table])],
        storage_resources=[_host(host) for host in content.get("storage_hosts", list[_Table], [])],
        workloads={
            str(workload.get("name")): str(workload.get("filename"))
            for workload in content.get("workloads", list[_Table], [])
        },
        profiles=profiles,
        further={
            name: value for name, value in content.members.items() if name not in _KNOWN_AT_BEGIN
        },
    )


_KNOWN_AT_BEGIN = {
    *("host_number", "computation_host_number", "computation_hosts"),
    *("storage_host_number", "storage_hosts", "workloads", "profiles"),
}


def _host(host: _Table) -> _Table:
    pairs = {name: _object(host.get(name)) for name in ("properties", "zone_properties")}
    return {**host, **pairs, "state": str(host.get("state", "")).lower()}


def _object(pairs: Any) -> dict[str, str]:
    try:
        return {pair["key"]: pair["value"] for pair in pairs or ()}
    except (KeyError, TypeError):
        raise ProtocolError(f"{quote(pairs)}: expected a list of key and value") from None


def _submitted(content: _Content) -> m.JobSubmitted:
    job_id: str = content.get("job_id", str)
    time = content.get("submission_time", m.Seconds, 0.0)
    profile = content.get("profile", _Table, None)
    return m.JobSubmitted(
        timestamp=0.0,
        job_id=job_id,
        job=read_job(job_id, content.get("job", _Table), time),
        profile=None if profile is None else from_message(profile)[2],
    )


def _completed(content: _Content) -> m.JobCompleted:
    code: int = content.get("return_code", _ReturnCode, 0)
    return m.JobCompleted(
        timestamp=0.0,
        job_id=content.get("job_id", str),
        job_state=content.get("state", str, "COMPLETED_SUCCESSFULLY"),
        return_code=code - _RANGE if code >= _SIGN else code,
        alloc=NO_PROCESSORS,
    )


def _killed(content: _Content) -> m.JobKilled:
    progress = {}
    for written in content.get("progresses", list[_Table], []):
        job_id = str(written.get("job_id"))
        workload = job_id.partition("!")[0]
        progress[job_id] = _progress(written.get("wrapper"), workload)
    known = {"job_ids", "progresses"}
    further = {name: value for name, value in content.members.items() if name not in known}
    return m.JobKilled(
        timestamp=0.0,
        job_ids=content.get("job_ids", list[str], []),
        job_progress=progress,
        further=further or None,
    )


def _progress(wrapper: Any, workload: str) -> _Table:
    """Return how much of a job was done, in the form of Batsim 4.2."""
    written = wrapper.get("kill_progress") if isinstance(wrapper, dict) else None
    if not isinstance(written, dict):
        raise ProtocolError(f"the wrapper of a progress is {quote(wrapper)}, expected an object")
    content = _Content(written, 0)
    name = str(written.get("profile_id")).removeprefix(f"{workload}!")
    if wrapper.get("kill_progress_type") != _SEQUENTIAL:
        return {"profile_name": name, "progress": content.get("progress", int | float, 0.0)}
    return {
        "profile_name": name,
        "current_repetition": content.get("current_repetition", int, 0),
        "current_task_index": content.get("current_task_index", int, 0),
        "current_task": _progress(written.get("current_task_progress"), workload),
    }


def _external(content: _Content) -> m.Notify:
    """Read an external event: processors come or go if its text announces it."""
    kind, data = content.members.get("external_event_type"), content.members.get("external_event")
    text = data.get("data", "") if isinstance(data, dict) else None
    if kind != "GenericExternalEvent" or not isinstance(text, str):
        raise ProtocolError(f"external_event is {quote(data)} ({quote(kind)}), expected a text")
    details: _Table = {"id": content.get("id", str, ""), "data": text}
    try:
        parsed = parse_json(text, _Table, "data") if text.startswith("{") else {}
    except InputError:
        parsed = {}
    named = parsed.get("type")
    notice = _MACHINES.get(named) if isinstance(named, str) else None
    if notice is not None and isinstance(resources := parsed.get("resources"), str):
        return m.Notify(timestamp=0.0, type=notice, details={"resources": resources, **details})
    return m.Notify(timestamp=0.0, type=m.GENERIC, details=details)


def _probed(content: _Content) -> m.ProbeData:
    hosts = content.members.get("resources")
    data = content.members.get("data")
    if not isinstance(hosts, dict) or not isinstance(data, dict) or "host_ids" not in hosts:
        raise ProtocolError(f"resources is {quote(hosts)}, data {quote(data)}: expected hosts")
    return m.ProbeData(
        timestamp=0.0,
        probe_id=content.get("probe_id", str),
        resources=_Content(hosts, content.nb_resources).set("host_ids"),
        data=_Content(data, 0).get("data", float | list[float]),
    )


def _switched(member: str, content: _Content, *, turned: bool) -> m.ResourceStateChanged:
    hosts, state = content.set("host_ids"), str(content.get(member, int, 0))
    return m.ResourceStateChanged(timestamp=0.0, resources=hosts, state=state, turned=turned)


def _notice(notice: str, content: _Content) -> m.Notify:
    return m.Notify(timestamp=0.0, type=notice)


_READERS: dict[str, Callable[[_Content], m.Event]] = {
    "SimulationBeginsEvent": _begins,
    "SimulationEndsEvent": lambda content: m.SimulationEnds(timestamp=0.0),
    "JobSubmittedEvent": _submitted,
    "JobCompletedEvent": _completed,
    "JobsKilledEvent": _killed,
    "RequestedCallEvent": lambda content: m.RequestedCall(
        timestamp=0.0,
        call_id=content.get("call_me_later_id", str),
        last=content.get("last_periodic_call", bool, False),
    ),
    "ExternalEventOccurredEvent": _external,
    "HostsPStateChangedEvent": partial(_switched, "pstate", turned=False),
    "HostsTurnedOnOffEvent": partial(_switched, "state", turned=True),
    "ProbeDataEmittedEvent": _probed,
    **{name: partial(_notice, notice) for name, notice in _NOTICES.items()},
}


# Writing -------------------------------------------------------------------------------------

_Written = tuple[str, _Table]


def write_event(event: m.Event) -> _Written:
    """Return the name and the content of an event in the JSON of Batsim 5.

    Raises :class:`ProtocolError` for an event that only Batsim 4.2 has.
    """
    if isinstance(event, m.UnknownEvent):
        return event.type, event.data
    write = _WRITERS.get(type(event))
    if write is None:
        raise ProtocolError(f"{event.tag} is not an event of Batsim 5")
    return write(event)


def _write_begins(event: m.SimulationBegins) -> _Written:
    content = {
        **(event.further or {}),
        "host_number": event.nb_resources,
        "computation_host_number": event.nb_compute_resources,
        "computation_hosts": [_write_host(host) for host in event.compute_resources],
        "storage_host_number": event.nb_storage_resources,
        "storage_hosts": [_write_host(host) for host in event.storage_resources],
        "workloads": [
            {"name": name, "filename": filename} for name, filename in event.workloads.items()
        ],
        "profiles": [
            to_event(profile, name, workload)
            for workload, profiles in event.profiles.items()
            for name, profile in sorted(profiles.items())
        ],
    }
    return "SimulationBeginsEvent", content


def _write_host(host: _Table) -> _Table:
    pairs = {
        name: [{"key": key, "value": value} for key, value in host.get(name, {}).items()]
        for name in ("properties", "zone_properties")
    }
    return {**host, **pairs, "state": str(host.get("state", "idle")).upper()}


def _write_submitted(event: m.JobSubmitted) -> _Written:
    job = {"walltime": None, **write_job(event.job_id, event.job), "rigid": True}
    content = {"job_id": event.job_id, "job": job, "submission_time": float(event.job.submit_time)}
    if event.profile is not None:
        workload = event.job_id.partition("!")[0]
        name = make_full_id(event.job.profile, workload)
        content["profile"] = to_event(event.profile, name, workload)
    return "JobSubmittedEvent", content


def _write_completed(event: m.JobCompleted) -> _Written:
    code = event.return_code
    return "JobCompletedEvent", {
        "job_id": event.job_id,
        "state": event.job_state,
        "return_code": code + _RANGE if code < 0 else code,
    }


def _write_killed(event: m.JobKilled) -> _Written:
    progresses = [
        {"job_id": job_id, "wrapper": _write_progress(progress, job_id.partition("!")[0])}
        for job_id, progress in sorted(event.job_progress.items())
    ]
    content = {"job_ids": event.job_ids, "progresses": progresses}
    return "JobsKilledEvent", content | (event.further or {})


def _write_progress(progress: _Table, workload: str) -> _Table:
    profile = make_full_id(progress["profile_name"], workload)
    if "current_task" not in progress:
        content = {"profile_id": profile, "progress": float(progress["progress"])}
        return {"kill_progress_type": _ATOMIC, "kill_progress": content}
    content = {
        "profile_id": profile,
        "current_repetition": progress.get("current_repetition", 0),
        "current_task_index": progress.get("current_task_index", 0),
        "current_task_progress": _write_progress(progress["current_task"], workload),
    }
    return {"kill_progress_type": _SEQUENTIAL, "kill_progress": content}


def _write_notice(event: m.Notify) -> _Written:
    for name, notice in _NOTICES.items():
        if event.type == notice:
            return name, {}
    if "data" not in event.details:
        raise ProtocolError(f"NOTIFY {event.type} is not an event of Batsim 5")
    return "ExternalEventOccurredEvent", {
        "id": event.details.get("id", ""),
        "external_event_type": "GenericExternalEvent",
        "external_event": {"data": event.details["data"]},
    }


def _write_called(event: m.RequestedCall) -> _Written:
    content = {"call_me_later_id": event.call_id or "", "last_periodic_call": bool(event.last)}
    return "RequestedCallEvent", content


def _write_switched(event: m.ResourceStateChanged) -> _Written:
    hosts, state = to_text(event.resources), int(event.state)
    if event.turned:
        return "HostsTurnedOnOffEvent", {"host_ids": hosts, "state": state}
    return "HostsPStateChangedEvent", {"host_ids": hosts, "pstate": state}


def _write_probed(event: m.ProbeData) -> _Written:
    of_all = is_number(event.data)
    return "ProbeDataEmittedEvent", {
        "probe_id": event.probe_id,
        "resources_type": "HostResources",
        "resources": {"host_ids": to_text(event.resources)},
        "metrics": "Power",
        "data_type": "AggregatedProbeData" if of_all else "VectorialProbeData",
        "data": {"data": event.data},
        "manually_triggered": False,
        "nb_emitted": 0,
        "nb_triggered": 0,
    }


_WRITERS: dict[type, Callable[[Any], _Written]] = {
    m.SimulationBegins: _write_begins,
    m.SimulationEnds: lambda event: ("SimulationEndsEvent", {}),
    m.JobSubmitted: _write_submitted,
    m.JobCompleted: _write_completed,
    m.JobKilled: _write_killed,
    m.RequestedCall: _write_called,
    m.Notify: _write_notice,
    m.ResourceStateChanged: _write_switched,
    m.ProbeData: _write_probed,
}
