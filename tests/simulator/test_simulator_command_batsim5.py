"""``batsched-py simulator`` in Batsim 5's place, for those who mistype or break things."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from batsched_py.protocol import messages as m
from batsched_py.protocol.batsim5 import batprotocol_json as codec
from batsched_py.transport.recording import read_exchange
from helpers.calling import Called, command
from helpers.listening_scheduler import NEXT_FRAME, scheduler

PLATFORM = """<?xml version="1.0"?>
<platform version="4.1">
<cluster id="c" prefix="n" suffix="" radical="0-4" speed="1Gf" bw="1GBps" lat="0"/>
</platform>"""
WORKLOAD: dict[str, Any] = {
    "nb_res": 4,
    "jobs": [{"id": "1", "subtime": 1, "res": 1, "walltime": 9, "profile": "p"}],
    "profiles": {"p": {"type": "DelayProfile", "delay": 4}},
}
USUAL = ["-p", "platform.xml", "-m", "n4", "-w", "workload.json", "-e", "out/"]
Call = Callable[..., Called]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a platform of four machines, a job, and texts."""
    (tmp_path / "platform.xml").write_text(PLATFORM)
    (tmp_path / "workload.json").write_text(json.dumps(WORKLOAD))
    (tmp_path / "text").write_bytes(b"\xef\xbb\xbfa\r\nb\n")
    (tmp_path / "@text").write_text("in @text")
    (tmp_path / "binary").write_bytes(b"ab\xff")
    (tmp_path / "more").write_text("-q -e out/more_")
    (tmp_path / "five").write_text("--protocol 5 -e out/five_")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def call(folder: Path) -> Call:
    """Run the command in this process."""
    return partial(command, folder, "simulator")


def assert_one_line(done: Called, code: int, message: str) -> None:
    """It failed as expected, with a line that says what was expected, and left no files."""
    assert done.returncode == code, done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stderr.startswith("batsched-py: error: ")
    assert message in done.stderr
    assert files() == []


def files() -> list[str]:
    return sorted(path.name for path in Path("out").glob("*"))


def hello(**features: bool) -> bytes:
    return codec.encode_hello(m.Hello(timestamp=0.0, name="test", version="1", features=features))


HELLO = hello()
NOTHING = b'{"now":{now},"events":[]}'
START = (
    b'{"now":{now},"events":[{"timestamp":{now},"event_type":"ExecuteJobEvent","event":'
    b'{"job_id":"w0!1","allocation":{"host_allocation":"2",'
    b'"executor_placement_type":"PredefinedExecutorPlacementStrategyWrapper",'
    b'"executor_placement":{"strategy":"SpreadOverHostsFirst"}}}}]}'
)
OF_VERSION_4 = (
    b'{"now":{now},"events":[{"timestamp":{now},"type":"EXECUTE_JOB",'
    b'"data":{"job_id":"w0!1","alloc":"2"}}]}'
)
GOOD = (HELLO, NOTHING, START, NOTHING, NOTHING)
"""Begins, the job is submitted and started, it ends, the simulation ends."""


def test_a_run(call: Call) -> None:
    """Messages are shown as they are said, without the final zero byte."""
    with scheduler(*GOOD) as address:
        done = call(*USUAL, "-s", address, "", "-v", "debug", "--trace-machine-state")
    paths = "out/jobs.csv, out/machine_states.csv, out/schedule.json"
    assert (done.returncode, done.stdout) == (0, f"1 jobs; wrote {paths}\n")
    assert [line[:2] for line in done.stderr.splitlines()] == ["->", "<-"] * 4
    assert "\0" not in done.stderr
    row = Path("out/jobs.csv").read_text().splitlines()[1]
    assert row.startswith("1,w0,w0!p,1.000000,1,9.000000,1,COMPLETED_SUCCESSFULLY,1.000000,4.0")


