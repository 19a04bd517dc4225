"""Single messages, as Batsim and schedulers send them."""

from __future__ import annotations

import sys
from functools import partial
from types import ModuleType

from batsched_py.errors import ProtocolError
from batsched_py.protocol import message_json as codec
from batsched_py.protocol import messages as m
from batsched_py.protocol.batsim5 import batprotocol_json
from fuzz.contract import Target, refusal, same
from fuzz.targets.small_inputs import exchange

WORDS = (
    *("3-0", "0-3000000000", "mapping", "additional_io_job", "dyn!1", "continue_registration"),
    *("no_more_static_job_to_submit", "event_machine_unavailable", "progress"),
    *codec.EVENTS,
    *codec.DECISIONS,
)
_RARE_EVENTS = b"""{"now":5.5,"events":[
{"timestamp":5,"type":"JOB_KILLED","data":{"job_ids":["w0!1"],
 "job_progress":{"w0!1":{"profile":"p","progress":0.5}}}},
{"timestamp":5,"type":"REQUESTED_CALL","data":{}},
{"timestamp":5,"type":"RESOURCE_STATE_CHANGED","data":{"resources":"0-1 3","state":"1"}},
{"timestamp":5.25,"type":"FROM_JOB_MSG","data":{"job_id":"w0!2","msg":[1,{"a":null}]}},
{"timestamp":5.5,"type":"NOTIFY","data":{"type":"event_machine_unavailable","resources":"2"}},
{"timestamp":5.5,"type":"QUERY","data":{"requests":{"estimate_waiting_time":{"job_id":"w0!3"}}}},
{"timestamp":5.5,"type":"ANSWER","data":{"consumed_energy":12500.5}}]}"""
_RARE_DECISIONS = b"""{"now":5.5,"events":[
{"timestamp":5,"type":"KILL_JOB","data":{"job_ids":["w0!1","w0!2"]}},
{"timestamp":5,"type":"CALL_ME_LATER","data":{"timestamp":25.25}},
{"timestamp":5,"type":"SET_JOB_METADATA","data":{"job_id":"w0!1","metadata":"{}"}},
{"timestamp":5,"type":"SET_RESOURCE_STATE","data":{"resources":"0-1 3","state":"1"}},
{"timestamp":5,"type":"TO_JOB_MSG","data":{"job_id":"w0!1","msg":"stop"}},
{"timestamp":5,"type":"CHANGE_JOB_STATE","data":{"job_id":"w0!1","job_state":"RUNNING"}},
{"timestamp":5,"type":"REGISTER_PROFILE","data":{"workload_name":"dyn","profile_name":"p",
 "profile":{"type":"delay","delay":10}}},
{"timestamp":5,"type":"REGISTER_JOB","data":{"job_id":"dyn!7",
 "job":{"id":"dyn!7","profile":"p","res":1,"subtime":5,"walltime":12}}},
{"timestamp":5,"type":"EXECUTE_JOB","data":{"job_id":"dyn!7","alloc":"2","mapping":{"0":"0"}}},
{"timestamp":5,"type":"NOTIFY","data":{"type":"registration_finished"}},
{"timestamp":5,"type":"QUERY","data":{"requests":{"consumed_energy":{}}}},
{"timestamp":5,"type":"ANSWER","data":{"estimate_waiting_time":{"job_id":"w0!1"}}}]}"""


def _event_seeds() -> list[bytes]:
    return [*(raw for users in (False, True) for raw, _ in exchange(users=users)), _RARE_EVENTS]


def _decision_seeds() -> list[bytes]:
    of_simulations = [raw for users in (False, True) for _, raw in exchange(users=users)]
    return [*of_simulations, _RARE_DECISIONS]


def _content(message: m.Message) -> object:
    """Return what a message says, job by job: jobs are not equal, however alike."""
    return codec.encode_events(message, exact=True)


def check_events(data: bytes) -> str:
    """A message that is accepted says the same when it is written and read again."""
    try:
        message = codec.decode_events(data)
    except ProtocolError as error:
        return refusal(error)
    again = codec.decode_events(codec.encode_events(message, exact=True))
    same(_content(message), _content(again), "message")
    try:
        codec.decode_events(codec.encode_events(message))
    except ProtocolError as error:  # with six decimals 1e308 has more digits than are read
        return refusal(error)
    return ""


def check_events_of_5(data: bytes) -> str:
    """The same of a message of Batsim 5; what is not said in its protocol is not written."""
    try:
        message = batprotocol_json.decode_events(data)
    except ProtocolError as error:
        return refusal(error)
    raw = batprotocol_json.encode_events(message, exact=True)
    again = batprotocol_json.encode_events(batprotocol_json.decode_events(raw), exact=True)
    same(raw, again, "message")
    return ""


