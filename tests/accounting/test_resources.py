"""What jobs hold besides processors: the side table, runs, what binds, and the site's nodes."""

from __future__ import annotations

import csv
import io
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.accounting.import_log import import_log
from batsched_py.accounting.import_options import ImportOptions
from batsched_py.accounting.resource_use import ResourceUse
from batsched_py.accounting.systems.accounting_system import AccountingSystem
from batsched_py.accounting.systems.oar import Oar
from batsched_py.accounting.systems.pbs import Pbs, find_parts, find_requested_gpus
from batsched_py.accounting.systems.slurm import Slurm
from batsched_py.accounting.systems.slurm_resources import parse_gres, parse_tres
from batsched_py.errors import InputError, UsageError
from batsched_py.support.host_lists import expand_nodes, fold_nodes
from batsched_py.workload.conversion_rules import make_rules
from batsched_py.workload.held_resources import HeldResources
from batsched_py.workload.log_conversion import convert_log
from batsched_py.workload.logs.swf import read_swf
from batsched_py.workload.machine_file import read_machine
from batsched_py.workload.node_shares import NodeSize, make_chunks, parse_chunks
from helpers.accounting_records import SLURM, sacct
from helpers.calling import command
from helpers.imports import Imported, imported

TRES = f"{SLURM}|Eligible|ReqMem|ReqTRES|AllocTRES|Restarts|Reason|Reservation|Exclusive"
Job = dict[str, object]
Row = dict[str, str]


def table(folder: Path) -> list[Row]:
    return list(csv.DictReader(io.StringIO((folder / "out_resources.csv").read_text())))


def expected(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "expected.toml").read_text())


def run(
    system: type[AccountingSystem], folder: Path, records: Path, **options: Any
) -> tuple[list[list[float]], list[Row], ResourceUse, list[str]]:
    """Return the lines of the log, the table, what binds, and the notes."""
    out = folder / "out.swf"
    done = import_log(system, [str(records)], out, ImportOptions(**options))
    return read_swf(out).data.tolist(), table(folder), done.use, done.notes


def number(row: Row, name: str) -> int:
    return int(row[name] or -1)


# Cases with hand-computed values ------------------------------------------------------------------


@pytest.mark.parametrize("knows_nodes", [True, False])
def test_shares_of_gpu_nodes(shared: Path, tmp_path: Path, knows_nodes: bool) -> None:
    case = shared / "resource_cases" / "1_gpu_shares"
    options = {"nodes": str(case / "nodes.toml")} if knows_nodes else {}
    lines, rows, use, _ = run(Slurm, tmp_path, case / "jobs.txt", **options)
    wanted = expected(case)
    for row, job in zip(rows, wanted["jobs"], strict=True):
        assert row["id"] == str(job["id"])
        for name in ("memory_mib", "gpus", "nodes"):
            assert number(row, name) == job.get(name, number(row, name))
        for name in ("requested_gpus", "requested_memory_mib"):
            assert number(row, name) == job.get(name, number(row, name))
        assert row["gpu_type"] == job.get("gpu_type", row["gpu_type"])
        assert row["exclusive"] == ("1" if job.get("exclusive") else "")
    assert [line[4] for line in lines] == [job["cores"] for job in wanted["jobs"]]
    assert [number(row, "cores") for row in rows] == [8, 48, 4, 128, 16, 16, 4]
    assert [line[7] for line in lines] == [8, 48, 4, 128, 16, 16, 4], "128 for 8 with --exclusive"
    assert number(rows[3], "requested_cores") == 8
    totals = wanted["totals"]
    hours = use.rows["all"]
    assert (hours.core_hours, hours.gpu_hours) == (totals["core_hours"], totals["gpu_hours"])
    printed = totals["printed"]
    bound = use.rows["cores bind on a GPU job"]
    assert bound.gpu_hours == printed["gpu_hours_where_cores_bind"]
    assert use.rows["memory binds"].gpu_hours == printed["gpu_hours_where_memory_binds"]
    without = use.rows["no GPU on GPU nodes"].core_hours
    assert without == printed["core_hours_of_jobs_without_gpu_in_gpu_partition"]
    if knows_nodes:
        assert [line[1:] for line in use.table()] == [
            ["6", "368", "18"],
            ["2", "39%", "56%"],
            ["1", "52%", "22%"],
            ["2", "7%", "22%"],
            ["1", "2%", "-"],
            ["1", "35%", "44%"],
            ["0", "0%", "0%"],
        ]


