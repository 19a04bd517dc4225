"""The made-up GPU site: exact packing by hand and against invariants, and records of the site."""

from __future__ import annotations

import doctest
from collections import Counter
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from batsched_py import simulate
from batsched_py.testing import DrawnJob, workload
from batsched_studies.gpu_site import jobs as jobs_module
from batsched_studies.gpu_site import packing as packing_module
from batsched_studies.gpu_site import records as records_module
from batsched_studies.gpu_site.__main__ import main
from batsched_studies.gpu_site.jobs import (
    COURSE_NODES,
    DAY,
    GIB,
    GPU_LIMIT,
    GROUPS,
    HOUR,
    POPULATIONS,
    Draft,
    draw_site,
    make_nodes,
    plain_jobs,
)
from batsched_studies.gpu_site.packing import Job, Node, Packing, pack
from batsched_studies.gpu_site.records import loads, schedule
from helpers.calling import command
from helpers.partitions import entry, partition

pytestmark = pytest.mark.slow
"""numba compiles for some seconds before the first test."""
NODE: Node = (64, 4, 512 * GIB, "gpu")


@pytest.mark.parametrize("module", [jobs_module, packing_module, records_module])
def test_examples(module: ModuleType) -> None:
    results = doctest.testmod(module)
    assert results.attempted > 1
    assert results.failed == 0


def job(
    submit: int,
    cores: int,
    gpus: int,
    hours: float,
    *,
    nodes: int = 1,
    gib: int = 8,
    run: float = 0,
) -> Job:
    """A job whose run time is its estimate, unless ``run`` (h) is less."""
    return (
        *(submit, nodes, cores, gpus, gib * GIB, int(hours * HOUR)),
        *(int((run or hours) * HOUR), "gpu"),
    )


def waits(packing: Packing) -> list[float]:
    return ((packing.start - packing.eligible) / HOUR).round(2).tolist()


@pytest.mark.parametrize("whole", [False, True])
def test_what_complements_each_other_shares_a_node(whole: bool) -> None:
    """By the larger share of cores and GPUs, the second job would wait for 10 h."""
    assert waits(pack([job(0, 48, 1, 10), job(0, 8, 2, 1)], [NODE], whole=whole)) == [0, 0]


@pytest.mark.parametrize("whole", [False, True])
def test_two_gpus_on_two_nodes_are_not_two_on_one(whole: bool) -> None:
    jobs = [job(0, 8, 3, 10), job(0, 8, 3, 10), job(0, 8, 2, 1)]
    assert waits(pack(jobs, [NODE] * 2, whole=whole)) == [0, 0, 10]
    assert waits(pack([*jobs[:2], job(0, 8, 2, 1, nodes=2)], [NODE] * 2, whole=whole)) == [0] * 3


def test_memory_binds() -> None:
    jobs = [job(0, 8, 1, 10, gib=400), job(0, 8, 1, 1, gib=113), job(0, 8, 1, 1, gib=112)]
    assert waits(pack(jobs, [NODE])) == [0, 10, 0]


def test_remainders_go_to_the_first_nodes() -> None:
    """Three GPUs on two nodes are two and one; the node with more free gives the larger share."""
    taken = pack([job(0, 8, 3, 1), job(0, 8, 3, 1, nodes=2)], [NODE] * 2)
    assert taken.nodes == [[0], [1, 0]]
    assert pack([job(0, 8, 5, 1, nodes=2)], [(8, 2, GIB * 8, "gpu"), NODE]).nodes == [[1, 0]]
    assert pack([], [NODE]).nodes == []


def test_the_fullest_node_that_fits_is_taken() -> None:
    """Fewest free GPUs first, then cores, then memory, then the lowest number."""
    nodes = [NODE, (48, 4, 512 * GIB, "gpu"), (48, 4, 256 * GIB, "gpu"), (64, 3, 512 * GIB, "gpu")]
    jobs = [job(0, 8, 3, 9), job(0, 8, 3, 9), job(0, 8, 3, 9), job(0, 8, 3, 9)]
    assert pack(jobs, nodes).nodes == [[3], [2], [1], [0]]
    assert pack([job(0, 8, 1, 9)] * 2, [NODE] * 2).nodes == [[0], [0]]


def test_a_whole_reservation_keeps_more_than_the_job_needs() -> None:
    """At 10 h, the second job needs three GPUs of the node. The fourth is free, or kept."""
    jobs = [job(0, 8, 3, 10), job(1, 8, 3, 10), job(2, 8, 1, 20), job(3, 8, 1, 9)]
    assert pack(jobs, [NODE]).start.tolist() == [0, 10 * HOUR, 2, 20 * HOUR]
    assert pack(jobs, [NODE], whole=True).start.tolist()[2:] == [10 * HOUR, 3]


