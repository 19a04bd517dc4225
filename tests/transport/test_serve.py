"""Serving a simulation over a real socket: the good end, and all the others."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any
from unittest.mock import Mock

import pytest
import zmq

from batsched_py.errors import BatschedError, SimulationError, UsageError
from batsched_py.protocol.batsim5 import batprotocol_json as codec
from batsched_py.support.signals import stop_signals
from batsched_py.transport import conversation
from batsched_py.transport import scheduler_socket as transport
from batsched_py.transport.conversation import Conversation
from batsched_py.transport.exchange_replay import find_first_difference, read_turns
from batsched_py.transport.recording import Recorder
from batsched_py.transport.scheduler_socket import SchedulerSocket
from helpers import wire5
from helpers.waiting import LIMIT, wait_until
from helpers.wire import (
    ask,
    begins,
    completed,
    conversing,
    decisions,
    ends,
    fcfs,
    peer,
    serving,
    submitted,
)

pytestmark = pytest.mark.usefixtures("impatient")


@pytest.mark.parametrize("before", [0, 1, 2], ids=["at once", "after begin", "in the middle"])
def test_a_peer_that_vanishes_is_noticed(tmp_path: Path, before: int) -> None:
    """Before it began, we wait for the next one until the first time-out; then not."""
    first = LIMIT if before else 0.3
    with conversing(tmp_path, first_timeout=first) as (server, batsim):
        for raw in (begins(), submitted("a"))[:before]:
            ask(batsim, raw)
    message = "closed by" if before else "no simulation"
    assert isinstance(server.error, SimulationError)
    assert message in str(server.error)


def test_a_message_that_is_too_large_is_not_heard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "MOST_BYTES", 1000)
    with conversing(tmp_path) as (server, batsim):
        ask(batsim, begins())
        ask(batsim, submitted("a") + b" " * 700)
        batsim.send(b" " * 1001)
        server.join(LIMIT)
    assert "closed by" in str(server.error)


def test_silence_has_an_end(tmp_path: Path) -> None:
    """The peer is still there, but says nothing more."""
    with conversing(tmp_path, silence_timeout=0.2) as (server, batsim):
        ask(batsim, begins())
        server.join(LIMIT)
    assert isinstance(server.error, SimulationError)
    assert "for 0.2 s" in str(server.error)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"hello", "the protocol"),
        (b"\xff\xfe", "the protocol"),
        (submitted("a"), "not SIMULATION_BEGINS"),
        (b'{"now":4.0,"events":[{"event_type":"SimulationEndsEvent","event":{}}]}', "of Batsim 5"),
        (codec.make_init_frame("ab")[:3], ""),
        (codec.make_init_frame("ab")[:5], ""),  # its size says that two bytes follow
    ],
)
def test_what_begins_no_simulation_is_refused_and_the_next_is_served(
    tmp_path: Path, raw: bytes, message: str
) -> None:
    """A Batsim of an earlier run may have waited for somebody to listen."""
    with serving(tmp_path) as server:
        with peer(server.endpoint.address) as stale:
            reply = ask(stale, raw).decode()
        assert message in reply
        assert not reply.startswith("{")
        with peer(server.endpoint.address) as batsim:
            ask(batsim, begins())
            ask(batsim, ends())
    assert server.error is None


HELLO_TWICE = [wire5.INIT, wire5.INIT]
"""No simulation began, so the one who said so may go."""


@pytest.mark.parametrize(
    ("talk", "message"),
    [
        ([begins(redis_enabled=True)], "--enable-redis"),
        ([bytes(8)], "Batsim 5.0.0-rc0"),
        ([begins(), b"hello"], "the protocol"),
        ([begins(), completed("never", "0", 1.0)], "does not run"),
        ([begins(), submitted("a", now=-1.0)], "-1"),
        (HELLO_TWICE, "Batsim 5's protocol"),
        ([wire5.INIT, wire5.begins(), b"\0\0"], "Batsim 5's protocol"),
        ([wire5.INIT, wire5.begins(), wire5.completed("a", 1.0)], "'w0!a' does not run"),
        (
            [wire5.INIT, wire5.begins(), wire5.submitted("a", now=5.0), wire5.ends(4.0)],
            "time went back",
        ),
    ],
)
def test_what_cannot_be_answered_is_told_to_both_sides(
    tmp_path: Path, talk: list[bytes], message: str
) -> None:
    """Batsim waits for ever without a reply: it gets one on which it aborts."""
    with conversing(tmp_path) as (server, batsim):
        *_, reply = [ask(batsim, raw).decode() for raw in talk]
    assert message in reply
    assert reply.startswith("batsched_py cannot answer")
    assert isinstance(server.error, BatschedError)
    assert ("closed by" if talk is HELLO_TWICE else message) in str(server.error)


@pytest.mark.parametrize("address", ["ipc://{}/s", "tcp://127.0.0.1:*"])
def test_a_simulator_that_computes_is_told_when_it_asks(
    tmp_path: Path,
    address: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It was silent for too long; others who ask before it are refused."""
    monkeypatch.setattr(conversation, "_PATIENCE", LIMIT)
    with conversing(tmp_path, silence_timeout=0.1, address=address) as (server, batsim):
        ask(batsim, begins())
        wait_until(lambda: "Batsim still computes" in capsys.readouterr().err)
        with peer(server.endpoint.address) as stranger:
            assert b"for 0.1 s" in ask(stranger, b"hello")
        assert b"for 0.1 s" in ask(batsim, submitted("a"))
    assert isinstance(server.error, SimulationError)


