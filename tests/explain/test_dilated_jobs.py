"""``batsched-py explain`` of jobs that ran in another form, longer or on several sites."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from batsched_py.explain.gantt import EXPLAINED, draw_job
from batsched_py.explain.job_watch import Watch
from batsched_py.explain.replayed_exchange import read_turns, replay
from batsched_py.run.make_process import make_process
from batsched_py.run.resolved_machine import describe_machine
from batsched_py.run.stored_values import ProcessSettings
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import workload
from batsched_py.workload.batsim.batsim_workload import write_workload
from helpers.calling import Called, command

POLICY = """
from batsched_py import Start, WaitingReason

class Spread:
    '''First come first served: on two sites at 1.5 times the run time, and a transfer.'''

    def dilates(self, sites):
        return True

    def schedule(self, now, queue, machine):
        while (job := queue.head) and job.size <= machine.free:
            longer = job.size > max(site.free for site in machine.sites)
            yield Start(job, None, 1.5, 20.0) if longer else Start(job, self.on_one(job, machine))

    def on_one(self, job, machine):
        site = next(site for site in machine.sites if job.size <= site.free)
        return site.free_processors.lowest(job.size)

    def held(self, job, now, queue, machine):
        if job is not queue.head:
            return WaitingReason("behind", by=queue.head.id, free=machine.free)
        free = ", ".join(f"{site.free} in {site.name}" for site in machine.sites)
        return WaitingReason("processors", 1, free=machine.free, note=free)

class Molded(Spread):
    '''On what is free in the west, if a job is called so.'''

    def schedule(self, now, queue, machine):
        while (job := queue.head) and job.size <= machine.free + 1:
            processors = machine.sites[0].free_processors
            size = len(processors)
            yield Start(job, processors, job.size / size)
"""
# On 4 + 2 processors: 5 are spread and run 60 instead of 30 s up to 65; 6 wait until then.
JOBS = [J(0, 2, 5), J(0, 5, 30, 40, "u"), J(3, 6, 10), J(4, 1, 7)]
SITES = ["--sites", "west:4,east:2"]
POLICY_OPTIONS = ["--scheduler", "spread.py:Spread", *SITES]
"""Results choose no code in a file."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("spread")
    (made / "spread.py").write_text(POLICY)
    load = workload(JOBS, 6, names=["1", "2", "3", "4"])
    for job in load.jobs:
        job.user, job.finish_time = "u", job.submit_time + 30
    write_workload(load, made / "w.json")
    for prefix, *options in (
        ("rigid", "--scheduler", "spread.py:Spread"),
        ("feedback", "--scheduler", "spread.py:Spread", "--users", "feedback"),
    ):
        line = ["simulate", "w.json", *SITES, "-e", prefix, "--record", *options]
        done = command(made, *line)
        assert done.returncode == 0, done.stderr
    return made


def told(folder: Path, run: str, job: str, *more: object) -> Any:
    done = command(folder, "explain", run, "--job", job, "--json", *POLICY_OPTIONS, *more)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def words(folder: Path, *arguments: object) -> list[str]:
    done: Called = command(folder, "explain", *arguments, *POLICY_OPTIONS)
    assert done.returncode == 0, done.stderr
    return [line for line in done.stdout.splitlines() if not line.startswith("note:")]


def test_a_job_that_was_spread(folder: Path) -> None:
    """It starts at 5, when the first one ends, and ends 1.5 * 30 + 20 s later."""
    found = told(folder, "rigid", "w0!2")
    assert (found["start"], found["end"], found["processors"]) == (5, 70, "0-4")
    assert (found["dilation"], found["transfer"], found["size"]) == (1.5, 20, 5)
    assert found["started"]["sites"] == {"west": 4, "east": 1}
    alone = told(folder, "rigid", "1")
    assert not {"dilation", "transfer"} & set(alone)
    assert alone["started"]["sites"] == {"west": 2}
    of_users = told(folder, "feedback", "2")
    assert (of_users["job"], of_users["dilation"]) == ("dyn!2", 1.5)
    assert of_users["end"] == of_users["start"] + 65


@pytest.mark.parametrize(
    ("job", "options", "message"),
    [
        ("placed!w0:2", POLICY_OPTIONS, "no such job"),  # forms are no jobs to ask for
        ("2", POLICY_OPTIONS[:2], "recorded"),
        ("2", SITES, "without --scheduler"),
    ],
)
def test_what_is_refused(folder: Path, job: str, options: list[str], message: str) -> None:
    done = command(folder, "explain", "rigid", "--job", job, *options)
    assert (done.returncode > 0, message in done.stderr) == (True, True)


def test_jobs_beside_it_name_it_as_people_do(folder: Path) -> None:
    _, _, behind, head, started, placed, *_ = words(folder, "rigid", "--job", "3")
    assert "w0!2" in behind
    assert "1 in east" in head
    assert "w0!2 (5 processors)" in started
    assert "east (2 processors)" in placed
    everything = "\n".join(line for job in "1234" for line in words(folder, "rigid", "--job", job))
    assert "placed!" not in everything


def test_the_picture_has_it_once(folder: Path) -> None:
    settings = ProcessSettings(scheduler=f"{folder}/spread.py:Spread", sites="west:4,east:2")
    process = make_process(settings, None, describe_machine(settings))
    watch = Watch("w0!2", process.scheduler, 0.1)
    replay(read_turns(folder / "rigid_exchange.jsonl"), process, watch)
    bars = draw_job(watch, 0.1).layer[0].data
    shown = bars.loc[bars["job_id"] == "w0!2", ["colour", "ran"]]
    assert shown.values.tolist() == [[EXPLAINED, 65 / 3600]]
    assert set(bars["job_id"]) == {"w0!1", "w0!2", "w0!3"}


def test_a_job_of_another_size(folder: Path) -> None:
    """What it freed is what it had, not what it asked for."""
    load = workload([J(0, 5, 10), J(1, 5, 10)], 6, names=["1", "2"])
    write_workload(load, folder / "m.json")
    line = ["simulate", "m.json", *SITES, "-e", "molded", "--record"]
    done = command(folder, *line, "--scheduler", "spread.py:Molded")
    assert done.returncode == 0, done.stderr
    found = told(folder, "molded", "2", "--scheduler", "spread.py:Molded")
    assert (found["size"], found["processors"], found["dilation"]) == (5, "0-3", 1.25)
    (ended,) = found["started"]["happened"]["ended"]
    assert ended == {"job": "w0!1", "size": 4, "early": 0}
    assert found["started"]["free"] == 6