@pytest.mark.parametrize("mode", ["keep", "last", "merge"])
def test_jobs_that_ran_more_than_once(shared: Path, tmp_path: Path, mode: str) -> None:
    case = shared / "resource_cases" / "2_requeue_preempt"
    lines, rows, use, notes = run(Slurm, tmp_path, case / "jobs.txt", runs=mode)
    wanted = expected(case)["runs"][mode]
    assert len(lines) == len(rows) == wanted["jobs"]
    found: dict[str, list[list[float]]] = defaultdict(list)
    for line, row in zip(lines, rows, strict=True):
        found[row["id"]].append(line)
    waits = {name: [line[2] for line in its] for name, its in found.items()}
    first = 1767226000
    for name, values in wanted.get("waits_s", {}).items():
        assert waits[name] == values
    for key, at in (("submit", 1), ("run_time_s", 3), ("wait_s", 2)):
        for name, value in wanted.get(key, {}).items():
            (line,) = found[name]
            assert line[at] == value - (first if key == "submit" else 0)
    for name, value in wanted.get("start", {}).items():
        assert found[name][0][1] + found[name][0][2] == value - first
    if mode == "keep":
        assert use.rows["all"].gpu_hours == pytest.approx(wanted["gpu_hours"], abs=1e-4)
        preceding = {
            (row["id"], row["run"]): line[16:] for line, row in zip(lines, rows, strict=True)
        }
        assert preceding["700", "2"] == [1, 0]
        assert preceding["700", "3"] == [8, 0]
        assert preceding["701", "2"] == [2, 0]
        assert [row["first_run"] for row in rows if row["id"] == "700"] == ["1", "1", "1"]
    if mode == "last":
        assert f"{wanted['left_out_gpu_hours']:.4f} GPU-hours (3)" in " ".join(notes)
    if mode == "merge":
        assert "7600 s" in " ".join(notes)
    counted = expected(case)["notes"]
    assert use.rows["preempted"].runs == counted["preempted_runs"]
    hours = use.rows["preempted"].gpu_hours
    assert hours == pytest.approx(counted["preempted_gpu_hours"], abs=1e-4)
    assert use.rows["lost to failed nodes"].runs == counted["runs_lost_to_node_failures"]
    assert use.rows["in reservations"].gpu_hours == counted["in_reservations_gpu_hours"]
    reasons = {kind.split()[-1]: row.runs for kind, row in use.rows.items() if "last held" in kind}
    assert reasons == counted["by_last_reason"]
    text = "; ".join(notes)
    assert "cancelled by preemption (1)" in text
    assert "their wait includes this time (4)" in text
    if mode == "keep":
        later = [number(row, "eligible_s") for row in rows if row["eligible_s"]]
        assert sorted(later) == [121, 121, 121, 7200]


def test_chunks_and_places_of_pbs(shared: Path, tmp_path: Path) -> None:
    case = shared / "resource_cases" / "3_pbs_select"
    lines, rows, use, _ = run(Pbs, tmp_path, case / "20260101")
    wanted = expected(case)
    for line, row, job in zip(lines, rows, wanted["jobs"], strict=True):
        assert row["id"] == str(job["id"])
        assert number(row, "run") == job.get("run", 1)
        assert number(row, "cores") == job.get("cores", 8)
        assert number(row, "gpus") == job.get("gpus", 4)
        assert number(row, "memory_mib") == job.get("memory_kib", 32 * 2**20) / 1024
        assert line[3] == job.get("run_time_s", 3580)
        assert line[2] == job["wait_s"]
    assert rows[1]["chunks"] == wanted["jobs"][1]["chunks"]
    assert rows[0]["chunks"] == "", "its nodes held the same"
    fields = {"exec_vnode": "(gn1:ncpus=8:ngpus=2:mem=67108864kb)+(gn2:ncpus=8:ngpus=2:mem=64gb)"}
    assert make_chunks(find_parts(fields, {}))[1] == wanted["jobs"][0]["chunks"]
    assert sum(row["exclusive"] == "1" for row in rows) == wanted["totals"]["exclusive_by_place"]
    assert use.rows["all"].core_hours == pytest.approx(wanted["totals"]["core_hours"])
    assert use.rows["all"].gpu_hours == pytest.approx(wanted["totals"]["gpu_hours"], abs=1e-4)
    assert lines[3][16:] == [3, 0]
    nodes = tmp_path / "nodes.toml"
    nodes.write_text(
        '[[nodes]]\nnames = "gn[1-2]"\ncores = 32\ngpus = 4\nmemory = "256 GiB"\n'
        '[[nodes]]\nnames = "cn1"\ncores = 64\nmemory = "256 GiB"\n'
    )
    lines, rows, _, notes = run(Pbs, tmp_path, case / "20260101", nodes=str(nodes))
    held = wanted["jobs"][2]["held_cores"]
    assert [line[4] for line in lines] == [16, 36, held, held]
    assert [row["requested_cores"] for row in rows] == ["16", "36", "8", "8"]
    assert any("exclusive nodes" in note for note in notes)


