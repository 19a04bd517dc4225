"""What Batsim can have said is answered, and nothing else: as a slow model has it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.decision_process import DecisionProcess
from batsched_py.errors import ProtocolError
from batsched_py.protocol import messages as m
from batsched_py.schedulers.easy import Easy
from batsched_py.support.processor_sets import ProcessorSet
from batsched_py.testing import DrawnJob, workload
from batsched_py.transport import Partner
from batsched_py.transport.conversation import Conversation
from batsched_users.models.feedback import ThinkTimeFeedback
from helpers.batsim_tracker import RETURN_CODES, Event, Tracker
from helpers.wire import begins

NAMES = ("w0!a", "w0!b", "w0!c", "w1!a", "d!0", "d!1", "dyn!0", "dyn!1", "a")
STATES = [(state, code) for state in (*RETURN_CODES, "ENDED") for code in (-2, -1, 0, 1)]
NOTICES = ("no_more_static_job_to_submit", "no_more_external_event_to_occur", "hello")


class Restless:
    """A scheduler that asks for all that there is, in turn, and starts whom it can."""

    def __init__(self) -> None:
        self.waiting: list[m.JobDescription] = []
        self.running: dict[str, int] = {}
        self.free = {0, 1, 2, 3}
        self.trusts = True
        """Whether no machine ever failed: it starts nothing after that."""
        self.nb_registered = 0
        self.turn = 0
        self.reply: list[m.Event] = []

    def __call__(self, message: m.Message) -> m.Message:
        now, self.reply = message.now, []
        self.turn += 1
        for event in message.events:
            self.hear(event, now)
        if type(message.events[-1]) is not m.SimulationEnds:
            if self.trusts:
                self.start(now)
            self.ask(now)
        return m.Message(now, self.reply)

    def hear(self, event: m.Event, now: float) -> None:
        if isinstance(event, m.SimulationBegins):
            self.dynamic = event.config["dynamic-jobs-enabled"]
            if self.dynamic:
                profile = {"type": "delay", "delay": 1}
                self.reply.append(
                    m.RegisterProfile(
                        timestamp=now, workload_name="d", profile_name="p", profile=profile
                    )
                )
        elif isinstance(event, m.JobSubmitted) and not event.job_id.startswith("d"):
            self.waiting.append(event.job)
        elif isinstance(event, m.JobCompleted):
            alloc = self.running.pop(event.job_id)
            self.free |= set(alloc)
        elif isinstance(event, m.Notify) and event.type == "event_machine_unavailable":
            self.trusts = False

    def start(self, now: float) -> None:
        for job in list(self.waiting):
            chosen = ProcessorSet.of(sorted(self.free)[: job.size])
            if len(chosen) == job.size > 0:
                self.reply.append(m.ExecuteJob(timestamp=now, job_id=job.id, alloc=chosen))
                self.running[job.id] = chosen
                self.free -= set(chosen)
            elif not 0 < job.size <= 4:
                self.reply.append(m.RejectJob(timestamp=now, job_id=job.id))
            else:
                continue
            self.waiting.remove(job)

    def ask(self, now: float) -> None:
        if self.turn % 4 == 1 and self.turn < 9:
            self.reply.append(m.CallMeLater(timestamp=now, time=now + 2))
        elif self.turn % 4 == 2:
            self.reply.append(m.Query(timestamp=now, requests={"consumed_energy": {}}))
            self.reply.append(
                m.SetResourceState(timestamp=now, resources=ProcessorSet.of([0]), state="1")
            )
        elif self.turn % 4 == 3 and self.running:
            self.reply.append(m.KillJob(timestamp=now, job_ids=[next(iter(self.running))]))
        elif self.dynamic and self.nb_registered < 2:
            job = m.JobDescription(f"d!{self.nb_registered}", now, 1, "p", 10, extra={"who": "us"})
            self.nb_registered += 1
            self.reply.append(m.RegisterJob(timestamp=now, job_id=job.id, job=job))
            self.waiting.append(job)
        elif self.dynamic and self.nb_registered == 2:
            self.nb_registered += 1
            self.reply.append(m.Notify(timestamp=now, type="registration_finished"))


def restless(_: m.SimulationBegins) -> Partner:
    return Restless()


def easy(_: m.SimulationBegins) -> Partner:
    return DecisionProcess(Easy(), six_decimals=True).answer


def with_users(begin: m.SimulationBegins) -> Partner:
    """EASY, for one user with two sessions if it may register jobs."""
    if not begin.config["dynamic-jobs-enabled"]:
        return easy(begin)
    jobs = [DrawnJob(10.0 * at, 2, 1, user="u", finish=10.0 * at) for at in range(2)]
    users = ThinkTimeFeedback(workload(jobs, 4), sessions="arrival:0")
    return DecisionProcess(Easy(), users, six_decimals=True).answer


def submissions(tracker: Tracker, at: float) -> Iterator[Event]:
    changes: tuple[Event, ...] = ({"subtime": at + 1}, {"subtime": -1}, {"res": 6}, {"res": -1})
    for name in NAMES:
        job = {"id": name, "subtime": at, "res": 2, "profile": "p", "walltime": 10}
        registered = [data["job"] for data in tracker.asked_for("REGISTER_JOB", job_id=name)]
        for change in ({}, {"id": "w0!x"}, {"walltime": -2}, *changes):
            for described in (job, *registered):
                yield {"job_id": name, "job": {**described, **change}}


def completions(tracker: Tracker, at: float) -> Iterator[Event]:
    for name in NAMES:
        for alloc in {"0", "2-3", *(data["alloc"] for data in tracker.started(name))}:
            for state, code in STATES:
                yield {"job_id": name, "job_state": state, "return_code": code, "alloc": alloc}


def kills(tracker: Tracker, at: float) -> Iterator[Event]:
    for name in NAMES:
        for progress in ({}, {name: {}}, {"w0!x": {}}):
            yield {"job_ids": [name], "job_progress": progress}


def notices(tracker: Tracker, at: float) -> Iterator[Event]:
    yield from ({"type": name} for name in NOTICES)
    for change in ("available", "unavailable"):
        for machines in ("0", "2-3", "3-4"):
            yield {"type": f"event_machine_{change}", "resources": machines}


CANDIDATES: dict[str, Callable[[Tracker, float], Iterable[Event]]] = {
    "SIMULATION_BEGINS": lambda tracker, at: [tracker.begin],
    "SIMULATION_ENDS": lambda tracker, at: [{}],
    "JOB_SUBMITTED": submissions,
    "JOB_COMPLETED": completions,
    "JOB_KILLED": kills,
    "REQUESTED_CALL": lambda tracker, at: [{}],
    "RESOURCE_STATE_CHANGED": lambda tracker, at: [
        {"resources": text, "state": state} for text in ("0", "1") for state in ("1", "2")
    ],
    "ANSWER": lambda tracker, at: [{"consumed_energy": 5.5}, {}, {"estimate_waiting_time": 1}],
    "FROM_JOB_MSG": lambda tracker, at: [{"job_id": name, "msg": {"hi": 1}} for name in NAMES],
    "NOTIFY": notices,
    "SOMETHING_ELSE": lambda tracker, at: [{}],
}
"""What might be said of a kind: the possible, and much that is not."""
KINDS = st.sampled_from([*CANDIDATES, *["JOB_SUBMITTED", "JOB_COMPLETED"] * 2])


class Talk:
    """A conversation as it is drawn: all is possible, until something is not."""

    def __init__(self, data: st.DataObject) -> None:
        self.draw = data.draw
        self.tracker = Tracker()
        self.impossible: Event | None = None

    def begin(self) -> bytes:
        flags = ("dynamic-jobs-enabled", "dynamic-jobs-acknowledged")
        config = {name: self.draw(st.booleans()) for name in flags}
        raw = begins(4, **config, profile_reuse_enabled=True)
        self.tracker.hear(json.loads(raw)["events"][0], 0.0)
        return raw

    def message(self) -> bytes | None:
        """Draw the next message, None if nothing comes to mind."""
        tracker = self.tracker
        now = tracker.now + self.draw(st.sampled_from([0, 1, 2, 12]))
        tracker.before = tracker.now
        events: list[Event] = []
        for kind in self.draw(st.lists(KINDS, min_size=1, max_size=3)):
            event = self.event(kind, now)
            if event is not None:
                events.append(event)
                tracker.hear(event, now)
            if self.impossible is not None:
                break
        return json.dumps({"now": now, "events": events}).encode() if events else None

    def event(self, kind: str, now: float) -> Event | None:
        possible: list[Event] = []
        impossible: list[Event] = []
        since = self.tracker.since()
        at = self.draw(st.sampled_from([now, now, since, since, now + 1, since - 1]))
        for data in CANDIDATES[kind](self.tracker, at):
            event = {"timestamp": at, "type": kind, "data": data}
            may = self.tracker.may_come(event, now)
            (possible if may else impossible).append(event)
        if impossible and self.draw(st.integers(0, 9)) == 9:
            self.impossible = self.draw(st.sampled_from(impossible))
            return self.impossible
        return self.draw(st.sampled_from(possible)) if possible else None


@pytest.mark.parametrize("make", [easy, with_users, restless])
@given(st.data())
def test_answers_what_is_possible_and_nothing_else(make: Any, data: st.DataObject) -> None:
    talk, conversation = Talk(data), Conversation(make)
    raw: bytes | None = talk.begin()
    for _ in range(data.draw(st.integers(1, 12))):
        if raw is not None:
            talk.tracker.reply(conversation.answer(raw))
        if conversation.ended and data.draw(st.booleans()):
            return
        raw = talk.message()
        if talk.impossible is not None:
            assert raw is not None
            with pytest.raises(ProtocolError, match=re.escape(talk.impossible["type"])):
                conversation.answer(raw)
            return
