"""A long run: a million jobs of users who react, first in one simulation, then in a campaign.

The simulation is that of two processes, ``serve`` and ``simulator``, over a real socket: their
memory may grow by a few hundred bytes for each job. The campaign has as many jobs in runs over the
same socket; it is killed every few seconds and called again until it is done: then every table of
every run must have the bytes of a campaign that nobody disturbed.

Run by ``make soak``; needs Linux, which tells the memory of a process.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np

from batsched_py.simulator.platform.platform_writer import make_homogeneous_xml

PROGRAM = [sys.executable, "-m", "batsched_py"]
NODES = 4_000
USERS = 1_000
WEEKLY = 2.3
"""Jobs of a user in a week, about, where none has to wait."""
RUNS = 40
"""Runs of the campaign."""
MOST_GROWTH = 400
"""Bytes by which memory may grow for each job after the first quarter of the time; an object that
is kept of each would be 700 more."""


def main() -> int:
    """Run both; return the exit code."""
    parser = argparse.ArgumentParser(prog="make soak")
    parser.add_argument("--jobs", type=int, default=1_000_000, help="about so many in each")
    parser.add_argument("--kill-every", type=float, default=20.0, metavar="S")
    parser.add_argument("--folder", type=Path, help="keep all files there")
    given = parser.parse_args()
    with ExitStack() as stack:
        folder = given.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        faults = one_simulation(folder, given.jobs)
        faults += campaign(folder, given.jobs, given.kill_every)
    for fault in faults:
        print(f"FAULT: {fault}")
    return 1 if faults else 0


# One simulation ------------------------------------------------------------------------------


def one_simulation(folder: Path, jobs: int) -> list[str]:
    """Simulate so many jobs; return what is wrong."""
    (folder / "machine.xml").write_text(make_homogeneous_xml(NODES))
    (folder / "none.json").write_text(json.dumps({"nb_res": NODES, "jobs": [], "profiles": {}}))
    endpoint = f"ipc://{folder}/socket"
    weeks = jobs / USERS / WEEKLY
    users = ["--users", "weekly", "-U", f"nb_users={USERS}", "-U", f"weeks={weeks}"]
    begin = time.monotonic()
    common = ("-s", endpoint, "-e", str(folder / "one"))
    machine = ("-p", str(folder / "machine.xml"), "-q")
    dynamic = ("--enable-dynamic-jobs", "--enable-profile-reuse")
    with (
        _process("serve", *common, *users, "--log", str(folder / "none.json")) as scheduler,
        _process("simulator", *common, *machine, *dynamic) as simulator,
    ):
        names = {"serve": scheduler, "simulator": simulator}
        memory = {name: list[int]() for name in names}
        while simulator.poll() is None or scheduler.poll() is None:
            for name, process in names.items():
                memory[name] += _memory(process.pid)
            time.sleep(0.5)
    seconds = time.monotonic() - begin
    faults = [f"{name} ended with {it.returncode}" for name, it in names.items() if it.returncode]
    with (folder / "one_jobs.csv").open() as file:
        nb_jobs = sum(1 for _ in file) - 1
    print(f"one simulation: {nb_jobs:,} jobs in {seconds:.0f} s, {nb_jobs / seconds:,.0f} a second")
    for name, samples in memory.items():
        early, late = _growth(samples)
        print(f"  memory of {name}: {early} MB after a quarter, {late} MB at the end")
        if (late - early) * 1e6 > MOST_GROWTH * 0.75 * nb_jobs:
            faults.append(f"the memory of {name} grew from {early} to {late} MB")
    return faults


def _growth(samples: Sequence[int]) -> tuple[int, int]:
    """Return the memory after the first quarter, and in the last tenth (MB)."""
    quarter, tenth = len(samples) // 4, len(samples) // 10
    parts = samples[quarter : quarter + tenth + 1], samples[-tenth - 1 :]
    early, late = (round(float(np.median(part)) / 1000) for part in parts)
    return early, late


def _memory(pid: int) -> list[int]:
    """Return the resident memory of a process (kB), nothing if it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return []
    return [int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")]


@contextmanager
def _process(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([*PROGRAM, *arguments], stdout=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


# A campaign that is killed ---------------------------------------------------------------------


def campaign(folder: Path, jobs: int, every: float) -> list[str]:
    """Run a campaign undisturbed, and one that is killed; return what is different."""
    weeks = max(1.0, jobs / RUNS / USERS / WEEKLY)
    (folder / "soak.toml").write_text(
        f"""name = "soak"
replications = {RUNS}
[run]
log = ["none.json"]
users = "weekly"
user_options = {{ nb_users = {USERS}, weeks = {weeks} }}
backend = "socket"
"""
    )
    begin = time.monotonic()
    subprocess.run(_command("whole"), cwd=folder, check=True, stdout=subprocess.DEVNULL)
    middle = time.monotonic()
    kills = 0
    while _killed_after(every, folder):
        kills += 1
    whole, killed = (_tables(folder / name) for name in ("whole", "killed"))
    nb_jobs = sum(text.count(b"\n") - 1 for name, text in whole.items() if "jobs" in name)
    digest = hashlib.sha256(b"".join(whole.values())).hexdigest()[:12]
    print(
        f"campaign: {len(whole)} tables of {nb_jobs:,} jobs ({digest}), undisturbed in "
        f"{middle - begin:.0f} s; killed {kills} times in {time.monotonic() - middle:.0f} s"
    )
    names = sorted({*whole, *killed})
    return [f"{name} is not the same" for name in names if whole.get(name) != killed.get(name)]


def _command(out: str) -> list[str]:
    return [*PROGRAM, "campaign", "soak.toml", "-e", out, "--no-report"]


def _killed_after(seconds: float, folder: Path) -> bool:
    """Call the campaign, and kill its process group if it is not done in time; tell whether."""
    process = subprocess.Popen(
        _command("killed"),
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        if process.wait(seconds):
            raise SystemExit(f"the campaign ended with {process.returncode}, see {folder}")
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return True
    return False


def _tables(out: Path) -> dict[str, bytes]:
    """Return the tables of all runs by the numbers of these."""
    paths = sorted(out.glob("runs/*/out_*.csv"))
    return {str(path.relative_to(out)): path.read_bytes() for path in paths}


if __name__ == "__main__":
    sys.exit(main())
