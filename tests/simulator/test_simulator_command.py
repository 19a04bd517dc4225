"""``batsched-py simulator`` as those meet it who mistype, break things, or press Ctrl-C."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import zmq

from batsched_py.errors import SimulationError
from batsched_py.protocol import messages as m
from batsched_py.simulator.files import batsim_files as outputs
from batsched_py.support.installation import PROGRAM
from batsched_py.transport import simulator_socket as front
from batsched_py.transport.recording import read_exchange
from helpers.calling import Called, command
from helpers.listening_scheduler import NEXT_FRAME, scheduler
from helpers.waiting import LIMIT, wait_until

PLATFORM = """<?xml version="1.0"?>
<platform version="4.1">
<cluster id="c" prefix="n" suffix="" radical="0-4" speed="1Gf" bw="1GBps" lat="0"/>
</platform>"""
WORKLOAD: dict[str, Any] = {
    "nb_res": 4,
    "jobs": [{"id": "1", "subtime": 1, "res": 1, "walltime": 9, "profile": "p"}],
    "profiles": {"p": {"type": "delay", "delay": 4}},
}
USUAL = ["-p", "platform.xml", "-m", "n4", "-w", "workload.json"]
PAGE = Path(__file__).parents[2] / "docs" / "simulator.md"


def workload(**changes: Any) -> bytes:
    return json.dumps(WORKLOAD | changes).encode()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a platform of four machines and a job."""
    (tmp_path / "platform.xml").write_text(PLATFORM)
    (tmp_path / "workload.json").write_bytes(workload())
    (tmp_path / "a_folder").mkdir()
    (tmp_path / "more").write_text("-p platform.xml --no-sched")
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


def test_a_run_on_hosts_with_several_cores_and_without_a_route(call: Call) -> None:
    """It runs as with real Batsim, and says what it did with them."""
    hosts = "".join(f'<host id="{name}" speed="1Gf" core="4"/>' for name in ("a", "b", "n4"))
    Path("platform.xml").write_text(
        f'<platform version="4.1"><zone id="z" routing="Full">{hosts}</zone></platform>'
    )
    job = WORKLOAD["jobs"][0] | {"res": 2}
    profile = {"type": "parallel_homogeneous", "cpu": 4e9, "com": 1e6}
    Path("workload.json").write_bytes(workload(jobs=[job], profiles={"p": profile}))
    both = START.replace(b'"alloc":"2"', b'"alloc":"0-1"')
    with scheduler(NOTHING, both, NOTHING, NOTHING) as address:
        done = call(*USUAL, "-s", address)
    assert done.returncode == 0
    assert [line[:28] for line in done.stderr.splitlines()] == [
        "note: host 'a' has 4 cores: ",
        "note: zone 'z' has no route ",
    ]
    row = Path("out_jobs.csv").read_text().splitlines()[1]
    assert row.startswith("1,w0,p,1.000000,2,9.000000,1,COMPLETED_SUCCESSFULLY,1.000000,4.000000")


def test_a_quiet_run_without_traces(call: Call) -> None:
    quiet = ["-q", "--disable-machine-state-tracing", "--disable-schedule-tracing"]
    with scheduler(*GOOD) as address:
        assert call(*USUAL, "-s", address, *quiet) == Called(0, "", "")
    assert {path.name for path in Path().glob("out*")} == {"out_jobs.csv", "out_schedule.csv"}


def test_a_run_that_says_and_records_every_message(call: Call) -> None:
    with scheduler(*GOOD) as address:
        done = call(*USUAL, "-s", address, "-v", "debug", "--record", "exchange.jsonl")
    assert [line[:2] for line in done.stderr.splitlines()] == ["->", "<-"] * 4
    assert done.stderr.count("EXECUTE_JOB") == 1
    records = read_exchange("exchange.jsonl")
    assert [record.sender for record in records] == ["batsim", "sched"] * len(GOOD)
    assert "SIMULATION_BEGINS" in records[0].raw
    assert "EXECUTE_JOB" in records[3].raw


