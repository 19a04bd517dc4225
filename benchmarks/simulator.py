"""What the embedded simulator costs in Batsim's place.

    python benchmarks/simulator.py [LOG]   (default: the sample log)

First its share of a message over a real socket, with an EASY in another process: all that it does
(events, encoding, decoding, decisions) but for ZeroMQ and the scheduler, beside a bare ZeroMQ echo
in the same run. Then EASY in process on the same log, plain and with the options that follow more:
the ratios compare. Last 10,000 jobs that communicate on a cluster of 128 hosts with a backbone.
"""

from __future__ import annotations

import random
import sys
import tempfile
from multiprocessing import Process
from pathlib import Path
from time import perf_counter

from messages import time_echo
from simulation import best, loop

from batsched_py.decision_process import DecisionProcess
from batsched_py.schedulers.easy import Easy
from batsched_py.simulator.engine import Options, Simulator
from batsched_py.simulator.platform.hosts import homogeneous
from batsched_py.simulator.platform.platform_reader import read_platform
from batsched_py.transport.conversation import Conversation, WaitLimits, serve
from batsched_py.transport.scheduler_socket import SchedulerSocket
from batsched_py.transport.simulator_socket import SimulatorSocket
from batsched_py.workload import Workload, WorkloadJob
from batsched_py.workload.conversion_rules import Rules
from batsched_py.workload.load import load_workload
from batsched_py.workload.log_archive import find_log

CLUSTER = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="AS0" routing="Full">
<cluster id="C" prefix="n" suffix="" radical="0-127" speed="1Gf" bw="1.25GBps" lat="5us"
 bb_bw="20GBps" bb_lat="50us"/>
<cluster id="M" prefix="master_host" suffix="" radical="0-0" speed="1Gf" bw="1GBps" lat="5us"/>
</zone></platform>
"""


class TimedSocket(SimulatorSocket):
    """A socket that counts the seconds that ZeroMQ and the scheduler take."""

    away = 0.0

    def _send(self, raw: bytes) -> None:
        begin = perf_counter()
        super()._send(raw)
        self.away += perf_counter() - begin

    def _receive(self, now: float) -> list[bytes]:
        begin = perf_counter()
        frames = super()._receive(now)
        self.away += perf_counter() - begin
        return frames


def listen(address: str) -> None:
    """Schedule for one simulation."""
    with SchedulerSocket(address) as endpoint:
        easy = DecisionProcess(Easy(), None, six_decimals=True)
        serve(endpoint, Conversation(lambda begins: easy.answer), WaitLimits(first=60, silence=60))


def share_of_a_message(load: Workload, folder: str) -> None:
    address = f"ipc://{folder}/s"
    scheduler = Process(target=listen, args=(address,))
    scheduler.start()
    options = Options(trace_machines=True)
    with TimedSocket(address, 60) as socket:
        begin = perf_counter()
        outcome = Simulator(homogeneous(load.nb_res), [load], options).run(socket)
        share = (perf_counter() - begin - socket.away) / outcome.nb_messages
    scheduler.join()
    bare = time_echo(folder, 20_000, 350)
    print(
        f"{outcome.nb_messages} messages: the simulator's share {share * 1e6:.1f} us a message, "
        f"a bare echo {bare * 1e6:.1f} us, ratio {share / bare:.2f}"
    )


def communicating(folder: str, nb_jobs: int = 10_000) -> None:
    path = Path(folder, "cluster.xml")
    path.write_text(CLUSTER)
    draw = random.Random(1)
    profiles, jobs, time = {}, [], 0.0
    for number in range(nb_jobs):
        time += draw.expovariate(1 / 20)
        size = min(64, 2 ** draw.randrange(7))
        flops, com = draw.uniform(1e9, 6e11), draw.uniform(1e6, 1e9)
        profiles[str(number)] = {"type": "parallel_homogeneous", "cpu": flops, "com": com}
        name, submit = str(number), round(time)
        jobs.append(WorkloadJob(id=name, submit_time=submit, size=size, profile=name, walltime=1e5))
    load = Workload(name="communicating", nb_res=128, jobs=jobs, profiles=profiles)
    simulator = Simulator(read_platform(path, "master_host0"), [load], Options(trace_machines=True))
    begin = perf_counter()
    outcome = simulator.run(DecisionProcess(Easy(), None).answer)
    seconds = perf_counter() - begin
    used = sum((job.finish_time - job.start_time) * len(job.alloc) for job in outcome.jobs)
    print(
        f"{nb_jobs} communicating jobs on 128 hosts (in use: {used / 128 / outcome.end:.0%}): "
        f"{seconds:.1f} s, {seconds / nb_jobs * 1e3:.2f} ms a job"
    )


def main() -> None:
    path = find_log(sys.argv[1] if len(sys.argv) > 1 else "sample")
    load = load_workload(path, Rules())
    print(f"{path.name}: {len(load.jobs)} jobs")
    with tempfile.TemporaryDirectory() as folder:
        share_of_a_message(load, folder)
        plain = best(lambda: loop(load, Easy))
        print(f"EASY in process: {plain / len(load.jobs) * 1e6:.1f} us a job")
        traced = best(lambda: loop(load, Easy, trace_machines=True))
        print(f"  machine states traced: ratio {traced / plain:.2f}")
        shared = best(lambda: loop(load, Easy, compute_sharing=True))
        print(f"  shared hosts allowed: ratio {shared / plain:.2f}")
        communicating(folder)


if __name__ == "__main__":
    main()
