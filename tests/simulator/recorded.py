"""Recorded exchanges with Batsim 4.2.0, and a scheduler that says again what was said."""

from __future__ import annotations

import csv
import json
import re
import shlex
from dataclasses import dataclass, field
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
        pairs = list(zip(arguments, arguments[1:], strict=False))
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
    if abs(reply.now - now) <= TOLERANCE:
        reply.now = now
    for decision in reply.events:
        if abs(decision.timestamp - now) <= TOLERANCE:
            decision.timestamp = now


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
