"""Recorded exchanges with Batsim 4.2.0 or 5.0.0-rc2, and a scheduler that says its part again."""

from __future__ import annotations

import csv
import json
import re
import shlex
import shutil
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from batsched_py.errors import BatschedError
from batsched_py.processors.sets import MOST_PROCESSORS
from batsched_py.protocol import message_json as codec
from batsched_py.protocol import messages as m
from batsched_py.protocol.batsim5 import batprotocol_json as codec5
from batsched_py.transport import Partner, simulator_socket
from helpers.calling import call
from helpers.recorded_batsim5 import BATSIM, SCHEDULER, frames, return_code

Said = dict[str, Any]
"""A message or an event as JSON."""
INPUTS = (".xml", ".json", ".txt")
OF_RECORDING = {"args.json", "result.json"}
NAMING = ("job_id", "job_ids", "type", "call_me_later_id", "id", "host_ids", "probe_id")
"""Members of events that tell those of one kind apart."""


STALE = {
    *("ExternalEventOccurredEvent", "HostsPStateChangedEvent", "HostsTurnedOnOffEvent"),
    "JobsKilledEvent",
}
"""Events that Batsim 5 tells with a time that is not theirs: their message's is right."""
GUESSED = {"batsim_arguments", "batsim_execution_context_json", "batprotocol_version"}


class EnoughError(BatschedError):
    """All that was recorded has been said, of a simulation that never ends."""


class Recording:
    """One folder: the command line, both sides' messages, the files and how it ended."""

    kind, content, socket = "type", "data", "SimulatorSocket"
    tolerance = 5e-3
    """Of times: on platforms with latency, Batsim's own messages take simulated time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.messages: list[Said] = []
        self.replies: list[bytes] = []
        exchange = folder / "exchange.jsonl"
        for line in exchange.read_text().splitlines() if exchange.exists() else []:
            record = json.loads(line)
            if record["from"] == "batsim":
                self.messages.append(self.as_json(codec.decode_events(record["raw"])))
            else:
                self.replies.append(record["raw"].encode())
        if self.exact:
            self.tolerance = 0
        if folder.name == "21_precision":  # times of 1e9 s in steps of 1e-7 s
            self.tolerance = 1.1e-6

    @property
    def arguments(self) -> list[str]:
        return shlex.split((self.folder / "cmd.txt").read_text().splitlines()[0])[1:]

    @property
    def aborted(self) -> bool:
        told = self.folder / "rc.txt"
        return told.exists() and "batsim rc=0" not in told.read_text()

    @property
    def is_endless(self) -> bool:
        return False

    @property
    def exact(self) -> bool:
        """Whether Batsim's messages took no simulated time."""
        pairs = pairwise(self.arguments)
        return any(a == "-p" and ("ideal" in b or "no_net" in b) for a, b in pairs)

    def as_json(self, message: m.Message) -> Said:
        """Return a message as it is on the wire, times with six decimals."""
        said: Said = json.loads(codec.encode_events(message))
        return said

    def decode(self, raw: bytes, nb_resources: int) -> m.Message:
        return codec.decode_decisions(raw)

    def key(self, event: Said) -> tuple[Any, ...]:
        """What makes an event the same in both simulations, apart from its time."""
        content = event[self.content]
        return event[self.kind], *(repr(content.get(name)) for name in NAMING)

    def comparable(self, now: float, event: Said) -> Said:
        """Return an event without paths."""
        content = dict(event[self.content])
        if event[self.kind] == "SIMULATION_BEGINS":
            content["workloads"] = sorted(content["workloads"])
        return {**event, self.content: content}


