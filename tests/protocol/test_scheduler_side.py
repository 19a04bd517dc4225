"""The scheduler's side of both versions: the first frames, and what Batsim 5 does not say."""

from __future__ import annotations

import json
from heapq import heappop, heappush
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.errors import ProtocolError
from batsched_py.protocol import messages as m
from batsched_py.protocol.batsim5 import batprotocol_json as codec
from batsched_py.protocol.batsim5.exact_calls import (
    make_exact_id,
    read_exact_time,
    round_down_to_milliseconds,
)
from batsched_py.protocol.batsim5.scheduler_side import Batsim5Side
from batsched_py.protocol.scheduler_side import Batsim4Side, make_side
from helpers import wire, wire5


def begun(**asked: bool) -> Batsim5Side:
    """A side that has answered SimulationBeginsEvent."""
    side = Batsim5Side(lambda text: asked)
    assert side.decode_message(wire5.INIT) is None
    side.encode_reply(None)
    message = side.decode_message(wire5.begins())
    assert message is not None
    side.encode_reply(m.Message(0.0, []))
    return side


# The first frames ----------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "é" * 61 + "!"])
def test_the_first_frame_of_batsim_5_is_told_by_its_size(text: str) -> None:
    """Not by its first byte: a text of 123 bytes makes it a brace."""
    frame = codec.make_init_frame(text)
    assert codec.read_init_text(frame) == text
    assert isinstance(make_side(frame), Batsim5Side)


@pytest.mark.parametrize("first", [wire.begins(), b"", b"\xff"])
def test_all_else_is_version_4(first: bytes) -> None:
    assert isinstance(make_side(first), Batsim4Side)


def test_the_hello_asks_for_json_and_names_every_feature() -> None:
    """Batsim 5 crashes if the commit or the features are left out."""
    side = Batsim5Side(lambda text: {"profile_reuse": text == "much"})
    side.decode_message(codec.make_init_frame("much"))
    raw = side.encode_reply(None)
    assert raw[:4] == (2).to_bytes(4, "little")
    ((name, hello),) = wire5.decisions(raw[4:])
    assert name == "EDCHelloEvent"
    assert hello["decision_component_name"] == "batsched_py"
    assert hello["decision_component_commit"] == ""
    features = hello["requested_simulation_features"]
    assert len(features) == 6
    assert [name for name, asked in features.items() if asked] == ["profile_reuse"]


# What is not said ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "kind", "resources"),
    [
        ('{"type":"machine_unavailable","resources":"0-1"}', "event_machine_unavailable", "0-1"),
        ('{"type":"machine_available","resources":"2"}', "event_machine_available", "2"),
        ('{"type":["machine_available"],"resources":"2"}', "generic", None),
        ("{no json", "generic", None),
    ],
)
def test_machines_come_and_go_by_the_text_of_an_event(
    data: str, kind: str, resources: str | None
) -> None:
    """Batsim 5 knows no failing machines; its manual suggests this form for schedulers."""
    event = {"external_event_type": "GenericExternalEvent", "external_event": {"data": data}}
    raw = wire5.message(5.0, ("ExternalEventOccurredEvent", {"id": "ee0!2", **event}))
    (notice,) = codec.decode_events(raw).events
    assert (notice.type, notice.details.get("resources")) == (kind, resources)
    assert notice.details["data"] == data


def test_what_only_version_4_has_is_not_said() -> None:
    side = begun()
    decision = m.SetJobMetadata(timestamp=0.0, job_id="w0!a", metadata="x")
    with pytest.raises(ProtocolError, match="SET_JOB_METADATA"):
        side.encode_reply(m.Message(0.0, [decision]))


def test_a_profile_that_fails_by_itself_cannot_be_registered() -> None:
    profile = m.RegisterProfile(
        timestamp=0.0,
        workload_name="dyn",
        profile_name="p",
        profile={"type": "delay", "delay": 1, "ret": 3},
    )
    with pytest.raises(ProtocolError, match="return code 3"):
        begun().encode_reply(m.Message(0.0, [profile]))


