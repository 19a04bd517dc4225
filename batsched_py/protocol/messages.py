"""The messages of Batsim's protocol as typed structs, the same for Batsim 4.2 and Batsim 5.

A message carries the time and a list: events from Batsim to the scheduler, decisions back. Each
struct is flat: the members of ``data`` on the wire are fields here, next to ``timestamp``
(seconds). Sets of processors are of :mod:`batsched_py.processors.sets`; only JSON has text.
Names are those of version 4.2; what only Batsim 5 has comes last.

Source: the protocols as observed from Batsim 4.2.0 and 5.0.0-rc2.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Annotated, Any, ClassVar

import msgspec

from batsched_py.model.job import Job
from batsched_py.processors.sets import MOST_PROCESSORS, ProcessorSet
from batsched_py.protocol.own_job_fields import check_fields
from batsched_py.support.json_values import is_number
from batsched_py.units import LATEST_TIME

EXACT_TIMES = "exact-times"
"""Option in SIMULATION_BEGINS: the simulator takes times with all digits, and any id."""
PROTOCOL_VERSION = "protocol-version"
"""Option in SIMULATION_BEGINS, made by the codec: 5 for Batsim 5; not there for Batsim 4."""
GENERIC = "generic"
"""Type of a NOTIFY for an external event of Batsim 5 that only the scheduler understands."""
BATPROTOCOL = "1.0.0"
"""The version of Batsim 5's protocol, which both sides of a conversation send."""
Seconds = Annotated[float, msgspec.Meta(ge=-LATEST_TIME, le=LATEST_TIME)]
"""The codec checks this and all ranges below when it reads; structs made here are not checked."""
NbResources = Annotated[int, msgspec.Meta(ge=0, le=MOST_PROCESSORS)]


class JobDescription(
    msgspec.Struct, eq=False, gc=False, rename={"submit_time": "subtime", "size": "res"}
):
    """A job as JOB_SUBMITTED and REGISTER_JOB describe it; times in seconds."""

    id: str
    """``WORKLOAD!NAME``."""
    submit_time: Seconds
    """Batsim submits at 0 what is before that."""
    size: Annotated[int, msgspec.Meta(ge=0)]
    """Number of processors. Batsim loads jobs of none, which cannot run."""
    profile: str
    walltime: Annotated[float, msgspec.Meta(ge=0)] | None = None
    """Time limit after which the job is killed; None = no limit."""
    estimate: float | None = None
    """Run time that policies plan with; None = the walltime."""
    user: str | None = None
    """Who submitted it, None if unknown."""
    extra: dict[str, Any] = msgspec.field(default_factory=dict)
    """All further fields as they came, in their order: Batsim keeps them and hands them on.

    ``user`` and ``estimate`` among them are read where they are not given otherwise. A user is
    a text or becomes one; an estimate that is not a number means something else."""

    def __post_init__(self) -> None:
        if self.user is None:
            self.user = self.extra.get("user")
        if self.user is not None and type(self.user) is not str:
            self.user = str(self.user)
        check_fields(self.id, (self.profile, self.user), self.extra)
        if self.estimate is None and "estimate" in self.extra:
            estimate = self.extra["estimate"]
            if type(estimate) is float or is_number(estimate):
                self.estimate = estimate

    @property
    def expected_run_time(self) -> float:
        """Run time to plan with (seconds), inf if it is unknown."""
        if self.estimate is not None:
            return self.estimate
        return inf if self.walltime is None else self.walltime

    def make_job(self) -> Job:
        """Return the job as policies see it, before it has a number."""
        return Job(
            self.id,
            0,
            self.size,
            self.walltime,
            self.expected_run_time,
            self.submit_time,
            self.extra,
            self.user or "",
        )


class Message(msgspec.Struct, gc=False):
    """One message in either direction: the time ``now`` and what happened or is decided."""

    now: float
    events: list[Any]
    further: dict[str, Any] | None = None
    """Members other than ``now`` and ``events``, which mean nothing to Batsim 4.2."""


class Event(msgspec.Struct, kw_only=True):
    """Base of all events and decisions; ``tag`` is the ``type`` on the wire."""

    tag: ClassVar[str]
    timestamp: float
    further: dict[str, Any] | None = None
    """Members of ``data`` that are not known here, kept as they came."""