def test_gpus_of_oar(shared: Path, tmp_path: Path) -> None:
    case = shared / "resource_cases" / "4_oar_gpu"
    _, rows, use, notes = run(Oar, tmp_path, case / "jobs.csv")
    wanted = expected(case)
    by_id = {row["id"]: row for row in rows}
    parts = 0
    for job in wanted["jobs"]:
        row = by_id[str(job["id"])]
        assert (number(row, "cores"), number(row, "gpus")) == (job["cores"], job["gpus"])
        assert row["ended_by"] == ("preempted" if job.get("preempted") else "")
        parts += job.get("gpu_share", job["gpus"]) < job["gpus"]
    assert any("parts of GPUs" in note and f"({parts})" in note for note in notes)
    assert any("a guess (1)" in note for note in notes)
    assert use.rows["all"].core_hours == pytest.approx(wanted["totals"]["core_hours"], abs=1e-4)
    assert use.rows["all"].gpu_hours == pytest.approx(wanted["totals"]["gpu_hours"], abs=1e-4)


# Forms of texts -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "gpus", "kind"),
    [
        ("cpu=8,gres/gpu=2,gres/gpu:a100=2", 2, "a100"),
        ("cpu=8,gres/gpu:a100=1,gres/gpu:v100=1", 2, "a100+v100"),
        ("cpu=8,gres/gpumem=40G,gres/gpuutil=90", -1, ""),
        ("cpu=8,gres/shard=4,license/x=1", -1, ""),
    ],
)
def test_gpus_of_a_type_are_a_part_of_all(text: str, gpus: int, kind: str) -> None:
    found = parse_tres("AllocTRES", text)
    assert (found.cores, found.gpus, found.gpu_type) == (8, gpus, kind)
    assert found.has_shards == ("shard" in text)
    assert found.has_licences == ("license" in text)


@pytest.mark.parametrize(
    ("text", "memory"),
    [("64G", 65536), ("96000M", 96000), ("100", 100), ("1.5T", 1572864), ("512K", 1), ("0", -1)],
)
def test_memory_is_in_mebibytes(text: str, memory: int) -> None:
    assert parse_tres("ReqTRES", f"mem={text}").memory == memory


@pytest.mark.parametrize(
    ("text", "gpus", "kind"),
    [
        ("gpu:2", 2, ""),
        ("gpu", 1, ""),
        ("gres:gpu:a100:4", 4, "a100"),
        ("gres/gpu:a100=4", 4, "a100"),
        ("gpu:a100:1(IDX:0,2),craynetwork:1", 1, "a100"),
        ("shard:3", 0, ""),
        ("(null)", -1, ""),
    ],
)
def test_older_forms_have_gpus_of_a_node(text: str, gpus: int, kind: str) -> None:
    found = parse_gres("ReqGRES", text)
    assert (found.gpus, found.gpu_type, found.has_shards) == (gpus, kind, "shard" in text)


@pytest.mark.parametrize(
    ("columns", "job", "gpus", "memory"),
    [
        ("ReqGRES", {"ReqGRES": "gpu:2", "NNodes": 3}, "6", ""),
        ("ReqGRES|AllocGRES", {"ReqGRES": "gpu:2", "AllocGRES": "gpu:1"}, "1", ""),
        ("ReqGRES|AllocGRES", {"ReqGRES": "gpu:2", "AllocGRES": "gpu:6", "NNodes": 3}, "6", ""),
        ("ReqMem", {"ReqMem": "2Gc", "AllocCPUS": 4}, "", "8192"),
        ("ReqMem", {"ReqMem": "3Gn", "NNodes": 2, "AllocCPUS": 7}, "", "6144"),
        ("ReqMem|ReqTRES", {"ReqMem": "3G", "ReqTRES": "cpu=4,node=1"}, "0", "3072"),
        ("AllocTRES|ReqTRES", {"ReqTRES": "cpu=4,gres/gpu=1,mem=1G"}, "1", "1024"),
        ("AllocTRES|ReqGRES", {"AllocTRES": "cpu=4,mem=1G", "ReqGRES": "gpu:1"}, "1", "1024"),
    ],
)
def test_old_and_mixed_records(
    tmp_path: Path, columns: str, job: Job, gpus: str, memory: str
) -> None:
    imported(Slurm, tmp_path, sacct(job, header=f"{SLURM}|{columns}"))
    (row,) = table(tmp_path)
    assert (row["gpus"], row["memory_mib"]) == (gpus, memory)