class Recording5(Recording):
    """One of Batsim 5."""

    kind, content, socket = "event_type", "event", "Batsim5Socket"
    tolerance = 1e-11

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        said = frames(folder)
        self.messages = [it.content for it in said if it.content and it.sender == BATSIM]
        replies = [it.raw for it in said if it.sender == SCHEDULER]
        self.hello, self.replies = b"".join(replies[:1]), replies[1:]
        if folder.name == "no_events_member":  # recorded otherwise than it was sent
            self.replies[0] = b'{"now": 0.0}'

    @property
    def arguments(self) -> list[str]:
        arguments: list[str] = json.loads((self.folder / "args.json").read_text())
        return ["--protocol", "5", *arguments[1:]]

    @property
    def aborted(self) -> bool:
        return return_code(self.folder) != 0

    @property
    def is_endless(self) -> bool:
        return return_code(self.folder) == "hang"

    @property
    def exact(self) -> bool:
        return False  # the order of its events is another

    def as_json(self, message: m.Message) -> Said:
        said: Said = json.loads(codec5.encode_events(message).removesuffix(b"\0"))
        return said

    def decode(self, raw: bytes, nb_resources: int) -> m.Message:
        return codec5.decode_decisions(raw, nb_resources)

    def comparable(self, now: float, event: Said) -> Said:
        """Return an event without paths and what only the real program knows of itself."""
        content = dict(event["event"])
        if event["event_type"] == "SimulationBeginsEvent":
            for name in GUESSED:
                content.pop(name, None)
            for name in ("workloads", "external_event_lists"):
                content[name] = sorted(item["name"] for item in content[name])
        time = now if event["event_type"] in STALE else event["timestamp"]
        return {**event, "timestamp": time, "event": content}


class Echo:
    """Plays the recorded scheduler: a reply is said once all events it answered have been seen.

    Our simulator puts an instant into one message where Batsim may take several, so one answer
    can hold several recorded replies.
    """

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.seen: list[tuple[float, Said]] = []
        """The time of the message and the event."""
        self._unseen = [Counter(map(recording.key, it["events"])) for it in recording.messages]
        self._expected: Counter[tuple[Any, ...]] = Counter()
        self._keys: Counter[tuple[Any, ...]] = Counter()
        self.nb_replies = 0
        """Number of recorded replies that were said."""
        self._nb_resources = MOST_PROCESSORS

    def greet(self, init: str) -> m.Hello:
        """Say what a scheduler for Batsim 5 said first."""
        assert isinstance(self.recording, Recording5)
        return codec5.decode_hello(self.recording.hello)

    def __call__(self, message: m.Message) -> m.Message:
        if self.nb_replies == len(self.recording.replies) and self.recording.is_endless:
            raise EnoughError("all was said")
        if message.events and isinstance(begins := message.events[0], m.SimulationBegins):
            self._nb_resources = begins.nb_resources
        events = self.recording.as_json(message)["events"]
        self.seen += [(message.now, event) for event in events]
        self._keys.update(map(self.recording.key, events))
        reply = m.Message(message.now, [])
        while self.nb_replies < len(self.recording.replies):
            unseen = self._unseen[self.nb_replies]
            if any(self._keys[key] < self._expected[key] + unseen[key] for key in unseen):
                break
            self._expected += unseen
            raw = self.recording.replies[self.nb_replies]
            self.nb_replies += 1
            recorded = self.recording.decode(raw, self._nb_resources)
            reply.events += recorded.events
            reply.now = max(reply.now, recorded.now)
        return reply


@dataclass
class Run:
    """What the command did: how it exited, what it said, and what it wrote in ``folder``."""

    echo: Echo
    exit_code: int
    stderr: str
    folder: Path


def run(
    recording: Recording,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    scheduler: Partner | None = None,
) -> Run:
    """Run the command with Batsim's recorded arguments, against its recorded scheduler."""
    for path in recording.folder.iterdir():
        if path.suffix in INPUTS and path.name not in OF_RECORDING:
            shutil.copyfile(path, tmp_path / path.name)  # those that are shared are read-only
    monkeypatch.chdir(tmp_path)
    echo = Echo(recording)
    speaks = nullcontext(scheduler or echo)
    monkeypatch.setattr(simulator_socket, recording.socket, lambda *_, **__: speaks)
    code = call(monkeypatch, "simulator", *recording.arguments)
    return Run(echo, code, capsys.readouterr().err, tmp_path)