# Batsim to scheduler -------------------------------------------------------------------------


class SimulationBegins(Event, kw_only=True):
    """The simulation starts: the platform, the options and the static workloads."""

    tag = "SIMULATION_BEGINS"
    nb_resources: NbResources
    nb_compute_resources: NbResources
    nb_storage_resources: NbResources = 0
    allow_compute_sharing: bool = False
    allow_storage_sharing: bool = True
    config: dict[str, Any]
    compute_resources: Sequence[dict[str, Any]]
    storage_resources: list[dict[str, Any]] = []
    workloads: dict[str, str] = {}
    profiles: dict[str, dict[str, dict[str, Any]]] = {}

    @property
    def is_batsim5(self) -> bool:
        """Whether Batsim 5 sends it; else Batsim 4."""
        return bool(self.config.get(PROTOCOL_VERSION) == 5)


class SimulationEnds(Event, kw_only=True):
    """Event: the simulation has ended; the scheduler replies once more."""

    tag = "SIMULATION_ENDS"


class JobSubmitted(Event, kw_only=True, eq=False, gc=False):
    """Event: a job was submitted."""

    tag = "JOB_SUBMITTED"
    job_id: str
    job: JobDescription
    profile: dict[str, Any] | None = None


class JobCompleted(Event, kw_only=True, eq=False, gc=False):
    """A job ended: ``job_state`` is Batsim's final state, e.g. COMPLETED_SUCCESSFULLY."""

    tag = "JOB_COMPLETED"
    job_id: str
    job_state: str
    return_code: int
    alloc: ProcessorSet


class JobKilled(Event, kw_only=True):
    """Event: KILL_JOB was carried out; it follows the JOB_COMPLETED of each killed job."""

    tag = "JOB_KILLED"
    job_ids: list[str]
    job_progress: dict[str, Any]


class RequestedCall(Event, kw_only=True, gc=False):
    """Event: the time of a CALL_ME_LATER has come; Batsim 4.2 does not name the call."""

    tag = "REQUESTED_CALL"
    call_id: str | None = None
    last: bool | None = None
    """Whether it is the last of a periodic call (Batsim 5)."""


class ResourceStateChanged(Event, kw_only=True):
    """All machines of one SET_RESOURCE_STATE have reached the pstate ``state``."""

    tag = "RESOURCE_STATE_CHANGED"
    resources: ProcessorSet
    state: str
    """Number of the pstate, as text."""
    turned: bool | None = None
    """Batsim 5: whether they were turned on or off, and not from one speed to another."""


class FromJobMsg(Event, kw_only=True):
    """A running job with a ``send`` profile sends a message."""

    tag = "FROM_JOB_MSG"
    job_id: str
    msg: Any


class UnknownEvent(Event, kw_only=True):
    """An event of an unknown type, with its content unchanged."""

    tag = ""
    type: str
    data: Any


# Both directions -----------------------------------------------------------------------------


class Notify(Event, kw_only=True):
    """A notification by name, e.g. ``no_more_static_job_to_submit``, ``registration_finished``."""

    tag = "NOTIFY"
    type: str
    details: dict[str, Any] = {}
    """The further members of ``data``, e.g. ``resources`` of machines that became available."""


class Query(Event, kw_only=True):
    """A question: ``{"consumed_energy": {}}`` to Batsim, which needs ``--energy``.

    The other direction (``estimate_waiting_time``) is in the protocol, but nothing sends it.
    """

    tag = "QUERY"
    requests: dict[str, Any]


class Answer(Event, kw_only=True):
    """The answer to a QUERY by name, e.g. ``{"consumed_energy": 360.0}`` (joules)."""

    tag = "ANSWER"
    answers: dict[str, Any] = {}


# Scheduler to Batsim -------------------------------------------------------------------------


class ExecuteJob(Event, kw_only=True, eq=False, gc=False):
    """Decision: start a submitted job on the processors ``alloc``."""

    tag = "EXECUTE_JOB"
    job_id: str
    alloc: ProcessorSet
    mapping: dict[str, Any] | None = None
    storage_mapping: dict[str, int] | None = None
    additional_io_job: dict[str, Any] | None = None
    waking: float = 0.0
    """Seconds that its processors were woken for it. No message holds this, as of withdrawals."""


