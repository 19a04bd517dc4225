"""What Batsim and schedulers say: single messages, whole conversations, and recordings of these."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache, partial
from itertools import chain, repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from batsched_py.decision_process import DecisionProcess
from batsched_py.errors import BatschedError, InputError, InvariantError, ProtocolError
from batsched_py.explain.replayed_exchange import find_beginning, read_turns
from batsched_py.protocol import message_json as codec
from batsched_py.protocol import messages as m
from batsched_py.protocol.batsim5 import batprotocol_json as codec5
from batsched_py.schedulers.easy import Easy
from batsched_py.simulator.engine import Options, Simulator
from batsched_py.simulator.platform.platform_reader import read_platform
from batsched_py.transport import exchange_replay
from batsched_py.transport.conversation import Conversation
from fuzz.contract import Target, each, refusing, same
from fuzz.targets.files import BUDGETS, ROOT, jobs
from helpers.explained import record
from together.acting_users import Acting

WORDS = " ".join(
    [
        "3-0 0-3000000000 mapping additional_io_job dyn!1 continue_registration progress",
        "no_more_static_job_to_submit event_machine_unavailable",
        *codec.EVENTS,
        *codec.DECISIONS,
    ]
)
_WORDS_OF_5 = """OneShot Periodic Millisecond DelayProfile ParallelTaskProfile pstate profile_ids
SequentialCompositionProfile computation_vector machine_unavailable host_allocation
executor_placement mapping dyn!1 w0!0000 4294967295"""
_EXACT = partial(codec.encode_events, exact=True)
_EXACT_5 = partial(codec5.encode_events, exact=True)

# What EASY and Batsim say in a simulation, and what they say seldom -------------------------------


@cache
def _recorded(*, users: bool) -> bytes:
    """Return a recording of a simulation, with users who react and withdraw jobs or without."""
    model = Acting(jobs()) if users else None
    with TemporaryDirectory() as folder:
        path = Path(folder, "exchange.jsonl")
        record(path, jobs(), Easy(), model)
        return path.read_bytes()


def _said(side: str, *, users: bool) -> list[bytes]:
    records = map(json.loads, _recorded(users=users).splitlines())
    return [record["raw"].encode() for record in records if record["from"] == side]


def _of_both(side: str) -> list[bytes]:
    return _said(side, users=False) + _said(side, users=True)


def _seldom(text: str, kind: str = "type", content: str = "data", now: float = 5.0) -> bytes:
    """Return a message of events: kind and content of each; further lines of it are indented."""
    parts = [event.partition(" ") for event in re.split(r"\n(?=\w)", text.strip())]
    events = [
        f'{{"timestamp":{now},"{kind}":"{name}","{content}":{data}}}' for name, _, data in parts
    ]
    return f'{{"now":{now},"events":[{",".join(events)}]}}'.replace("\n", "").encode()


_EVENTS = """
JOB_KILLED {"job_ids":["w0!1"],"job_progress":{"w0!1":{"profile":"p","progress":0.5}}}
REQUESTED_CALL {}
RESOURCE_STATE_CHANGED {"resources":"0-1 3","state":"1"}
FROM_JOB_MSG {"job_id":"w0!2","msg":[1,{"a":null}]}
NOTIFY {"type":"event_machine_unavailable","resources":"2"}
QUERY {"requests":{"estimate_waiting_time":{"job_id":"w0!3"}}}
ANSWER {"consumed_energy":12500.5}
"""
_DECISIONS = """
KILL_JOB {"job_ids":["w0!1","w0!2"]}
CALL_ME_LATER {"timestamp":25.25}
SET_JOB_METADATA {"job_id":"w0!1","metadata":"{}"}
SET_RESOURCE_STATE {"resources":"0-1 3","state":"1"}
TO_JOB_MSG {"job_id":"w0!1","msg":"stop"}
CHANGE_JOB_STATE {"job_id":"w0!1","job_state":"RUNNING"}
EXECUTE_JOB {"job_id":"dyn!7","alloc":"2","mapping":{"0":"0"}}
QUERY {"requests":{"consumed_energy":{}}}
ANSWER {"estimate_waiting_time":{"job_id":"w0!1"}}
"""
_EVENTS_OF_5 = r"""
JobsKilledEvent {"job_ids":["w0!1"],"progresses":[{"job_id":"w0!1","wrapper":
 {"kill_progress_type":"KillProgressSequentialProfile","kill_progress":{"profile_id":"w0!s",
 "current_repetition":0,"current_task_index":1,"current_task_progress":{"kill_progress_type":
 "KillProgressAtomicProfile","kill_progress":{"profile_id":"w0!d","progress":0.5}}}}}]}
ExternalEventOccurredEvent {"id":"ee0!1","external_event_type":"GenericExternalEvent",
 "external_event":{"data":"{\"type\":\"machine_available\",\"resources\":\"0\"}"}}
HostsTurnedOnOffEvent {"host_ids":"0-1","state":2}
ProbeDataEmittedEvent {"probe_id":"p","resources_type":"HostResources","metrics":"Power",
 "resources":{"host_ids":"0-1"},"data_type":"VectorialProbeData","data":{"data":[1.5,2.0]}}
