"""``batsched-py simulator`` as those meet it who mistype, break things, or press Ctrl-C."""

from __future__ import annotations

import json
import os
import re
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
    "profiles": {"p": {"type": "delay", "delay": 4}},
}
DELAY_OF_5 = {"type": "DelayProfile", "delay": 4}
USUAL = ["-p", "platform.xml", "-m", "n4", "-w", "workload.json"]
USUAL_OF_5 = ["-p", "platform.xml", "-m", "n4", "-w", "five.json", "-e", "out_"]


def workload(**changes: Any) -> bytes:
    return json.dumps(WORKLOAD | changes).encode()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a platform of four machines, a job, and texts."""
    (tmp_path / "platform.xml").write_text(PLATFORM)
    (tmp_path / "workload.json").write_bytes(workload())
    (tmp_path / "five.json").write_bytes(workload(profiles={"p": DELAY_OF_5}))
    (tmp_path / "a_folder").mkdir()
    (tmp_path / "more").write_text("-p platform.xml --no-sched")
    (tmp_path / "quiet").write_text("-q -e out_quiet_")
    (tmp_path / "text").write_bytes(b"\xef\xbb\xbfa\r\nb\n")
    (tmp_path / "@text").write_text("in @text")
    (tmp_path / "binary").write_bytes(b"ab\xff")
    monkeypatch.chdir(tmp_path)
    return tmp_path


Call = Callable[..., Called]


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
    assert not list(Path().rglob("out*"))


# Schedulers --------------------------------------------------------------------------------------


NOTHING = b'{"now":{now},"events":[]}'
START = (
    b'{"now":{now},"events":[{"timestamp":{now},"type":"EXECUTE_JOB",'
    b'"data":{"job_id":"w0!1","alloc":"2"}}]}'
)
GOOD = (NOTHING, START, NOTHING, NOTHING)
"""Begins, the job is submitted and started, it ends, the simulation ends."""


def test_a_run(call: Call) -> None:
    """Into folders that are not there yet, with one line on standard output."""
    with scheduler(*GOOD) as address:
        done = call(*USUAL, "-s", address, "-e", "new/folders/out")
    assert done == Called(
        0,
        "1 jobs; wrote new/folders/out_jobs.csv, new/folders/out_machine_states.csv, "
        "new/folders/out_schedule.csv\n",
        "",
    )
    row = Path("new/folders/out_jobs.csv").read_text().splitlines()[1]
    assert row.startswith("1,w0,p,1.000000,1,9.000000,1,COMPLETED_SUCCESSFULLY,1.000000,4.000000")


def test_a_run_that_says_and_records_every_message(call: Call) -> None:
    with scheduler(*GOOD) as address:
        done = call(*USUAL, "-s", address, "-v", "debug", "--record", "exchange.jsonl")
    assert [line[:2] for line in done.stderr.splitlines()] == ["->", "<-"] * 4
    assert done.stderr.count("EXECUTE_JOB") == 1
    records = read_exchange("exchange.jsonl")
    assert [record.sender for record in records] == ["batsim", "sched"] * len(GOOD)
    assert "SIMULATION_BEGINS" in records[0].raw
    assert "EXECUTE_JOB" in records[3].raw


# Mistakes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["-p", "a_folder"], 2, "a_folder is a folder"),
        ([*USUAL, "--sched-cfg-file", "cfg"], 2, "--sched-cfg-file"),
        ([*USUAL, "--sched-cfg", "a", "--sched-cfg-file", "workload.json"], 2, "give one"),
        ([*USUAL, "--mmax", "5"], 2, "has 4 machines"),
        ([*USUAL, "--enable-profile-reuse"], 2, "needs --enable-dynamic-jobs"),
        ([*USUAL, "-s", "localhost:28000"], 2, "expected tcp://"),
        ([*USUAL, "-s", "tcp://*:28000"], 2, "can connect"),
        ([*USUAL, "-e", "workload.json/out"], 1, "workload.json"),
        ([*USUAL, "--no-sched"], 2, "--no-sched"),
        (["@more"], 2, "--no-sched"),
        (["@options"], 2, "'options'"),
        ([*USUAL, "-r", "n1"], 2, "host1,host2:storage"),
        ([*USUAL, "-r", "m1:storage"], 1, "no host 'm1'"),
        ([*USUAL, "--events", "evnts.txt"], 2, "'evnts.txt'"),
        ([*USUAL_OF_5, "--protocol", "6"], 2, "--protocol 6"),
        ([*USUAL_OF_5, "--protocol", "5", "-s", "tcp://a:1"], 2, "ENDPOINT INIT"),
        ([*USUAL_OF_5, "-S", "tcp://a:1"], 2, "ENDPOINT FILE"),
        ([*USUAL_OF_5, "-S", "tcp://a:1", "txet"], 2, "no file 'txet'"),
        ([*USUAL_OF_5, "--ee", "evnts.txt"], 2, "'evnts.txt'"),
        ([*USUAL_OF_5, "-S", "tcp://a:1", "binary"], 2, "binary: byte 3"),
        ([*USUAL_OF_5, "--init", "a\udcff"], 2, "--init: byte 2"),
        ([*USUAL_OF_5, "-s", "tcp://a:1", "a", "-S", "tcp://a:1", "text"], 2, "give one"),
        ([*USUAL_OF_5, "--protocol=4", "--ee", "events.txt"], 2, "--ee: only Batsim 5"),
        ([*USUAL_OF_5, "--energy-host", "--enable-dynamic-jobs"], 2, "--enable-dynamic-jobs"),
        ([*USUAL_OF_5, "--energy-host", "--events", "x"], 2, "this is --ee"),
        ([*USUAL_OF_5, "--protocol", "5", "-r", "n1"], 2, "HOST ROLE"),
    ],
    ids=lambda value: " ".join(value[-4:]) if isinstance(value, list) else None,
)
def test_options_that_do_not_fit(arguments: list[str], code: int, message: str, call: Call) -> None:
    assert_one_line(call(*arguments), code, message)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_to(call: Call) -> None:
    Path("a_folder").chmod(0o500)
    assert_one_line(call(*USUAL, "-e", "a_folder/out"), 1, "Permission denied")


# Schedulers that misbehave -----------------------------------------------------------------------


def test_nobody_listens(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Said before the time is over, too, unless it is to be quiet."""
    monkeypatch.setattr(front, "_PATIENCE", 0.1)
    address = "ipc://nobody"
    done = call(*USUAL, "-s", address, "--timeout", "0.5")
    note, error = done.stderr.splitlines()
    assert note == "waiting for a scheduler at ipc://nobody: nothing answers there"
    quiet = call(*USUAL, "-s", address, "--timeout", "0.5", "-q")
    assert quiet.stderr == error + "\n"
    assert_one_line(quiet, 1, "no scheduler was reached at ipc://nobody within 0.5 s")


