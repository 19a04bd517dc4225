"""Impossible events are refused with a reason, one by one; what is like them is not."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from batsched_py.errors import ProtocolError
from batsched_py.protocol import message_json as codec
from batsched_py.protocol import messages as m
from batsched_py.protocol.referee.referee import Referee
from helpers.wire import message

CASES = tomllib.loads(Path(__file__).with_name("impossible_events.toml").read_text())
NB_RESOURCES = 5


def begun() -> Referee:
    """A referee at 1 s, where the cases begin."""
    hosts = [{"id": at} for at in range(NB_RESOURCES)]
    begins = {
        "nb_resources": 5,
        "nb_compute_resources": 4,
        "nb_storage_resources": 1,
        "compute_resources": hosts[:4],
        "storage_resources": hosts[4:],
        "config": {"dynamic-jobs-enabled": True, "dynamic-jobs-acknowledged": True},
        "workloads": {"w0": "w.json"},
        "profiles": {"w0": {"p": {"type": "delay", "delay": 9}}},
    }
    jobs = [
        {"id": f"w0!{name}", "subtime": 0, "res": size, "profile": "p"}
        for name, size in (("a", 2), ("b", 1))
    ]
    referee = Referee()
    submitted = [("JOB_SUBMITTED", {"job_id": job["id"], "job": job}) for job in jobs]
    referee.check_message(read(message(0.0, ("SIMULATION_BEGINS", begins), *submitted)))
    reply(referee, 0.0, [{"type": "EXECUTE_JOB", "data": {"job_id": "w0!a", "alloc": "0-1"}}])
    referee.check_message(read(message(1.0)))
    return referee


def read(raw: bytes) -> m.Message:
    return codec.decode_events(raw, NB_RESOURCES)


def reply(referee: Referee, now: float, asks: list[Any]) -> None:
    decisions = [{"timestamp": now, **decision} for decision in asks]
    referee.check_reply(codec.decode_decisions(json.dumps({"now": now, "events": decisions})))


def hear(referee: Referee, at: float, events: list[Any]) -> None:
    timed = [{"timestamp": at, **event} for event in events]
    referee.check_message(read(json.dumps({"now": at, "events": timed}).encode()))


@pytest.mark.parametrize("name", CASES)
def test_what_cannot_be_is_refused(name: str) -> None:
    case = CASES[name]
    referee, at, events = begun(), case.get("at", 2.0), case["says"]
    reply(referee, 1.0, case.get("asks", []))
    if "reason" not in case:
        hear(referee, at, events)
        return
    with pytest.raises(ProtocolError, match=re.escape(case["reason"])):
        hear(referee, at, events)
    if events[:-1]:
        referee = begun()
        reply(referee, 1.0, case.get("asks", []))
        hear(referee, at, events[:-1])


def test_the_first_event_begins_the_simulation() -> None:
    for raw in (message(0.0), message(0.0, ("REQUESTED_CALL", {}))):
        with pytest.raises(ProtocolError, match="not SIMULATION_BEGINS"):
            Referee().check_message(read(raw))


def test_nothing_comes_after_the_end() -> None:
    case = CASES["ends"]
    referee = begun()
    reply(referee, 1.0, case["asks"])
    hear(referee, 2.0, case["says"])
    with pytest.raises(ProtocolError, match="after SIMULATION_ENDS"):
        hear(referee, 3.0, [])


def test_who_has_heard_all_of_the_past_hears_no_more_of_it() -> None:
    """An event at the time of its message is the last of them, until a reply is slow again."""
    new = {"type": "SOMETHING_NEW", "data": {}}
    referee = begun()
    for begin in (0.0, 20.0):
        referee.check_reply(m.Message(begin + 7.0, []))
        hear(referee, begin + 7.0, [new | {"timestamp": begin + 2.0}])
        hear(referee, begin + 8.0, [new | {"timestamp": begin + at} for at in (6.0, 8.0)])
        hear(referee, begin + 10.0, [new | {"timestamp": begin + 9.0}])
        with pytest.raises(ProtocolError, match=rf"expected one from {begin + 10.0}"):
            hear(referee, begin + 11.0, [new | {"timestamp": begin + 9.5}])