def test_a_simulator_that_asks_as_the_limit_passes_is_told_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def limit_passes(endpoint: SchedulerSocket, *_: object) -> None:
        assert endpoint._socket.poll(round(LIMIT * 1000))
        raise SimulationError("no simulation began")

    monkeypatch.setattr(conversation, "_next", limit_passes)
    with conversing(tmp_path) as (_, batsim):
        assert b"no simulation began" in ask(batsim, begins())


def test_a_stranger_who_is_gone_is_not_taken_for_the_simulator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """File descriptors are used again: the simulator has one that a stranger had."""
    strangers: set[int] = set()
    with serving(tmp_path) as server:
        looked = Mock(wraps=server.endpoint._is_lost)
        monkeypatch.setattr(server.endpoint, "_is_lost", looked)
        while not server.conversation.ended:
            with peer(server.endpoint.address) as batsim:
                ask(batsim, b"hello")
                connections = server.endpoint._connections
                file = max(connections, key=connections.__getitem__)
                if file in strangers:
                    ask(batsim, begins())
                    wait_until(lambda: looked.call_count > 2)
                    ask(batsim, ends())
                strangers.add(file)
            assert len(strangers) < 100
    assert server.error is None


class _CtrlC:
    """A socket; during the n-th call of a method that is not in vain somebody presses Ctrl-C."""

    def __init__(self, socket: zmq.Socket[bytes], method: str, number: int) -> None:
        self._socket, self._method, self._left = socket, method, number

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._socket, name)
        return partial(self._call, method) if name == self._method else method

    def _call(self, method: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        result = method(*arguments, **named)
        self._left -= 1
        if self._left == 0:
            signal.raise_signal(signal.SIGINT)
        return result


@pytest.mark.parametrize(
    ("method", "number", "replies"),
    [
        *[("recv", frame, 0) for frame in (1, 2, 3)],
        *[("send", frame, 1) for frame in (1, 2, 3)],
        *[("recv", frame, 1) for frame in (4, 5, 6)],
        *[("send", frame, 2) for frame in (4, 5, 6)],
    ],
)
def test_an_interruption_loses_no_question(
    method: str, number: int, replies: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever was just read or said: the simulator's question, or its next one, is refused."""
    heard: list[bytes] = []

    def simulator(address: str) -> None:
        with peer(address) as batsim:
            for raw in (begins(), submitted("a"), completed("a", "0", 1.0)):
                heard.append(ask(batsim, raw))
                if not heard[-1].startswith(b"{"):
                    return

    limits = conversation.WaitLimits(first=LIMIT, silence=LIMIT)
    with SchedulerSocket(f"ipc://{tmp_path}/s") as endpoint, stop_signals():
        batsim = Thread(target=simulator, args=(endpoint.address,), daemon=True)
        batsim.start()
        monkeypatch.setattr(endpoint, "_socket", _CtrlC(endpoint._socket, method, number))
        with pytest.raises(KeyboardInterrupt):
            conversation.serve(endpoint, conversation.Conversation(fcfs), limits)
    batsim.join(LIMIT)
    assert [reply.startswith(b"{") for reply in heard] == [True] * replies + [False]


@pytest.mark.parametrize("begun", [True, False])
def test_several_frames_are_no_message(tmp_path: Path, begun: bool) -> None:
    """Of a stranger it is refused; of the simulator it is the end."""
    with conversing(tmp_path) as (server, batsim):
        if begun:
            ask(batsim, begins())
        batsim.send_multipart([b"{", b"}"])
        assert b"2 frames" in batsim.recv()
        if not begun:
            ask(batsim, begins())
            ask(batsim, ends())
    assert ("2 frames" in str(server.error)) is begun


@pytest.mark.parametrize("raw", [begins(), b"hello"])
def test_others_are_turned_away_while_a_simulation_goes_on(tmp_path: Path, raw: bytes) -> None:
    """A second Batsim, or anybody: the first does not notice."""
    with conversing(tmp_path) as (server, batsim):
        ask(batsim, begins())
        with peer(server.endpoint.address) as second:
            assert b"a process serves one" in ask(second, raw)
        assert len(decisions(ask(batsim, submitted("a")))) == 1
        ask(batsim, completed("a", "0", 1.0))
        ask(batsim, ends(1.0))
    assert server.error is None


@pytest.mark.parametrize(
    ("address", "error", "message"),
    [
        ("localhost:28000", UsageError, "expected tcp://"),
        ("tcp://127.0.0.1:99999", UsageError, "expected tcp://"),
        ("tcp://1.2.3.4:28000", SimulationError, "cannot listen"),
        ("ipc:///no/such/folder/s", SimulationError, "cannot listen"),
        (f"ipc:///tmp/{'x' * 200}", SimulationError, "107 bytes"),
        ("ipc://@anybody", UsageError, "may connect"),
    ],
)
def test_an_endpoint_that_cannot_be(address: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        SchedulerSocket(address)


@pytest.mark.parametrize("address", ["tcp://localhost:*", "ipc://{}/s"])
def test_an_endpoint_in_use(address: str, tmp_path: Path) -> None:
    with (
        SchedulerSocket(address.format(tmp_path)) as first,
        pytest.raises(SimulationError, match="in use"),
    ):
        SchedulerSocket(first.address)


def test_jobs_that_are_left_at_the_end_are_an_error(tmp_path: Path) -> None:
    with conversing(tmp_path) as (server, batsim):
        ask(batsim, begins())
        ask(batsim, submitted("a"))
        ask(batsim, ends(1.0))
    assert "1 running" in str(server.error)


# Batsim 5 ----------------------------------------------------------------------------------------


def test_a_simulation_from_begin_to_end(tmp_path: Path) -> None:
    with conversing(tmp_path) as (server, batsim):
        hello = ask(batsim, wire5.INIT)
        assert codec.decode_hello(hello).name == "batsched_py"
        assert not server.conversation.begun
        assert wire5.decisions(ask(batsim, wire5.begins())) == []
        ((name, start),) = wire5.decisions(ask(batsim, wire5.submitted("a", 2)))
        assert (name, start["allocation"]["host_allocation"]) == ("ExecuteJobEvent", "0-1")
        assert wire5.decisions(ask(batsim, wire5.completed("a", 5.0))) == []
        assert json.loads(ask(batsim, wire5.ends(5.0))) == {"now": 5.0, "events": []}
    assert server.error is None
    assert server.conversation.ended


def test_a_recording_is_replayed(tmp_path: Path) -> None:
    """The frames are kept as they were, those that are no text too."""
    talk = [codec.make_init_frame("é" * 100), wire5.begins(), wire5.submitted("a"), wire5.ends()]
    talk[3:3] = [wire5.completed("a", 3.0)]
    talk[-1] = wire5.ends(3.0)
    ours = Conversation(fcfs)
    with Recorder(tmp_path / "r.jsonl") as recorder:
        for raw in talk:
            recorder.add("batsim", raw)
            recorder.add("sched", ours.answer(raw))
    turns = read_turns(tmp_path / "r.jsonl")
    assert [turn.n for turn in turns] == [2, 4, 6, 8]
    assert find_first_difference(turns, Conversation(fcfs)) is None
