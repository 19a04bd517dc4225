"""Serving a Batsim 5 over a real socket: the good end, and the others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from batsched_py.errors import ProtocolError, SimulationError
from batsched_py.protocol.batsim5 import batprotocol_json as codec
from batsched_py.transport.conversation import Conversation
from batsched_py.transport.exchange_replay import find_first_difference, read_turns
from batsched_py.transport.recording import Recorder
from helpers import wire5
from helpers.wire import ask, conversing, fcfs, peer, serving

pytestmark = pytest.mark.usefixtures("impatient")


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


@pytest.mark.parametrize(
    ("raws", "reason"),
    [
        ([wire5.INIT], "Batsim 5's protocol"),
        ([wire5.begins(), b"\0\0"], "Batsim 5's protocol"),
        ([wire5.begins(), wire5.completed("a", 1.0)], "'w0!a' does not run"),
        ([wire5.begins(), wire5.submitted("a", now=5.0), wire5.ends(4.0)], "time went back"),
    ],
)
def test_nonsense_after_the_hello_ends_it_on_both_sides(
    tmp_path: Path, raws: list[bytes], reason: str
) -> None:
    with conversing(tmp_path) as (server, batsim):
        ask(batsim, wire5.INIT)
        replies = [ask(batsim, raw) for raw in raws]
        assert replies[-1].startswith(b"batsched_py cannot answer")
        assert reason in replies[-1].decode()
    assert isinstance(server.error, ProtocolError | SimulationError)


@pytest.mark.parametrize("nb_bytes", [3, 5])
def test_half_a_first_frame_is_refused_and_the_next_is_served(
    tmp_path: Path, nb_bytes: int
) -> None:
    """Five bytes: the size says that two follow, and there is one."""
    half = codec.make_init_frame("ab")[:nb_bytes]
    with serving(tmp_path) as server:
        with peer(server.endpoint.address) as stale:
            assert ask(stale, half).startswith(b"batsched_py cannot answer")
        with peer(server.endpoint.address) as batsim:
            for raw in (wire5.INIT, wire5.begins(), wire5.ends()):
                ask(batsim, raw)
    assert server.error is None


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