def test_a_late_job_takes_the_other_node_if_its_best_is_reserved() -> None:
    jobs = [job(0, 8, 3, 10), job(1, 8, 4, 10), job(2, 8, 1, 20)]
    full = job(0, 8, 4, 9)
    assert pack([full, *jobs], [NODE] * 2).nodes == [[0], [1], [0], [1]]


def test_a_job_beyond_the_limit_is_not_seen() -> None:
    """The second job has no reservation, so the third overtakes it."""
    jobs = [job(0, 8, 2, 2), job(0, 8, 2, 2), job(0, 8, 2, 9)]
    packing = pack(jobs, [NODE], groups={0: 7, 1: 7}, most_gpus=3)
    assert waits(packing) == [0, 2, 0]
    assert packing.was_held.tolist() == [False, True, False]


def test_dependencies_and_cancelled_jobs() -> None:
    jobs = [job(0, 8, 4, 2), job(1, 8, 4, 2), job(2, 8, 1, 2), job(0, 8, 1, 1), job(0, 8, 4, 9)]
    packing = pack(jobs, [NODE], follows={3: (2, 121)}, leaves={1: HOUR, 2: 3 * HOUR, 4: 5})
    assert packing.start.tolist() == [0, -1, 2 * HOUR, 3 * HOUR + 121, -1]
    assert packing.end.tolist() == [2 * HOUR, HOUR, 3 * HOUR, 4 * HOUR + 121, 5]
    assert packing.nodes[1] == []


