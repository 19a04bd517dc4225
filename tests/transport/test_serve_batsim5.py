"""Serving a Batsim 5 over a real socket: the good end, and the others."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from batsched_py.errors import ProtocolError, SimulationError
from batsched_py.protocol.batsim5 import batprotocol_json as codec
from batsched_py.transport import conversation
from batsched_py.transport import scheduler_socket as transport
from batsched_py.transport.conversation import Conversation
from batsched_py.transport.exchange_replay import find_first_difference, read_turns
from batsched_py.transport.recording import Recorder
from helpers import wire5
from helpers.waiting import LIMIT
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


# Messages that are right by themselves, at whatever moment they come, and odd ones.
TIMES = st.integers(0, 20).map(float)
NAMES = st.sampled_from("abc")
RIGHT = st.one_of(
    st.just(wire5.INIT),
    st.builds(wire5.begins, st.integers(0, 4)),
    st.builds(wire5.submitted, NAMES, st.integers(1, 6), TIMES),
    st.builds(wire5.completed, NAMES, TIMES),
    st.builds(wire5.ends, TIMES),
    st.builds(
        lambda now, call_id: wire5.message(
            now, ("RequestedCallEvent", {"call_me_later_id": call_id})
        ),
        TIMES,
        st.sampled_from(["at 3.5", "at nan", "at 1e400", "at", "c1"]),
    ),
)
ODD = st.binary(max_size=40) | st.builds(lambda raw, at: raw[:at], RIGHT, st.integers(0, 90))
TALK = st.lists(RIGHT | ODD, max_size=8).map(lambda raws: [wire5.INIT, *raws]) | st.lists(
    RIGHT, max_size=12
).map(lambda raws: [wire5.INIT, wire5.begins(), *raws])


@pytest.fixture(scope="module")
def folders() -> Iterator[Iterator[Path]]:
    with tempfile.TemporaryDirectory() as root:
        yield (Path(root, str(number)) for number in count())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TALK, st.booleans())
def test_never_hangs_over_a_socket(
    monkeypatch: pytest.MonkeyPatch, folders: Iterator[Path], talk: list[bytes], waits: bool
) -> None:
    """The peer says its messages and goes, having waited for the last reply or not."""
    monkeypatch.setattr(transport, "_TICK", 0.01)
    monkeypatch.setattr(conversation, "LAST_CALL", 0.02)
    monkeypatch.setattr(transport, "_FLUSH", 0.1)
    folder = next(folders)
    folder.mkdir()
    with (
        serving(folder, first_timeout=0.1, silence_timeout=LIMIT) as server,
        peer(server.endpoint.address) as batsim,
    ):
        for number, raw in enumerate(talk, start=1):
            batsim.send(raw)
            if not waits and number == len(talk):
                break
            while not batsim.poll(20) and server.is_alive():
                pass
            if not batsim.poll(0) or batsim.recv().startswith(b"batsched_py cannot"):
                break
