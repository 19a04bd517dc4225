"""Impossible events are refused with a reason, one by one; what is like them is not."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest

from batsched_py.errors import ProtocolError
from batsched_py.protocol import message_json as codec
from batsched_py.protocol import messages as m
from batsched_py.protocol.referee.referee import Referee
from helpers.wire import message
from protocol import test_decision_checks as decision_checks

NB_RESOURCES = 5
Said = dict[str, Any]


def begun() -> Referee:
    """A referee at 1 s: of four processors and a storage (4), job a (size 2) has 0-1; b waits."""
    return decision_checks.begun(dynamic_jobs_enabled=True, dynamic_jobs_acknowledged=True)


def read(raw: bytes) -> m.Message:
    return codec.decode_events(raw, NB_RESOURCES)


def reply(referee: Referee, now: float, asks: Sequence[Said]) -> None:
    decisions = [{"timestamp": now, **decision} for decision in asks]
    referee.check_reply(codec.decode_decisions(json.dumps({"now": now, "events": decisions})))


def hear(referee: Referee, at: float, events: Sequence[Said]) -> None:
    timed = [{"timestamp": at, **event} for event in events]
    referee.check_message(read(json.dumps({"now": at, "events": timed}).encode()))


# What is said ------------------------------------------------------------------------------------


def say(kind: str, **data: Any) -> Said:
    return {"type": kind, "data": data}


def ended(
    state: str = "SUCCESSFULLY", return_code: int = 0, job_id: str = "w0!a", alloc: str = "0-1"
) -> Said:
    state = f"COMPLETED_{state}" if state else "COMPLETED"
    of_job: Said = {"job_id": job_id, "alloc": alloc}
    return say("JOB_COMPLETED", job_state=state, return_code=return_code, **of_job)


def killed(**progress: Any) -> Said:
    done = {f"w0!{name}": part for name, part in progress.items()}
    return say("JOB_KILLED", job_ids=["w0!a"], job_progress=done)


def of_a_job(kind: str, job_id: str = "w0!c", **fields: Any) -> Said:
    job = {"id": job_id, "subtime": 2, "res": 1, "profile": "p", **fields}
    return say(kind, job_id=job_id, job=job)


def submitted(job_id: str = "w0!c", **fields: Any) -> Said:
    return of_a_job("JOB_SUBMITTED", job_id, **fields)


def registered(**fields: Any) -> Said:
    return of_a_job("REGISTER_JOB", "w0!r", subtime=1, **fields)


def note(kind: str, **details: Any) -> Said:
    return say("NOTIFY", type=kind, **details)


def call_at(time: float) -> Said:
    return say("CALL_ME_LATER", timestamp=time)


GONE, BACK = "event_machine_unavailable", "event_machine_available"
LAST_JOB, LAST_EVENT = "no_more_static_job_to_submit", "no_more_external_event_to_occur"
KILL = say("KILL_JOB", job_ids=["w0!a"])
REJECT_B = say("REJECT_JOB", job_id="w0!b")
FINISHED = note("registration_finished")
CALLED = say("REQUESTED_CALL")
ENDS = say("SIMULATION_ENDS")
NEW = say("SOMETHING_NEW")
NO_MACHINE = {"nb_resources": 0, "nb_compute_resources": 0, "config": {}, "compute_resources": []}


class Case(NamedTuple):
    """What Batsim says at 2 s, and what is wrong with it; all but the last event is possible.

    Without a reason the last one is, too. The scheduler has asked for something at 1 s.
    """

    says: list[Said]
    reason: str = ""
    asks: Sequence[Said] = ()
    at: float = 2.0


CASES = {
    "completed": Case([ended()]),
    "completed elsewhere": Case([ended(alloc="2-3")], "'2-3', but was executed on '0-1'"),
    "completed while waiting": Case([ended(job_id="w0!b", alloc="2")], "does not run, it waits"),
    "completed twice": Case([ended("FAILED", 3)] * 2, "'w0!a' has ended"),
    "an unknown state": Case([ended("")], "the state 'COMPLETED' and the return code 0"),
    "success with a return code": Case([ended(return_code=1)], "return code 1: expected COMPLETED"),
    "killed by nobody": Case([ended("KILLED", -1)], "was killed, which was not requested"),
    "told of a kill by nobody": Case([killed()], "nobody asked to kill job 'w0!a'"),
    "killed": Case(
        [ended("KILLED", -2), killed(a={"profile_name": "p", "progress": 0.5})], asks=[KILL, KILL]
    ),
    "ended before it was killed": Case([ended(), killed()], asks=[KILL]),
    "killed while it runs": Case([killed()], "the JOB_COMPLETED of job 'w0!a' did not", [KILL]),
    "progress of others": Case(
        [ended("KILLED", -1), killed(b={})], "job_progress has ['w0!b']", [KILL]
    ),
    "submitted": Case([submitted(subtime=2.000001, res=9, walltime=-1)]),
    "submitted while it runs": Case([submitted("w0!a", subtime=0, res=2)], "'w0!a' came twice"),
    "submitted early": Case([submitted(subtime=2.1)], "with subtime 2.1 came at 2.0"),
    "submitted after the last": Case([note(LAST_JOB), submitted()], f"came after {LAST_JOB}"),
    "submitted by another name": Case([submitted(id="w0!d")], "calls itself 'w0!d'"),
    "of an unknown workload": Case([submitted("w7!c")], "that SIMULATION_BEGINS did not name"),
    "of no workload": Case([submitted("c")], "expected WORKLOAD!NAME"),
    "repeated": Case(
        [submitted("w0!r", subtime=1, walltime=7.123457, who={"id": "w0!r", "x": [0.1, 0.2]})],
        asks=[registered(walltime=7.1234567, who={"id": 7, "x": [0.1, 0.2]})],
    ),
    "repeated otherwise": Case(
        [submitted("w0!r", subtime=1, walltime=75)],
        "was registered with walltime 7.5, and is repeated with 75",
        [registered(walltime=7.5)],
    ),
    "called": Case([CALLED] * 2, asks=[call_at(2.0000049), call_at(2)]),
    "called by itself": Case([CALLED], "no CALL_ME_LATER is outstanding"),
    "called early": Case([CALLED], "at 2.0, the next was asked for at 2.5", [call_at(2.5)]),
    "switched by itself": Case(
        [say("RESOURCE_STATE_CHANGED", resources="2-3", state="1")],
        "no SET_RESOURCE_STATE of '2-3' to '1' is outstanding",
    ),
    "answered unasked": Case([say("ANSWER", consumed_energy=0)], "to 0 queries"),
    "machines go and come": Case(
        [
            note(GONE, resources="0 4"),
            note(BACK, resources="4"),
            note(LAST_EVENT),
            note("of_a_site", resources="99"),
        ]
    ),
    "a machine goes twice": Case(
        [note(GONE, resources="0"), note(GONE, resources="0-1")],
        f"{GONE} of '0', which are in this state already",
    ),
    "machines that are no text": Case([note(GONE, resources=[1])], "is not a set of processors"),
    "gone after the last event": Case(
        [note(LAST_EVENT), note(GONE, resources="0")], f"came after {LAST_EVENT}"
    ),
    "the last event twice": Case([note(LAST_EVENT)] * 2, "came twice"),
    "begins twice": Case([say("SIMULATION_BEGINS", **NO_MACHINE)], "SIMULATION_BEGINS came twice"),
    "ends with jobs": Case([ENDS], "1 jobs waiting and 1 running"),
    "ends": Case([ended(), ENDS], asks=[REJECT_B, FINISHED]),
    "ends before registration does": Case(
        [ended(), ENDS], "before registration was declared finished", [REJECT_B]
    ),
    "ends before a call": Case(
        [ended(), ENDS], "before the call that was asked for at 9", [REJECT_B, FINISHED, call_at(9)]
    ),
    "something after the end": Case(
        [ended(), ENDS, NEW], "SOMETHING_NEW came after SIMULATION_ENDS", [REJECT_B, FINISHED]
    ),
    "a timestamp after now": Case(
        [NEW | {"timestamp": 2.5}], "the timestamp 2.5: expected one from 1.0, when"
    ),
    "timestamps that go back": Case(
        [NEW | {"timestamp": 1.5}, NEW | {"timestamp": 1.25}],
        "has the timestamp 1.25: expected one from 1.5",
    ),
    "time goes back": Case([], "time went back from 1.0 to 0.5", at=0.5),
    "an event that is not known": Case([NEW | {"data": ["anything"]}]),
}


@pytest.mark.parametrize("name", CASES)
def test_what_cannot_be_is_refused(name: str) -> None:
    says, reason, asks, at = CASES[name]
    referee = begun()
    reply(referee, 1.0, asks)
    if not reason:
        hear(referee, at, says)
        return
    with pytest.raises(ProtocolError, match=re.escape(reason)):
        hear(referee, at, says)
    if says[:-1]:
        referee = begun()
        reply(referee, 1.0, asks)
        hear(referee, at, says[:-1])


def test_the_first_event_begins_the_simulation() -> None:
    for raw in (message(0.0), message(0.0, ("REQUESTED_CALL", {}))):
        with pytest.raises(ProtocolError, match="not SIMULATION_BEGINS"):
            Referee().check_message(read(raw))


def test_nothing_comes_after_the_end() -> None:
    referee = begun()
    reply(referee, 1.0, CASES["ends"].asks)
    hear(referee, 2.0, CASES["ends"].says)
    with pytest.raises(ProtocolError, match="after SIMULATION_ENDS"):
        hear(referee, 3.0, [])


def test_who_has_heard_all_of_the_past_hears_no_more_of_it() -> None:
    """An event at the time of its message is the last of them, until a reply is slow again."""
    referee = begun()
    for begin in (0.0, 20.0):
        referee.check_reply(m.Message(begin + 7.0, []))
        hear(referee, begin + 7.0, [NEW | {"timestamp": begin + 2.0}])
        hear(referee, begin + 8.0, [NEW | {"timestamp": begin + at} for at in (6.0, 8.0)])
        hear(referee, begin + 10.0, [NEW | {"timestamp": begin + 9.0}])
        with pytest.raises(ProtocolError, match=rf"expected one from {begin + 10.0}"):
            hear(referee, begin + 11.0, [NEW | {"timestamp": begin + 9.5}])
