"""A peer that says anything, in any order, and vanishes at any time."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from batsched_py.decision_process import DecisionProcess
from batsched_py.errors import BatschedError
from batsched_py.protocol.message_json import EVENTS
from batsched_py.protocol.messages import SimulationBegins
from batsched_py.schedulers.easy import Easy
from batsched_py.testing import DrawnJob, workload
from batsched_py.transport import Partner, conversation
from batsched_py.transport import scheduler_socket as transport
from batsched_py.transport.conversation import Conversation
from batsched_users.models.feedback import ThinkTimeFeedback
from helpers import wire5
from helpers.waiting import LIMIT
from helpers.wire import begins, completed, ends, message, peer, serving, submitted
from protocol.test_roundtrip import JSON

KINDS = st.sampled_from([*EVENTS, "QUERY", "SOMETHING_ELSE"])
TIMES = st.integers(0, 20).map(float)
NAMES = st.sampled_from("abc")
# Messages that are right by themselves, at whatever moment they come.
VALID = st.one_of(
    st.builds(begins, st.integers(0, 4)),
    st.builds(begins, st.just(4), dynamic_jobs_enabled=st.booleans()),
    st.builds(submitted, NAMES, st.integers(1, 6), TIMES),
    st.builds(completed, NAMES, st.sampled_from(["0", "0-1", "3"]), TIMES),
    st.builds(ends, TIMES),
    st.builds(message, TIMES, st.just(("REQUESTED_CALL", {}))),
    st.builds(
        message,
        TIMES,
        st.tuples(
            st.just("NOTIFY"),
            st.fixed_dictionaries(
                {
                    "type": st.sampled_from(
                        ["event_machine_unavailable", "event_machine_available", "x"]
                    ),
                    "resources": st.sampled_from(["0", "0-3", "7", "", "1-0"]),
                }
            ),
        ),
    ),
)


def as_bytes(content: Any) -> bytes:
    return json.dumps(content).encode(errors="replace")


# Messages of which something is wrong, and no messages at all.
ODD = st.one_of(
    st.binary(max_size=40),
    JSON.map(as_bytes),
    st.builds(message, st.floats(), st.tuples(KINDS, st.dictionaries(st.text(max_size=8), JSON))),
    st.builds(lambda raw, at: raw[:at], VALID, st.integers(0, 80)),
)
# The same of Batsim 5, behind its first frame.
VALID_OF_5 = st.one_of(
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
ODD_OF_5 = st.builds(lambda raw, at: raw[:at], VALID_OF_5, st.integers(0, 90))
TALK = st.one_of(
    st.lists(VALID | ODD, max_size=8),
    st.lists(VALID, max_size=12).map(lambda raws: [begins(), *raws]),
    st.lists(VALID_OF_5 | ODD_OF_5, max_size=8).map(lambda raws: [wire5.INIT, *raws]),
    st.lists(VALID_OF_5, max_size=12).map(lambda raws: [wire5.INIT, wire5.begins(), *raws]),
)


def with_users(_: SimulationBegins) -> Partner:
    """EASY for one user with two sessions."""
    jobs = [DrawnJob(10.0 * at, 2, 1, user="u", finish=10.0 * at) for at in range(2)]
    users = ThinkTimeFeedback(workload(jobs, 4), sessions="arrival:0")
    return DecisionProcess(Easy(), users, six_decimals=True).answer


def easy(_: SimulationBegins) -> Partner:
    return DecisionProcess(Easy(), six_decimals=True).answer


MAKERS = st.sampled_from([easy, with_users])


@given(TALK, MAKERS)
def test_answers_or_says_why_not(
    talk: list[bytes], make: Callable[[SimulationBegins], Partner]
) -> None:
    """Whatever is said: a reply, or an error of ours; nothing else gets out."""
    conversation = Conversation(make)
    for raw in talk:
        try:
            reply = conversation.answer(raw)
        except BatschedError:
            return
        assert isinstance(reply, bytes)
        if conversation.ended:
            return


@pytest.fixture(scope="module")
def folders() -> Iterator[Iterator[Path]]:
    with tempfile.TemporaryDirectory() as root:
        yield (Path(root, str(number)) for number in count())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TALK, MAKERS, st.booleans())
def test_never_hangs_over_a_socket(
    monkeypatch: pytest.MonkeyPatch,
    folders: Iterator[Path],
    talk: list[bytes],
    make: Callable[[SimulationBegins], Partner],
    waits: bool,
) -> None:
    """The peer says its messages and goes, having waited for the last reply or not."""
    monkeypatch.setattr(transport, "_TICK", 0.01)
    monkeypatch.setattr(conversation, "LAST_CALL", 0.02)
    monkeypatch.setattr(transport, "_FLUSH", 0.1)
    folder = next(folders)
    folder.mkdir()
    with (
        serving(folder, make, first_timeout=0.1, silence_timeout=LIMIT) as server,
        peer(server.endpoint.address) as batsim,
    ):
        for number, raw in enumerate(talk, start=1):
            batsim.send(raw)
            if not waits and number == len(talk):
                break
            while not batsim.poll(20) and server.is_alive():
                pass  # who takes long to come finds nobody any more
            if not batsim.poll(0) or batsim.recv().startswith(b"batsched_py cannot"):
                break  # Batsim aborts on a refusal
            if server.conversation.ended:
                break  # and is silent after the end
    assert server.error is None or isinstance(server.error, BatschedError)
    assert server.error is not None or server.conversation.ended