# Calls ---------------------------------------------------------------------------------------


@given(st.floats(0, 1e9))
def test_the_millisecond_before(time: float) -> None:
    count = round_down_to_milliseconds(time)
    assert count / 1000 <= time < (count + 1) / 1000
    assert read_exact_time(make_exact_id(time)) == time


@pytest.mark.parametrize("call_id", [None, "", "call 3", "at noon", "at nan", "at -1", "at 1e400"])
def test_other_ids_hold_no_time(call_id: str | None) -> None:
    assert read_exact_time(call_id) is None


def call(now: float, call_id: str) -> bytes:
    content = {"call_me_later_id": call_id, "last_periodic_call": False}
    return wire5.message(now, ("RequestedCallEvent", content))


class SmallBatsim:
    """The rules of Batsim 5 for calls, and nothing else."""

    def __init__(self, side: Batsim5Side) -> None:
        self.side = side
        self.now = 0.0
        self.calls: list[tuple[float, str]] = []

    def answered(self, raw: bytes) -> None:
        reply = json.loads(raw)
        for event in reply["events"]:
            self.now = max(self.now, event["timestamp"])
            time = event["event"]["when"]["time"] / 1000
            heappush(self.calls, (max(time, self.now), event["event"]["call_me_later_id"]))
        self.now = max(self.now, reply["now"])

    def next_message(self) -> bytes:
        self.now = max(self.now, self.calls[0][0])
        events: list[tuple[str, dict[str, Any]]] = []
        while self.calls and self.calls[0][0] <= self.now:
            content = {"call_me_later_id": heappop(self.calls)[1], "last_periodic_call": False}
            events.append(("RequestedCallEvent", content))
        return wire5.message(self.now, *events)


@given(st.lists(st.floats(0, 0.01) | st.integers(0, 5), min_size=1, unique=True))
def test_every_call_comes_once_at_its_time_to_the_digit(delays: list[float]) -> None:
    """Each call leads to the next one, many of them within a millisecond."""
    side = begun()
    batsim = SmallBatsim(side)
    side.decode_message(wire5.message(0.0))
    wanted = sorted({float(delay) for delay in delays if delay > 0})
    first = [m.CallMeLater(timestamp=0.0, time=time) for time in wanted[::2]]
    rest = wanted[1::2]
    batsim.answered(side.encode_reply(m.Message(0.0, list(first))))
    told: list[float] = []
    while batsim.calls:
        message = side.decode_message(batsim.next_message())
        if message is None:
            batsim.answered(side.encode_reply(None))
            continue
        told += [message.now] * len(message.events)
        due = [time for time in rest if time > message.now]
        rest = due[1:]
        new = [m.CallMeLater(timestamp=message.now, time=time) for time in due[:1]]
        batsim.answered(side.encode_reply(m.Message(message.now, list(new))))
    assert told == sorted(told)
    assert set(told) <= set(wanted)
    assert {call.time for call in first} <= set(told)


def test_the_time_of_a_call_comes_back_with_all_its_digits() -> None:
    """Batsim writes 12 decimals, and its clock may stop short of so small a step."""
    side, time = begun(), 7.000000000000123
    side.decode_message(wire5.message(0.0))
    side.encode_reply(m.Message(0.0, [m.CallMeLater(timestamp=0.0, time=time)]))
    assert side.decode_message(call(7.0, f"at {time!r}")) is None
    side.encode_reply(None)
    message = side.decode_message(call(7.0, f"at {time!r}"))
    assert message is not None
    assert message.now == time
    side.encode_reply(m.Message(time, []))
    later = side.decode_message(wire5.completed("a", 7.0))  # nor may the time go back
    assert later is not None
    assert (later.now, later.events[0].timestamp) == (time, time)