def check_decisions(data: bytes, of: ModuleType = codec) -> str:
    """A reply that is accepted says the same when it is written and read again."""
    try:
        message = of.decode_decisions(data)
    except ProtocolError as error:
        return refusal(error)
    raw = of.encode_decisions(message)
    same(raw, of.encode_decisions(of.decode_decisions(raw)), "reply")
    return ""


def check_hello(data: bytes) -> str:
    """A hello, behind its flags, says the same when it is written and read again."""
    try:
        hello = batprotocol_json.decode_hello(_FLAGS + data)
    except ProtocolError as error:
        return refusal(error)
    raw = batprotocol_json.encode_hello(hello)
    same(raw, batprotocol_json.encode_hello(batprotocol_json.decode_hello(raw)), "hello")
    return ""


_WORDS_OF_5 = (
    *("OneShot", "Periodic", "Millisecond", "DelayProfile", "ParallelTaskProfile", "profile_ids"),
    *("SequentialCompositionProfile", "computation_vector", "machine_unavailable", "pstate"),
    *("host_allocation", "executor_placement", "mapping", "dyn!1", "w0!0000", "4294967295"),
)


def _events_of_5() -> list[bytes]:
    return [
        batprotocol_json.encode_events(codec.decode_events(raw), exact=True)[:-1]
        for raw, _ in exchange(users=True)
    ] + [_RARE_EVENTS_OF_5]


def _decisions_of_5() -> list[bytes]:
    return [
        batprotocol_json.encode_decisions(codec.decode_decisions(raw))
        for _, raw in exchange(users=True)
    ] + [_RARE_DECISIONS_OF_5]


def _hellos() -> list[bytes]:
    hello = m.Hello(timestamp=0.0, name="me", version="1", features={"profile_reuse": True})
    return [batprotocol_json.encode_hello(hello).removeprefix(_FLAGS)]


_FLAGS = batprotocol_json.JSON.to_bytes(4, sys.byteorder)


_RARE_EVENTS_OF_5 = b"""{"now":5.5,"events":[
{"timestamp":5,"event_type":"JobsKilledEvent","event":{"job_ids":["w0!1"],"progresses":[
 {"job_id":"w0!1","wrapper":{"kill_progress_type":"KillProgressSequentialProfile","kill_progress":
  {"profile_id":"w0!s","current_repetition":0,"current_task_index":1,"current_task_progress":
   {"kill_progress_type":"KillProgressAtomicProfile","kill_progress":
    {"profile_id":"w0!d","progress":0.5}}}}}]}},
{"timestamp":5,"event_type":"ExternalEventOccurredEvent","event":{"id":"ee0!1",
 "external_event_type":"GenericExternalEvent",
 "external_event":{"data":"{\\"type\\":\\"machine_available\\",\\"resources\\":\\"0\\"}"}}},
{"timestamp":5,"event_type":"HostsTurnedOnOffEvent","event":{"host_ids":"0-1","state":2}},
{"timestamp":5,"event_type":"ProbeDataEmittedEvent","event":{"probe_id":"p",
 "resources_type":"HostResources","resources":{"host_ids":"0-1"},"metrics":"Power",
 "data_type":"VectorialProbeData","data":{"data":[1.5,2.0]}}}]}"""
_RARE_DECISIONS_OF_5 = b"""{"now":5.5,"events":[
{"timestamp":5,"event_type":"KillJobsEvent","event":{"job_ids":["w0!1","w0!2"]}},
{"timestamp":5,"event_type":"CallMeLaterEvent","event":{"call_me_later_id":"p",
 "when_type":"Periodic","when":{"period":5,"time_unit":"Second","offset":0,
 "mode_type":"FinitePeriodNumber","mode":{"nb_periods":4}}}},
{"timestamp":5,"event_type":"ChangeHostsPStateEvent","event":{"host_ids":"0-1","pstate":1}},
{"timestamp":5,"event_type":"ExecuteJobEvent","event":{"job_id":"dyn!7","allocation":
 {"host_allocation":"2","executor_placement_type":"CustomExecutorToHostMapping",
  "executor_placement":{"mapping":[0,0]}}}},
{"timestamp":5,"event_type":"FinishRegistrationEvent","event":{}}]}"""


TARGETS = (
    Target("events", _event_seeds, check_events, WORDS),
    Target("decisions", _decision_seeds, check_decisions, WORDS),
    Target("events_5", _events_of_5, check_events_of_5, _WORDS_OF_5),
    Target(
        "decisions_5",
        _decisions_of_5,
        partial(check_decisions, of=batprotocol_json),
        _WORDS_OF_5,
    ),
    Target("hello_5", _hellos, check_hello, _WORDS_OF_5),
)
