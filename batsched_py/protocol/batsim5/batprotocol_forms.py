"""The tables of a scheduler's messages to Batsim 5, as strict structs.

Members have the names of the protocol, batprotocol. A member without a default is required. A union
is two members: ``X_type`` names the table that ``X`` is.

Source: the protocol as observed from Batsim 5.0.0-rc2.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

U32 = Annotated[int, msgspec.Meta(ge=0, lt=2**32)]
U64 = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Enum = str | int
"""A value of an enumeration, by name or by number."""
Id = Annotated[str, msgspec.Meta(min_length=1)]
Table = dict[str, Any]


class Form(msgspec.Struct, forbid_unknown_fields=True):
    """A table of the protocol; members without default are required."""


class Features(Form):
    """The optional features of a simulation that a scheduler asks for."""

    dynamic_registration: bool = False
    profile_reuse: bool = False
    acknowledge_dynamic_jobs: bool = False
    forward_profiles_on_job_submission: bool = False
    forward_profiles_on_jobs_killed: bool = False
    forward_profiles_on_simulation_begins: bool = False


FEATURES = Features.__struct_fields__
"""Names of the optional features that a scheduler may request."""


class Hello(Form):
    """``EDCHelloEvent``: a scheduler introduces itself, and requests features of the simulation."""

    batprotocol_version: str
    decision_component_name: str
    decision_component_version: str
    decision_component_commit: str
    requested_simulation_features: Features


class Allocation(Form):
    """``Allocation``: the hosts on which a job runs, and the hosts of its executors."""

    host_allocation: str
    executor_placement: Table
    executor_placement_type: Enum


class Execute(Form):
    """``ExecuteJobEvent``: start a submitted job."""

    job_id: str
    allocation: Allocation
    profile_allocation_override: list[Table] | None = None
    storage_placement: list[Table] | None = None


class Predefined(Form):
    """``PredefinedExecutorPlacementStrategyWrapper``: place executors by a strategy of Batsim."""

    strategy: Enum = 0


class Custom(Form):
    """``CustomExecutorToHostMapping``: the place in the allocation of each executor."""

    mapping: list[U32]


class OfJob(Form):
    """``RejectJobEvent``: reject a submitted job."""

    job_id: str


class OfJobs(Form):
    """``KillJobsEvent``: kill running jobs."""

    job_ids: list[str]


class Profile(Form):
    """``ProfileAndId``: a profile with its id."""

    id: str
    profile_type: str
    profile: Table
    extra_data: str | None = None


class RegisterProfile(Form):
    """``RegisterProfileEvent``: add a profile to the simulation."""

    profile: Profile


class Job(Form):
    """``Job``: the description of a job to register; its walltime is in seconds."""

    profile_id: str
    resource_request: U32 = 0
    walltime: float | None = None
    extra_data: str | None = None
    rigid: bool = True


class RegisterJob(Form):
    """``RegisterJobEvent``: submit a job of the scheduler's own."""

    job_id: str
    job: Job


class Nothing(Form):
    """A table without members."""


class CallMeLater(Form):
    """``CallMeLaterEvent``: ask Batsim for a call, once or periodically."""

    call_me_later_id: Id
    when: Table
    when_type: Enum


class OneShot(Form):
    """``OneShot``: the time of a single call, in whole units."""

    time: U64 = 0
    time_unit: Enum = 0


class Periodic(Form):
    """``Periodic``: the times of periodic calls or probes, in whole units."""

    mode_type: Enum
    mode: Table
    period: U64 = 0
    offset: U64 = 0
    time_unit: Enum = 0


class Number(Form):
    """``FinitePeriodNumber``: the number of periods after which a periodic action ends."""

    nb_periods: U32 = 0


class OfCall(Form):
    """``StopCallMeLaterEvent``: stop a periodic call."""

    call_me_later_id: str


class Hosts(Form):
    """``ChangeHostsPStateEvent``: switch hosts to another pstate."""

    host_ids: str
    pstate: U32 = 0


class Turned(Form):
    """``TurnOnOffHostsEvent``: turn hosts on or off."""

    host_ids: str
    state: U32 = 0


class HostResources(Form):
    """``HostResources``: the hosts that a probe measures."""

    host_ids: str


class Accumulation(Form):
    """``ProbeDataAccumulation``: how a probe adds up its measurements over time."""

    reset_mode_type: Literal["NoReset"]
    reset_mode: Table
    cumulative_function: Literal["Sum", 0, "0"] = 0
    temporal_normalization: bool = False


class Trigger(Form):
    """``TemporalTriggerWrapper``: the times at which a probe measures."""

    temporal_trigger_type: Literal["Periodic", 2]
    temporal_trigger: Periodic


class CreateProbe(Form):
    """``CreateProbeEvent``: start a probe of the one kind that Batsim 5.0.0-rc2 implements."""

    probe_id: Id
    resources_type: Literal["HostResources", 1]
    resources: HostResources
    data_accumulation_strategy_type: Literal["ProbeDataAccumulation"]
    data_accumulation_strategy: Accumulation
    measurement_triggering_policy_type: Literal["TemporalTriggerWrapper"]
    measurement_triggering_policy: Trigger
    resources_aggregation_function_type: Literal["NoResourcesAggregation", "Sum", "ArithmeticMean"]
    resources_aggregation_function: Table
    temporal_aggregation_function_type: Literal["NoTemporalAggregation"]
    temporal_aggregation_function: Table
    emission_filtering_policy_type: Literal["NoFiltering"]
    emission_filtering_policy: Table
    metrics: Literal["Power", 0, "0"] = 0


class OfProbe(Form):
    """``StopProbeEvent``: stop a probe."""

    probe_id: str
