"""Our share of a message over a real socket, beside a bare echo over the same kind of socket.

    python benchmarks/messages.py LOG [--users feedback]

The embedded simulator takes Batsim's place in another process. Measured is the time from a
message's arrival to its reply: decoding, users and policy, check and encoding. The ratios compare
within one run; the echo is what ZeroMQ and Python need for a message of the same size that
nobody reads.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from multiprocessing import Process
from pathlib import Path
from statistics import median
from time import perf_counter

import zmq

from batsched_py.run.settings import ProcessSettings
from batsched_py.run.simulate import make_process
from batsched_py.simulator.platform.platform_writer import homogeneous_xml
from batsched_py.support.own_command import PROGRAM
from batsched_py.transport.conversation import Conversation, WaitLimits, serve
from batsched_py.transport.scheduler_socket import SchedulerSocket
from batsched_py.workload.batsim_workload import write_workload
from batsched_py.workload.conversion_rules import make_rules
from batsched_py.workload.load import load_workload
from batsched_py.workload.log_archive import find_log


class TimedConversation:
    """A conversation whose answers are timed."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self.seconds: list[float] = []
        self.bytes: list[int] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self.conversation, name)

    def answer(self, raw: bytes) -> bytes:
        begin = perf_counter()
        reply = self.conversation.answer(raw)
        self.seconds.append(perf_counter() - begin)
        self.bytes.append(len(raw))
        return reply


def echo(address: str, count: int, reply: bytes) -> None:
    with zmq.Context() as context, context.socket(zmq.REP) as socket:
        socket.bind(address)
        for _ in range(count):
            socket.recv()
            socket.send(reply)


def time_echo(folder: str, count: int, size: int) -> float:
    """Return the seconds of a round trip of a bare echo."""
    address = f"ipc://{folder}/echo"
    process = Process(target=echo, args=(address, count, b"x" * 100))
    process.start()
    with zmq.Context() as context, context.socket(zmq.REQ) as socket:
        socket.connect(address)
        socket.send(b"x" * size)
        socket.recv()
        begin = perf_counter()
        for _ in range(count - 1):
            socket.send(b"x" * size)
            socket.recv()
        seconds = perf_counter() - begin
    process.join()
    return seconds / (count - 1)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("log")
    parser.add_argument("--users", default="rigid")
    arguments = parser.parse_args()
    workload = load_workload(find_log(arguments.log), make_rules("replay-feedback"))
    dynamic = arguments.users != "rigid"
    settings = ProcessSettings(scheduler="easy", users=arguments.users)
    process = make_process(settings, workload if dynamic else None, six_decimals=True)
    timed = TimedConversation(Conversation(lambda begins: process.answer))
    with tempfile.TemporaryDirectory() as folder, SchedulerSocket(f"ipc://{folder}/s") as endpoint:
        platform = Path(folder, "platform.xml")
        platform.write_text(homogeneous_xml(workload.nb_res))
        write_workload(workload, Path(folder, "workload.json"))
        command = [*PROGRAM, "simulator", "-p", str(platform), "-s", endpoint.address, "-q"]
        command += ["-e", f"{folder}/out"]
        command += ["--enable-dynamic-jobs", "--enable-profile-reuse"] if dynamic else []
        command += [] if dynamic else ["-w", f"{folder}/workload.json"]
        with subprocess.Popen(command):
            begin = perf_counter()
            serve(endpoint, timed, WaitLimits(first=600, silence=600))  # type: ignore[arg-type]
            total = perf_counter() - begin
        size = round(median(timed.bytes))
        bare = time_echo(folder, 20_000, size)
    messages = timed.seconds[1:]  # the first one makes the process
    mean = sum(messages) / len(messages)
    print(f"{len(workload.jobs)} jobs, {len(messages)} messages, {total:.2f} s with the simulator")
    print(
        f"our share of a message: mean {mean * 1e6:.1f} us, median {median(messages) * 1e6:.1f} us"
    )
    print(f"bare echo of {size} bytes: {bare * 1e6:.1f} us a round trip")
    print(f"our share is {mean / bare:.2f} of an echo")


if __name__ == "__main__":
    main()