def test_what_is_no_resource(tmp_path: Path) -> None:
    for column, text in (("AllocTRES", "cpu:4"), ("ReqTRES", "mem=x"), ("ReqTRES", "gres/gpu=x")):
        with pytest.raises(InputError, match=f"records0:2: {column}"):
            imported(Slurm, tmp_path, sacct({column: text}, header=TRES))


def test_special_resources_are_counted(tmp_path: Path) -> None:
    jobs: list[Job] = [
        {"JobID": 1, "AllocTRES": "cpu=4,gres/shard=2"},
        {"JobID": 2, "AllocTRES": "cpu=4,license/x=1"},
        {"JobID": "3+0"},
        {"JobID": 4},
    ]
    done = imported(Slurm, tmp_path, sacct(*jobs, header=TRES))
    assert done.noted("shards of GPUs")
    assert done.noted("licences")


def test_vnodes_in_parentheses_are_a_node() -> None:
    fields = {
        "exec_host": "a/0*8+b/1*2",
        "exec_vnode": "(a[0]:ncpus=4:mem=1gb+a[1]:ncpus=4:ngpus=1)+(b:ncpus=2:naccelerators=2)",
    }
    assert find_parts(fields, {}) == {"a": (8, 1, 1024), "b": (2, 2, 0)}
    del fields["exec_host"]
    assert find_parts(fields, {}) == {"a": (8, 1, 1024), "b": (2, 2, 0)}
    assert find_parts({}, {"n": 3}) == {"n": (3, 0, 0)}


@pytest.mark.parametrize(
    ("key", "text", "gpus"),
    [
        ("select", "2:ncpus=8:ngpus=2+1:ngpus=1", 5),
        ("select", "2:ncpus=8", -1),
        ("nodes", "2:ppn=4:gpus=1", 2),
        ("naccelerators", "3", 3),
    ],
)
def test_requested_gpus_of_pbs(key: str, text: str, gpus: int) -> None:
    assert find_requested_gpus({f"Resource_List.{key}": text}) == gpus


@given(
    st.dictionaries(
        st.from_regex(r"[a-c]{0,2}[0-9]{1,3}(\.s1)?", fullmatch=True),
        st.tuples(st.integers(1, 2), st.integers(0, 1), st.sampled_from([0, 100, 2048])),
        min_size=1,
    )
)
def test_nodes_and_chunks_come_back(shares: dict[str, tuple[int, int, int]]) -> None:
    names, chunks = make_chunks({name: NodeSize(*share) for name, share in shares.items()})
    each = [share[1:] for share in parse_chunks(chunks, "") for _ in range(share.nodes)]
    assert dict(zip(names.split(","), each, strict=True)) == shares
    assert sorted(expand_nodes(fold_nodes(shares))) == sorted(shares)


# Runs ---------------------------------------------------------------------------------------------


def test_a_number_that_is_used_again_is_another_job(tmp_path: Path) -> None:
    """Of another user, or over a day after the end."""
    day = "2024-03-{}T{}:00:00".format
    first: Job = {"JobID": 1, "State": "PREEMPTED"}
    later = {"Submit": day("02", 12), "Start": day("02", 12), "End": day("02", 13)}
    for other in ({"User": "bob", "Submit": "2024-03-01T11:00:00"}, {}):
        done = imported(Slurm, tmp_path, sacct(first, {"JobID": 1} | later | other), runs="last")
        assert len(done.jobs) == 2
        assert done.noted("cancelled by preemption (1)")


def test_runs_whose_first_run_is_missing(tmp_path: Path) -> None:
    done = imported(Slurm, tmp_path, sacct({"Restarts": 2}, header=f"{SLURM}|Restarts"))
    assert done.noted("--duplicates of sacct) (1)")
    assert done.only["preceding_job"] == -1


