"""Recorded exchanges with Batsim 4.2.0, and a scheduler that says again what was said."""

from __future__ import annotations

import csv
import json
import re
import shlex
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from batsched_py.protocol import codec
from batsched_py.protocol import messages as m
from batsched_py.simulator.engine import Options, Outcome, Simulator
from batsched_py.simulator.outputs import jobs_csv
from batsched_py.simulator.platform import read_platform
from batsched_py.workload.batsim_json import read_workload

TOLERANCE = 5e-3  # on platforms with latency, Batsim's own messages take simulated time


@dataclass
class Recording:
    """One folder: the command line, both sides' messages, the output and the return code."""

    folder: Path
    messages: list[m.Message] = field(default_factory=list)
    replies: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        exchange = self.folder / "exchange.jsonl"
        if not exchange.exists():
            return
        for line in exchange.read_text().splitlines():
            record = json.loads(line)
            if record["from"] == "batsim":
                self.messages.append(codec.decode_events(record["raw"]))
            else:
                self.replies.append(record["raw"].encode())

    @property
    def arguments(self) -> list[str]:
        return shlex.split((self.folder / "cmd.txt").read_text().splitlines()[0])

    @property
    def aborted(self) -> bool:
        return "batsim rc=0" not in (self.folder / "rc.txt").read_text()

    @property
    def exact(self) -> bool:
        return any("ideal" in argument for argument in self.arguments)

    def simulator(self) -> Simulator:
        arguments = self.arguments
        pairs = list(pairwise(arguments))
        (platform,) = (self.folder / b for a, b in pairs if a == "-p")
        workloads = [read_workload(self.folder / b) for a, b in pairs if a == "-w"]
        options = Options(
            dynamic_jobs="--enable-dynamic-jobs" in arguments,
            acknowledge_dynamic_jobs="--acknowledge-dynamic-jobs" in arguments,
            profile_reuse="--enable-profile-reuse" in arguments,
            forward_profiles="--forward-profiles-on-submission" in arguments,
            sched_config=next((b for a, b in pairs if a == "--sched-cfg"), ""),
        )
        return Simulator(read_platform(platform), workloads, options)


class Echo:
    """Plays the recorded scheduler: a reply is said once all events it answered have been seen.

    Our simulator puts an instant into one message where Batsim may take several, so one answer
    can hold several recorded replies.
    """

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.seen: list[m.Event] = []
        self._unseen = [[_key(event) for event in msg.events] for msg in recording.messages]
        self._next = 0

    def __call__(self, message: m.Message) -> m.Message:
        self.seen += message.events
        keys = [_key(event) for event in self.seen]
        reply = m.Message(message.now, [])
        expected: list[Any] = [key for keys in self._unseen[: self._next] for key in keys]
        while self._next < len(self.recording.replies):
            expected = expected + self._unseen[self._next]
            if any(keys.count(key) < expected.count(key) for key in expected):
                break
            said = codec.decode_decisions(self.recording.replies[self._next])
            self._next += 1
            reply.events += said.events
            reply.now = max(reply.now, said.now)
        if not self.recording.exact:
            _without_latency(reply, message.now)
        return reply


def _without_latency(reply: m.Message, now: float) -> None:
    """Set the times of a reply to ours: the recorded ones are later by some latency."""
    reply_now = reply.now
    if abs(reply.now - now) <= TOLERANCE:
        reply.now = now
    for decision in reply.events:
        if abs(decision.timestamp - now) <= TOLERANCE:
            decision.timestamp = now
        if isinstance(decision, m.CallMeLater) and decision.time == reply_now:
            decision.time = now


def _key(event: m.Event) -> tuple[Any, ...]:
    """What makes an event the same in both simulations, apart from its time."""
    if isinstance(event, m.JobSubmitted | m.JobCompleted):
        return event.tag, event.job_id
    if isinstance(event, m.JobKilled):
        return event.tag, *event.job_ids
    if isinstance(event, m.Notify):
        return event.tag, event.type
    return (event.tag,)


def run(recording: Recording) -> tuple[Echo, Outcome]:
    """Simulate the recording's inputs against its scheduler."""
    echo = Echo(recording)
    return echo, recording.simulator().run(echo)


def rows(text: str) -> list[dict[str, str]]:
    """Read ``_jobs.csv``."""
    return list(csv.DictReader(text.splitlines()))


def our_rows(outcome: Outcome) -> list[dict[str, str]]:
    """Return what we write for the recording."""
    return rows(jobs_csv(outcome.jobs))


def numbers(text: str) -> list[str]:
    """Return the numbers of a text."""
    return re.findall(r"-?\d+\.?\d*", text)


def assert_same_events(recording: Recording, echo: Echo) -> None:
    """Every recorded event was seen, with the same content at the same time."""
    theirs = [event for message in recording.messages for event in message.events]
    left = list(theirs)
    for our in echo.seen:
        match = next((event for event in left if _same(event, our, recording.exact)), None)
        assert match is not None, f"not recorded: {our}"
        left.remove(match)
    assert not left


def _same(theirs: m.Event, ours: m.Event, exact: bool) -> bool:
    if type(theirs) is not type(ours):
        return False
    return _close(_content(theirs), _content(ours), 1.1e-6 if exact else TOLERANCE)


def _content(event: m.Event) -> Any:
    content = json.loads(codec.encode_events(m.Message(0.0, [event])))["events"][0]
    if isinstance(event, m.SimulationBegins):
        content["data"]["workloads"] = sorted(content["data"]["workloads"])
    return content


def _close(a: Any, b: Any, tolerance: float) -> bool:
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_close(a[k], b[k], tolerance) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(lambda x, y: _close(x, y, tolerance), a, b))
    if isinstance(a, int | float) and isinstance(b, int | float):
        return abs(a - b) <= tolerance
    return bool(a == b)


def assert_same_row(ours: dict[str, str], theirs: dict[str, str], exact: bool) -> None:
    """The same row of ``_jobs.csv``: to the letter, or within the latency."""
    assert ours.keys() == theirs.keys()
    for column, their in theirs.items():
        our = ours[column]
        if exact or column in ("job_id", "final_state", "allocated_resources", "metadata"):
            assert our == their, column
        elif re.fullmatch(r"-?[\d.]+", their):
            # a ratio of times: an absolute difference of the times becomes a relative one
            assert abs(float(our) - float(their)) <= 2 * TOLERANCE * max(1, float(their)), column
        else:
            assert our == their, column


def assert_same_schedule(ours: str, theirs: str) -> None:
    """The same ``_schedule.csv`` but for the wall-clock columns."""
    (our,), (their,) = rows(ours), rows(theirs)
    assert list(our) == list(their)
    for column in set(our) - {"scheduling_time", "simulation_time"}:
        assert our[column] == their[column], column
