"""Recorded exchanges with Batsim 5.0.0-rc2, and a scheduler that says again what was said."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from batsched_py.errors import BatschedError
from batsched_py.processors.sets import MOST_PROCESSORS
from batsched_py.protocol import messages as m
from batsched_py.protocol.batsim5 import batprotocol_json as codec
from batsched_py.transport import simulator_socket
from helpers.calling import call
from helpers.recorded_batsim5 import BATSIM, SCHEDULER, frames, return_code
from helpers.recorded_exchanges import Player, Run, copy_inputs, is_close

STALE = {
    *("ExternalEventOccurredEvent", "HostsPStateChangedEvent", "HostsTurnedOnOffEvent"),
    "JobsKilledEvent",
}
"""Events that the real program tells with a time that is not theirs: their message's is right."""
GUESSED = {"batsim_arguments", "batsim_execution_context_json", "batprotocol_version"}
PATHS = ("workloads", "external_event_lists")
Said = dict[str, Any]
SENT: dict[str, bytes] = {"no_events_member": b'{"now": 0.0}'}
"""Replies that are recorded otherwise than they were sent."""


class EnoughError(BatschedError):
    """All that was recorded has been said, of a simulation that never ends."""


@dataclass
class Recording:
    """One folder: the command line, both sides' messages, the files and how it ended."""

    folder: Path
    hello: bytes = b""
    messages: list[Said] = field(default_factory=list)
    replies: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        said = frames(self.folder)
        self.messages = [
            frame.content for frame in said if frame.content and frame.sender == BATSIM
        ]
        replies = [frame.raw for frame in said if frame.sender == SCHEDULER]
        self.hello, self.replies = b"".join(replies[:1]), replies[1:]
        if self.folder.name in SENT:
            self.replies[0] = SENT[self.folder.name]

    @property
    def arguments(self) -> list[str]:
        arguments: list[str] = json.loads((self.folder / "args.json").read_text())
        return arguments[1:]

    @property
    def return_code(self) -> int | str:
        return return_code(self.folder)


class Echo(Player):
    """Plays the recorded scheduler."""

    def __init__(self, recording: Recording) -> None:
        keys = [Counter(map(_key, said["events"])) for said in recording.messages]
        super().__init__(keys, recording.replies)
        self.recording = recording
        self.init: str | None = None
        self.seen: list[tuple[float, Said]] = []
        """The time of the message and the event."""
        self._nb_resources = MOST_PROCESSORS

    def greet(self, init: str) -> m.Hello:
        self.init = init
        return codec.decode_hello(self.recording.hello)

    def __call__(self, message: m.Message) -> m.Message:
        if self.nb_replies == len(self.recording.replies) and self.recording.return_code == "hang":
            raise EnoughError("all was said")
        if message.events and isinstance(begins := message.events[0], m.SimulationBegins):
            self._nb_resources = begins.nb_resources
        events = json.loads(codec.encode_events(message).removesuffix(b"\0"))["events"]
        self.seen += [(message.now, event) for event in events]
        return self.answer(
            message.now,
            map(_key, events),
            lambda raw: codec.decode_decisions(raw, self._nb_resources),
        )


def _key(event: Said) -> tuple[Any, ...]:
    """What makes an event the same in both simulations, apart from its time."""
    content = event["event"]
    names = ("job_id", "call_me_later_id", "id", "host_ids", "probe_id")
    return event["event_type"], *(content.get(name) for name in names)


def run(
    recording: Recording,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    """Run the command with Batsim's recorded arguments, against its recorded scheduler."""
    copy_inputs(recording.folder, tmp_path)
    monkeypatch.chdir(tmp_path)
    echo = Echo(recording)
    monkeypatch.setattr(simulator_socket, "Batsim5Socket", lambda *_, **__: nullcontext(echo))
    code = call(monkeypatch, "simulator", "--protocol", "5", *recording.arguments)
    return Run(echo, code, capsys.readouterr().err)


def assert_same_events(recording: Recording, echo: Echo) -> None:
    """Every recorded event was seen, with the same content at the same time."""
    left: dict[tuple[Any, ...], list[Said]] = {}
    for message in recording.messages:
        for event in message["events"]:
            left.setdefault(_key(event), []).append(_content(message["now"], event))
    for now, event in echo.seen:
        ours, same = _content(now, event), left.get(_key(event), [])
        if recording.return_code != 0 and ours["event_type"].startswith("AllStatic") and not same:
            continue  # Batsim sends it alone, and had stopped before
        assert same, f"not recorded: {ours}"
        match = next((theirs for theirs in same if is_close(theirs, ours, 1e-11)), None)
        assert match is not None, f"not recorded: {ours}, but {same}"
        same.remove(match)
    assert not any(left.values())


def _content(now: float, event: Said) -> Said:
    """Return an event without paths and what only the real program knows of itself."""
    content = dict(event["event"])
    if event["event_type"] == "SimulationBeginsEvent":
        for name in GUESSED:
            content.pop(name, None)
        for name in PATHS:
            content[name] = sorted(item["name"] for item in content[name])
    stale = event["event_type"] in STALE
    return {**event, "timestamp": now if stale else event["timestamp"], "event": content}


def assert_same_files(recording: Recording, folder: Path) -> None:
    """The files of Batsim and no others, to the byte, but for the one with wall-clock times."""
    prefix = recording.arguments[recording.arguments.index("-e") + 1]
    below = prefix.rpartition("/")[0]
    theirs, ours = _files(recording.folder / below), _files(folder / below)
    assert ours.keys() == theirs.keys()
    for name, content in theirs.items():
        assert ours[name] == content, name


def _files(folder: Path) -> dict[str, str]:
    return {
        path.name: path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith("real_exec_info.json")
    }
