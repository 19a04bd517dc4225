"""``batsched-py simulator`` in Batsim 5's place, for those who mistype or break things."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import zmq

from batsched_py.protocol import messages as m
from batsched_py.protocol.batsim5 import batprotocol_json as codec
from batsched_py.support.installation import PROGRAM
from batsched_py.transport import simulator_socket as front
from batsched_py.transport.recording import read_exchange
from helpers.calling import Called, command
from helpers.listening_scheduler import NEXT_FRAME, scheduler
from helpers.waiting import LIMIT

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
        (["-s", "ADDRESS", ""], b""),
        (["--edc-socket-str", "ADDRESS", "é"], "é".encode()),
        (["-s", "ADDRESS", '{"a": 1}'], b'{"a": 1}'),
        (["--protocol", "5", "-s", "ADDRESS", "--x"], b"--x"),
        (["--protocol=5", "-s", "ADDRESS", "--no-sched"], b"--no-sched"),
        (["--protocol=5", "-s", "ADDRESS", "@text"], b"@text"),
        (["-s", "ADDRESS", "@text", "@five"], b"@text"),
        (["--protocol=5", "-s", "ADDRESS", "@text", "@more"], b"@text"),
        (["-s", "ADDRESS", "@", "--trace-machine-state"], b"@"),
        (["--socket-endpoint", "ADDRESS", "--init", "@text"], b"@text"),
        (["--protocol", "5", "--socket-endpoint=ADDRESS"], b""),
        (["-S", "ADDRESS", "text"], b"\xef\xbb\xbfa\r\nb\n"),
        (["-S", "ADDRESS", "@text"], b"in @text"),
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
        (["--protocol", "6"], "--protocol 6: expected 4 or 5"),
        (["--protocol", "5", "-s", "tcp://a:1"], "expected two values, ENDPOINT INIT ('' for"),
        (["--protocol", "5", "-s"], "-s: expected two values, ENDPOINT INIT ('' for none)"),
        (["-S", "tcp://a:1"], "-S tcp://a:1: expected two values, ENDPOINT FILE"),
        (["-S", "tcp://a:1", "txet"], "--init-file: there is no file 'txet'"),
        (["-S", "tcp://a:1", "binary"], "binary: byte 3 is 0xff: expected a text in UTF-8"),
        (["--init", "a\udcff"], "--init: byte 2 is 0xff: expected a text in UTF-8"),
        (["-s", "tcp://a:1", "a", "-S", "tcp://a:1", "text"], "give one"),
        (["-s", "localhost:28000", ""], "expected tcp://ADDRESS:PORT or ipc://PATH"),
        (["--protocol=4", "--ee", "events.txt"], "--ee: only Batsim 5 has that (--protocol 5)"),
        (["--protocol=4", "-S", "tcp://a:1", "text"], "-S: only Batsim 5 has that"),
        (["--ee", "evnts.txt"], "there is no file 'evnts.txt'"),
        (["--energy-host", "--enable-dynamic-jobs"], "a scheduler of Batsim 5 asks for that"),
        (["--energy-host", "--events", "x"], "--events: in Batsim 5 this is --ee"),
        (["--protocol", "5", "--no-sched"], "does not do running without a scheduler"),
        (["--protocol", "5", "-r", "n1"], "expected two values, HOST ROLE"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_options_that_do_not_fit(arguments: list[str], message: str, call: Call) -> None:
    assert_one_line(call(*USUAL, *arguments), 2, message)


@pytest.mark.parametrize(
    ("mistyped", "meant"),
    [
        ("--energy-hots", "--energy-host"),
        ("--trace-machine-states", "--trace-machine-state"),
        ("--trace-pstates", "--trace-pstate-changes"),
        ("--protocoll=5", "--protocol"),
    ],
)
def test_mistyped_options(mistyped: str, meant: str, call: Call) -> None:
    done = call("--protocol", "5", *USUAL, mistyped)
    assert done.returncode == 2
    said = done.stderr.splitlines()[-1]
    assert f"No such option: {mistyped.partition('=')[0]}" in said
    assert meant in said


@pytest.mark.parametrize(
    ("arguments", "version"),
    [
        ([], "v4.2.0"),
        (["--protocol", "5"], "v5.0.0-rc2"),
        (["--protocol=5"], "v5.0.0-rc2"),
        (["--protocol", "4", "--ee", "x"], None),
        (["-s", "tcp://a:1", ""], "v5.0.0-rc2"),
    ],
)
def test_its_version(arguments: list[str], version: str | None, call: Call) -> None:
    for given in ([*arguments, "--version"], ["--version", *arguments]):
        said = call(*given).stdout
        match = re.fullmatch(r"batsched-py [\w.]+ \(stand-in for Batsim (\S+)\)\n", said)
        assert (match and match[1]) == version


def test_its_options_have_a_heading_of_their_own(call: Call) -> None:
    section = call("-h").stdout.partition("\nBatsim 5:\n")[2]
    assert re.findall(r"^  (--[\w-]+)", section, re.M) == [
        *("--init", "--init-file", "--ee"),
        *("--energy-host", "--trace-machine-state", "--trace-pstate-changes"),
    ]


# Schedulers that misbehave -----------------------------------------------------------------------


def test_nobody_listens(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(front, "_PATIENCE", 0.1)
    arguments = [*USUAL, "-s", "ipc://nobody", "", "--timeout", "0.5"]
    note, error = call(*arguments).stderr.splitlines()
    assert note == "waiting for a scheduler at ipc://nobody: nobody answers there"
    quiet = call(*arguments, "-q")
    assert quiet.stderr == error + "\n"
    assert_one_line(quiet, 1, "no scheduler was reached at ipc://nobody within 0.5 s")


BINARY = (1).to_bytes(4, "little") + bytes(range(40))
OLD_HELLO = b'{"now":0.0,"events":[]}'


@pytest.mark.parametrize(
    ("replies", "message"),
    [
        ([b""], "the first reply begins with b'': expected 4 bytes of flags (2: JSON)"),
        ([b"\xff\xfe\x00 no text"], "expected 4 bytes of flags"),
        ([BINARY], "the first reply asks for the binary form: ask for JSON (flag 2)"),
        ([OLD_HELLO], "the first reply begins with b'{\"no'"),
        ([HELLO[:4]], "no JSON"),
        ([HELLO[:4] + NOTHING], "the first reply has 0 events: expected exactly one, EDCHelloEv"),
        ([HELLO[:4] + START], "the first reply has 1 events: expected exactly one, EDCHello"),
        ([HELLO + NEXT_FRAME + NOTHING], "a reply of 2 frames, expected one"),
        ([None], "did not reply at 0.000000 s within 0.5 s; --timeout allows more"),
        ([HELLO], "went away at 0.000000 s without a reply"),
        ([HELLO, None], "did not reply at 0.000000 s within 0.5 s"),
        ([HELLO, b""], "not one of Batsim 5's protocol: no JSON"),
        ([HELLO, b"\0"], "not one of Batsim 5's protocol: no JSON"),
        ([HELLO, NOTHING[:-3] + b"]"], "not one of Batsim 5's protocol"),
        ([HELLO, NOTHING + NEXT_FRAME + NOTHING], "a reply of 2 frames, expected one"),
        ([HELLO, HELLO], "not one of Batsim 5's protocol"),
        ([HELLO, HELLO[4:]], "EDCHelloEvent"),
        ([HELLO, NOTHING, OF_VERSION_4], "event_type is missing, expected a text"),
        ([HELLO, NOTHING, START.replace(b'"2"', b'"7"')], "expected numbers below 4"),
        ([HELLO, NOTHING, START.replace(b"w0!1", b"w0!7")], "w0!7"),
        ([HELLO, NOTHING, START], "went away at 5.000000 s without a reply"),
    ],
    ids=lambda value: f"{len(value)} {value[-1]!r:.40}" if isinstance(value, list) else None,
)
def test_a_scheduler_misbehaves(replies: list[bytes | None], message: str, call: Call) -> None:
    """What it said is quoted, shortened, and no file is left."""
    with scheduler(*replies) as address:
        done = call(*USUAL, "-s", address, "", "--timeout", "0.5" if None in replies else "60")
    assert_one_line(done, 1, message)
    assert len(done.stderr) < 900


def test_a_deadlock_leaves_what_batsim_leaves(call: Call) -> None:
    """There is no summary of it."""
    with scheduler(HELLO, NOTHING, NOTHING) as address:
        done = call(*USUAL, "-s", address, "")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "deadlock at 1.0: nothing can happen any more, but 1 job waits: w0!1" in line
    assert files() == ["jobs.csv"]


@pytest.mark.parametrize("reply", [START, b"bye", None], ids=["too late", "no message", "gone"])
def test_nothing_is_lost_when_only_the_goodbye_is_wrong(reply: bytes | None, call: Call) -> None:
    with scheduler(*GOOD) as address:
        assert call(*USUAL, "-s", address, "").returncode == 0
    shutil.move("out", "good")
    with scheduler(*GOOD[:-1], *([] if reply is None else [reply])) as address:
        done = call(*USUAL, "-s", address, "")
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1), done.stderr
    assert files() == ["jobs.csv", "schedule.json"]
    for name in files():
        assert Path("out", name).read_bytes() == Path("good", name).read_bytes()


@pytest.mark.parametrize(
    ("asked", "before"), [(signal.SIGINT, []), (signal.SIGTERM, [HELLO]), (signal.SIGINT, [HELLO])]
)
def test_interrupted_while_it_waits(
    asked: signal.Signals, before: list[bytes], folder: Path
) -> None:
    """For the hello, or for the first reply: nothing goes on running, and no files are left."""
    context = zmq.Context()
    with context.socket(zmq.REP) as listening:
        listening.setsockopt(zmq.RCVTIMEO, 60_000)
        port = listening.bind_to_random_port("tcp://127.0.0.1")
        process = subprocess.Popen(
            [*PROGRAM, "simulator", *USUAL, "-s", f"tcp://127.0.0.1:{port}", ""],
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            for reply in before:
                listening.recv()
                listening.send(reply)
            listening.recv()
            process.send_signal(asked)
            stderr = process.communicate(timeout=LIMIT)[1]
        finally:
            process.kill()
            process.wait()
    context.term()
    assert_one_line(Called(process.returncode, "", stderr), 130, "interrupted")
