"""A machine file as a setting: how a log becomes jobs on it, what is stored, other back ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from batsched_py import load_workload, make_rules, simulate
from batsched_py.errors import UsageError
from batsched_py.workload.batsim.batsim_workload import write_workload
from batsched_py.workload.logs.sample_log import SAMPLE_LOG
from batsched_py.workload.machine_file import read_machine

NODES = """
[[nodes]]
count = 8
cores = 4
"""
MACHINE = f"""
field = "queue"
{NODES}
[[partitions]]
name = "batch"
number = 1
nodes = "0-5"
whole_nodes = true
max_walltime = "1 h"
[[partitions]]
name = "long"
number = 2
nodes = "4-7"
over_walltime = "cut"
max_walltime = "2 h"
"""


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    path = tmp_path / "machine.toml"
    path.write_text(MACHINE)
    return path


def log_of(*rows: dict[str, Any], **header: Any) -> pd.DataFrame:
    """A log of jobs that run for a minute on one core, unless they say otherwise."""
    usual = {"run_time": 60, "requested_processors": 1, "user": 1, "queue": 1}
    made = [{"submit_time": at, **usual, **row} for at, row in enumerate(rows)]
    frame = pd.DataFrame(made)
    frame.attrs.update(header)
    return frame


def test_sizes_limits_and_partitions_of_a_logs_jobs(machine: Path) -> None:
    """Whole nodes of 4 cores in batch; requests over the limit are refused there, cut in long."""
    frame = log_of(
        {"requested_processors": 5, "requested_time": 600},
        {"requested_time": 3601},
        {"requested_time": -1, "group": 7},
        {"queue": 2, "requested_time": 9000, "run_time": 8000},
        {"queue": 9, "requested_time": 100},
        {"run_time": 3000, "requested_time": 3100},
    )
    result = simulate(frame, machine=machine)
    jobs = result.jobs.sort_values("submission_time")
    assert jobs["requested_number_of_resources"].tolist() == [8, 4, 4, 1, 4, 4]
    assert jobs["requested_time"].tolist() == [600, 3601, 3600, 7200, 120, 3600]
    assert jobs["success"].tolist() == [1, 0, 1, 0, 1, 1]
    notes = "\n".join(result.settings["notes"])
    for note in ("1 jobs of the queue 9", ": cut to it", ": refused", "1 jobs were refused"):
        assert note in notes
    assert result.settings["nb_processors"] == 32


def test_a_limit_for_all_partitions(machine: Path) -> None:
    """Half an hour in both: who asks for more is refused in batch, cut in long."""
    frame = log_of(
        {"requested_time": 1801}, {"requested_time": 1800}, {"queue": 2, "requested_time": 3600}
    )
    result = simulate(frame, machine=machine, max_walltime="30 min")
    jobs = result.jobs.sort_values("submission_time")
    assert jobs["success"].tolist() == [0, 1, 1]
    assert jobs["requested_time"].tolist() == [1801, 1800, 1800]
    assert result.settings["run"]["max_walltime"] == 1800


def test_policies_see_the_fields_of_the_log(machine: Path) -> None:
    """With a machine file all of them, without one those that are kept; unknown ones never."""
    seen: list[dict[str, Any]] = []

    class Looking:
        def schedule(self, now: float, queue: Any, machine: Any) -> Any:
            from batsched_py import Start

            for job in queue:
                if job.size <= machine.free:
                    seen.append(job.extra)
                    yield Start(job)

    frame = log_of({"queue": 2, "group": 3}, {"queue": -1, "group": -1})
    simulate(frame, scheduler=Looking)
    simulate(frame, scheduler=Looking, keep="group,queue", nodes=8)
    simulate(frame, scheduler=Looking, machine=machine)
    assert seen[:4] == [{}, {}, {"group": 3, "queue": 2}, {}]
    assert sorted(seen[4:], key=len) == [
        {"partition": "batch"},
        {"partition": "long", "queue": 2, "group": 3},
    ]


def test_a_batsim_workload_takes_whole_nodes_too(machine: Path, tmp_path: Path) -> None:
    """Its jobs name their partitions, or say the log's number."""
    described = read_machine(machine)
    workload = load_workload(SAMPLE_LOG, make_rules(first=4))
    for job, partition in zip(workload.jobs, ("batch", "long", 2, "none"), strict=True):
        job.size, job.walltime, job.extra["partition"] = 3, 100.0, partition
    path = tmp_path / "w.json"
    write_workload(workload, path)
    read = load_workload(path, make_rules(), described=described)
    assert [job.size for job in read.jobs] == [4, 3, 3, 4]
    note = "2 jobs became wider: they take whole nodes"
    assert note in read.notes
    result = simulate(workload, machine=str(machine), progress=False)
    assert note in result.notes
    assert sorted(result.table.size.tolist()) == [3, 3, 4, 4]
    assert [job.size for job in workload.jobs] == [3, 3, 3, 3]  # the caller's own stays as it is


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"nodes": 4}, "machine and nodes both say"),
        ({"sites": "4x8"}, "partitions or sites"),
        ({"machine": "nowhere.toml"}, "machine nowhere.toml"),
        ({"node_factor": 0.01}, "leaves no node"),
        ({"node_factor": -1.0}, "expected a positive number"),
        ({"max_walltime": 0}, "expected over 0 s"),
        ({"max_walltime": "a day"}, "expected a time"),
        ({"machine": None, "max_walltime": 60}, "give machine"),
        ({"scheduler": "grid"}, "places jobs on sites"),
    ],
)
def test_what_makes_no_sense(machine: Path, wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        simulate("sample", **{"machine": machine, **wrong})
