"""Events in the JSON of Batsim 5's protocol, batprotocol: what Batsim says.

Read tolerantly: members that are not known here are passed over, since a later Batsim may have
more. Written as Batsim 5.0.0-rc2 does.

Source: the protocol as observed from Batsim 5.0.0-rc2.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import msgspec

from batsched_py.errors import InputError, ProtocolError, WorkloadError
from batsched_py.files.readers import parse_json
from batsched_py.processors.sets import NO_PROCESSORS, ProcessorSet, from_text, to_text
from batsched_py.protocol import messages as m
from batsched_py.protocol.batsim5.batprotocol_decisions import job_of, job_table
from batsched_py.support.json_values import is_number, shown
from batsched_py.workload.batsim.batsim5_profiles import from_message, full_id, to_event

_MACHINES = {
    "machine_available": "event_machine_available",
    "machine_unavailable": "event_machine_unavailable",
}
"""Types that the text of an external event may say, and the NOTIFY that it then is."""
_NOTICES = {
    "AllStaticJobsHaveBeenSubmittedEvent": "no_more_static_job_to_submit",
    "AllStaticExternalEventsHaveBeenInjectedEvent": "no_more_external_event_to_occur",
}
_SIGN, _RANGE = 2**31, 2**32
"""Return codes below 0 are written as numbers from 2**31 on."""
_ReturnCode = Annotated[int, msgspec.Meta(ge=-_SIGN, lt=_RANGE)]
_ATOMIC, _SEQUENTIAL = "KillProgressAtomicProfile", "KillProgressSequentialProfile"
_FURTHER = (
    *("batprotocol_version", "batsim_version", "batsim_commit"),
    *("batsim_arguments", "batsim_execution_context_json"),
)
"""What SimulationBeginsEvent says besides, and this program does not use."""
_Table = dict[str, Any]


class _Content:
    """The members of an event, each asked for with its type."""

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
            raise ProtocolError(f"{name} is {shown(value)}: {error}") from None

    def set(self, name: str) -> ProcessorSet:
        """Return a set of hosts."""
        try:
            return from_text(self.members.get(name, ""), self.nb_resources)
        except ProtocolError as error:
            raise ProtocolError(f"{name}: {error}") from None


# Reading -------------------------------------------------------------------------------------


def event(name: str, content: Any, timestamp: float, nb_resources: int) -> m.Event:
    """Read the event ``name`` of Batsim; raises :class:`ProtocolError`.

    The processors of a job that ended are not said, and the configuration neither.
    """
    read = _READERS.get(name)
    if read is None:
        return m.UnknownEvent(timestamp=timestamp, type=name, data=content)
    if not isinstance(content, dict):
        raise ProtocolError(f"{name}: event is {shown(content)}, expected an object")
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
    for said_profile in content.get("profiles", list[_Table], []):
        workload, name, profile = from_message(said_profile)
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
        raise ProtocolError(f"{shown(pairs)}: expected a list of key and value") from None


def _submitted(content: _Content) -> m.JobSubmitted:
    job_id: str = content.get("job_id", str)
    time = content.get("submission_time", m.Seconds, 0.0)
    profile = content.get("profile", _Table, None)
    return m.JobSubmitted(
        timestamp=0.0,
        job_id=job_id,
        job=job_of(job_id, content.get("job", _Table), time),
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
    for said_progress in content.get("progresses", list[_Table], []):
        job_id = str(said_progress.get("job_id"))
        workload = job_id.partition("!")[0]
        progress[job_id] = _progress(said_progress.get("wrapper"), workload)
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
    said_progress = wrapper.get("kill_progress") if isinstance(wrapper, dict) else None
    if not isinstance(said_progress, dict):
        raise ProtocolError(f"the wrapper of a progress is {shown(wrapper)}, expected an object")
    content = _Content(said_progress, 0)
    name = str(said_progress.get("profile_id")).removeprefix(f"{workload}!")
    if wrapper.get("kill_progress_type") != _SEQUENTIAL:
        return {"profile_name": name, "progress": content.get("progress", int | float, 0.0)}
    return {
        "profile_name": name,
        "current_repetition": content.get("current_repetition", int, 0),
        "current_task_index": content.get("current_task_index", int, 0),
        "current_task": _progress(said_progress.get("current_task_progress"), workload),
    }


def _external(content: _Content) -> m.Notify:
    """Read an external event; the machines that its text may name come or go."""
    kind, data = content.members.get("external_event_type"), content.members.get("external_event")
    text = data.get("data", "") if isinstance(data, dict) else None
    if kind != "GenericExternalEvent" or not isinstance(text, str):
        raise ProtocolError(f"external_event is {shown(data)} ({shown(kind)}), expected a text")
    details: _Table = {"id": content.get("id", str, ""), "data": text}
    try:
        said_in_it = parse_json(text, _Table, "data") if text.startswith("{") else {}
    except InputError:
        said_in_it = {}
    named = said_in_it.get("type")
    notice = _MACHINES.get(named) if isinstance(named, str) else None
    if notice is not None and isinstance(resources := said_in_it.get("resources"), str):
        return m.Notify(timestamp=0.0, type=notice, details={"resources": resources, **details})
    return m.Notify(timestamp=0.0, type=m.GENERIC, details=details)


def _probed(content: _Content) -> m.ProbeData:
    hosts = content.members.get("resources")
    data = content.members.get("data")
    if not isinstance(hosts, dict) or not isinstance(data, dict) or "host_ids" not in hosts:
        raise ProtocolError(f"resources is {shown(hosts)}, data {shown(data)}: expected hosts")
    return m.ProbeData(
        timestamp=0.0,
        probe_id=content.get("probe_id", str),
        resources=_Content(hosts, content.nb_resources).set("host_ids"),
        data=_Content(data, 0).get("data", float | list[float]),
    )


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
    "HostsPStateChangedEvent": lambda content: m.ResourceStateChanged(
        timestamp=0.0,
        resources=content.set("host_ids"),
        state=str(content.get("pstate", int, 0)),
        turned=False,
    ),
    "HostsTurnedOnOffEvent": lambda content: m.ResourceStateChanged(
        timestamp=0.0,
        resources=content.set("host_ids"),
        state=str(content.get("state", int, 0)),
        turned=True,
    ),
    "ProbeDataEmittedEvent": _probed,
    **{name: partial(_notice, notice) for name, notice in _NOTICES.items()},
}


# Writing -------------------------------------------------------------------------------------

_Said = tuple[str, _Table]


def said(event: m.Event) -> _Said:
    """Return name and content of an event as Batsim 5 says it.

    Raises :class:`ProtocolError` for what there is in Batsim 4.2 only.
    """
    if isinstance(event, m.UnknownEvent):
        return event.type, event.data
    write = _WRITERS.get(type(event))
    if write is None:
        raise ProtocolError(f"{event.tag} is no event of Batsim 5")
    return write(event)


def _say_begins(event: m.SimulationBegins) -> _Said:
    content = {
        **(event.further or {}),
        "host_number": event.nb_resources,
        "computation_host_number": event.nb_compute_resources,
        "computation_hosts": [_say_host(host) for host in event.compute_resources],
        "storage_host_number": event.nb_storage_resources,
        "storage_hosts": [_say_host(host) for host in event.storage_resources],
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


def _say_host(host: _Table) -> _Table:
    pairs = {
        name: [{"key": key, "value": value} for key, value in host.get(name, {}).items()]
        for name in ("properties", "zone_properties")
    }
    return {**host, **pairs, "state": str(host.get("state", "idle")).upper()}


def _say_submitted(event: m.JobSubmitted) -> _Said:
    job = {"walltime": None, **job_table(event.job_id, event.job), "rigid": True}
    content = {"job_id": event.job_id, "job": job, "submission_time": float(event.job.submit_time)}
    if event.profile is not None:
        workload = event.job_id.partition("!")[0]
        name = full_id(event.job.profile, workload)
        content["profile"] = to_event(event.profile, name, workload)
    return "JobSubmittedEvent", content


def _say_completed(event: m.JobCompleted) -> _Said:
    code = event.return_code
    return "JobCompletedEvent", {
        "job_id": event.job_id,
        "state": event.job_state,
        "return_code": code + _RANGE if code < 0 else code,
    }


def _say_killed(event: m.JobKilled) -> _Said:
    progresses = [
        {"job_id": job_id, "wrapper": _say_progress(progress, job_id.partition("!")[0])}
        for job_id, progress in sorted(event.job_progress.items())
    ]
    content = {"job_ids": event.job_ids, "progresses": progresses}
    return "JobsKilledEvent", content | (event.further or {})


def _say_progress(progress: _Table, workload: str) -> _Table:
    profile = full_id(progress["profile_name"], workload)
    if "current_task" not in progress:
        content = {"profile_id": profile, "progress": float(progress["progress"])}
        return {"kill_progress_type": _ATOMIC, "kill_progress": content}
    content = {
        "profile_id": profile,
        "current_repetition": progress.get("current_repetition", 0),
        "current_task_index": progress.get("current_task_index", 0),
        "current_task_progress": _say_progress(progress["current_task"], workload),
    }
    return {"kill_progress_type": _SEQUENTIAL, "kill_progress": content}


def _say_notice(event: m.Notify) -> _Said:
    for name, notice in _NOTICES.items():
        if event.type == notice:
            return name, {}
    if "data" not in event.details:
        raise ProtocolError(f"NOTIFY {event.type} is no event of Batsim 5")
    return "ExternalEventOccurredEvent", {
        "id": event.details.get("id", ""),
        "external_event_type": "GenericExternalEvent",
        "external_event": {"data": event.details["data"]},
    }


def _say_called(event: m.RequestedCall) -> _Said:
    content = {"call_me_later_id": event.call_id or "", "last_periodic_call": bool(event.last)}
    return "RequestedCallEvent", content


def _say_switched(event: m.ResourceStateChanged) -> _Said:
    hosts, state = to_text(event.resources), int(event.state)
    if event.turned:
        return "HostsTurnedOnOffEvent", {"host_ids": hosts, "state": state}
    return "HostsPStateChangedEvent", {"host_ids": hosts, "pstate": state}


def _say_probed(event: m.ProbeData) -> _Said:
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


_WRITERS: dict[type, Callable[[Any], _Said]] = {
    m.SimulationBegins: _say_begins,
    m.SimulationEnds: lambda event: ("SimulationEndsEvent", {}),
    m.JobSubmitted: _say_submitted,
    m.JobCompleted: _say_completed,
    m.JobKilled: _say_killed,
    m.RequestedCall: _say_called,
    m.Notify: _say_notice,
    m.ResourceStateChanged: _say_switched,
    m.ProbeData: _say_probed,
}