def assert_same_events(recording: Recording, echo: Echo) -> None:
    """Every recorded event was seen, with the same content at the same time."""
    left: dict[tuple[Any, ...], list[Said]] = {}
    for message in recording.messages:
        for event in message["events"]:
            comparable = recording.comparable(message["now"], event)
            left.setdefault(recording.key(event), []).append(comparable)
    for now, event in echo.seen:
        ours, same = recording.comparable(now, event), left.get(recording.key(event), [])
        if recording.aborted and not same and _is_last_submitted(event):
            continue  # Batsim sends it alone, and had stopped before
        match = next((it for it in same if _close(it, ours, recording.tolerance)), None)
        assert match is not None, f"not recorded: {ours}, but {same}"
        same.remove(match)
    assert not any(left.values())
    if recording.exact:  # and in the same order, but for notices, which Batsim often sends alone
        theirs = [event for message in recording.messages for event in message["events"]]
        ours_in_order = [event for _, event in echo.seen]
        assert _order(recording, ours_in_order) == _order(recording, theirs)


def _is_last_submitted(event: Said) -> bool:
    if "event_type" in event:
        return bool(event["event_type"].startswith("AllStatic"))
    return bool(event["data"].get("type") == "no_more_static_job_to_submit")


def _order(recording: Recording, events: list[Said]) -> list[tuple[Any, ...]]:
    return [recording.key(event) for event in events if event["type"] != "NOTIFY"]


def _close(a: Any, b: Any, tolerance: float) -> bool:
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_close(a[k], b[k], tolerance) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(lambda x, y: _close(x, y, tolerance), a, b))
    if isinstance(a, int | float) and isinstance(b, int | float):
        return abs(a - b) <= tolerance
    return bool(a == b)


# Files -------------------------------------------------------------------------------------------

WALL_CLOCK = {"scheduling_time", "simulation_time"}
SIX_DIGITS = 1e-5
"""Relative: times in the files of machines and energy have six digits in all."""


def assert_same_files(recording: Recording, folder: Path) -> None:
    """The files of Batsim 4 and no others: to the byte but for the wall clock, or close to it."""
    names = [path.name for path in sorted(recording.folder.glob("out_*.csv"))]
    assert [path.name for path in sorted(folder.glob("out_*"))] == names
    for name in names:
        theirs, ours = (_without_wall_clock(at / name) for at in (recording.folder, folder))
        if recording.tolerance == 0:
            assert ours == theirs, name
        else:
            _assert_close(ours, theirs, recording.tolerance)


def _without_wall_clock(path: Path) -> str:
    """Blank the columns of wall-clock time in a summary, which has no quoted fields."""
    header, *rows = path.read_bytes().decode().split("\n")
    columns = header.split(",")
    if WALL_CLOCK & set(columns):
        fields = zip(columns, rows[0].split(","), strict=True)
        rows[0] = ",".join("" if column in WALL_CLOCK else text for column, text in fields)
    return "\n".join([header, *rows])


def _assert_close(ours: str, theirs: str, tolerance: float) -> None:
    our_rows, their_rows = (list(csv.DictReader(text.splitlines())) for text in (ours, theirs))
    assert ours.partition("\n")[0] == theirs.partition("\n")[0]
    for our, their in zip(our_rows, their_rows, strict=True):
        for column, value in their.items():
            if re.fullmatch(r"-?\d+\.\d{6}", value):
                assert re.fullmatch(r"-?\d+\.\d{6}", our[column]), column
                assert float(our[column]) == pytest.approx(float(value), rel=0, abs=tolerance)
            elif column == "time":
                both = float(our[column]), float(value)
                assert both[0] == pytest.approx(both[1], rel=SIX_DIGITS, abs=tolerance)
            else:
                assert our[column] == value, column


def assert_same_files_of_5(recording: Recording, folder: Path) -> None:
    """The files of Batsim 5 and no others, to the byte, but for the one with wall-clock times."""
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