class RejectJob(Event, kw_only=True):
    """Decision: reject a submitted job."""

    tag = "REJECT_JOB"
    job_id: str
    withdrawn: bool = False
    """Whether its user withdrew it. No message holds this: the sender alone knows it."""


class KillJob(Event, kw_only=True):
    """Decision: kill running jobs."""

    tag = "KILL_JOB"
    job_ids: list[str]


class CallMeLater(Event, kw_only=True, gc=False):
    """Ask for a REQUESTED_CALL at ``time``, strictly later than now (wire name: timestamp)."""

    tag = "CALL_ME_LATER"
    time: Seconds
    call_id: str | None = None
    """Batsim 5 repeats it when it calls."""


class SetJobMetadata(Event, kw_only=True):
    """Set the text of the job's ``metadata`` column."""

    tag = "SET_JOB_METADATA"
    job_id: str
    metadata: str


class RegisterProfile(Event, kw_only=True, eq=False, gc=False):
    """Add a profile to a workload, which is created if need be."""

    tag = "REGISTER_PROFILE"
    workload_name: str
    profile_name: str
    profile: dict[str, Any]


class RegisterJob(Event, kw_only=True, eq=False, gc=False):
    """Decision: submit a job now."""

    tag = "REGISTER_JOB"
    job_id: str
    job: JobDescription


class SetResourceState(Event, kw_only=True):
    """Switch machines to the pstate ``state``; needs ``--energy``."""

    tag = "SET_RESOURCE_STATE"
    resources: ProcessorSet
    state: str
    """Number of the pstate, as text."""
    turned: bool | None = None
    """Batsim 5: whether they are to be turned on or off, and not from one speed to another."""


class ToJobMsg(Event, kw_only=True):
    """Send a message to a running job with a ``recv`` profile."""

    tag = "TO_JOB_MSG"
    job_id: str
    msg: str


class ChangeJobState(Event, kw_only=True):
    """Set the state of a job; Batsim 4.2.0 survives only SUBMITTED to RUNNING."""

    tag = "CHANGE_JOB_STATE"
    job_id: str
    job_state: str
    kill_reason: str | None = None


# Only in Batsim 5 ------------------------------------------------------------------------------


class Hello(Event, kw_only=True):
    """The first reply: the scheduler's name, and the features that it requests."""

    tag = "EDCHelloEvent"
    name: str
    version: str
    commit: str = ""
    protocol_version: str = ""
    features: dict[str, bool] = {}
    """Requested features by their names in the protocol; others are off."""


class CallPeriodically(Event, kw_only=True):
    """Decision: ask for a REQUESTED_CALL at each later multiple of ``period`` (seconds)."""

    tag = "CallMeLaterEvent"
    call_id: str
    period: float
    nb_periods: int | None = None
    """How many calls; None: until they are stopped."""


class StopCall(Event, kw_only=True):
    """Decision: stop periodic calls."""

    tag = "StopCallMeLaterEvent"
    call_id: str


class ForceSimulationStop(Event, kw_only=True):
    """Decision: end the simulation now, even if jobs wait or run."""

    tag = "ForceSimulationStopEvent"


class CreateProbe(Event, kw_only=True):
    """Decision: ask for the energy that machines have consumed, every ``period`` seconds."""

    tag = "CreateProbeEvent"
    probe_id: str
    resources: ProcessorSet
    period: float
    nb_periods: int | None = None
    """How many values; None: until it is stopped."""
    aggregation: str = ""
    """``Sum`` or ``ArithmeticMean`` of the machines; empty: a value for each."""


class StopProbe(Event, kw_only=True):
    """Decision: stop a probe."""

    tag = "StopProbeEvent"
    probe_id: str


class ProbeData(Event, kw_only=True):
    """The value of a probe: joules since the start."""

    tag = "ProbeDataEmittedEvent"
    probe_id: str
    resources: ProcessorSet
    data: float | list[float]
    """Of all machines, or of each."""
