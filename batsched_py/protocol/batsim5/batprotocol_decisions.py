"""Decisions that a scheduler sends to Batsim 5, in the JSON of its protocol, batprotocol.

They are read as strictly as Batsim 5 reads them: it stops at a member that it does not know, and at
a number with a decimal point where it wants an integer.

Source: the protocol as observed from Batsim 5.0.0-rc2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from batsched_py.errors import ProtocolError, WorkloadError, located
from batsched_py.options.checked_values import find_fault
from batsched_py.processors.sets import to_text
from batsched_py.protocol import messages as m
from batsched_py.protocol.batsim5 import batprotocol_forms as f
from batsched_py.protocol.batsim5.exact_calls import make_exact_id, round_down_to_milliseconds
from batsched_py.protocol.message_json import job_to_json, read_processors
from batsched_py.support.json_values import did_you_mean, quote
from batsched_py.units import LATEST_TIME, UP_TO_LATEST_TIME
from batsched_py.workload.batsim.batsim5_profiles import (
    format_extra_data,
    from_message,
    make_full_id,
    parse_free_fields,
    to_message,
)

_UNITS = {"Second": 1, "Millisecond": 1000}
"""Units of the times of calls, and how many there are in a second."""
_STRATEGIES = ("SpreadOverHostsFirst", "FillOneHostCoresFirst")
_AGGREGATIONS = {"NoResourcesAggregation": "", "Sum": "Sum", "ArithmeticMean": "ArithmeticMean"}


# Reading -------------------------------------------------------------------------------------


def read_decision(name: str, content: Any, timestamp: float, nb_resources: int) -> m.Event:
    """Return the decision in the event ``name`` of a scheduler; raises :class:`ProtocolError`."""
    reader = _READERS.get(name)
    if reader is None:
        raise ProtocolError(
            f"{name}{did_you_mean(name, _READERS)}: there is no such decision; expected one of "
            f"{', '.join(_READERS)}"
        )
    form, read = reader
    try:
        if content is None and form is f.Nothing:
            content = {}
        read_decision = read(_converted(content, form), nb_resources)
    except (ProtocolError, WorkloadError) as error:
        raise ProtocolError(f"{name}: {error}") from None
    read_decision.timestamp = timestamp
    if isinstance(read_decision, m.RegisterJob):
        read_decision.job.submit_time = timestamp
    return read_decision


def _converted(content: Any, form: Any) -> Any:
    try:
        return msgspec.convert(content, form)
    except msgspec.ValidationError as error:
        raise ProtocolError(find_fault(content, form, "event") or str(error)) from None


def _hello(form: f.Hello, nb_resources: int) -> m.Hello:
    return m.Hello(
        timestamp=0.0,
        name=form.decision_component_name,
        version=form.decision_component_version,
        commit=form.decision_component_commit,
        protocol_version=form.batprotocol_version,
        features=msgspec.structs.asdict(form.requested_simulation_features),
    )


def _execute(form: f.Execute, nb_resources: int) -> m.ExecuteJob:
    allocation = form.allocation
    alloc = read_processors(allocation.host_allocation, "host_allocation", nb_resources)
    kind = _table_name(allocation.executor_placement_type, _PLACEMENTS)
    placement = allocation.executor_placement
    further: dict[str, Any] = {}
    mapping = None
    if kind == "CustomExecutorToHostMapping":
        places = _converted(placement, f.Custom).mapping
        mapping = {str(executor): place for executor, place in enumerate(places)}
    else:
        strategy = _named(_converted(placement, f.Predefined).strategy, _STRATEGIES)
        if strategy != _STRATEGIES[0]:
            further["strategy"] = strategy
    if form.profile_allocation_override:
        further["profile_allocation_override"] = form.profile_allocation_override
    storages = {
        str(storage.get("storage_name")): storage.get("host_id", 0)
        for storage in form.storage_placement or ()
    }
    return m.ExecuteJob(
        timestamp=0.0,
        job_id=form.job_id,
        alloc=alloc,
        mapping=mapping,
        storage_mapping=storages or None,
        further=further or None,
    )


def _register_profile(form: f.RegisterProfile, nb_resources: int) -> m.RegisterProfile:
    for part in _converted(form.profile.profile.get("profile_ids", []), list[str]):
        if "!" not in part:
            raise ProtocolError(f"profile_ids has {part!r}, expected WORKLOAD!NAME")
    workload, name, content = from_message(msgspec.to_builtins(form.profile))
    return m.RegisterProfile(
        timestamp=0.0, workload_name=workload, profile_name=name, profile=content
    )


def _register_job(form: f.RegisterJob, nb_resources: int) -> m.RegisterJob:
    job = read_job(form.job_id, msgspec.structs.asdict(form.job), 0.0)
    return m.RegisterJob(timestamp=0.0, job_id=form.job_id, job=job)


def read_job(job_id: str, table: dict[str, Any], submit_time: float) -> m.JobDescription:
    """Return the job that a table ``Job`` describes; raises :class:`ProtocolError`."""
    workload, _, _ = job_id.partition("!")
    profile = table.get("profile_id")
    fields = {
        "id": job_id,
        "subtime": submit_time,
        "res": table.get("resource_request", 0),
        "profile": profile.removeprefix(f"{workload}!") if isinstance(profile, str) else profile,
    }
    walltime = table.get("walltime")
    if walltime is not None and not walltime < 0:  # Batsim's value for none
        fields["walltime"] = walltime
    fields["extra"] = parse_free_fields(table.get("extra_data"), taken=_JOB_NAMES)
    job: m.JobDescription = _converted(fields, m.JobDescription)
    return job


_JOB_NAMES = dict.fromkeys(("id", "subtime", "res", "profile", "walltime"))


def _call(form: f.CallMeLater, nb_resources: int) -> m.CallMeLater | m.CallPeriodically:
    kind = _table_name(form.when_type, _WHENS)
    if kind == "OneShot":
        when: f.OneShot = _converted(form.when, f.OneShot)
        time = when.time / _unit(when.time_unit)
        if time > LATEST_TIME:
            raise ProtocolError(f"time is {time:g} s: expected {UP_TO_LATEST_TIME}")
        return m.CallMeLater(timestamp=0.0, time=time, call_id=form.call_me_later_id)
    period, nb_periods = _periods(_converted(form.when, f.Periodic))
    return m.CallPeriodically(
        timestamp=0.0, call_id=form.call_me_later_id, period=period, nb_periods=nb_periods
    )


def _periods(when: f.Periodic) -> tuple[float, int | None]:
    """Return the seconds of a period, and how many there are, None: any number."""
    if when.offset:
        raise ProtocolError(f"offset is {when.offset}: Batsim 5 takes 0 only")
    if not when.period:
        raise ProtocolError("period is 0: expected at least 1")
    period = when.period / _unit(when.time_unit)
    if _table_name(when.mode_type, _MODES) == "Infinite":
        _converted(when.mode, f.Nothing)
        return period, None
    nb_periods: int = _converted(when.mode, f.Number).nb_periods
    if not nb_periods:
        raise ProtocolError("nb_periods is 0: expected at least 1")
    return period, nb_periods


def _switch(form: f.Hosts | f.Turned, nb_resources: int) -> m.SetResourceState:
    turned = isinstance(form, f.Turned)
    state = form.state if isinstance(form, f.Turned) else form.pstate
    hosts = read_processors(form.host_ids, "host_ids", nb_resources)
    return m.SetResourceState(timestamp=0.0, resources=hosts, state=str(state), turned=turned)


def _probe(form: f.CreateProbe, nb_resources: int) -> m.CreateProbe:
    if form.data_accumulation_strategy.temporal_normalization:
        raise ProtocolError("temporal_normalization is true: expected false")
    period, nb_periods = _periods(form.measurement_triggering_policy.temporal_trigger)
    return m.CreateProbe(
        timestamp=0.0,
        probe_id=form.probe_id,
        resources=read_processors(form.resources.host_ids, "host_ids", nb_resources),
        period=period,
        nb_periods=nb_periods,
        aggregation=_AGGREGATIONS[form.resources_aggregation_function_type],
    )


_PLACEMENTS = ("PredefinedExecutorPlacementStrategyWrapper", "CustomExecutorToHostMapping")
_WHENS = ("OneShot", "Periodic")
_MODES = ("Infinite", "FinitePeriodNumber")


def _table_name(value: f.Enum, names: tuple[str, ...]) -> str:
    """Return the name of the table in a union, which may be given by its number, too."""
    return _named(value - 1 if isinstance(value, int) else value, names)  # 0 is for none


def _named(value: f.Enum, names: tuple[str, ...]) -> str:
    """Return the name of a value of an enumeration."""
    if isinstance(value, str) and value.isdecimal():
        value = int(value)
    if isinstance(value, int) and 0 <= value < len(names):
        return names[value]
    if value not in names:
        raise ProtocolError(f"{quote(value)}: expected one of {', '.join(names)}")
    return str(value)


def _unit(value: f.Enum) -> int:
    return _UNITS[_named(value, tuple(_UNITS))]


_READERS: dict[str, tuple[type[f.Form], Callable[[Any, int], m.Event]]] = {
    "EDCHelloEvent": (f.Hello, _hello),
    "ExecuteJobEvent": (f.Execute, _execute),
    "RejectJobEvent": (f.OfJob, lambda form, _: m.RejectJob(timestamp=0.0, job_id=form.job_id)),
    "KillJobsEvent": (f.OfJobs, lambda form, _: m.KillJob(timestamp=0.0, job_ids=form.job_ids)),
    "RegisterProfileEvent": (f.RegisterProfile, _register_profile),
    "RegisterJobEvent": (f.RegisterJob, _register_job),
    "FinishRegistrationEvent": (
        f.Nothing,
        lambda form, _: m.Notify(timestamp=0.0, type="registration_finished"),
    ),
    "CallMeLaterEvent": (f.CallMeLater, _call),
    "StopCallMeLaterEvent": (
        f.OfCall,
        lambda form, _: m.StopCall(timestamp=0.0, call_id=form.call_me_later_id),
    ),
    "ForceSimulationStopEvent": (f.Nothing, lambda form, _: m.ForceSimulationStop(timestamp=0.0)),
    "ChangeHostsPStateEvent": (f.Hosts, _switch),
    "TurnOnOffHostsEvent": (f.Turned, _switch),
    "CreateProbeEvent": (f.CreateProbe, _probe),
    "StopProbeEvent": (
        f.OfProbe,
        lambda form, _: m.StopProbe(timestamp=0.0, probe_id=form.probe_id),
    ),
}


# Writing -------------------------------------------------------------------------------------


def write_decision(event: m.Event) -> tuple[str, dict[str, Any]]:
    """Return the event name and the content of a decision in the JSON of Batsim 5.

    Raises :class:`ProtocolError` for a decision that only Batsim 4.2 has.
    """
    write = _WRITERS.get(type(event))
    if write is None:
        raise ProtocolError(f"{event.tag} cannot be sent to Batsim 5, which has no such decision")
    return write(event)


_Written = tuple[str, dict[str, Any]]


def _write_hello(event: m.Hello) -> _Written:
    return "EDCHelloEvent", {
        "batprotocol_version": event.protocol_version,
        "decision_component_name": event.name,
        "decision_component_version": event.version,
        "decision_component_commit": event.commit,
        "requested_simulation_features": dict.fromkeys(f.FEATURES, False) | event.features,
    }


def _write_execute(event: m.ExecuteJob) -> _Written:
    further = dict(event.further or {})
    allocation: dict[str, Any] = {"host_allocation": to_text(event.alloc)}
    if event.mapping is None:
        allocation["executor_placement_type"] = "PredefinedExecutorPlacementStrategyWrapper"
        strategy = further.pop("strategy", _STRATEGIES[0])
        allocation["executor_placement"] = {"strategy": strategy}
    else:
        allocation["executor_placement_type"] = "CustomExecutorToHostMapping"
        places = sorted((int(executor), int(place)) for executor, place in event.mapping.items())
        allocation["executor_placement"] = {"mapping": [place for _, place in places]}
    content = {"job_id": event.job_id, "allocation": allocation, **further}
    if event.storage_mapping is not None:
        content["storage_placement"] = [
            {"storage_name": name, "host_id": host} for name, host in event.storage_mapping.items()
        ]
    if event.additional_io_job is not None:
        raise ProtocolError("EXECUTE_JOB with an additional_io_job cannot be sent to Batsim 5")
    return "ExecuteJobEvent", content


def _write_register_profile(event: m.RegisterProfile) -> _Written:
    with located("REGISTER_PROFILE", WorkloadError, ProtocolError):
        profile = to_message(event.profile, event.profile_name, event.workload_name)
    return "RegisterProfileEvent", {"profile": profile}


def _write_register_job(event: m.RegisterJob) -> _Written:
    return "RegisterJobEvent", {"job_id": event.job_id, "job": write_job(event.job_id, event.job)}


def write_job(job_id: str, job: m.JobDescription) -> dict[str, Any]:
    """Return the table ``Job`` that describes a job."""
    free = {name: of for name, of in job_to_json(job).items() if name not in _JOB_NAMES}
    table: dict[str, Any] = {"resource_request": job.size}
    if job.walltime is not None:
        table["walltime"] = float(job.walltime)
    if (text := format_extra_data(free)) is not None:
        table["extra_data"] = text
    return {**table, "profile_id": make_full_id(job.profile, job_id.partition("!")[0])}


def _write_call(event: m.CallMeLater) -> _Written:
    count = round_down_to_milliseconds(event.time)
    call_id = make_exact_id(event.time) if event.call_id is None else event.call_id
    when = {"time": max(count, 0), "time_unit": "Millisecond"}
    return "CallMeLaterEvent", {"call_me_later_id": call_id, "when_type": "OneShot", "when": when}


def _write_periodic_call(event: m.CallPeriodically) -> _Written:
    return "CallMeLaterEvent", {
        "call_me_later_id": event.call_id,
        "when_type": "Periodic",
        "when": _periodic(event.period, event.nb_periods),
    }


def _periodic(period: float, nb_periods: int | None) -> dict[str, Any]:
    return {
        "period": round(period * 1000),
        "time_unit": "Millisecond",
        "offset": 0,
        "mode_type": "Infinite" if nb_periods is None else "FinitePeriodNumber",
        "mode": {} if nb_periods is None else {"nb_periods": nb_periods},
    }


def _write_switch(event: m.SetResourceState) -> _Written:
    hosts, state = to_text(event.resources), int(event.state)
    if event.turned:
        return "TurnOnOffHostsEvent", {"host_ids": hosts, "state": state}
    return "ChangeHostsPStateEvent", {"host_ids": hosts, "pstate": state}


def _write_probe(event: m.CreateProbe) -> _Written:
    aggregation = event.aggregation or "NoResourcesAggregation"
    trigger = _periodic(event.period, event.nb_periods)
    policy = {"temporal_trigger_type": "Periodic", "temporal_trigger": trigger}
    return "CreateProbeEvent", {
        "probe_id": event.probe_id,
        "metrics": "Power",
        "resources_type": "HostResources",
        "resources": {"host_ids": to_text(event.resources)},
        "measurement_triggering_policy_type": "TemporalTriggerWrapper",
        "measurement_triggering_policy": policy,
        "resources_aggregation_function_type": aggregation,
        "resources_aggregation_function": {},
        "temporal_aggregation_function_type": "NoTemporalAggregation",
        "temporal_aggregation_function": {},
        "emission_filtering_policy_type": "NoFiltering",
        "emission_filtering_policy": {},
        "data_accumulation_strategy_type": "ProbeDataAccumulation",
        "data_accumulation_strategy": {
            "reset_mode_type": "NoReset",
            "reset_mode": {},
            "cumulative_function": "Sum",
            "temporal_normalization": False,
        },
    }


def _write_notice(event: m.Notify) -> _Written:
    if event.type != "registration_finished":
        raise ProtocolError(f"NOTIFY {event.type} cannot be sent to Batsim 5")
    return "FinishRegistrationEvent", {}


_WRITERS: dict[type, Callable[[Any], _Written]] = {
    m.Hello: _write_hello,
    m.ExecuteJob: _write_execute,
    m.RejectJob: lambda event: ("RejectJobEvent", {"job_id": event.job_id}),
    m.KillJob: lambda event: ("KillJobsEvent", {"job_ids": event.job_ids}),
    m.RegisterProfile: _write_register_profile,
    m.RegisterJob: _write_register_job,
    m.Notify: _write_notice,
    m.CallMeLater: _write_call,
    m.CallPeriodically: _write_periodic_call,
    m.StopCall: lambda event: ("StopCallMeLaterEvent", {"call_me_later_id": event.call_id}),
    m.ForceSimulationStop: lambda event: ("ForceSimulationStopEvent", {}),
    m.SetResourceState: _write_switch,
    m.CreateProbe: _write_probe,
    m.StopProbe: lambda event: ("StopProbeEvent", {"probe_id": event.probe_id}),
}
