"""What ran at once by records, and what held jobs: by hand, by fixtures and by a slow twin."""

from __future__ import annotations

import csv
import json
import tomllib
from collections.abc import Mapping, Sequence
from math import ceil, isnan, nan
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.calibration import calibrations
from batsched_py.calibration.matched_jobs import match_jobs
from batsched_py.calibration.resource_use import (
    UNKNOWN_LIMITS,
    add_up,
    measure_resources,
)
from batsched_py.calibration.verdict import describe_calibration
from batsched_py.schedulers.easy import Easy
from batsched_py.testing import DrawnJob
from batsched_py.units import HOUR
from batsched_py.workload.log_partitions import LogPartitions
from batsched_py.workload.logs.swf import SwfLog
from batsched_py.workload.machine_description import NodeGroup
from batsched_py.workload.machine_file import read_machine
from batsched_py.workload.node_shares import parse_chunks
from helpers.calibrated import log_of, table_of, write_log
from helpers.calling import command
from helpers.partitions import entry, machine_of, partition, run_on
from helpers.shared_folder import SHARED

RESOURCES = 'resources = "held.csv"\n'
ONE_NODE = entry("nodes", count=1, cores=64, gpus=4, memory="512 GiB")
TWO_PARTITIONS = f"{ONE_NODE}{entry('nodes', count=1, cores=32)}" + "".join(
    partition(name, nodes, number=number)
    for number, (name, nodes) in enumerate({"gpu": "0", "all": "0-1"}.items(), 1)
)


class Run(NamedTuple):
    """A run of a job: hours, cores, and what the table of resources has of it."""

    begin: float
    length: float
    cores: int
    gpus: int | str = 0
    memory_mib: int | str = ""
    nodes: int | str = 1
    further: Mapping[str, Any] = {}
    partition: int = 1
    wait: float = 0


COLUMNS = ("job", "cores", "nodes", "memory_mib", "gpus", "chunks", "exclusive")
ABOUT = ("run", "reason", "reservation", "eligible_s", "ended_by")