"""
_DECISIONS_OF_5 = """
KillJobsEvent {"job_ids":["w0!1","w0!2"]}
CallMeLaterEvent {"call_me_later_id":"p","when_type":"Periodic","when":{"period":5,
 "time_unit":"Second","offset":0,"mode_type":"FinitePeriodNumber","mode":{"nb_periods":4}}}
ChangeHostsPStateEvent {"host_ids":"0-1","pstate":1}
ExecuteJobEvent {"job_id":"dyn!7","allocation":{"host_allocation":"2",
 "executor_placement_type":"CustomExecutorToHostMapping","executor_placement":{"mapping":[0,0]}}}
FinishRegistrationEvent {}
"""


def _of_5(side: str, decode: Callable[..., Any], encode: Any, seldom: str) -> list[bytes]:
    plain = [encode(decode(raw)).removesuffix(b"\0") for raw in _said(side, users=True)]
    return [*plain, _seldom(seldom, "event_type", "event")]


def _of_schedulers() -> list[bytes]:
    """Return what three schedulers say, the third of which kills and switches off."""
    third = {
        0: 'CALL_ME_LATER {"timestamp":3}',
        0.5: 'EXECUTE_JOB {"job_id":"w0!0000","alloc":"1 3"}',
        1: 'SET_RESOURCE_STATE {"resources":"0 2","state":"2"}\nREJECT_JOB {"job_id":"w0!0001"}',
        3: 'KILL_JOB {"job_ids":["w0!0000"]}\nQUERY {"requests":{"consumed_energy":{}}}',
    }
    both = [b"\n".join(_said("sched", users=users)) for users in (False, True)]
    return [*both, b"\n".join(_seldom(text, now=now) for now, text in third.items())]


# Checks -------------------------------------------------------------------------------------------


def _check_message(decode: Callable[..., Any], encode: Callable[..., bytes], data: bytes) -> None:
    """A message that is accepted says the same when it is written and read again."""
    with refusing(ProtocolError):
        message = decode(data)
    raw = encode(message)
    same(raw, encode(decode(raw)), "message")


def _check_events(data: bytes) -> None:
    """And can be read with six decimals, if 1e308 does not get more digits than are read."""
    _check_message(codec.decode_events, _EXACT, data)
    with refusing(ProtocolError):
        codec.decode_events(codec.encode_events(codec.decode_events(data)))


def _easy(*, users: bool = False) -> Conversation:
    model = Acting(jobs()) if users else None
    process = DecisionProcess(Easy(), model, six_decimals=True, budgets=BUDGETS)
    return Conversation(lambda _: process.answer)


def _check_serve(data: bytes) -> None:
    """EASY answers what is said, or says why not; with users who act and without."""
    conversation = _easy(users=b'"dynamic-jobs-enabled":true' in data)
    for raw in data.splitlines():
        with refusing(BatschedError):
            try:
                reply = conversation.answer(raw)
            except InvariantError as error:
                raise AssertionError(
                    f"the peer's fault is reported as the policy's: {error}"
                ) from None
        codec.decode_decisions(reply)
        if conversation.ended:
            break


_machine = cache(partial(read_platform, ROOT / "platforms" / "energy_16.xml"))


def _check_simulator(data: bytes) -> None:
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
        outcome = Simulator(_machine(), [] if dynamic else [jobs()], options).run(scheduler)
    assert all(0 <= job.start_time <= job.finish_time for job in outcome.jobs), "impossible times"


def _check_exchange(data: bytes) -> None:
    """An exchange that is read can be answered again, and be explained."""
    path = Path("exchange.jsonl")
    path.write_bytes(data)
    with refusing(InputError, path):
        turns = exchange_replay.read_turns(path)

    def use(explains: bool) -> None:
        with refusing(InputError if explains else BatschedError):
            if explains:
                find_beginning(read_turns(path))
            else:
                exchange_replay.find_first_difference(turns, _easy())

    each(use, False, True)


TARGETS = (
    Target("events", lambda: [*_of_both("batsim"), _seldom(_EVENTS)], _check_events, WORDS),
    Target(
        "decisions",
        lambda: [*_of_both("sched"), _seldom(_DECISIONS)],
        partial(_check_message, codec.decode_decisions, codec.encode_decisions),
        WORDS,
    ),
    Target(
        "events_5",
        lambda: _of_5("batsim", codec.decode_events, _EXACT_5, _EVENTS_OF_5),
        partial(_check_message, codec5.decode_events, _EXACT_5),
        _WORDS_OF_5,
    ),
    Target(
        "decisions_5",
        lambda: _of_5("sched", codec.decode_decisions, codec5.encode_decisions, _DECISIONS_OF_5),
        partial(_check_message, codec5.decode_decisions, codec5.encode_decisions),
        _WORDS_OF_5,
    ),
    Target(
        "serve",
        lambda: [b"\n".join(_said("batsim", users=users)) for users in (False, True)],
        _check_serve,
        WORDS,
    ),
    Target("simulator", _of_schedulers, _check_simulator, WORDS),
    Target(
        "exchange",
        lambda: [_recorded(users=users) for users in (False, True)],
        _check_exchange,
        WORDS,
    ),
)