def test_no_job_runs_on_a_closed_node() -> None:
    """A job starts if it ends before by its estimate, else when the node opens."""
    jobs = [job(0, 8, 1, 2, run=1), job(0, 8, 1, 1)]
    packing = pack(jobs, [NODE], closed=[(0, HOUR, 3 * HOUR)])
    assert packing.start.tolist() == [3 * HOUR, 0]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (job(0, 8, 5, 1), "does not fit"),
        (job(0, 8, 5, 1, nodes=2), "does not fit"),
        (job(0, 8, 1, 1, run=2), "longer than its estimate"),
        ((0, 1, 1, 1, 1, 1, 1, "cpu"), "no node"),
    ],
)
def test_impossible_jobs_are_refused(wrong: Job, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pack([wrong], [NODE])


def use_at_most(jobs: list[Job], nodes: list[Node], packing: Packing, same: dict[int, int]) -> None:
    """Check that jobs never have more than a node; ``same`` are further numbers of nodes."""
    events = []
    for place, (start, end) in enumerate(zip(packing.start, packing.end, strict=True)):
        if start >= 0:
            events += [(int(start), 1, place), (int(end), -1, place)]
    used = np.zeros((len(nodes), 3), np.int64)
    room = np.array([node[:3] for node in nodes])
    zero_length = {
        place for place in range(len(jobs)) if packing.start[place] == packing.end[place]
    }
    for _, sign, place in sorted(events):  # ends first
        _, size, *totals = jobs[place][:5]
        numbers = packing.nodes[place]
        assert len(set(numbers)) == size
        if place in zero_length:
            continue
        for number, shares in enumerate(
            zip(*([t // size + (i < t % size) for i in range(size)] for t in totals), strict=True)
        ):
            node = same.get(numbers[number], numbers[number])
            used[node] += sign * np.array(shares)
            assert (used[node] <= room[node]).all()
    assert not used.any()


@st.composite
def sites(draw: st.DrawFn) -> tuple[list[Node], list[Job]]:
    """Draw few unequal nodes of two partitions, and jobs that fit them."""
    names = ("a", "b")
    nodes: list[Node] = [
        (draw(st.integers(1, 8)), draw(st.integers(0, 4)), draw(st.integers(1, 9)), names[i % 2])
        for i in range(draw(st.integers(2, 6)))
    ]
    jobs: list[Job] = []
    for _ in range(draw(st.integers(1, 25))):
        name = draw(st.sampled_from(names))
        of_name = [node for node in nodes if node[3] == name]
        size = draw(st.integers(1, len(of_name)))
        most = [min(node[kind] for node in of_name) for kind in range(3)]
        totals = [draw(st.integers(0, size * value)) for value in most]
        estimate = draw(st.integers(1, 30))
        run_time = draw(st.integers(0, estimate))
        jobs.append((draw(st.integers(0, 40)), size, *totals, estimate, run_time, name))
    return nodes, jobs


@given(sites(), st.booleans())
def test_no_node_is_overfull_and_no_reservation_delayed(
    site: tuple[list[Node], list[Job]], whole: bool
) -> None:
    nodes, jobs = site
    packing = pack(jobs, nodes, whole=whole)
    use_at_most(jobs, nodes, packing, {})
    was_promised = packing.promised >= 0
    assert (packing.start[was_promised] <= packing.promised[was_promised]).all()
    assert (packing.start >= [job[0] for job in jobs]).all()


@pytest.mark.parametrize("seed", range(5))
def test_nodes_of_a_core_are_counted_by_easy(seed: int) -> None:
    """On nodes of a core each, exact packing is EASY on processors, unless two estimates end at one
    time: ``easy`` counts what is free after as many of these ends as the first job needs."""
    random = np.random.default_rng(seed)
    submits = np.sort(random.integers(3_000_000, size=300)).tolist()
    sizes = random.choice([1, 1, 2, 3, 5, 8, 16], 300).tolist()
    limits = random.integers(1, 200_000, 300)
    run_times = (limits * random.random(300)).astype(int).tolist()
    drawn = list(map(DrawnJob, submits, sizes, run_times, limits.tolist()))
    jobs: list[Job] = [
        (int(row.submit), row.size, row.size, 0, 0, int(row.walltime or 0), int(row.run), "cpu")
        for row in drawn
    ]
    result = simulate(workload(drawn, 16), scheduler="easy")
    starts = result.jobs.sort_values("job_id").starting_time
    assert (starts.to_numpy() > submits).mean() > 0.2
    assert pack(jobs, [(1, 0, 0, "cpu")] * 16).start.tolist() == starts.tolist()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The records of a site, with a course."""
    folder = tmp_path_factory.mktemp("site")
    main(["--jobs", "20000", "--load", "0.8", "--output", str(folder)])
    return folder


@pytest.fixture(scope="module")
def rows(folder: Path) -> list[dict[str, str]]:
    header, *lines = (folder / "sacct.txt").read_text().splitlines()
    return [dict(zip(header.split("|"), line.split("|"), strict=True)) for line in lines]


def test_records_are_imported(folder: Path, rows: list[dict[str, str]]) -> None:
    done = command(folder, "import", "slurm", "sacct.txt", "site.swf", "--time-zone", "UTC")
    assert done.returncode == 0, done.stderr
    assert "wrote 20000 jobs" in done.stderr + done.stdout
    assert len(rows) == 20_000


def test_records_have_what_sites_have(rows: list[dict[str, str]]) -> None:
    """Each is there, and no more than a small share but for the limit."""
    states = Counter(row["State"].split()[0] for row in rows)
    assert states.keys() == {
        *("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "OUT_OF_MEMORY"),
        *("PREEMPTED", "NODE_FAIL", "REQUEUED"),
    }
    assert states["COMPLETED"] > 0.7 * len(rows)
    reasons = Counter(row["Reason"] for row in rows)
    assert reasons.keys() == {"None", "QOSMaxGRESPerUser", "Dependency", "BeginTime"}
    assert 0 < sum(row["Start"] == "Unknown" for row in rows) < 0.04 * len(rows)
    assert 0 < sum(row["Restarts"] != "0" for row in rows) < 0.04 * len(rows)
    assert {row["TimelimitRaw"] for row in rows} == {"60", "120", "240", "720", "1440", "2880"}
    assert any("gres/gpu" not in row["ReqTRES"] for row in rows if row["Partition"] == "gpu")
    more = [row for row in rows if int(row["AllocCPUS"]) > int(row["ReqCPUS"])]
    assert 0 < len(more) < 0.03 * len(rows)


def test_runs_of_a_job_follow_each_other(rows: list[dict[str, str]]) -> None:
    ends: dict[str, dict[str, str]] = {}
    for row in rows:
        assert int(row["Submit"]) <= int(row["Eligible"].replace("Unknown", row["Submit"]))
        if row["Restarts"] != "0":
            before = ends[row["JobIDRaw"]]
            assert before["State"] in ("PREEMPTED", "NODE_FAIL", "REQUEUED")
            assert row["Submit"] == before["End"]
            assert int(row["Eligible"]) == int(row["Submit"]) + 121
        ends[row["JobIDRaw"]] = row


def test_nobody_has_more_gpus_than_the_limit(rows: list[dict[str, str]]) -> None:
    changes: dict[str, list[tuple[int, int]]] = {}
    for row in rows:
        if row["QOS"] == "gpu" and "gres/gpu=" in row["AllocTRES"]:
            gpus = int(row["AllocTRES"].partition("gres/gpu=")[2].partition(",")[0])
            of_user = changes.setdefault(row["User"], [])
            of_user += [(int(row["Start"]), gpus), (int(row["End"]), -gpus)]
    most = max(np.cumsum([gpus for _, gpus in sorted(c)]).max() for c in changes.values())
    assert most == GPU_LIMIT


def test_the_course_has_its_nodes_alone(rows: list[dict[str, str]]) -> None:
    site = draw_site(1, 20_000)
    packing = schedule(site)
    nodes = make_nodes(with_course=True)
    first = GROUPS["cpu"].nb_nodes + GROUPS["gpu"].nb_nodes - COURSE_NODES
    same = {len(nodes) - COURSE_NODES + i: first + i for i in range(COURSE_NODES)}
    use_at_most(plain_jobs(site), nodes, packing, same)
    assert site.course is not None
    begin, end = site.course
    assert end - begin == 4 * DAY + 10 * HOUR
    for run, start, stop, taken in zip(
        site.runs, packing.start, packing.end, packing.nodes, strict=True
    ):
        on_reserved = not {same.get(node, node) for node in taken}.isdisjoint(same.values())
        if on_reserved and start < end and stop > begin:
            assert run.draft.in_course
    exercises = [row for row in rows if row["Reservation"] == "course"]
    assert len(exercises) == 500
    assert {row["NodeList"] for row in exercises} <= {"g23", "g24", "None assigned"}


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    texts = []
    for seed in (1, 1, 2):
        main(["--jobs", "500", "--seed", str(seed), "--output", str(tmp_path)])
        texts.append((tmp_path / "sacct.txt").read_bytes())
    assert texts[0] == texts[1] != texts[2]


@pytest.mark.parametrize("load", [0.65, 0.8, 0.92])
def test_loads_are_those_asked_for(load: float) -> None:
    site = draw_site(3, 20_000, load)
    assert loads(site, schedule(site)) == pytest.approx(dict.fromkeys(GROUPS, load), rel=0.04)


def is_above(draft: Draft) -> tuple[bool, bool]:
    """Return whether a job has more cores, and more memory, than goes with its GPUs."""
    group, size = GROUPS["gpu"], draft.size
    cores = size.cores * group.gpus > size.gpus * group.cores
    return cores, size.mib * group.gpus > size.gpus * group.gib * GIB


@pytest.mark.parametrize("name", POPULATIONS)
def test_populations(name: str) -> None:
    """Shares are of batches, of jobs with GPUs that leave GPUs of their node."""
    site = draw_site(1, 12_000, population=name, plain=True)
    drafts = [run.draft for run in site.runs if run.draft.partition == "gpu"]
    with_gpus = [d for d in drafts if d.kind == "train" and 0 < d.size.gpus < 4]
    above = np.array([is_above(draft) for draft in with_gpus]).mean(axis=0)
    assert above == pytest.approx(POPULATIONS[name].above, abs=0.04)
    assert (sum(d.size.gpus == 0 for d in drafts) > 0) == (POPULATIONS[name].cpu_only > 0)


def test_plain_sites_have_nothing_else() -> None:
    site = draw_site(1, 20_000, plain=True)
    assert site.course is None
    assert all(run.follows < 0 and run.draft.patience < 0 for run in site.runs)
    assert len({run.job for run in site.runs}) == len(site.runs)
    assert [row[0] for row in plain_jobs(site)] == sorted(row[0] for row in plain_jobs(site))


def test_a_wrong_load_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--load", "80"])
    assert "--load above 0 and below 2" in capsys.readouterr().err


def machine_text() -> str:
    """Return the site as a machine file."""
    begin, text = 0, ""
    for name, group in GROUPS.items():
        sizes = {"cores": group.cores, "gpus": group.gpus, "memory": group.gib * GIB}
        text += entry("nodes", count=group.nb_nodes, **sizes)
        text += partition(name, f"{begin}-{begin + group.nb_nodes - 1}")
        begin += group.nb_nodes
    return text


def waits_of(jobs: list[Job], machine: Path) -> NDArray[np.float64]:
    """Return the wait of each job under EASY on nodes."""
    drawn = [DrawnJob(submit, cores, run, limit) for submit, _, cores, _, _, limit, run, _ in jobs]
    load = workload(drawn, 1, "delay", names=[f"{number:06d}" for number in range(len(jobs))])
    for made, (_, nodes, _, gpus, memory, _, _, name) in zip(load.jobs, jobs, strict=True):
        made.extra |= {"nodes": nodes, "gpus": gpus, "memory_mib": memory, "partition": name}
    table = simulate(load, machine=machine).jobs.sort_values("job_id")
    waits: NDArray[np.float64] = table["waiting_time"].to_numpy()
    return waits


@pytest.mark.parametrize("load", [0.65, 0.8, 0.92])
def test_easy_on_nodes_waits_as_exact_packing_does(load: float, tmp_path: Path) -> None:
    """It reserves planned nodes whole; the twin only what the first job needs of them."""
    machine = tmp_path / "m.toml"
    machine.write_text(machine_text())
    jobs = plain_jobs(draw_site(1, 25_000, load, "mixed", plain=True))
    names = np.array([job[-1] for job in jobs])
    exact = pack(jobs, make_nodes()).start - np.array([job[0] for job in jobs])
    waits = waits_of(jobs, machine)
    for name in GROUPS:
        here = names == name
        assert waits[here].mean() == pytest.approx(exact[here].mean(), rel=0.1), name