# Options -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], {"nb_compute_resources": 4, "nb_storage_resources": 0}),
        (["--mmax", "3"], {"nb_compute_resources": 3}),
        (["--mmax", "0"], {"nb_compute_resources": 4}),
        (["--mmax-workload", "-w", "three.json", "-w", "two.json"], {"nb_compute_resources": 3}),
        (["--mmax-workload", "--mmax", "4", "-w", "three.json"], {"nb_compute_resources": 3}),
        (["-r", "n0,n2:storage"], {"nb_compute_resources": 2, "nb_storage_resources": 2}),
        (["-m", "n0"], {"nb_compute_resources": 4}),
        ([], {"allow_compute_sharing": False, "allow_storage_sharing": True}),
        (["--enable-compute-sharing"], {"allow_compute_sharing": True}),
        (["--disable-storage-sharing"], {"allow_storage_sharing": False}),
    ],
)
def test_what_a_scheduler_is_told_of_options(
    arguments: list[str], expected: dict[str, Any], call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    (begins,) = told(call, monkeypatch, *arguments)
    assert {name: getattr(begins, name) for name in expected} == expected
    names = [name for name in arguments if name.endswith(".json")]
    whole_paths = {f"w{at}": str(Path(name).absolute()) for at, name in enumerate(names)}
    assert begins.workloads == whole_paths


def told(call: Call, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> list[m.SimulationBegins]:
    """Run and return what the scheduler, which rejects all jobs, is told in the beginning."""
    for name, nb_res in (("two", 2), ("three", 3)):
        Path(f"{name}.json").write_bytes(workload(nb_res=nb_res))
    seen: list[m.SimulationBegins] = []

    def reject(message: m.Message) -> m.Message:
        seen.extend(event for event in message.events if isinstance(event, m.SimulationBegins))
        submitted = [event for event in message.events if isinstance(event, m.JobSubmitted)]
        return m.Message(
            message.now, [m.RejectJob(timestamp=message.now, job_id=e.job_id) for e in submitted]
        )

    monkeypatch.setattr(front, "SimulatorSocket", lambda *_, **__: nullcontext(reject))
    done = call("-p", "platform.xml", "-m", "n4", *arguments)  # of two -m the last counts
    assert (done.returncode, done.stderr) == (0, "")
    return seen


def test_each_workload_has_its_name(call: Call) -> None:
    """An id may contain that of another workload."""
    second = WORKLOAD["jobs"][0] | {"id": "w1!w0", "subtime": 9}
    Path("second.json").write_bytes(workload(jobs=[second]))
    replies = (NOTHING, START, NOTHING, START.replace(b"w0!1", b"w1!w0"), NOTHING, NOTHING)
    with scheduler(*replies) as address:
        done = call(*USUAL, "-w", "second.json", "-s", address)
    assert done.returncode == 0, done.stderr
    rows = [row.split(",")[:2] for row in Path("out_jobs.csv").read_text().splitlines()[1:]]
    assert rows == [["1", "w0"], ["w0", "w1"]]


# Mistakes ----------------------------------------------------------------------------------------


BINARY = bytes(range(256))
FLOOD = b'{"type":"flood","timestamp":1}'
COMPOSED_OF_ITSELF = workload(profiles={"p": {"type": "composed", "seq": ["p"]}})
WRONG_INPUTS: dict[str, tuple[bytes, str]] = {
    "platform.xml": (BINARY, "platform.xml: not a well-formed XML"),
    "workload.json": (BINARY, "workload.json:1:1: no JSON"),
    "events.txt": (FLOOD, "--forward-unknown-events hands others on"),
    "composed.json": (COMPOSED_OF_ITSELF, "is composed of itself"),
}


@pytest.mark.parametrize("name", WRONG_INPUTS)
def test_wrong_inputs(name: str, call: Call) -> None:
    """What else their readers refuse is tested with them."""
    content, message = WRONG_INPUTS[name]
    for path, written in (("events.txt", b""), ("composed.json", workload()), (name, content)):
        Path(path).write_bytes(written)
    assert_one_line(call(*USUAL, "--events", "events.txt", "-w", "composed.json"), 1, message)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["-p", "platfrom.xml"], 2, "there is no file 'platfrom.xml'"),
        (["-p", "nb.xml"], 2, "there is no file 'nb.xml'"),  # nb is an old name of a field
        (["-p", "a_folder"], 2, "a_folder is a folder: expected a file"),
        ([*USUAL, "-w", "wrokload.json"], 2, "there is no file 'wrokload.json'"),
        ([*USUAL, "-w", "a_folder"], 2, "a_folder is a folder: expected a file"),
        ([*USUAL, "--events", "evnts.txt"], 2, "there is no file 'evnts.txt'"),
        ([*USUAL, "--sched-cfg-file", "cfg"], 2, "--sched-cfg-file: there is no file 'cfg'"),
        ([*USUAL, "--sched-cfg", "a", "--sched-cfg-file", "workload.json"], 2, "give one"),
        (["-p", "platform.xml"], 1, "there is no master host 'master_host'"),
        ([*USUAL, "-r", "n1:strage"], 1, "host 'n1' has the role 'strage': expected one of"),
        ([*USUAL, "-r", "m1:storage"], 1, "there is no host 'm1' to give the role 'storage'"),
        ([*USUAL, "-r", "n1"], 2, "expected such as host1,host2:storage"),
        ([*USUAL, "--mmax", "5"], 2, "--mmax 5: the platform has 4 machines"),
        ([*USUAL, "--enable-profile-reuse"], 2, "means nothing without --enable-dynamic-jobs"),
        ([*USUAL, "-E"], 1, "host 'n0' has no property wattage_per_state"),
        ([*USUAL, "-s", "localhost:28000"], 2, "expected tcp://ADDRESS:PORT or ipc://PATH"),
        ([*USUAL, "-s", "tcp://localhost:99999"], 2, "expected tcp://ADDRESS:PORT"),
        ([*USUAL, "-s", "tcp://*:28000"], 2, "nothing can connect to it"),
        ([*USUAL, "-e", "workload.json/out"], 1, "workload.json: it is not a folder"),
        ([*USUAL, "--no-sched"], 2, "does not do running without a scheduler; use real Batsim"),
        ([*USUAL, "--redis-port=7"], 2, "--redis-port: the embedded simulator does not do Redis"),
        ([*USUAL, "-Wflow.dax"], 2, "-W: the embedded simulator does not do workflows"),
        (["@options"], 2, "@options: there is no file 'options'"),
        (["@more"], 2, "--no-sched: the embedded simulator does not do"),
    ],
    ids=lambda value: " ".join(value[-2:]) if isinstance(value, list) else None,
)
def test_options_that_do_not_fit(arguments: list[str], code: int, message: str, call: Call) -> None:
    assert_one_line(call(*arguments), code, message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Missing option '-p' / '--platform'"),
        (["--plattform", "platform.xml"], "--platform"),
        ([*USUAL, "--mmax", "-1"], "Invalid value for '--mmax'"),
        ([*USUAL, "--timeout", "nan"], "Invalid value for '--timeout'"),
        ([*USUAL, "-v", "loud"], "'loud' is not one of 'quiet', 'network-only'"),
    ],
)
def test_mistyped_options_point_to_the_help(arguments: list[str], message: str, call: Call) -> None:
    done = call(*arguments)
    assert done.returncode == 2
    assert "' for help" in done.stderr
    assert message in done.stderr.splitlines()[-1]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_to(call: Call) -> None:
    Path("a_folder").chmod(0o500)
    assert_one_line(call(*USUAL, "-e", "a_folder/out"), 1, "Permission denied")