HELLO = codec.encode_hello(m.Hello(timestamp=0.0, name="test", version="1"))
BINARY_FORM = (1).to_bytes(4, "little") + bytes(range(40))


@pytest.mark.parametrize(
    ("version", "replies", "message"),
    [
        (4, [NOTHING, None], "within 0.5 s; --timeout"),
        (4, [NOTHING, NOTHING + NEXT_FRAME + START], "2 frames"),
        (4, [NOTHING, b""], "not JSON"),
        (4, [NOTHING, START.replace(b'"2"', b'"7"')], "numbers below 4"),
        (4, [NOTHING, START.replace(b"w0!1", b"w0!7")], "w0!7"),
        (5, [b""], "begins with b''"),
        (5, [BINARY_FORM], "ask for JSON"),
        (5, [HELLO[:4] + NOTHING], "has 0 events"),
        (5, [HELLO + NEXT_FRAME + NOTHING], "2 frames"),
        (5, [None], "at 0.000000 s within 0.5 s"),
        (5, [HELLO], "went away at 0.000000"),
        (5, [HELLO, HELLO], "Batsim 5's protocol"),
        (5, [HELLO, NOTHING, START], "event_type is missing"),
    ],
    ids=lambda value: f"{len(value)} {value[-1]!r:.40}" if isinstance(value, list) else None,
)
def test_a_scheduler_that_misbehaves(
    version: int, replies: list[bytes | None], message: str, call: Call
) -> None:
    """What it said is quoted, shortened, and no file is left; a second frame is not lost."""
    with scheduler(*replies) as address:
        end = ["-s", address, "--timeout", "0.5" if None in replies else "60"]
        done = call(*USUAL, *end) if version == 4 else call(*USUAL_OF_5, *end[:2], "", *end[2:])
    assert_one_line(done, 1, message)
    assert len(done.stderr) < 900


