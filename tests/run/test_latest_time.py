"""Times that floats do not resolve are refused wherever they come in, with their place."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from batsched_py import Workload, WorkloadJob, simulate
from batsched_py.errors import BatschedError, SimulationError
from batsched_py.plugins.plugins import SCHEDULERS, list_names
from batsched_py.simulator.batsim4.external_events import read_events, read_generic_events
from batsched_py.units import LATEST_TIME
from batsched_py.workload.machine_file import read_machine
from helpers.logs import swf_line, swf_text

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


PLUGIN = """
from batsched_py import CallMeLater, Start, WorkloadJob

class Policy:
    def schedule(self, now, queue, machine):
        yield from map(Start, list(queue))
        yield CallMeLater({time})

class Late:
    profiles = {{}}
    def __init__(self, workload): pass
    def next_submission(self): return {time}
    def jobs_to_submit(self, now): return []
    def job_ended(self, now, job, state): pass

class Long(Late):
    profiles = {{"p": {{"type": "delay", "delay": {time}}}}}
    due = 0
    def next_submission(self): return self.due
    def jobs_to_submit(self, now):
        self.due = float("inf")
        yield WorkloadJob(id="9", submit_time=0, size=1, profile="p")
"""


def plugin(folder: Path, name: str, time: float) -> str:
    return f"{text_file(folder, 'plugin.py', PLUGIN.format(time=time))}:{name}"


Given = dict[str, Any]
SIMULATED: dict[str, tuple[Callable[[Path, float], tuple[Any, Given]], str]] = {
    "submission in a log": (lambda at, t: (log(at, submit=t), {}), r"x\.swf:3: submit_time"),
    "run time in a log": (lambda at, t: (log(at, run=t), {}), r"x\.swf:3: run_time"),
    "submission in a workload": (
        lambda at, t: (batsim_file(at, subtime=t), {}),
        r"x\.json: job '7': subtime",
    ),
    "delay in a workload": (
        lambda at, t: (batsim_file(at, {"type": "delay", "delay": t}), {}),
        r"x\.json: profile 'p': delay",
    ),
    "submission in memory": (
        lambda at, t: (in_memory(submit_time=t), {}),
        "made.json: job '7': subtime",
    ),
    "call of a policy": (
        lambda at, t: (in_memory(), {"scheduler": plugin(at, "Policy", t)}),
        r"at 0\.0 \(.*plugin\.py:7\): a call at",
    ),
    "next submission of users": (
        lambda at, t: (in_memory(), {"users": plugin(at, "Late", t)}),
        r"Late\.next_submission\(\) is",
    ),
    "run time of users' jobs": (
        lambda at, t: (in_memory(), {"users": plugin(at, "Long", t)}),
        r"Long submitted job 9: its profile: delay",
    ),
}
READ: dict[str, tuple[Callable[[Path, float], object], str]] = {
    "external event": (
        lambda at, t: read_events([text_file(at, "e.txt", _event(t, "machine_unavailable"))], 2),
        r"e\.txt:1: timestamp",
    ),
    "event of Batsim 5": (
        lambda at, t: read_generic_events([text_file(at, "e.txt", _event(t, "generic"))]),
        r"e\.txt:1: timestamp",
    ),
    "outage in a machine file": (
        lambda at, t: read_machine(text_file(at, "m.toml", MACHINE.format(end=t))),
        r"m\.toml: outages 1: end",
    ),
}
MACHINE = """
[[nodes]]
name = "n"
count = 2
[[outages]]
begin = 0
end = {end}
"""


def _event(time: float, kind: str) -> str:
    return json.dumps({"type": kind, "timestamp": time, "resources": "0", "data": ""}) + "\n"


@pytest.mark.parametrize(("make", "place"), SIMULATED.values(), ids=SIMULATED)
def test_a_time_beyond_the_latest_is_refused(tmp_path: Path, make: Any, place: str) -> None:
    for time in (1.1e10, 1e300):
        source, given = make(tmp_path, time)
        with pytest.raises(BatschedError, match=f"{place}.* expected "):
            simulate(source, **given)


@pytest.mark.parametrize(("read", "place"), READ.values(), ids=READ)
def test_files_beside_the_workload_too(tmp_path: Path, read: Any, place: str) -> None:
    with pytest.raises(BatschedError, match=f"{place}.* expected .*1e.10"):
        read(tmp_path, 1.1e10)


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
    assert simulate(workload, scheduler=policy).table.ran.all()
