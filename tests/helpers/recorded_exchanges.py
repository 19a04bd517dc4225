"""Recorded exchanges with Batsim 4.2.0, and a scheduler that says again what was said."""

from __future__ import annotations

import csv
import json
import re
import shlex
import shutil
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from batsched_py.protocol import message_json as codec
from batsched_py.protocol import messages as m
from batsched_py.transport import Partner, simulator_socket
from helpers.calling import call

TOLERANCE = 5e-3  # on platforms with latency, Batsim's own messages take simulated time
PRECISION = {"21_precision": 1.1e-6}  # times of 1e9 s in steps of 1e-7 s
LAST_SUBMITTED = "no_more_static_job_to_submit"
WALL_CLOCK = {b"scheduling_time", b"simulation_time"}
SIX_DIGITS = 1e-5  # relative: times in the files of machines and energy have six digits in all
INPUTS = (".xml", ".json", ".txt")


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
        return shlex.split((self.folder / "cmd.txt").read_text().splitlines()[0])[1:]

    @property
    def aborted(self) -> bool:
        told = self.folder / "rc.txt"
        return told.exists() and "batsim rc=0" not in told.read_text()

    @property
    def exact(self) -> bool:
        """Whether Batsim's messages took no simulated time."""
        return any(a == "-p" and ("ideal" in b or "no_net" in b) for a, b in self._pairs)

    @property
    def _pairs(self) -> list[tuple[str, str]]:
        return list(pairwise(self.arguments))


class Player:
    """Says recorded replies: each once all events that it answered have been seen.

    Our simulator puts an instant into one message where Batsim may take several, so one answer
    can hold several recorded replies.
    """

    def __init__(self, keys: list[Counter[tuple[Any, ...]]], replies: list[bytes]) -> None:
        self._unseen, self._replies = keys, replies
        self._expected: Counter[tuple[Any, ...]] = Counter()
        self._keys: Counter[tuple[Any, ...]] = Counter()
        self.nb_replies = 0
        """Number of recorded replies that were said."""

    def answer(
        self, now: float, keys: Iterable[tuple[Any, ...]], decode: Callable[[bytes], m.Message]
    ) -> m.Message:
        """Return what is to be said at ``now``, when the events with these keys are seen."""
        self._keys.update(keys)
        reply = m.Message(now, [])
        while self.nb_replies < len(self._replies):
            unseen = self._unseen[self.nb_replies]
            if any(self._keys[key] < self._expected[key] + unseen[key] for key in unseen):
                break
            self._expected += unseen
            raw = self._replies[self.nb_replies]
            self.nb_replies += 1
            recorded = decode(raw)
            reply.events += recorded.events
            reply.now = max(reply.now, recorded.now)
        return reply


class Echo(Player):
    """Plays the recorded scheduler."""

    def __init__(self, recording: Recording) -> None:
        keys = [Counter(map(_key, message.events)) for message in recording.messages]
        super().__init__(keys, recording.replies)
        self.seen: list[m.Event] = []

    def __call__(self, message: m.Message) -> m.Message:
        self.seen += message.events
        return self.answer(message.now, map(_key, message.events), codec.decode_decisions)


def _key(event: m.Event) -> tuple[Any, ...]:
    """What makes an event the same in both simulations, apart from its time."""
    if isinstance(event, m.JobSubmitted | m.JobCompleted):
        return event.tag, event.job_id
    if isinstance(event, m.JobKilled):
        return event.tag, *event.job_ids
    if isinstance(event, m.Notify):
        return event.tag, event.type
    return (event.tag,)


@dataclass
class Run:
    """What the command did: how it exited, and what it said."""

    echo: Any
    exit_code: int
    stderr: str


def run(
    recording: Recording,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    scheduler: Partner | None = None,
) -> Run:
    """Run the command with Batsim's recorded arguments, against its recorded scheduler."""
    copy_inputs(recording.folder, tmp_path)
    monkeypatch.chdir(tmp_path)
    echo = Echo(recording)
    speaks = nullcontext(scheduler or echo)
    monkeypatch.setattr(simulator_socket, "SimulatorSocket", lambda *_, **__: speaks)
    code = call(monkeypatch, "simulator", *recording.arguments)
    return Run(echo, code, capsys.readouterr().err)


