"""What Batsim and schedulers say: single messages, whole conversations, and recordings of these."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache, partial
from itertools import chain, repeat
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from batsched_py.errors import BatschedError, InputError, InvariantError, ProtocolError
from batsched_py.explain.replayed_exchange import find_beginning, read_turns
from batsched_py.protocol import message_json as codec
from batsched_py.protocol import messages as m
from batsched_py.protocol.batsim5 import batprotocol_json
from batsched_py.simulator.batsim4.simulator import Batsim4Simulator
from batsched_py.simulator.engine import Options
from batsched_py.simulator.platform.hosts import Platform
from batsched_py.simulator.platform.platform_reader import read_platform
from batsched_py.transport import exchange_replay
from batsched_py.transport.conversation import Conversation
from fuzz.contract import Target, reason, refusing, same, words
from fuzz.targets.small_inputs import BUDGETS, exchange, jobs, lines, process, recording

WORDS = [
    *words(
        """
        3-0 0-3000000000 mapping additional_io_job dyn!1 continue_registration progress
        no_more_static_job_to_submit event_machine_unavailable
        """
    ),
    *codec.EVENTS,
    *codec.DECISIONS,
]
_WORDS_OF_5 = words(
    """
    OneShot Periodic Millisecond DelayProfile ParallelTaskProfile SequentialCompositionProfile
    pstate profile_ids computation_vector machine_unavailable host_allocation
    executor_placement mapping dyn!1 w0!0000 4294967295
    """
)
_FLAGS = batprotocol_json.JSON.to_bytes(4, sys.byteorder)


# Messages ----------------------------------------------------------------------------------------

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


def _said(side: int, *, users: tuple[bool, ...] = (False, True)) -> list[bytes]:
    """Return what Batsim (0) or the scheduler (1) says without users who react, and with them."""
    return [turn[side] for with_users in users for turn in exchange(users=with_users)]


def _in_words_of_5(raws: list[bytes], decode: Callable[..., Any], encode: Any) -> list[bytes]:
    return [encode(decode(raw)).removesuffix(b"\0") for raw in raws]


def check_message(decode: Callable[..., Any], encode: Callable[..., bytes], data: bytes) -> str:
    """A message that is accepted says the same when it is written and read again."""
    with refusing(ProtocolError):
        message = decode(data)
    raw = encode(message)
    same(raw, encode(decode(raw)), "message")
    return ""


def check_events(data: bytes) -> str:
    """And can be read with six decimals, if 1e308 does not get more digits than are read."""
    check_message(codec.decode_events, _exactly, data)
    with refusing(ProtocolError):
        codec.decode_events(codec.encode_events(codec.decode_events(data)))
    return ""


_exactly = partial(codec.encode_events, exact=True)
_exactly_5 = partial(batprotocol_json.encode_events, exact=True)


def _encode_hello(hello: m.Hello) -> bytes:
    return batprotocol_json.encode_hello(hello).removeprefix(_FLAGS)


def _decode_hello(data: bytes) -> m.Hello:
    return batprotocol_json.decode_hello(_FLAGS + data)


def _events_of_5() -> list[bytes]:
    plain = _said(0, users=(True,))
    return [*_in_words_of_5(plain, codec.decode_events, _exactly_5), _RARE_EVENTS_OF_5]


def _decisions_of_5() -> list[bytes]:
    plain, encode = _said(1, users=(True,)), batprotocol_json.encode_decisions
    return [*_in_words_of_5(plain, codec.decode_decisions, encode), _RARE_DECISIONS_OF_5]


def _hellos() -> list[bytes]:
    hello = m.Hello(timestamp=0.0, name="me", version="1", features={"profile_reuse": True})
    return [_encode_hello(hello)]


# Conversations, one message a line ---------------------------------------------------------------


def _of_schedulers() -> list[bytes]:
    said = [lines(_said(1, users=(users,))) for users in (False, True)]
    kills = b"""{"now":0,"events":[{"timestamp":0,"type":"CALL_ME_LATER","data":{"timestamp":3}}]}
{"now":0.5,"events":[{"timestamp":0.5,"type":"EXECUTE_JOB",\
"data":{"job_id":"w0!0000","alloc":"1 3"}}]}
{"now":1,"events":[{"timestamp":1,"type":"REJECT_JOB","data":{"job_id":"w0!0001"}}]}
{"now":3,"events":[{"timestamp":3,"type":"KILL_JOB","data":{"job_ids":["w0!0000"]}},\
{"timestamp":3,"type":"QUERY","data":{"requests":{"consumed_energy":{}}}}]}
"""
    switches = kills.replace(
        b'{"now":1,"events":[',
        b'{"now":1,"events":[{"timestamp":1,"type":"SET_RESOURCE_STATE",'
        b'"data":{"resources":"0 2","state":"1"}},',
    )
    return [*said, kills, switches]


def check_serve(data: bytes) -> str:
    """EASY answers what is said, or says why not; with users who react and without."""
    users = b'"dynamic-jobs-enabled":true' in data
    conversation = Conversation(lambda _: process(users=users).answer)
    for raw in data.splitlines():
        with refusing(BatschedError):
            try:
                reply = conversation.answer(raw)
            except InvariantError as error:
                raise AssertionError(f"the peer's fault is told as the policy's: {error}") from None
        codec.decode_decisions(reply)
        if conversation.ended:
            break
    return "ended" if conversation.ended else ""


@cache
def _machine() -> Platform:
    """Return four hosts that can be switched off."""
    prop = '<prop id="wattage_per_state" value="95:105:220,9:9:9,120:120:120,125:125:125"/>'
    prop += '<prop id="wattage_off" value="5"/><prop id="sleep_pstates" value="1:2:3"/>'
    where = 'coordinates="0 0 0"'
    hosts = [f'<host id="{i}" speed="1Gf,1f,1f,0.5f" {where}>{prop}</host>' for i in range(4)]
    with NamedTemporaryFile("w", suffix=".xml") as file:
        file.write(
            '<platform version="4.1"><zone id="AS0" routing="Vivaldi">'
            f'<host id="master_host" speed="1Gf" {where}/>{"".join(hosts)}</zone></platform>'
        )
        file.flush()
        return read_platform(file.name)


def check_simulator(data: bytes) -> str:
    """The simulator does what any scheduler says, or says why not; once it is silent, it ends."""
    replies = chain(data.splitlines(), repeat(None))

    def scheduler(message: m.Message) -> m.Message:
        raw = next(replies)
        return m.Message(message.now, []) if raw is None else codec.decode_decisions(raw)

    dynamic = b"REGISTER_JOB" in data
    options = Options(
        dynamic_jobs=dynamic,
        profile_reuse=dynamic,
        acknowledge_dynamic_jobs=dynamic,
        energy=b"SET_RESOURCE_STATE" in data,
        compute_sharing=b"KILL_JOB" in data,
        budgets=BUDGETS,
    )
    with refusing(BatschedError):
        outcome = Batsim4Simulator(_machine(), [] if dynamic else [jobs()], options).run(scheduler)
    assert all(0 <= job.start_time <= job.finish_time for job in outcome.jobs), "impossible times"
    return "ended"


def check_exchange(data: bytes) -> str:
    """An exchange that is read can be answered again, and be explained."""
    path = Path("exchange.jsonl")
    path.write_bytes(data)
    with refusing(InputError, path):
        turns = exchange_replay.read_turns(path)

    def replay() -> str:
        with refusing(BatschedError):
            conversation = Conversation(lambda _: process().answer)
            difference = exchange_replay.find_first_difference(turns, conversation)
        return "" if difference is None else difference.error or "differs"

    def explain() -> str:
        with refusing(InputError):
            find_beginning(read_turns(path))
        return ""

    return f"{reason(replay)} / {reason(explain)}"


_decisions = partial(check_message, codec.decode_decisions, codec.encode_decisions)
_decisions_5 = partial(
    check_message, batprotocol_json.decode_decisions, batprotocol_json.encode_decisions
)
_check_events_5 = partial(check_message, batprotocol_json.decode_events, _exactly_5)
_check_hello = partial(check_message, _decode_hello, _encode_hello)

TARGETS = (
    Target("events", lambda: [*_said(0), _RARE_EVENTS], check_events, WORDS),
    Target("decisions", lambda: [*_said(1), _RARE_DECISIONS], _decisions, WORDS),
    Target("events_5", _events_of_5, _check_events_5, _WORDS_OF_5),
    Target("decisions_5", _decisions_of_5, _decisions_5, _WORDS_OF_5),
    Target("hello_5", _hellos, _check_hello, _WORDS_OF_5),
    Target(
        "serve", lambda: [lines(_said(0, users=(it,))) for it in (False, True)], check_serve, WORDS
    ),
    Target("simulator", _of_schedulers, check_simulator, WORDS),
    Target(
        "exchange",
        lambda: [recording(exchange(users=users)) for users in (False, True)],
        check_exchange,
        WORDS,
    ),
)