def test_its_version(call: Call) -> None:
    done = call("--version")
    assert re.fullmatch(r"batsched-py [\w.]+ \(stand-in for Batsim v4.2.0\)\n", done.stdout)


def test_the_page_names_all_options(call: Call) -> None:
    options = {
        option
        for line in call("-h").stdout.splitlines()
        if (match := re.match(r"  (?:-\w, )?(--[\w-]+)|  (-\w)", line))
        for option in match.groups()
        if option
    }
    assert len(options) > 20
    short = {
        *("--platform", "--workload", "--socket-endpoint", "--export", "--master-host"),
        *("--add-role-to-hosts", "--energy", "--quiet", "--verbosity", "--help"),
    }
    page = PAGE.read_text()
    assert [option for option in sorted(options - short) if f"`{option}" not in page] == []


# Schedulers that misbehave -----------------------------------------------------------------------


def test_nobody_listens(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Said before the time is over, too, unless it is to be quiet."""
    monkeypatch.setattr(front, "_PATIENCE", 0.1)
    address = "ipc://nobody"
    done = call(*USUAL, "-s", address, "--timeout", "0.5")
    note, error = done.stderr.splitlines()
    assert note == "waiting for a scheduler at ipc://nobody: nobody answers there"
    quiet = call(*USUAL, "-s", address, "--timeout", "0.5", "-q")
    assert quiet.stderr == error + "\n"
    assert_one_line(quiet, 1, "no scheduler was reached at ipc://nobody within 0.5 s")


def test_a_socket_of_another_kind_listens(call: Call) -> None:
    context = zmq.Context()
    with context.socket(zmq.PUB) as other:
        port = other.bind_to_random_port("tcp://127.0.0.1")
        done = call(*USUAL, "-s", f"tcp://127.0.0.1:{port}", "--timeout", "0.5")
    context.term()
    assert_one_line(done, 1, "what listens there is no ZeroMQ socket (REP)")


def test_a_socket_of_another_kind_is_left_before_anything_is_said() -> None:
    """Then nobody is connected, and even sending would wait for ever."""
    context = zmq.Context()
    with context.socket(zmq.PUB) as other:
        port = other.bind_to_random_port("tcp://127.0.0.1")
        with front.SimulatorSocket(f"tcp://127.0.0.1:{port}", 0.4) as socket:
            socket._monitor.poll(5000)
            wait_until(lambda: not socket._socket.poll(0, zmq.POLLOUT))  # it was refused
            with pytest.raises(SimulationError, match="no scheduler was reached"):
                socket(m.Message(0.0, []))
    context.term()


@pytest.mark.parametrize(
    ("replies", "message"),
    [
        ([NOTHING, None], "did not reply at 1.000000 s within 0.5 s; --timeout allows more"),
        ([NOTHING, START], "went away at 5.000000 s without a reply"),
        # A second frame would be lost without a word.
        (
            [NOTHING, NOTHING + NEXT_FRAME + START],
            'a reply of 2 frames, expected one; it said: {"now":1.0',
        ),
    ],
    ids=["silent", "dead", "two frames"],
)
def test_a_scheduler_does_not_reply(replies: list[bytes | None], message: str, call: Call) -> None:
    with scheduler(*replies) as address:
        done = call(*USUAL, "-s", address, "--timeout", "0.5" if None in replies else "60")
    assert_one_line(done, 1, message)


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (b"", "not one of the protocol: no JSON: Input data was truncated"),
        (b"\xff\xfe\x00 no text", "not one of the protocol: no JSON: JSON is malformed"),
        (b"[" * 100_000, "no JSON: maximum recursion depth"),
        (b"[]", "[], expected an object with now and events"),
        (b'{"now":NaN,"events":[]}', "JSON is malformed"),
        (b'{"now":1e400,"events":[]}', "Number out of range"),
        (b'{"events":[]}', "now is missing, expected a number"),
        (START.replace(b"EXECUTE", b"EXCUTE"), "EXCUTE_JOB from the scheduler: there is no such"),
        (START.replace(b'"2"', b'"0-999999999999"'), "interval '0-999999999999'"),
        (START.replace(b'"2"', b'"0,1"'), "0,1"),
        (START.replace(b'"2"', b'"7"'), "interval '7': expected numbers below 4"),
        (START.replace(b"w0!1", b"w0!7"), "w0!7"),
        (START.replace(b'"alloc"', b'"alloc":"3","alloc"'), "the name 'alloc' comes twice"),
        (START.replace(b'"now":{now}', b'"now":1e17'), "now is 1e+17, expected a number"),
        (START.replace(b"{now}", b"9" * 5000), "more than 308 digits"),
    ],
    ids=lambda value: value[:40].decode(errors="replace") if isinstance(value, bytes) else None,
)
def test_a_scheduler_answers_garbage(reply: bytes, message: str, call: Call) -> None:
    """What it said is quoted, shortened."""
    with scheduler(NOTHING, reply) as address:
        done = call(*USUAL, "-s", address)
    assert_one_line(done, 1, message)
    assert len(done.stderr) < 900


def test_a_reply_that_is_too_large(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("batsched_py.protocol.message_json.MOST_BYTES", 1000)
    with scheduler(NOTHING, b" " * 1001) as address:
        done = call(*USUAL, "-s", address)
    assert_one_line(done, 1, "went away at 1.000000 s without a reply")
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


def test_a_deadlock_leaves_its_files(call: Call) -> None:
    """As Batsim, which calls it a success."""
    with scheduler(NOTHING, NOTHING) as address:
        done = call(*USUAL, "-s", address)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "deadlock at 1.0: nothing can happen any more, but 1 job waits: w0!1" in line
    assert {path.name for path in Path().glob("out*")} == {
        *("out_jobs.csv", "out_machine_states.csv", "out_schedule.csv")
    }


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (START, "EXECUTE_JOB in the reply to SIMULATION_ENDS: decisions come too late there"),
        (b"bye", "it said: bye"),
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
    for prefix, arguments in (("six", []), ("all", ["--exact-times"])):
        with scheduler(*GOOD) as address:
            assert call(*USUAL, "-s", address, "-e", prefix, *arguments).returncode == 0
    assert Path("six_machine_states.csv").read_text().splitlines()[1].startswith("1.23457e+06,")
    assert Path("all_machine_states.csv").read_text().splitlines()[1].startswith("1234567.25,")
    assert Path("six_jobs.csv").read_bytes() == Path("all_jobs.csv").read_bytes()


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


@pytest.mark.parametrize("asked", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_while_it_writes(
    asked: signal.Signals, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files are whole or not there."""

    def lines(*_: Any) -> Iterator[str]:
        yield "half a line"
        os.kill(os.getpid(), asked)
        yield " and the rest\n"

    def not_treated(*_: Any) -> None:
        raise AssertionError("nobody treats the signal")

    monkeypatch.setattr(outputs, "make_machine_states_lines", lines)
    before = signal.signal(signal.SIGTERM, not_treated)
    try:
        with scheduler(*GOOD) as address:
            done = call(*USUAL, "-s", address, "-e", "new/out")
    finally:
        signal.signal(signal.SIGTERM, before)
    assert (done.returncode, done.stderr) == (130, "batsched-py: error: interrupted\n")
    assert [path.name for path in Path("new").iterdir()] == ["out_jobs.csv"]
