"""Machine files with GPUs and memory, and the table of what jobs of a log hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from batsched_py import Result, simulate
from batsched_py.errors import BatschedError, InputError, UsageError
from batsched_py.testing import DrawnJob, workload
from helpers.partitions import entry, partition

NODES = entry("nodes", name="gpu", count=2, cores=16, gpus=4, memory="64 GiB")
NODES += entry("nodes", name="cpu", count=2, cores=16, memory="32 GiB")
PACKED = partition("gpu", "0-1", number=1) + partition("cpu", "2-3", number=2)
COUNTED = partition("gpu", "0-1", number=1, unit="gpu") + partition("cpu", "2-3", number=2)
TABLE = "job,cores,nodes,memory_mib,gpus,chunks,exclusive\n"


def write(folder: Path, jobs: str, table: str, partitions: str = PACKED) -> dict[str, Any]:
    """Write a log, its table and a machine; return the arguments of simulate.

    Each job is ``submission run time cores partition``.
    """
    rows = [line.split() for line in jobs.strip().splitlines()]
    fields = [
        f"{number} {submit} -1 {run} {cores} -1 -1 {cores} {run} -1 1 1 1 -1 -1 {part} -1 -1"
        for number, (submit, run, cores, part) in enumerate(rows, 1)
    ]
    (folder / "site.swf").write_text("; MaxProcs: 64\n" + "\n".join(fields) + "\n")
    (folder / "site_resources.csv").write_text(TABLE + table)
    machine = folder / "m.toml"
    machine.write_text('resources = "site_resources.csv"\n' + NODES + partitions)
    return {"log": folder / "site.swf", "machine": machine, "walltime": "requested"}


def waits(result: Result) -> dict[str, float]:
    """Return the wait of each job that ran, by its number."""
    jobs = result.jobs[result.jobs["success"] == 1]
    return dict(zip(jobs["job_id"].astype(str), jobs["waiting_time"], strict=True))


JOBS = """
0 100 4 1
0 100 4 1
0 100 4 1
1 10 8 2
2 10 4 1
"""
HELD = """1,4,1,1024,3,,
2,4,1,1024,3,,
3,4,1,1024,2,,
4,8,1,30000,,,
5,4,1,1024,,,
"""


def run(arguments: dict[str, Any], **options: Any) -> Result:
    arguments = dict(arguments)
    return simulate(arguments.pop("log"), **arguments, **options)


def test_jobs_hold_gpus_and_memory_of_nodes(tmp_path: Path) -> None:
    """One GPU is free on each node, so the third job waits; the job without GPUs need not."""
    result = run(write(tmp_path, JOBS, HELD))
    assert waits(result) == {"1": 0, "2": 0, "3": 100, "4": 0, "5": 0}
    assert result.output.nb_processors == 64


def test_memory_holds_a_job_back(tmp_path: Path) -> None:
    jobs = "0 100 4 2\n0 100 4 2\n0 100 4 2\n"
    held = "1,4,1,20000,,,\n2,4,1,20000,,,\n3,4,1,20000,,,\n"
    assert waits(run(write(tmp_path, jobs, held))) == {"1": 0, "2": 0, "3": 100}


def test_unknown_memory_is_noted(tmp_path: Path) -> None:
    held = HELD.replace("30000", "").replace("2,4,1,1024,3", "2,4,1,,3")
    assert "2 jobs have unknown memory" in str(run(write(tmp_path, JOBS, held)).notes)
    assert "unknown memory" not in str(run(write(tmp_path, JOBS, HELD)).notes)


def test_a_table_that_a_workload_does_not_use_is_noted(tmp_path: Path) -> None:
    jobs = workload([DrawnJob(submit=0, size=4, run=100)], 64)
    machine = write(tmp_path, JOBS, HELD)["machine"]
    assert "table of resources is not used" in str(simulate(jobs, machine=machine).notes)


def test_a_partition_that_counts_gpus(tmp_path: Path) -> None:
    """Of 8 GPUs 6 are in use: two jobs of 3, so that the third of 2 fits; 5 holds no GPU."""
    result = run(write(tmp_path, JOBS, HELD, COUNTED))
    assert waits(result) == {"1": 0, "2": 0, "3": 0, "4": 0}
    assert result.output.nb_processors == 8 + 32
    assert any("1 job was dropped: no-gpu" in note for note in result.notes)


@pytest.mark.parametrize("policy", ["conservative", "filler", "slack", "dynp"])
def test_other_policies_count_gpus(policy: str, tmp_path: Path) -> None:
    packed = run(write(tmp_path, JOBS, HELD), scheduler=policy)
    counted = run(write(tmp_path, JOBS, HELD, COUNTED), scheduler=policy)
    assert waits(packed) == waits(counted)
    assert any("counts the GPUs of gpu, cores of cpu" in note for note in packed.notes)


def test_whole_nodes_are_held_whole(tmp_path: Path) -> None:
    jobs = "0 100 4 1\n0 100 4 1\n0 100 4 1\n"
    held = "1,4,1,1,1,,\n2,4,1,1,1,,1\n3,4,1,1,1,,\n"
    assert waits(run(write(tmp_path, jobs, held))) == {"1": 0, "2": 0, "3": 0}
    whole = PACKED.replace("number = 1", "number = 1\nwhole_nodes = true")
    assert waits(run(write(tmp_path, jobs, held, whole))) == {"1": 0, "2": 0, "3": 100}


def test_an_outage_takes_whole_nodes_away(tmp_path: Path) -> None:
    """The second job would run into the outage of node 1, and node 0 has one GPU left."""
    outage = entry("outages", begin=50, end=60, nodes="1")
    jobs, held = "0 100 4 1\n1 100 4 1\n", "1,4,1,1,3,,\n2,4,1,1,2,,\n"
    assert waits(run(write(tmp_path, jobs, held, PACKED + outage))) == {"1": 0, "2": 59}


@pytest.mark.parametrize("backend", ["embedded", "socket"])
def test_a_later_run_follows_the_run_before(backend: str, tmp_path: Path) -> None:
    """The first run waits 100 s longer than recorded, so the second one cannot start at 50."""
    jobs = "0 100 16 1\n0 100 16 1\n0 30 16 1\n50 30 4 1\n60 10 4 1\n"
    header = TABLE.replace("\n", ",run,first_run\n")
    rows = (
        f"{job},,1,1,4,,,{run},{first}\n"
        for job, run, first in [(1, 1, 1), (2, 1, 2), (3, 1, 3), (4, 2, 3), (5, 3, 3)]
    )
    arguments = write(tmp_path, jobs, "")
    (tmp_path / "site_resources.csv").write_text(header + "".join(rows))
    result = run(arguments, backend=backend)
    starts = result.jobs.set_index("job_id")["starting_time"]
    assert starts.round(3).to_dict() == {"1": 0, "2": 0, "3": 100, "4": 130, "5": 160}


WRONG = [
    ("job,cores\n", "no column nodes"),
    (TABLE + "1,x,1,1,1,,\n", ":2: .*whole numbers"),
    (TABLE + "1,4,1\n", ":2: 3 fields"),
    (TABLE + "1,5,1,1,1,,\n2,5,1,1,1,,\n", "belongs to this log"),
    (TABLE + "7,4,1,1,1,,\n", "belongs to this log"),
    (TABLE + "1,4,1,1,1,,\n1,4,1,2,1,,\n", ":3: its job has a row above"),
    (TABLE + "1,4,1,1,1,4:ncpus=8,\n", "32 cores, but its size is 4"),
    (TABLE + "1,4,1,1,1,1:cpus=8,\n", "expected such as"),
]


@pytest.mark.parametrize(("table", "message"), WRONG)
def test_a_wrong_table(table: str, message: str, tmp_path: Path) -> None:
    arguments = write(tmp_path, "0 100 4 1\n0 100 4 1\n", "")
    (tmp_path / "site_resources.csv").write_text(table)
    with pytest.raises(BatschedError, match=message):
        run(arguments)


def test_a_table_that_is_not_there(tmp_path: Path) -> None:
    arguments = write(tmp_path, JOBS, HELD)
    (tmp_path / "site_resources.csv").unlink()
    with pytest.raises(UsageError, match="no such table"):
        run(arguments)


BAD_UNITS = {
    "nodes without GPUs": partition("cpu", "2-3", unit="gpu"),
    "two units of one group": partition("a", "0", unit="gpu") + partition("b", "1"),
}


@pytest.mark.parametrize("which", BAD_UNITS)
def test_units_that_make_no_sense(which: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gpus|same unit"):
        run(write(tmp_path, JOBS, HELD, BAD_UNITS[which]))


def test_what_a_run_changes(tmp_path: Path) -> None:
    """One more GPU node holds the third job; with one GPU a user, jobs run one after another."""
    jobs, held = "0 100 4 1\n" * 3, "1,4,1,1,3,,\n2,4,1,1,3,,\n3,4,1,1,3,,\n"
    arguments = write(tmp_path, jobs, held)
    assert waits(run(arguments)) == {"1": 0, "2": 0, "3": 100}
    more = run(arguments, gpu_node_factor=1.5)
    assert waits(more) == {"1": 0, "2": 0, "3": 0}
    assert more.output.nb_processors == 5 * 16
    assert waits(run(arguments, max_gpus_per_user=3)) == {"1": 0, "2": 100, "3": 200}
    assert not waits(run(arguments, max_gpus_per_user=2))  # each job alone exceeds the limit
    few = write(tmp_path, jobs, "1,4,1,1,1,,\n2,4,1,1,1,,\n3,4,1,1,1,,\n")
    assert waits(run(few)) == {"1": 0, "2": 0, "3": 0}
    assert waits(run(few, whole_nodes=True)) == {"1": 0, "2": 0, "3": 100}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gpu_node_factor": 0.0}, "gpu_node_factor 0: expected a positive number"),
        ({"gpu_node_factor": 0.1}, "leaves no node"),
        ({"max_gpus_per_user": 0}, "max_gpus_per_user 0: expected"),
    ],
)
def test_changes_that_make_no_sense(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        run(write(tmp_path, JOBS, HELD), **change)


def test_changes_of_gpus_need_gpus(tmp_path: Path) -> None:
    arguments = write(tmp_path, JOBS, HELD)
    (tmp_path / "m.toml").write_text(entry("nodes", count=8))
    with pytest.raises(UsageError, match=r"no nodes of .* have gpus"):
        run(arguments, gpu_node_factor=2.0)
    arguments.pop("machine")
    with pytest.raises(UsageError, match="give machine"):
        run(arguments, whole_nodes=True)