def test_a_requeued_job_that_was_cancelled(tmp_path: Path) -> None:
    """It ran for an hour, and was cancelled at noon before it could run again."""
    jobs: list[Job] = [
        {"State": "NODE_FAIL"},
        {
            "State": "CANCELLED",
            "AllocCPUS": 0,
            "Submit": "2024-03-01T11:00:00",
            "Start": "Unknown",
            "End": "2024-03-01T12:00:00",
        },
    ]
    fields = ("submit_time", "wait_time", "run_time", "status", "preceding_job", "think_time")
    for mode, values in (
        ("keep", [[0, 0, 3600, 0, -1, -1], [3600, 3600, -1, 5, 1, 0]]),
        ("last", [[0, 7200, -1, 5, -1, -1]]),
        ("merge", [[0, 0, 3600, 5, -1, -1]]),
    ):
        done = imported(Slurm, tmp_path, sacct(*jobs), runs=mode)
        assert [[job[name] for name in fields] for job in done.jobs] == values
        assert done.draft.nb_processors == 4


# The site's nodes ---------------------------------------------------------------------------------


def nodes_of(folder: Path, text: str) -> str:
    path = folder / "nodes.toml"
    path.write_text(text)
    return str(path)


GPU_JOBS = sacct(
    {"JobID": 1, "NodeList": "g1", "AllocTRES": "cpu=4,mem=9G,gres/gpu=1"},
    {"JobID": 2, "NodeList": "g2", "AllocTRES": "cpu=2,mem=1G", "AllocCPUS": 2},
    {"JobID": 3, "NodeList": "g2", "AllocTRES": "cpu=2,mem=1G,gres/gpu=1", "AllocCPUS": 2},
    header=TRES,
)


def test_the_site_knows_better(tmp_path: Path) -> None:
    text = '[[nodes]]\nnames = "g[2-9]"\ncores = 3\ngpus = 8\nmemory = "1 TiB"\n'
    done = imported(Slurm, tmp_path, GPU_JOBS, nodes=nodes_of(tmp_path, text))
    sizes = [(group.names, group.cores, group.gpus, group.memory) for group in done.draft.groups]
    assert sizes[:2] == [("g1", 4, 1, 9216), ("g2", 3, 8, 2**20)]
    assert done.noted("not in the file of nodes: drafted as seen (1)")
    assert done.noted("left out of the draft (7)")
    assert done.noted("more held at once than the file says (1)")
    machine = read_machine(tmp_path / "out_machine.toml")
    assert machine.nb_processors == done.log.max_processors == 8 + sizes[2][1] - 1


def test_a_machine_file_has_sizes_of_nodes(tmp_path: Path) -> None:
    """A corrected draft may be the file of nodes of the next import."""
    first = imported(Slurm, tmp_path, GPU_JOBS)
    text = first.machine.replace("cores = 4", "cores = 40")
    second = imported(Slurm, tmp_path, GPU_JOBS, nodes=nodes_of(tmp_path, text))
    assert [group.cores for group in second.draft.groups] == [40]
    assert second.draft.groups[0].names == first.draft.groups[0].names == "g[1-2]"


@pytest.mark.parametrize(("cores", "gpus", "held"), [(4, 2, "2"), (3, 2, "1"), (4, 0, "1")])
def test_an_exclusive_job_holds_all_gpus(tmp_path: Path, cores: int, gpus: int, held: str) -> None:
    """It has all cores already; a file with less than it held is not believed."""
    text = f'[[nodes]]\nnames = "n1"\ncores = {cores}\ngpus = {gpus}\n'
    job: Job = {"NodeList": "n1", "AllocTRES": "cpu=4,gres/gpu=1", "Exclusive": "1"}
    imported(Slurm, tmp_path, sacct(job, header=TRES), nodes=nodes_of(tmp_path, text))
    (row,) = table(tmp_path)
    assert (row["cores"], row["gpus"]) == ("4", held)