def write_machine(folder: Path, text: str, runs: Sequence[Run]) -> Path:
    """Write a machine file with a table of what the runs held; return its path."""
    with (folder / "held.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, (*COLUMNS, *ABOUT))
        table.writeheader()
        for number, run in enumerate(runs, 1):
            shown = {name: value for name, value in run._asdict().items() if name in COLUMNS}
            table.writerow({"job": number, **shown, **run.further})
    (folder / "machine.toml").write_text(RESOURCES + text)
    return folder / "machine.toml"


def log_of_runs(runs: Sequence[Run]) -> SwfLog:
    waits = [HOUR * run.wait for run in runs]
    return log_of(
        waits,
        submit_time=[HOUR * (run.begin - run.wait) for run in runs],
        run_time=[HOUR * run.length for run in runs],
        allocated_processors=[run.cores for run in runs],
        requested_processors=[run.cores for run in runs],
        partition=[run.partition for run in runs],
    )


class Use(NamedTuple):
    """What is measured of a partition: shares of cores, GPUs and memory, and times above 1."""

    most: list[float]
    mean: list[float]
    over: dict[str, float]
    counted: list[str]
    binds: str
    held: list[Any]

    @property
    def counted_over(self) -> float:
        return max(self.over.get(name, 0) for name in self.counted)

    @property
    def dominant_over(self) -> float:
        return self.over["dominant size"]

    @property
    def unknown_limits(self) -> float:
        return sum(each.share for each in self.held if each.by == UNKNOWN_LIMITS)


def measured(
    text: str, runs: Sequence[Run], simulated: float = 0, **options: Any
) -> dict[str, Use]:
    """Return the use of each partition; in the simulation all jobs waited ``simulated`` hours."""
    with TemporaryDirectory() as folder:
        machine = read_machine(write_machine(Path(folder), text, runs), **options)
        log = log_of_runs(runs)
        table = table_of(log, [HOUR * simulated] * len(runs))
        jobs, _ = match_jobs(log, table)
        tables = measure_resources(log, LogPartitions(log, machine), jobs)
        used, held = ([*table.itertuples()] for table in tables)
    uses = {}
    for name in dict.fromkeys(use.partition for use in used):
        its = {use.resource: use for use in used if use.partition == name}
        (binds,) = [use.resource for use in its.values() if use.binds]
        uses[name] = Use(
            [its[of].most if of in its else nan for of in ("cores", "GPUs", "memory")],
            [its[of].mean if of in its else nan for of in ("cores", "GPUs", "memory")],
            {of: use.over for of, use in its.items()},
            [of for of, use in its.items() if use.counted],
            binds,
            [each for each in held if each.partition == name],
        )
    return uses


# By hand -----------------------------------------------------------------------------------------


def test_jobs_that_complement_each_other_contradict_dominant_sizes_only() -> None:
    """Of 4 GPUs and 64 cores: 1 and 48 for ten hours (size 3), 2 and 8 for one (size 2)."""
    runs = [Run(0, 10, 48, 1), Run(0, 1, 8, 2)]
    (use,) = measured(ONE_NODE, runs).values()
    assert (use.dominant_over, use.counted_over) == (pytest.approx(0.1), 0)
    assert use.counted == ["cores", "GPUs"]
    assert use.most[:2] == [56 / 64, 3 / 4]
    assert use.mean[:2] == pytest.approx([(480 + 8) / 640, (10 + 2) / 40])
    assert use.binds == "cores"
    assert isnan(use.most[2])
    assert use.held == []


def test_the_count_of_the_run_is_in_its_unit() -> None:
    """Two jobs of 3 GPUs and 20 cores at once on 4 GPUs for an hour of three."""
    runs = [Run(0, 2, 20, 3), Run(1, 2, 20, 3), Run(1, 1, 4)]
    for unit, counted, over in (("gpu", "GPUs", 1 / 3), ("core", "cores", 0)):
        (use,) = measured(ONE_NODE + partition("gpu", unit=unit), runs).values()
        assert (use.counted, use.counted_over) == ([counted], pytest.approx(over))
    (use,) = measured(ONE_NODE, runs).values()
    assert (use.counted, use.over["GPUs"]) == (["cores", "GPUs"], pytest.approx(1 / 3))
    assert use.over["cores"] == 0
    assert use.binds == "GPUs"
    (use,) = measured(ONE_NODE, runs, packs=False).values()
    assert (use.counted, use.counted_over) == (["GPUs"], pytest.approx(1 / 3))


def test_jobs_with_nodes_alone_hold_the_whole_nodes() -> None:
    runs = [Run(0, 1, 8, 1, 1024, further={"exclusive": "1"})]
    (use,) = measured(ONE_NODE, runs).values()
    assert use.most == [1, 1, 1]
    (use,) = measured(ONE_NODE + partition("gpu", whole_nodes=True), runs).values()
    assert use.most == [1, 1, 1]


def test_jobs_of_a_partition_within_another_run_there_too() -> None:
    runs = [Run(0, 1, 48, 4), Run(0, 1, 48, 0, partition=2)]
    use = measured(TWO_PARTITIONS, runs)
    assert use["gpu"].most[:2] == [48 / 64, 1]
    assert use["all"].most[:2] == [1, 1]


def test_a_gpu_that_the_machine_lacks_contradicts_it() -> None:
    text = entry("nodes", count=1, cores=64, memory="64 GiB")
    (use,) = measured(text, [Run(0, 1, 8, 1)]).values()
    assert (use.over["GPUs"], use.over["cores"]) == (1, 0)
    assert isnan(use.most[1])


def test_nothing_is_measured_where_no_gpus_and_no_memory_are_known(tmp_path: Path) -> None:
    runs = [Run(0, 1, 8), Run(0, 1, 8)]
    assert measured(entry("nodes", count=1, cores=64), runs) == {}
    log = log_of_runs(runs)
    machine = machine_of(ONE_NODE)  # which has no table
    assert calibrations(log, {"easy": table_of(log, [0, 0])}, machine).used.empty


REASONS = [
    {"ended_by": "preempted"},
    {"run": 2, "reason": "BeginTime", "eligible_s": 121, "ended_by": "preempted"},
    {"reason": "Dependency"},
    {"reason": "QOSMaxGRESPerUser"},
    {"reason": "AssocGrpCPUMinutesLimit"},
    {"reason": "JobArrayTaskLimit"},
    {"reservation": "demo", "reason": "Priority"},
    {"reason": "Licenses", "ended_by": "node"},
    {"reason": "None"},
    {},
]
"""Of runs of one, two, three, ... hours on one GPU."""


def held_by_reason(text: str = ONE_NODE) -> Use:
    runs = [
        Run(100 * hours, hours, 4, 1, further=further, wait=hours)
        for hours, further in enumerate(REASONS, 1)
    ]
    (use,) = measured(text, runs, simulated=2).values()
    return use


def test_what_held_jobs_has_its_share_of_gpu_hours_and_its_waits() -> None:
    use = held_by_reason()
    hours = {held.by: held.share * 55 for held in use.held}
    assert {held.hours for held in use.held} == {"GPU-hours"}
    assert hours == {
        "all": 55,
        "preempted": pytest.approx(1 + 2),
        "dependency or begin time": pytest.approx(2 + 3),
        "eligible later than submitted": pytest.approx(2),
        "runs after the first": pytest.approx(2),
        "limit QOSMaxGRESPerUser": pytest.approx(4),
        "limit AssocGrpCPUMinutesLimit": pytest.approx(5),
        UNKNOWN_LIMITS: pytest.approx(4 + 5),
        "reason JobArrayTaskLimit": pytest.approx(6),
        "in reservations": pytest.approx(7),
        "reason Licenses": pytest.approx(8),
        "lost to failed nodes": pytest.approx(8),
        "none of these": pytest.approx(9 + 10),
    }
    assert {held.by: held.runs for held in use.held}["preempted"] == 2
    waits = {held.by: (held.recorded, held.simulated) for held in use.held}
    assert waits["all"] == (5.5 * HOUR, 2 * HOUR)
    assert waits["none of these"] == (9.5 * HOUR, 2 * HOUR)


def test_a_limit_of_the_machine_file_is_known() -> None:
    for limited, hours in (
        ("", 4 + 5),
        (partition("gpu", max_running_jobs_per_user=1), 4 + 5),
        (entry("limits", per="user", cpus=8), 4 + 5),
        (entry("limits", per="user", gpus=2), 5),
    ):
        use = held_by_reason(ONE_NODE + limited)
        assert use.unknown_limits == pytest.approx(hours / 55)


def test_the_verdict_says_first_that_levels_cannot_be_believed(tmp_path: Path) -> None:
    runs = [Run(0, 10, 8, 3), Run(0, 2, 8, 3, further={"reason": "QOSMaxGRESPerUser"})]

    def first(runs: Sequence[Run]) -> str:
        machine = read_machine(write_machine(tmp_path, ONE_NODE, runs))
        log = log_of_runs(runs)
        return describe_calibration(calibrations(log, {"easy": table_of(log, [0, 0])}, machine))[0]

    doubts = first(runs)
    assert doubts.startswith("Levels of waits cannot be believed; relative changes may.")
    assert "hold more GPUs than the simulated machine has, 20 % of the time" in doubts
    assert f"In all, {UNKNOWN_LIMITS} held 17 % of the GPU-hours." in doubts
    few = [Run(0, 10, 8, 3), Run(9, 1, 8, 3, further={"reason": "QOSMaxGRESPerUser"})]
    assert first(few).startswith("Under easy, ")


# The fixtures ------------------------------------------------------------------------------------


def expected(name: str) -> Any:
    return tomllib.loads((SHARED / "resource_cases" / name / "expected.toml").read_text())


def size_of(group: NodeGroup, cores: int, *, exclusive: bool = False, **extra: Any) -> int:
    known = {name: value for name, value in extra.items() if value != ""}
    ((*_, size),) = add_up([group], [(1, cores, known, exclusive)])[0].tolist()
    return int(size)


@pytest.mark.usefixtures("shared")
def test_dominant_sizes_of_jobs_of_slurm() -> None:
    gpu = NodeGroup(count=2, cores=64, gpus=4, memory_mib=512_000)
    cpu = NodeGroup(count=1, cores=64, memory_mib=262_144)
    jobs = expected("1_gpu_shares")["jobs"]
    assert len(jobs) == 7
    for job in jobs:
        gpus = job.get("gpus", job.get("requested_gpus"))
        memory = job.get("memory_mib", job.get("requested_memory_mib"))
        size = size_of(
            cpu if job.get("partition") == "cpu" else gpu,
            max(job["cores"], 4),
            nodes=job.get("nodes", 1),
            gpus=gpus,
            memory_mib=memory,
            exclusive=job.get("exclusive", False),
        )
        assert size == job["size"], job["id"]


@pytest.mark.usefixtures("shared")
def test_dominant_sizes_of_jobs_of_pbs() -> None:
    gpu = NodeGroup(count=2, cores=32, gpus=4, memory_mib=262_144)
    cpu = NodeGroup(count=1, cores=64, memory_mib=262_144)
    one, mixed, alone, _ = expected("3_pbs_select")["jobs"]
    assert size_of(gpu, one["cores"], chunks=one["chunks"]) == one["size"]
    assert size_of(gpu, alone["cores"], gpus=alone["gpus"], exclusive=True) == alone["size"]
    ((held, *_),) = add_up([gpu], [(43, alone["cores"], {}, True)])[0].tolist()
    assert held == alone["held_cores"]
    for share in parse_chunks(mixed["chunks"], "job 42"):
        group, key = (gpu, "size_on_gpu_nodes") if share.gpus else (cpu, "size_on_cpu_nodes")
        size = size_of(group, share.cores, gpus=share.gpus, memory_mib=share.memory_mib)
        assert size == mixed[key]
    assert size_of(gpu, mixed["cores"], chunks=mixed["chunks"]) == 1 + 4


@pytest.mark.usefixtures("shared")
def test_dominant_sizes_of_jobs_of_oar() -> None:
    group = NodeGroup(count=2, cores=32, gpus=4)
    for job in expected("4_oar_gpu")["jobs"]:
        size = job.get("size_in_gpus", job["gpus"])
        assert size_of(group, job["cores"], gpus=job["gpus"], nodes=1) == size


@pytest.mark.usefixtures("shared")
def test_runs_that_were_preempted_or_lost_have_their_gpu_hours() -> None:
    """The runs of the fixture, with what its records have of each."""
    about = expected("2_requeue_preempt")["notes"]
    path = SHARED / "resource_cases" / "2_requeue_preempt" / "jobs.txt"
    ends = {"PREEMPTED": "preempted", "NODE_FAIL": "node"}
    runs, seen = [], dict[str, int]()
    for record in csv.DictReader(path.read_text().splitlines(), delimiter="|"):
        number = seen[record["JobID"]] = seen.get(record["JobID"], 0) + 1
        submit, eligible, start = (int(record[name]) for name in ("Submit", "Eligible", "Start"))
        tres = dict(part.split("=") for part in record["AllocTRES"].split(","))
        further = {
            "run": number,
            "reason": record["Reason"],
            "reservation": record["Reservation"],
            "eligible_s": eligible - submit or "",
            "ended_by": ends.get(record["State"], ""),
        }
        run = Run(
            (start - 1_767_226_000) / HOUR, int(record["ElapsedRaw"]) / HOUR, int(tres["cpu"])
        )
        runs.append(run._replace(gpus=int(tres["gres/gpu"]), nodes=tres["node"], further=further))
    nodes = entry("nodes", count=8, cores=64, gpus=8)
    (use,) = measured(nodes, runs).values()
    held = {each.by: each for each in use.held}
    total = expected("2_requeue_preempt")["runs"]["keep"]["gpu_hours"]
    hours = {by: each.share * total for by, each in held.items()}
    assert held["preempted"].runs == about["preempted_runs"]
    assert hours["preempted"] == pytest.approx(about["preempted_gpu_hours"], abs=1e-4)
    assert held["lost to failed nodes"].runs == about["runs_lost_to_node_failures"]
    assert held["eligible later than submitted"].runs == about["eligible_later_than_submit"]
    assert hours["in reservations"] == pytest.approx(about["in_reservations_gpu_hours"], abs=1e-4)
    reasons = about["by_last_reason"]
    both = reasons["BeginTime"] + reasons["Dependency"]
    assert held["dependency or begin time"].runs == both
    assert held["limit QOSMaxGRESPerUser"].runs == reasons["QOSMaxGRESPerUser"]


# Drawn cases -------------------------------------------------------------------------------------


class Slow(NamedTuple):
    """The use of one node by second: the highest and mean amounts, and shares of time above."""

    most: list[float]
    mean: list[float]
    over: list[float]


def look_at_each_second(runs: Sequence[Run], amounts: list[list[int]], has: list[int]) -> Slow:
    first = min(int(run.begin) for run in runs)
    last = max(int(run.begin + run.length) for run in runs)
    used = []
    for second in range(first, last):
        running = [
            amount
            for run, amount in zip(runs, amounts, strict=True)
            if run.begin <= second < run.begin + run.length
        ]
        used.append([sum(each[at] for each in running) for at in range(len(has))])
    columns = list(zip(*used, strict=True))
    nb = last - first
    return Slow(
        [max(column) for column in columns],
        [sum(column) / nb for column in columns],
        [
            sum(level > most for level in column) / nb
            for column, most in zip(columns, has, strict=True)
        ],
    )


some_runs = st.lists(
    st.tuples(
        *(st.integers(0, 8), st.integers(1, 6), st.integers(1, 8)),
        *(st.integers(0, 2), st.integers(0, 9)),
    ).map(lambda drawn: Run(*drawn)),
    min_size=1,
    max_size=8,
)


@given(some_runs)
def test_the_use_is_that_of_looking_at_each_hour(runs: list[Run]) -> None:
    """A node of 8 cores, 2 GPUs and 10 MiB; a GPU has 4 cores and 5 MiB."""
    sizes = [max(ceil(run.cores / 4), int(run.gpus), ceil(int(run.memory_mib) / 5)) for run in runs]
    amounts = [
        [run.cores, int(run.gpus), int(run.memory_mib), size]
        for run, size in zip(runs, sizes, strict=True)
    ]
    has = [8, 2, 10, 2]
    slow = look_at_each_second(runs, amounts, has)
    (use,) = measured(entry("nodes", count=1, cores=8, gpus=2, memory=10), runs).values()
    for at in range(3):
        known = slow.most[at] > 0
        assert use.most[at] == pytest.approx(slow.most[at] / has[at] if known else nan, nan_ok=True)
        assert use.mean[at] == pytest.approx(slow.mean[at] / has[at] if known else nan, nan_ok=True)
    assert use.dominant_over == pytest.approx(slow.over[3])
    assert use.counted_over == pytest.approx(max(slow.over[:3]))


@given(st.integers(1, 20), st.integers(0, 9), st.integers(0, 40), st.integers(1, 5), st.booleans())
def test_the_size_of_a_job_is_that_of_each_of_its_nodes(
    cores: int, gpus: int, memory: int, nodes: int, exclusive: bool
) -> None:
    """On nodes of 8 cores, 2 GPUs and 10 MiB; cores and GPUs are dealt to the nodes in turn."""
    nodes = min(nodes, cores)
    total = [0, 0, 0, 0]
    for node in range(nodes):
        held = [len(range(node, cores, nodes)), len(range(node, gpus, nodes)), ceil(memory / nodes)]
        if exclusive:
            held = [max(pair) for pair in zip(held, (8, 2, 10), strict=True)]
        size = max(ceil(held[0] / 4), held[1], ceil(held[2] / 5))
        total = [old + new for old, new in zip(total, (*held, size), strict=True)]
    extra = {"nodes": nodes, "gpus": gpus, "memory_mib": memory, "exclusive": exclusive}
    group = NodeGroup(count=9, cores=8, gpus=2, memory_mib=10)
    amounts, _ = add_up([group], [(1, cores, extra, False)])
    assert amounts.tolist() == [total]


@given(some_runs, st.integers(1, 3))
def test_a_schedule_that_was_packed_contradicts_no_total(runs: list[Run], nodes: int) -> None:
    text = entry("nodes", count=nodes, cores=8, gpus=2, memory=10)
    jobs = [
        (
            {"gpus": run.gpus, "memory_mib": run.memory_mib, "nodes": 1},
            DrawnJob(HOUR * run.begin, run.cores, HOUR * run.length),
        )
        for run in runs
    ]
    outcome = run_on(machine_of(text), Easy, jobs)
    in_order = sorted(outcome.jobs, key=lambda job: job.description.id)
    packed = [
        run._replace(begin=job.start_time / HOUR)
        for run, job in zip(runs, in_order, strict=True)
        if job.alloc
    ]
    if packed:
        (use,) = measured(text, packed).values()
        assert use.counted_over == 0


# The command -------------------------------------------------------------------------------------


def test_the_command_prints_and_stores_it_where_it_is_known(tmp_path: Path) -> None:
    runs = [Run(0, 10, 48, 1), Run(0, 1, 8, 2, further={"reason": "AssocGrpGRES"})]
    write_log(log_of_runs(runs), tmp_path / "site.swf")
    write_machine(tmp_path, ONE_NODE, runs)
    arguments = ("calibrate", "site.swf", "--scheduler", "easy", "--baseline", "none")
    done = command(tmp_path, *arguments, "--machine", "machine.toml", "-e", "with")
    assert done.returncode == 0, done.stderr
    assert "Levels of waits cannot be believed" in done.stdout
    stored = json.loads((tmp_path / "with_calibration.json").read_text())
    held = {each["by"]: each["runs"] for each in stored["held"]}
    assert held == {"all": 2, "none of these": 1, "limit AssocGrpGRES": 1, UNKNOWN_LIMITS: 1}
    assert stored["resources"][0]["resource"] == "cores"
    page = (tmp_path / "with_calibration.html").read_text()
    titles = ("Resources in use at once", "What held jobs")
    assert all(title in done.stdout and title in page for title in titles)

    (tmp_path / "machine.toml").write_text(entry("nodes", count=1, cores=64))
    done = command(tmp_path, *arguments, "--machine", "machine.toml", "-e", "without")
    assert done.returncode == 0, done.stderr
    assert "resources" not in json.loads((tmp_path / "without_calibration.json").read_text())
    page = (tmp_path / "without_calibration.html").read_text()
    assert not any(title in done.stdout or title in page for title in titles)