def test_a_reply_that_is_too_large(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("batsched_py.protocol.message_json.MOST_BYTES", 1000)
    with scheduler(NOTHING, b" " * 1001) as address:
        done = call(*USUAL, "-s", address)
    assert_one_line(done, 1, "went away at 1.000000")
    with scheduler(NOTHING, b" " * 800 + START, NOTHING, NOTHING) as address:
        assert call(*USUAL, "-s", address).returncode == 0


def test_a_time_is_taken_for_what_it_stands_for() -> None:
    """A scheduler that says the six decimals it was told means the instant, not their rounding."""
    now = 1.0000006
    decisions: list[m.Event] = [
        m.RejectJob(timestamp=time, job_id="w0!1") for time in (1.000001, 1.0, 2.0)
    ]
    reply = m.Message(1.000001, decisions)
    front._restore_digits(reply, now)
    assert (reply.now, [event.timestamp for event in reply.events]) == (now, [now, 1.0, 2.0])


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (START, "too late"),
        (b"bye", "it answered: bye"),
        (None, "went away at"),
    ],
)
def test_nothing_is_lost_when_only_the_goodbye_is_wrong(
    reply: bytes | None, message: str, call: Call
) -> None:
    """All had happened by then, so the files are there."""
    with scheduler(*GOOD) as address:
        assert call(*USUAL, "-s", address, "-e", "good").returncode == 0
    replies = GOOD[:-1] if reply is None else (*GOOD[:-1], reply)
    with scheduler(*replies) as address:
        done = call(*USUAL, "-s", address, "-e", "out", "--timeout", "5")
    assert (done.returncode, message in done.stderr) == (1, True), done.stderr
    for name in ("jobs", "schedule", "machine_states"):
        assert Path(f"out_{name}.csv").read_bytes() == Path(f"good_{name}.csv").read_bytes()


def test_traces_have_all_digits_if_asked(call: Call) -> None:
    """Batsim's have six, so that after 12 days a time is rounded to 10 s."""
    late = WORKLOAD["jobs"][0] | {"subtime": 1234567.25}
    Path("workload.json").write_bytes(workload(jobs=[late]))
    for begin, arguments in (("1.23457e+06,", []), ("1234567.25,", ["--exact-times"])):
        with scheduler(*GOOD) as address:
            assert call(*USUAL, "-s", address, "-e", "out", *arguments).returncode == 0
        assert Path("out_machine_states.csv").read_text().splitlines()[1].startswith(begin)


# Ctrl-C ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("asked", "at"), [(signal.SIGINT, 0), (signal.SIGTERM, 1)])
def test_interrupted_while_it_waits(asked: signal.Signals, at: int, folder: Path) -> None:
    """For the reply to message ``at``: nothing goes on running, and no files are left."""
    context = zmq.Context()
    with context.socket(zmq.REP) as listening:
        listening.setsockopt(zmq.RCVTIMEO, 60_000)
        port = listening.bind_to_random_port("tcp://127.0.0.1")
        process = subprocess.Popen(
            [*PROGRAM, "simulator", *USUAL, "-s", f"tcp://127.0.0.1:{port}"],
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            for _ in range(at):
                listening.recv()
                listening.send(NOTHING.replace(b"{now}", b"0"))
            listening.recv()
            process.send_signal(asked)
            stderr = process.communicate(timeout=LIMIT)[1]
        finally:
            process.kill()
            process.wait()
    context.term()
    assert_one_line(Called(process.returncode, "", stderr), 130, "interrupted")


# Batsim 5 ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--edc-socket-str", "ADDRESS", "é"], "é".encode()),
        (["--protocol", "5", "-s", "ADDRESS", "--x"], b"--x"),
        (["--protocol=5", "-s", "ADDRESS", "@text"], b"@text"),
        (["--protocol=5", "-s", "ADDRESS", "@text", "@quiet"], b"@text"),
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
        done = call(*USUAL_OF_5, *given, "--record", "exchange.jsonl")
    assert_one_line(done, 1, "it answered: no hello")
    first = read_exchange("exchange.jsonl")[0].frame
    assert first[4:] == text


def test_its_version(call: Call) -> None:
    of_5 = ["--protocol", "5"], ["-s", "tcp://a:1", ""]
    for arguments, version in (([], "v4.2.0"), *((some, "v5.0.0-rc2") for some in of_5)):
        for given in ([*arguments, "--version"], ["--version", *arguments]):
            said = call(*given).stdout
            assert re.fullmatch(rf"batsched-py \S+ \(in place of Batsim {version}\)\n", said)
