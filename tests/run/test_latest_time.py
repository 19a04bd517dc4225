"""Times that floats do not resolve are refused wherever they come in, with their place."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from batsched_py import (
    CallMeLater,
    Decision,
    Machine,
    Start,
    WaitingQueue,
    Workload,
    WorkloadJob,
    simulate,
)
from batsched_py.errors import BatschedError, SimulationError
from batsched_py.plugins.plugins import SCHEDULERS, list_names
from batsched_py.simulator.external_events import read_events, read_generic_events
from batsched_py.units import LATEST_TIME
from batsched_py.workload.machine_file import read_machine
from every_policy import OPTIONS
from helpers.endless import Users
from helpers.logs import swf_line, swf_text
from helpers.partitions import entry

NODES = entry("nodes", name="n", count=2)
COMPUTES = {"type": "parallel_homogeneous", "cpu": 1e9, "com": 0}


def in_memory(**changes: Any) -> Workload:
    """Return a workload of one job of a second, of which the job, or ``profile``, has changes."""
    profile = changes.pop("profile", COMPUTES)
    fields: dict[str, Any] = {"id": "7", "submit_time": 0, "size": 1, "profile": "p"} | changes
    return Workload(
        name="made.json", nb_res=2, jobs=[WorkloadJob(**fields)], profiles={"p": profile}
    )


def text_file(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def log(folder: Path, **fields: object) -> Path:
    return text_file(folder, "x.swf", swf_text(swf_line(1), swf_line(2, **fields)))  # type: ignore[arg-type]


def batsim_file(folder: Path, profile: dict[str, Any] = COMPUTES, **fields: Any) -> Path:
    job = {"id": "7", "subtime": 0, "res": 1, "profile": "p"} | fields
    content = {"nb_res": 2, "jobs": [job], "profiles": {"p": profile}}
    return text_file(folder, "x.json", json.dumps(content))


class Policy:
    """Starts all jobs, and wants to be called at a time."""

    def __init__(self, time: float) -> None:
        self.time = time

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        yield from map(Start, list(queue))
        yield CallMeLater(self.time)


class Late(Users):
    """Submit their first job at a time."""

    def __init__(self, workload: Workload, *, time: float) -> None:
        super().__init__(workload)
        self.due = time


class Long(Users):
    """Submit a job that lasts for a time."""

    def __init__(self, workload: Workload, *, time: float) -> None:
        super().__init__(workload)
        self.profiles = {"p": {"type": "delay", "delay": time}}


def under(policy: type[Any], time: float) -> object:
    return simulate(in_memory(), scheduler=policy, scheduler_options={"time": time})


def with_users(users: type[Any], time: float) -> object:
    return simulate(in_memory(), users=users, user_options={"time": time})


def event(folder: Path, time: float, kind: str) -> Path:
    content = {"type": kind, "timestamp": time, "resources": "0", "data": ""}
    return text_file(folder, "e.txt", json.dumps(content) + "\n")


Do = Callable[[Path, float], object]
PLACES: dict[str, Do] = {
    r"x\.swf:3: submit_time": lambda at, t: simulate(log(at, submit=t)),
    r"x\.swf:3: run_time": lambda at, t: simulate(log(at, run=t)),
    r"x\.json: job '7': subtime": lambda at, t: simulate(batsim_file(at, subtime=t)),
    r"x\.json: profile 'p': delay": lambda at, t: simulate(
        batsim_file(at, {"type": "delay", "delay": t})
    ),
    "made.json: job '7': subtime": lambda at, t: simulate(in_memory(submit_time=t)),
    r"at 0\.0 \(.*\.py:\d+\): a call at": lambda at, t: under(Policy, t),
    r"Late\.next_submission\(\) is": lambda at, t: with_users(Late, t),
    "Long submitted job 1: its profile: delay": lambda at, t: with_users(Long, t),
    r"e\.txt:1: timestamp": lambda at, t: read_events([event(at, t, "machine_unavailable")], 2),
    r"e\.txt:1: timestamp.*": lambda at, t: read_generic_events([event(at, t, "generic")]),
    r"m\.toml: outages 1: end": lambda at, t: read_machine(
        text_file(at, "m.toml", NODES + entry("outages", begin=0, end=t))
    ),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_time_beyond_the_latest_is_refused(tmp_path: Path, place: str) -> None:
    for time in (1.1e10, 1e300):
        with pytest.raises(BatschedError, match=f"{place}.* expected "):
            PLACES[place](tmp_path, time)


def test_the_latest_time_itself_is_simulated(tmp_path: Path) -> None:
    for source in (
        log(tmp_path, submit=LATEST_TIME, run=0),
        in_memory(submit_time=LATEST_TIME - 1),
    ):
        assert simulate(source).table.ran.all()


def test_jobs_that_end_too_late_only_because_they_wait() -> None:
    jobs = [WorkloadJob(id=name, submit_time=0, size=2, profile="p") for name in "ab"]
    delay = {"type": "delay", "delay": 0.6 * LATEST_TIME}
    workload = Workload(name="x", nb_res=2, jobs=jobs, profiles={"p": delay})
    with pytest.raises(SimulationError, match=r"w0!b .* 1\.2e\+10"):
        simulate(workload)


@pytest.mark.parametrize("policy", sorted(list_names(SCHEDULERS)))
def test_a_walltime_may_be_of_any_length(policy: str) -> None:
    """It ends nothing in time, and no policy asks for a call then."""
    jobs = [
        WorkloadJob(id=str(n), submit_time=n, size=1 + n % 2, profile="p", walltime=1.5e308)
        for n in range(6)
    ]
    workload = Workload(name="x", nb_res=2, jobs=jobs, profiles={"p": COMPUTES})
    result = simulate(workload, scheduler=policy, scheduler_options=OPTIONS.get(policy, {}))
    assert result.table.ran.all()
