"""What the jobs tell of the machine."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil, log2
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py import simulate
from batsched_py.accounting.machine_use import Gap, measure_use
from batsched_py.accounting.records import Extras
from batsched_py.accounting.seen_nodes import Run, SeenNodes
from batsched_py.accounting.systems.slurm import Slurm
from batsched_py.support.host_lists import expand_nodes
from batsched_py.units import DAY, HOUR
from batsched_py.workload.conversion_rules import make_rules
from batsched_py.workload.log_conversion import convert_log
from batsched_py.workload.logs.swf import read_swf
from batsched_py.workload.machine_file import MachineChanges, read_machine
from helpers.accounting_records import sacct
from helpers.imports import Imported, imported

Importing = Callable[..., Imported]
Job = dict[str, object]


@pytest.fixture
def slurm(tmp_path: Path) -> Importing:
    def run(*jobs: Job, **options: object) -> Imported:
        return imported(Slurm, tmp_path, sacct(*jobs), **options)

    return run


# Use of the machine ------------------------------------------------------------------------------


def test_gaps_and_whether_somebody_waited() -> None:
    """Nothing runs from 10 to 30 and from 40 to 60; at 30 a job starts that came at 12."""
    rows = [(0, 10, 1, 0, 0), (30, 35, 1, 0, 12), (30, 40, 1, 0, 30), (60, 61, 1, 0, 60)]
    assert measure_use(rows, 20).gaps == [Gap(10, 30, True), Gap(40, 60, False)]
    assert measure_use(rows, 21).gaps == []
    assert measure_use([(0, 10, 4, 0, 0), (5, 20, 3, 1, 5)], 100).most_of == {0: 4, 1: 3}


def second_by_second(rows: list[tuple[int, ...]]) -> tuple[int, list[tuple[int, int]]]:
    """Return the most in use in any second, and the times between runs without a run."""
    seconds = range(rows[0][0], max(row[1] for row in rows))
    in_use = [sum(size for start, end, size, *_ in rows if start <= t < end) for t in seconds]
    idle = [t for t, size in zip(seconds, in_use, strict=True) if not size]
    begins = [t for t in idle if t - 1 not in idle]
    ends = [t + 1 for t in idle if t + 1 not in idle]
    return max(in_use), list(zip(begins, ends, strict=True))


@given(
    st.lists(
        st.tuples(st.integers(0, 30), st.integers(1, 8), st.integers(1, 4)), min_size=1, max_size=9
    )
)
def test_use_is_as_counted_second_by_second(jobs: list[tuple[int, int, int]]) -> None:
    rows = sorted((start, start + length, size, 0, start) for start, length, size in jobs)
    most, gaps = second_by_second(rows)
    use = measure_use(rows, 1)
    assert (use.most, use.last_end) == (most, max(row[1] for row in rows))
    assert use.most_of == {0: most}
    assert [(gap.begin, gap.end) for gap in use.gaps] == gaps


# Names of nodes ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n1", ["n1"]),
        ("n[1-3]", ["n1", "n2", "n3"]),
        ("n[008-010,1],gpu2", ["n008", "n009", "n010", "n1", "gpu2"]),
        ("r[1-2]n[1-2]", ["r1n1", "r1n2", "r2n1", "r2n2"]),
        ("a,b", ["a", "b"]),
        ("", []),
    ],
)
def test_sets_of_nodes(text: str, names: list[str]) -> None:
    assert expand_nodes(text) == names


@pytest.mark.parametrize("text", ["n[1", "n[3-1]", "n[a-b]", "n]", ","])
def test_what_is_no_set_of_nodes(text: str) -> None:
    with pytest.raises(ValueError, match="nodes"):
        expand_nodes(text)


def run_of(start: int, end: int, partition: int, nodes: str, cores: int, **held: Any) -> Run:
    return Run(start, end, cores, partition, start, nodes, Extras(cores=cores, **held))


def test_nodes_are_grouped_by_their_partitions() -> None:
    seen = SeenNodes({})
    for run in (
        run_of(0, 9, 0, "n[1-10]", 320),
        run_of(9, 10, 1, "n[9-10],g1", 4),
        run_of(9, 10, 1, "n[", 4),
    ):
        seen.see(run)
    groups = {tuple(group.names): (group.partitions, group.size.cores) for group in seen.groups()}
    assert groups == {
        ("g1",): ({1}, 2),
        tuple(f"n{number}" for number in range(1, 9)): ({0}, 32),
        ("n9", "n10"): ({0, 1}, 32),
    }
    assert seen.unread == {"n["}


def test_nodes_of_a_partition_may_have_other_gpus() -> None:
    """Of 8 GPUs, of 4 although 3 were used of one, and of none."""
    seen = SeenNodes({})
    for nodes, gpus in (("a1", 8), ("b1", 4), ("b2", 3), ("c1", 0)):
        seen.see(run_of(0, 9, 0, nodes, 32, gpus=gpus))
    assert [(group.names, group.size.gpus) for group in seen.groups()] == [
        (["a1"], 8),
        (["b1", "b2"], 4),
        (["c1"], 0),
    ]


NAMES = ("n1", "n2", "n3")
Drawn = tuple[int, int, list[str], int, int, int]
DRAWN = st.lists(
    st.tuples(
        st.integers(0, 9),
        st.integers(0, 4),
        st.lists(st.sampled_from(NAMES), min_size=1, unique=True),
        st.integers(1, 9),
        st.integers(0, 4),
        st.integers(0, 3000),
    ),
    min_size=1,
    max_size=12,
)


def most_held(jobs: list[Drawn]) -> dict[str, list[Fraction]]:
    """Return the most cores, GPUs, MiB and jobs of each node, job by job."""
    most: dict[str, list[Fraction]] = {}
    running: list[Drawn] = []
    for job in jobs:
        running = [other for other in running if other[0] + other[1] > job[0]] + [job]
        for name in job[2]:
            on_it = [other for other in running if name in other[2]]
            held = [sum(Fraction(its[at], len(its[2])) for its in on_it) for at in (3, 4, 5)]
            held.append(Fraction(len(on_it)))
            most[name] = list(map(max, held, most.get(name, held)))
    return most


@given(DRAWN)
def test_what_was_held_at_once_is_as_counted_job_by_job(jobs: list[Drawn]) -> None:
    """With shares that are fractions, and zero-length runs."""
    jobs.sort(key=lambda job: (job[0], job[0] + job[1]))
    seen = SeenNodes({})
    for place, (start, length, names, cores, gpus, memory) in enumerate(jobs):
        held = {"gpus": gpus, "memory_mib": memory}
        seen.see(run_of(start, start + length, place, ",".join(names), cores, **held))
    groups = seen.groups()
    found = {name: (*group.size, group.is_shared) for group in groups for name in group.names}
    expected = most_held(jobs)
    for group in groups:  # of the same partitions, and of GPUs that are alike
        gpus = [ceil(expected[name][1]) for name in group.names]
        assert len({ceil(log2(nb)) if nb else -1 for nb in gpus}) == 1
        of_all = [
            max(values) for values in zip(*(expected[name] for name in group.names), strict=True)
        ]
        *sizes, nb_jobs = map(ceil, of_all)
        assert {found[name] for name in group.names} == {(*sizes, nb_jobs > 1)}
    assert found.keys() == expected.keys()


# Drafts ------------------------------------------------------------------------------------------


def test_whole_nodes_and_shared_ones(slurm: Importing, tmp_path: Path) -> None:
    """Jobs of batch have 32 cores of each of n1 to n4; those of shared some of n5."""
    later = {"Start": "2024-03-01T11:00:00", "End": "2024-03-01T12:00:00"}
    shared = {"Partition": "shared", "NodeList": "n5"}
    done = slurm(
        {"JobID": 1, "NNodes": 4, "AllocCPUS": 128, "NodeList": "n[1-4]", "TimelimitRaw": 1440},
        {"JobID": 2, "NNodes": 1, "AllocCPUS": 32, "NodeList": "n2"} | later,
        {"JobID": 3, "AllocCPUS": 5, "TimelimitRaw": 90} | shared,
        {"JobID": 4, "AllocCPUS": 11, "TimelimitRaw": 9} | shared,
        {"JobID": 5, "TimelimitRaw": 9} | shared | {"NodeList": "n[1-999999]"} | later,
    )
    assert done.noted("100,000 nodes (1)")
    batch, shared = done.draft.partitions
    assert (batch.name, batch.number, batch.nodes, batch.whole_nodes) == ("batch", 1, "0-3", True)
    assert (shared.name, shared.number, shared.nodes) == ("shared", 2, "4")
    assert not shared.whole_nodes
    assert (batch.largest, batch.most_nodes, batch.longest_request) == (128, 4, DAY)
    machine = read_machine(tmp_path / "out_machine.toml")
    assert machine.nb_processors == 4 * 32 + 16
    assert [part.max_walltime for part in machine.partitions] == [DAY, 1.5 * HOUR]
    assert [str(part.processors.size) for part in machine.partitions] == ["128", "16"]
    assert "guessed" not in done.machine


def test_a_lower_limit_cuts_jobs_and_refuses_none(slurm: Importing, tmp_path: Path) -> None:
    """A drafted machine is for questions such as what a limit of 12 h would do."""
    slurm(*({"JobID": number, "TimelimitRaw": 60 * number} for number in (6, 12, 24, 48)))
    machine = read_machine(tmp_path / "out_machine.toml", MachineChanges(max_walltime=12 * HOUR))
    load = convert_log(read_swf(tmp_path / "out.swf"), make_rules(), described=machine)
    assert [job.walltime for job in load.jobs] == [6 * HOUR, 12 * HOUR, 12 * HOUR, 12 * HOUR]
    assert "killed at it" in (tmp_path / "out_machine.toml").read_text()


def test_a_machine_of_nodes(slurm: Importing, tmp_path: Path) -> None:
    """Names of partitions may be anything."""
    name = 'a"b\\\x7f\x1b'
    job = {"NNodes": 3, "AllocCPUS": 96, "Partition": name}
    done = slurm(job, processors="nodes", cores_per_node=32)
    assert [(group.count, group.cores) for group in done.draft.groups] == [(3, 32)]
    machine = read_machine(tmp_path / "out_machine.toml")
    assert (machine.nb_processors, machine.partitions[0].cores) == (3, 32)
    assert machine.partitions[0].name == 'a"b\\\\u007f\\u001b'


def test_jobs_without_partitions(slurm: Importing, tmp_path: Path) -> None:
    done = slurm({"Partition": ""})
    assert [part.name for part in done.draft.partitions] == ["all"]
    assert "number =" not in done.machine
    assert read_machine(tmp_path / "out_machine.toml").nb_processors == 4
    some = slurm({"JobID": 1, "Partition": ""}, {"JobID": 2})
    assert [part.name for part in some.draft.partitions] == ["batch"]
    assert "The partition of" in some.machine


def test_outages(slurm: Importing, tmp_path: Path) -> None:
    """From 11:00 on nothing ran for a day, though a job came at noon: an outage.

    Nor did anything in the two days after that, but no job waited: that is no outage.
    """
    day = "2024-03-{}T{}:00:00".format
    done = slurm(
        {"JobID": 1},
        {"JobID": 2, "Submit": day("01", 12), "Start": day("02", 11), "End": day("02", 12)},
        {"JobID": 3, "Submit": day("04", 12), "Start": day("04", 12), "End": day("04", 13)},
    )
    hours = [(gap.begin / HOUR, gap.end / HOUR, gap.waited) for gap in done.draft.outages]
    assert hours == [(1, 25, True)]
    machine = read_machine(tmp_path / "out_machine.toml")
    assert [(out.begin, out.end) for out in machine.outages] == [(HOUR, 25 * HOUR)]
    assert "begin = 3600  # 2024-03-01 11:00:00, UTC" in done.machine
    assert "no job waited" not in done.machine
    assert slurm({"JobID": 1}, outage_hours=100).draft.outages == []


# Sizes --------------------------------------------------------------------------------------------


BEGIN = 1709287200
OnNodes = tuple[int, int, frozenset[str], int]
"""Start, end, nodes, and the cores of each."""
RUNS = st.lists(
    st.builds(
        lambda start, length, nodes, cores: (start, start + length, nodes, cores),
        st.integers(0, 20),
        st.integers(1, 20),
        st.frozensets(st.sampled_from(["n1", "n2", "n3", "n4"]), min_size=1),
        st.integers(1, 4),
    ),
    min_size=1,
    max_size=6,
)


def written(runs: list[OnNodes]) -> str:
    return sacct(
        *(
            {
                "JobID": number,
                "Submit": BEGIN,
                "Start": BEGIN + start,
                "End": BEGIN + end,
                "NNodes": len(nodes),
                "AllocCPUS": len(nodes) * cores,
                "NodeList": ",".join(sorted(nodes)),
            }
            for number, (start, end, nodes, cores) in enumerate(runs, 1)
        )
    )


@given(runs=RUNS, options=st.sampled_from([{}, {"processors": "nodes"}, {"max_processors": 9}]))
def test_log_and_draft_are_of_one_size(
    tmp_path_factory: pytest.TempPathFactory, runs: list[OnNodes], options: dict[str, object]
) -> None:
    """That of all nodes named, each with the most held at once of any; more if jobs share nodes
    where a processor is a node.
    """
    in_nodes = "processors" in options
    named = frozenset().union(*(nodes for _, _, nodes, _ in runs))

    def at_once(second: int, of: frozenset[str]) -> int:
        return sum(
            len(nodes & of) * (1 if in_nodes else cores)
            for start, end, nodes, cores in runs
            if start <= second < end
        )

    node = max(at_once(second, frozenset([name])) for second in range(40) for name in named)
    size = len(named) * node
    if in_nodes:
        size = max(len(named), *(at_once(second, named) for second in range(40)))
    folder = tmp_path_factory.mktemp("size")
    done = imported(Slurm, folder, written(runs), **options)
    assert done.log.max_processors == options.get("max_processors", size)
    drafted = read_machine(folder / "out_machine.toml").nb_processors
    assert drafted == size
    assert done.noted("drafted machine has") == (drafted != done.log.max_processors)


@pytest.mark.parametrize("options", [{}, {"processors": "nodes"}])
def test_jobs_on_shared_nodes_do_not_wait(slurm: Importing, tmp_path: Path, options: Job) -> None:
    """Four jobs of 8 cores at once on a node: it has 32 cores, and a replay starts all at once."""
    jobs = ({"JobID": number, "AllocCPUS": 8, "NodeList": "n1"} for number in range(1, 5))
    done = slurm(*jobs, **options)
    if not options:
        assert [(group.count, group.cores) for group in done.draft.groups] == [(1, 32)]
    assert not done.draft.partitions[0].whole_nodes
    out = simulate(tmp_path / "out.swf", machine=tmp_path / "out_machine.toml")
    assert out.jobs["waiting_time"].tolist() == [0, 0, 0, 0]


def test_nodes_that_records_do_not_name(slurm: Importing, tmp_path: Path) -> None:
    """Jobs of whole nodes of 32 and of 64 cores, and at the same time others on unknown nodes."""
    done = slurm(
        {"JobID": 1, "AllocCPUS": 32, "NodeList": "n1"},
        {"JobID": 2, "AllocCPUS": 64, "NodeList": "m1", "Partition": "large"},
        {"JobID": 3, "AllocCPUS": 100},
    )
    assert [(group.count, group.cores) for group in done.draft.groups] == [
        (1, 64),
        (1, 32),
        (2, 64),
    ]
    assert "guessed: the named nodes have fewer" in done.machine
    machine = read_machine(tmp_path / "out_machine.toml")
    assert machine.nb_processors == done.log.max_processors == 224


def test_nodes_that_are_guessed(tmp_path: Path) -> None:
    """64 cores on three nodes become three of 22; those of another partition one more of 4."""
    day = "2024-03-01T"
    later: dict[str, object] = {"JobID": 2, "Start": f"{day}11:00:00", "End": f"{day}12:00:00"}
    first: dict[str, object] = {"JobID": 1, "NNodes": 3, "AllocCPUS": 64}
    done = imported(Slurm, tmp_path, sacct(first, later | {"Partition": "x"}))
    assert (done.log.max_processors, done.draft.nb_processors) == (70, 70)
    assert done.noted("at most 64 processors were in use at once")
    assert [(group.count, group.cores) for group in done.draft.groups] == [(1, 4), (3, 22)]
    assert "guessed" in done.machine