# The command line --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--edc-socket-str", "ADDRESS", "é"], "é".encode()),
        (["--protocol", "5", "-s", "ADDRESS", "--x"], b"--x"),
        (["--protocol=5", "-s", "ADDRESS", "@text"], b"@text"),
        (["--protocol=5", "-s", "ADDRESS", "@text", "@more"], b"@text"),
        (["--socket-endpoint", "ADDRESS", "--init", "@text"], b"@text"),
        (["--protocol", "5", "--socket-endpoint=ADDRESS"], b""),
        (["-S", "ADDRESS", "text"], b"\xef\xbb\xbfa\r\nb\n"),
        (["--edc-socket-file", "ADDRESS", "text", "--init-file", "@text"], b"in @text"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_a_text_for_the_scheduler(arguments: list[str], text: bytes, call: Call) -> None:
    """To the byte: what looks like an option, or like a file with arguments, is none."""
    with scheduler(b"no hello") as address:
        given = [argument.replace("ADDRESS", address) for argument in arguments]
        done = call(*USUAL, *given, "--record", "exchange.jsonl")
    assert_one_line(done, 1, "it said: no hello")
    first = read_exchange("exchange.jsonl")[0].frame
    assert first[4:] == text


def test_behind_an_endpoint_of_version_4_come_arguments(call: Call) -> None:
    assert "Missing option '-p'" in call("-s", "tcp://127.0.0.1:9", "@more").stderr
    assert_one_line(call("-s", "tcp://127.0.0.1:9", "@none"), 2, "there is no file 'none'")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--protocol", "6"], "--protocol 6"),
        (["--protocol", "5", "-s", "tcp://a:1"], "ENDPOINT INIT"),
        (["-S", "tcp://a:1"], "ENDPOINT FILE"),
        (["-S", "tcp://a:1", "binary"], "binary: byte 3"),
        (["--init", "a\udcff"], "--init: byte 2"),
        (["-s", "tcp://a:1", "a", "-S", "tcp://a:1", "text"], "give one"),
        (["--protocol=4", "--ee", "events.txt"], "--ee: only Batsim 5"),
        (["--energy-host", "--enable-dynamic-jobs"], "--enable-dynamic-jobs"),
        (["--energy-host", "--events", "x"], "this is --ee"),
        (["--protocol", "5", "-r", "n1"], "HOST ROLE"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_options_that_do_not_fit(arguments: list[str], message: str, call: Call) -> None:
    assert_one_line(call(*USUAL, *arguments), 2, message)


@pytest.mark.parametrize(
    ("arguments", "version"),
    [
        ([], "v4.2.0"),
        (["--protocol", "5"], "v5.0.0-rc2"),
        (["-s", "tcp://a:1", ""], "v5.0.0-rc2"),
    ],
)
def test_its_version(arguments: list[str], version: str | None, call: Call) -> None:
    for given in ([*arguments, "--version"], ["--version", *arguments]):
        said = call(*given).stdout
        match = re.fullmatch(r"batsched-py [\w.]+ \(stand-in for Batsim (\S+)\)\n", said)
        assert (match and match[1]) == version


# Schedulers that misbehave -----------------------------------------------------------------------


BINARY = (1).to_bytes(4, "little") + bytes(range(40))


@pytest.mark.parametrize(
    ("replies", "message"),
    [
        ([b""], "begins with b''"),
        ([BINARY], "ask for JSON"),
        ([HELLO[:4] + NOTHING], "has 0 events"),
        ([HELLO + NEXT_FRAME + NOTHING], "2 frames"),
        ([None], "within 0.5 s"),
        ([HELLO], "went away at 0.000000"),
        ([HELLO, HELLO], "Batsim 5's protocol"),
        ([HELLO, NOTHING, OF_VERSION_4], "event_type is missing"),
    ],
    ids=lambda value: f"{len(value)} {value[-1]!r:.40}" if isinstance(value, list) else None,
)
def test_a_scheduler_misbehaves(replies: list[bytes | None], message: str, call: Call) -> None:
    """What it said is quoted, shortened, and no file is left."""
    with scheduler(*replies) as address:
        done = call(*USUAL, "-s", address, "", "--timeout", "0.5" if None in replies else "60")
    assert_one_line(done, 1, message)
    assert len(done.stderr) < 900