def copy_inputs(recorded: Path, folder: Path) -> None:
    """Copy the inputs of a run; those that are shared are read-only."""
    for path in recorded.iterdir():
        if path.suffix in INPUTS and path.name not in ("args.json", "result.json"):
            shutil.copyfile(path, folder / path.name)


def rows(text: str) -> list[dict[str, str]]:
    """Read a table."""
    return list(csv.DictReader(text.splitlines()))


def assert_same_events(recording: Recording, echo: Echo) -> None:
    """Every recorded event was seen, with the same content at the same time."""
    tolerance = PRECISION.get(recording.folder.name, 0 if recording.exact else TOLERANCE)
    left: dict[tuple[Any, ...], list[Any]] = {}
    for message in recording.messages:
        for event in message.events:
            left.setdefault(_key(event), []).append(_content(event))
    for event in echo.seen:
        our, same = _content(event), left.get(_key(event), [])
        match = next((their for their in same if is_close(their, our, tolerance)), None)
        if match is None and recording.aborted and our["data"].get("type") == LAST_SUBMITTED:
            continue  # Batsim sends it alone, and had stopped before
        assert match is not None, f"not recorded: {our}"
        same.remove(match)
    assert not any(left.values())
    if recording.exact:  # and in the same order, but for notices, which Batsim often sends alone
        theirs = [event for message in recording.messages for event in message.events]
        assert _order(echo.seen) == _order(theirs)


def _order(events: list[m.Event]) -> list[tuple[Any, ...]]:
    return [_key(event) for event in events if not isinstance(event, m.Notify)]


def _content(event: m.Event) -> Any:
    """Return an event as it is on the wire, times with six decimals."""
    content = json.loads(codec.encode_events(m.Message(0.0, [event])))["events"][0]
    if isinstance(event, m.SimulationBegins):
        content["data"]["workloads"] = sorted(content["data"]["workloads"])  # without the paths
    return content


def is_close(a: Any, b: Any, tolerance: float) -> bool:
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(is_close(a[k], b[k], tolerance) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(lambda x, y: is_close(x, y, tolerance), a, b))
    if isinstance(a, int | float) and isinstance(b, int | float):
        return abs(a - b) <= tolerance
    return bool(a == b)


def assert_same_files(recording: Recording, folder: Path) -> None:
    """The files of Batsim and no others: to the byte but for wall-clock columns, or close to it."""
    names = [path.name for path in sorted(recording.folder.glob("out_*.csv"))]
    assert [path.name for path in sorted(folder.glob("out_*"))] == names
    for name in names:
        theirs = _without_wall_clock((recording.folder / name).read_bytes())
        ours = _without_wall_clock((folder / name).read_bytes())
        if recording.exact and recording.folder.name not in PRECISION:
            assert ours == theirs, name
        else:
            _assert_close(recording, ours.decode(), theirs.decode())


def _without_wall_clock(content: bytes) -> bytes:
    """Blank the columns of wall-clock time in a summary, which has no quoted fields."""
    lines = content.split(b"\n")
    columns = lines[0].split(b",")
    if not WALL_CLOCK & set(columns):
        return content
    fields = lines[1].split(b",")
    assert len(fields) == len(columns)
    for at, column in enumerate(columns):
        if column in WALL_CLOCK:
            fields[at] = b""
    return b"\n".join([lines[0], b",".join(fields), *lines[2:]])


def _assert_close(recording: Recording, ours: str, theirs: str) -> None:
    tolerance = PRECISION.get(recording.folder.name, TOLERANCE)
    our_rows, their_rows = rows(ours), rows(theirs)
    assert ours.partition("\n")[0] == theirs.partition("\n")[0]
    assert len(our_rows) == len(their_rows)
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