def test_what_is_printed_without_gpus_and_memory(tmp_path: Path) -> None:
    """Only kinds of which there are runs; a wait for room is no reason."""
    reasons = ("Priority", "Resources", "Dependency", "None")
    jobs: list[Job] = [{"JobID": at, "Reason": reason} for at, reason in enumerate(reasons)]
    (tmp_path / "records").write_text(sacct(*jobs, header=f"{SLURM}|Reason"))
    done = import_log(Slurm, [str(tmp_path / "records")], tmp_path / "out.swf", ImportOptions())
    assert done.use.table() == [
        ["all", "4", "16", "-"],
        ["last held back by Dependency", "1", "25%", "-"],
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "nodes"),
        ("[[nodes]]\ncores = 4\n", "names"),
        ('[[nodes]]\nnames = "g1"\n', "cores"),
        ('[[nodes]]\nnames = "g[1"\ncores = 4\n', "set of nodes"),
        ('[[nodes]]\nnames = "g1"\ncores = 4\ngpu = 1\n', "did you mean 'gpus'"),
        ('[[nodes]]\nnames = "g1"\ncores = 4\nmemory = "much"\n', "512 GiB"),
        ('[[nodes]]\nnames = "g1"\ncores = 4\n' * 2, "nodes 2: the node 'g1'"),
        ("x", "TOML"),
    ],
)
def test_a_file_of_nodes_that_makes_no_sense(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=f"nodes.toml.*{message}"):
        imported(Slurm, tmp_path, GPU_JOBS, nodes=nodes_of(tmp_path, text))
    with pytest.raises(UsageError, match="no such file"):
        imported(Slurm, tmp_path, GPU_JOBS, nodes=str(tmp_path / "none.toml"))
    with pytest.raises(UsageError, match="runs"):
        imported(Slurm, tmp_path, GPU_JOBS, runs="first")


# What users see -----------------------------------------------------------------------------------


def test_names_of_nodes_jobs_and_reservations_are_private(tmp_path: Path) -> None:
    job: Job = {"JobID": "77_4", "NodeList": "secretnode1", "Reservation": "secretevent"}
    text = sacct(job | {"AllocTRES": "cpu=4,mem=9G"}, header=TRES)
    imported(Slurm, tmp_path, text, anonymise=True, salt="a" * 16)
    written = "".join(path.read_text() for path in tmp_path.glob("out*"))
    assert "secret" not in written
    assert "77_4" not in written
    (row,) = table(tmp_path)
    assert row["id"] == ""
    assert len(row["reservation"]) == 32
    imported(Slurm, tmp_path, text)
    (row,) = table(tmp_path)
    assert (row["id"], row["reservation"]) == ("77_4", "secretevent")


def test_what_binds_is_printed_if_records_have_it(tmp_path: Path) -> None:
    (tmp_path / "jobs.txt").write_text(GPU_JOBS)
    done = command(tmp_path, "import", "slurm", "jobs.txt", "out.swf")
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[0][-3:] == ["runs", "core-hours", "GPU-hours"]
    assert lines[1] == ["all", "3", "8", "2"]
    (tmp_path / "jobs.txt").write_text(sacct({}))
    assert command(tmp_path, "import", "slurm", "jobs.txt", "out.swf").stdout == ""
    assert "resources =" not in (tmp_path / "out_machine.toml").read_text()


@pytest.mark.parametrize("options", [{}, {"processors": "nodes"}, {"cores_per_node": 48}])
def test_what_binds_does_not_depend_on_what_a_processor_is(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    """A job with all memory of two nodes, after one with half of the cores of each."""
    fields = "user=a queue=q ctime=1709287200 exec_host=n1/0+n2/0 exec_vnode"
    lines = [
        f"03/01/2024 12:00:00;E;1.s;{fields}=(n1:ncpus=24:mem=1gb)+(n2:ncpus=23:mem=2gb) "
        "start=1709287200 end=1709287300",
        f"03/01/2024 12:00:00;E;2.s;{fields}=(n1:ncpus=1:mem=4gb)+(n2:ncpus=1:mem=4gb) "
        "start=1709287400 end=1709287500",
    ]
    (tmp_path / "records").write_text("\n".join(lines) + "\n")
    done = import_log(
        Pbs, [str(tmp_path / "records")], tmp_path / "out.swf", ImportOptions(**options)
    )
    assert done.use.rows["memory binds"].runs == (0 if "cores_per_node" in options else 1)
    assert ("resources =" in (tmp_path / "out_machine.toml").read_text()) == (
        "processors" not in options
    )
    log = read_swf(tmp_path / "out.swf")
    held = read_machine(tmp_path / "out_machine.toml")
    if held.resources is not None:
        assert not HeldResources(held.resources, log).notes
        convert_log(log, make_rules(), described=held)


def test_records_without_nodes_do_not_say_what_binds(tmp_path: Path) -> None:
    text = sacct({"AllocTRES": "cpu=4,gres/gpu=1"}, header=TRES)
    done: Imported = imported(Slurm, tmp_path, text)
    assert done.noted("on unknown nodes")
    out = import_log(Slurm, [str(tmp_path / "records0")], tmp_path / "out.swf", ImportOptions())
    assert out.use.table()[1] == ["GPUs bind", "-", "-", "-"]
