"""Rows of messages over sockets: beside a bare echo, and beside batsched under real Batsim."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from multiprocessing import Process
from time import process_time
from typing import Any

import zmq
from measuring import Bench, Child, Measured, SkippedError, begun, ended, our_command, row

from batsched_py import Workload
from batsched_py.decision_process import DecisionProcess
from batsched_py.run.make_process import make_process
from batsched_py.run.stored_values import ProcessSettings
from batsched_py.schedulers.easy import Easy
from batsched_py.simulator.engine import Options, Simulator
from batsched_py.simulator.platform.hosts import make_homogeneous
from batsched_py.simulator.platform.platform_writer import make_homogeneous_xml
from batsched_py.transport.conversation import Conversation, WaitLimits, serve
from batsched_py.transport.scheduler_socket import SchedulerSocket
from batsched_py.transport.simulator_socket import SimulatorSocket
from batsched_py.workload.batsim.batsim_workload import write_workload

MESSAGE = 350
"""Bytes of a usual message."""


def started(target: Callable[..., None], *arguments: object) -> Process:
    process = Process(target=target, args=arguments)
    process.start()
    return process


def echo(address: str, count: int) -> None:
    with zmq.Context() as context, context.socket(zmq.REP) as socket:
        socket.bind(address)
        for _ in range(count):
            socket.recv()
            socket.send(b"x" * 100)


def seconds_of_an_echo(bench: Bench) -> float:
    """Return our CPU seconds of a round trip of a bare echo in another process."""
    count = 2_000 if bench.quick else 20_000
    address = f"ipc://{bench.folder}/echo"
    process = started(echo, address, count)
    with zmq.Context() as context, context.socket(zmq.REQ) as socket:
        socket.connect(address)
        socket.send(b"x" * MESSAGE)
        socket.recv()
        begin = process_time()
        for _ in range(count - 1):
            socket.send(b"x" * MESSAGE)
            socket.recv()
        seconds = process_time() - begin
    process.join()
    return seconds / (count - 1)


class TimedConversation(Conversation):
    """A conversation that counts the CPU seconds of its answers."""

    seconds, count = 0.0, 0

    def answer(self, raw: bytes) -> bytes:
        begin = process_time()
        reply = super().answer(raw)
        self.seconds += process_time() - begin
        self.count += 1
        return reply


class TimedSocket(SimulatorSocket):
    """A socket that counts the CPU seconds that ZeroMQ takes."""

    away = 0.0

    def _patiently(self, action: Callable[[], Any], now: float) -> Any:
        begin = process_time()
        result = super()._patiently(action, now)
        self.away += process_time() - begin
        return result


def simulate_at(address: str, load: Workload, dynamic: bool) -> None:
    """Simulate in Batsim's place."""
    options = Options(dynamic_jobs=dynamic, profile_reuse=dynamic)
    with SimulatorSocket(address, 60) as socket:
        Simulator(make_homogeneous(load.nb_res), [] if dynamic else [load], options).run(socket)


def schedule_at(address: str) -> None:
    """Schedule one simulation."""
    with SchedulerSocket(address) as endpoint:
        easy = DecisionProcess(Easy(), None, six_decimals=True)
        serve(endpoint, Conversation(lambda begins: easy.answer), WaitLimits(first=60, silence=60))


def answer_seconds(bench: Bench, users: str) -> float:
    """Return the seconds of an answer: decoded, decided, checked, encoded."""
    load = bench.workload()
    address = f"ipc://{bench.folder}/scheduler"
    settings = ProcessSettings(scheduler="easy", users=users)
    dynamic = users != "rigid"
    process = make_process(settings, load if dynamic else None, six_decimals=True)
    timed = TimedConversation(lambda begins: process.answer)
    with SchedulerSocket(address) as endpoint:
        simulator = started(simulate_at, address, load, dynamic)
        serve(endpoint, timed, WaitLimits(first=60, silence=60))
    simulator.join()
    return timed.seconds / timed.count


def simulator_seconds(bench: Bench) -> float:
    """Return the seconds of a message that the embedded simulator takes by itself."""
    load = bench.workload()
    address = f"ipc://{bench.folder}/simulator"
    scheduler = started(schedule_at, address)
    with TimedSocket(address, 60) as socket:
        begin = process_time()
        outcome = Simulator(make_homogeneous(load.nb_res), [load], Options()).run(socket)
        seconds = process_time() - begin - socket.away
    scheduler.join()
    return seconds / outcome.nb_messages


def against_echo(measured: Callable[[Bench], float]) -> Callable[[Bench], Measured]:
    """Return the measurement of a message beside a bare echo."""

    def measure(bench: Bench) -> Measured:
        return bench.paired(
            lambda: seconds_of_an_echo(bench),
            lambda: measured(bench),
            lambda bare, ours: f"{1e6 * ours:.1f} us a message beside {1e6 * bare:.1f}",
            rounds=2,
        )

    return measure


for _users in ("rigid", "feedback"):
    row(f"message-{_users}", f"EASY, {_users}: a message answered against a bare echo")(
        against_echo(lambda bench, users=_users: answer_seconds(bench, users))  # type: ignore[misc]
    )
row("message-simulator", "the simulator's share of a message against a bare echo")(
    against_echo(simulator_seconds)
)


def under_batsim(bench: Bench, scheduler: list[str], port: int) -> Child:
    """Run real Batsim with a scheduler; return what the scheduler took."""
    folder = bench.folder
    load = bench.workload()
    (folder / "platform.xml").write_text(make_homogeneous_xml(load.nb_res))
    write_workload(load, folder / "workload.json")
    batsim = ["batsim", "-q", "-p", "platform.xml", "-w", "workload.json", "-e", "batsim"]
    batsim += ["--disable-schedule-tracing", "--disable-machine-state-tracing"]
    batsim += ["-s", f"tcp://localhost:{port}"]
    process, simulator = begun(bench, scheduler), begun(bench, batsim)
    try:
        took = ended(process)
        simulator.communicate(timeout=60)
    finally:
        simulator.terminate()  # it would wait for ever for a scheduler that failed
    return took


@row("serve", "`serve` under Batsim against batsched, EASY: CPU", wanted=1.5)
def _(bench: Bench) -> Measured:
    for program in ("batsim", "batsched"):
        if shutil.which(program) is None:
            raise SkippedError(f"no {program} on PATH")
    batsched = ["batsched", "-v", "easy_bf", "-s", "tcp://*:28151", "--verbosity", "quiet"]
    ours = our_command("serve", "-v", "easy", "-s", "tcp://*:28152")
    return bench.paired(
        lambda: under_batsim(bench, batsched, 28151).seconds,
        lambda: under_batsim(bench, ours, 28152).seconds,
        lambda theirs, ours: f"{ours:.2f} s beside {theirs:.2f}",
        rounds=1 if bench.quick else 2,
    )
