"""Others on the same log with EASY: CPU seconds, and how many jobs start when ours do.

    python benchmarks/peers.py [LOG] [--accasim PYTHON] [--cqsim FOLDER] [--batsched PROGRAM]
        [--pybatsim PROGRAM]

PYTHON is one that can import accasim (1.1.3), FOLDER a checkout of CQSim (with `win=1` and a
`read_num` of at least the length of the log in its src/Config/config_sys.set), the programs are
those of batsched and pybatsim, which schedule for `batsched-py simulator`. The log is written anew
for all: jobs are numbered from 1, and the requested times are our estimates.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from datetime import datetime
from pathlib import Path
from statistics import mean

import floor
from measuring import Bench, Child, begun, child, ended, our_command
from process_rows import by_the_floor, by_us

from batsched_py import load_workload
from batsched_py.files.readers import csv_rows
from batsched_py.simulator.platform.platform_writer import make_homogeneous_xml
from batsched_py.workload.batsim.batsim_workload import write_workload
from batsched_py.workload.conversion_rules import Rules
from batsched_py.workload.logs.log_archive import find_log

Starts = dict[str, float]
"""When each job starts, by its number."""

ACCASIM = """
import collections, collections.abc, sys
collections.Mapping = collections.abc.Mapping  # it left Python in 3.10
from accasim.base.allocator_class import FirstFit
from accasim.base.scheduler_class import EASYBackfilling
from accasim.base.simulator_class import Simulator
dispatcher = EASYBackfilling(FirstFit())
options = {"RESULTS_FOLDER_PATH": "accasim", "show_statistics": False}
Simulator("log.swf", "system.json", dispatcher, **options).start_simulation()
"""
SYSTEM = """{"groups": {"g0": {"core": 1, "mem": 1}}, "resources": {"g0": %d}, "start_time": 0,
"equivalence": {"processor": {"core": 1}}}"""


def write_log(folder: Path, jobs: floor.Columns) -> Path:
    """Write the log that all read."""
    lines = [f"; MaxJobs: {len(jobs.names)}", f"; MaxProcs: {jobs.nb_processors}"]
    lines += ["; UnixStartTime: 0", f"; MaxNodes: {jobs.nb_processors}"]
    columns = zip(jobs.submit, jobs.size, jobs.run, jobs.estimate, strict=True)
    for number, (submit, size, run, estimate) in enumerate(columns, 1):
        recorded = f"{number} {submit:.0f} -1 {run:.0f} {size} -1 0"
        lines.append(f"{recorded} {size} {estimate:.0f} 1 1 1 1 1 1 -1 -1 -1")
    path = folder / "log.swf"
    path.write_text("\n".join([*lines, ""]))
    return path


def accasim(bench: Bench, log: Path, python: str, jobs: floor.Columns) -> tuple[Child, Starts]:
    (bench.folder / "system.json").write_text(SYSTEM % jobs.nb_processors)
    (bench.folder / "accasim").mkdir()
    took = child(bench, [python, "-c", ACCASIM])
    starts = {}
    for line in (bench.folder / "accasim" / "sched-log.swf").read_text().splitlines():
        job, start = line.partition(";")[0], re.findall(r"__(\d+-\d+-\d+ [\d:]+);", line)[0]
        starts[job] = (datetime.fromisoformat(start) - datetime(1970, 1, 1)).total_seconds()
    return took, starts


def cqsim(bench: Bench, log: Path, checkout: str, jobs: floor.Columns) -> tuple[Child, Starts]:
    data = Path(checkout) / "data"
    for name in ("InputFiles", "Fmt", "Results", "Debug", "Temp"):
        (data / name).mkdir(exist_ok=True)
    (data / "InputFiles" / "log.swf").write_text(log.read_text())
    command = [sys.executable, "cqsim.py", "-j", "log.swf", "-n", "log.swf"]
    took = ended(begun(bench, command, data.parent / "src"))
    rows = [line.split(";") for line in (data / "Results" / "log.rst").read_text().splitlines()]
    return took, {row[0]: float(row[7]) + min(jobs.submit) for row in rows}


def for_our_simulator(
    bench: Bench, log: Path, scheduler: list[str], port: int
) -> tuple[Child, Starts]:
    """Let a scheduler of Batsim's protocol decide."""
    load = load_workload(log, Rules())
    (bench.folder / "platform.xml").write_text(make_homogeneous_xml(load.nb_res))
    write_workload(load, bench.folder / "workload.json")
    process = begun(bench, scheduler)
    files = ["-p", "platform.xml", "-w", "workload.json", "-e", "simulated", "-q"]
    child(bench, our_command("simulator", *files, "-s", f"tcp://127.0.0.1:{port}"))
    return ended(process), starts_in(bench.folder / "simulated_jobs.csv")


def starts_in(path: Path) -> Starts:
    header, *rows = csv_rows(path.read_text().splitlines(), path)
    job, start = header.index("job_id"), header.index("starting_time")
    return {row[job]: float(row[start]) for row in rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("log", nargs="?", default="sample")
    for name in ("accasim", "cqsim", "batsched", "pybatsim"):
        parser.add_argument(f"--{name}")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        log = write_log(bench.folder, floor.read(find_log(asked.log)))
        jobs = floor.read(log)
        ours = dict(zip(jobs.names, floor.easy(jobs, floor.Scanned(jobs)), strict=True))
        submit = dict(zip(jobs.names, jobs.submit, strict=True))

        def tell(name: str, took: Child, starts: Starts) -> None:
            equal = sum(abs(starts.get(job, -1.0) - start) < 1e-3 for job, start in ours.items())
            wait = mean(start - submit[job] for job, start in starts.items())
            cost = f"{took.seconds:7.2f} s, {1e6 * took.seconds / len(ours):6.0f} us a job"
            equality = f"{equal} of {len(ours)} start as ours, mean wait {wait:.0f} s"
            print(f"{name:10} {cost}, {took.peak / 1e6:5.0f} MB; {equality}", flush=True)

        by_the_floor(bench, log), by_us(bench, log)  # something is compiled
        tell("floor", by_the_floor(bench, log), ours)
        tell("ours", by_us(bench, log), starts_in(bench.folder / "ours" / "run_jobs.csv"))
        if asked.accasim:
            tell("AccaSim", *accasim(bench, log, asked.accasim, jobs))
        if asked.cqsim:
            tell("CQSim", *cqsim(bench, log, asked.cqsim, jobs))
        serve = our_command("serve", "-v", "easy", "-s", "tcp://127.0.0.1:28161")
        tell("serve", *for_our_simulator(bench, log, serve, 28161))
        if asked.batsched:
            command = [asked.batsched, "-v", "easy_bf", "--verbosity", "quiet"]
            command += ["-s", "tcp://*:28162"]
            tell("batsched", *for_our_simulator(bench, log, command, 28162))
        if asked.pybatsim:
            command = [asked.pybatsim, "easyBackfill", "-v", "error", "-s", "tcp://*:28163"]
            tell("pybatsim", *for_our_simulator(bench, log, command, 28163))


if __name__ == "__main__":
    main()
