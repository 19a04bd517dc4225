"""Machine files and platforms as settings: jobs on partitions, clusters as sites."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from batsched_py import load_workload, make_rules, simulate
from batsched_py.errors import PlatformError
from batsched_py.run.resolved_machine import read_sites, resolve_machine
from batsched_py.run.settings import Settings
from batsched_py.support.installation import platforms_folder
from batsched_py.workload.batsim.batsim_workload import write_workload
from batsched_py.workload.grid_sites import GridSite, GridSites, parse_sites
from batsched_py.workload.logs.sample_log import SAMPLE_LOG
from batsched_py.workload.machine_file import read_machine
from helpers.logs import swf_line, swf_text
from helpers.partitions import entry, partition
from helpers.processors import processors
from helpers.withdrawing import Impatient

LONG = {"over_walltime": "cut", "max_walltime": "2 h"}
MACHINE = (
    'field = "queue"\n'
    + entry("nodes", count=8, cores=4)
    + partition("batch", "0-5", number=1, whole_nodes=True, max_walltime="1 h")
    + partition("long", "4-7", number=2, **LONG)
)


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
    for note in ("1 jobs have the queue 9", ": cut to its", ": refused", "1 jobs were refused"):
        assert note in notes
    assert result.settings["nb_processors"] == 32


def test_withdrawn_jobs_were_not_refused(machine: Path) -> None:
    frame = log_of(*[{"requested_processors": 24, "requested_time": 600}] * 3)
    options = {"patience": 10.0, "spread": 0.0}
    result = simulate(frame, machine=machine, users=Impatient, user_options=options)
    assert sorted(result.jobs["final_state"]) == ["COMPLETED_SUCCESSFULLY", *["WITHDRAWN"] * 2]
    assert not any("refused" in note for note in result.settings["notes"])


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
    for job, name in zip(workload.jobs, ("batch", "long", 2, "none"), strict=True):
        job.size, job.walltime, job.extra["partition"] = 3, 100.0, name
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


# Clusters of a platform --------------------------------------------------------------------------


MASTER = '<zone id="front" routing="Full"><host id="master_host" speed="1Gf"/></zone>'


def platform(folder: Path, inside: str) -> Path:
    path = folder / "p.xml"
    path.write_text(
        f'<platform version="4.1"><zone id="z" routing="Full">{MASTER}{inside}</zone></platform>'
    )
    return path


def cluster(name: str, prefix: str, radical: str, speed: str = "1Gf") -> str:
    return (
        f'<cluster id="{name}" prefix="{prefix}" suffix="" radical="{radical}" speed="{speed}" '
        'bw="1GBps" lat="0us"/>'
    )


@pytest.mark.parametrize(("name", "users"), [("m64", "rigid"), ("m128", "feedback")])
def test_a_platform_gives_the_schedule_of_its_sites(name: str, users: str) -> None:
    rules = {"homes": "round-robin", "split": "local", "first": 400}
    path = platforms_folder() / f"{name}.xml"
    by_file = simulate("sample", platform=path, users=users, **rules)
    by_name = simulate("sample", sites=name, users=users, **rules)
    assert by_file.jobs_csv() == by_name.jobs_csv()
    assert by_file.jobs["home"].nunique() == len(parse_sites(name))
    assert by_file.settings["run"]["sites"] == str(path)


@pytest.mark.parametrize(
    ("clusters", "expected"),
    [
        (  # hosts are numbered by name over all clusters
            cluster("b", "n", "0,2,5") + cluster("a", "n", "1,3-4"),
            [("b", "0 2 5", 1.0), ("a", "1 3-4", 1.0)],
        ),
        (
            cluster("slow", "x", "0-1", "0.5Gf") + cluster("fast", "a", "0-2", "2Gf"),
            [("fast", "0-2", 2.0), ("slow", "3-4", 0.5)],
        ),
        (  # a zone is as good as a cluster
            '<zone id="east" routing="Full"><host id="h1" speed="1Gf"/></zone>'
            '<zone id="west" routing="Full"><host id="h0" speed="1Gf"/></zone>',
            [("west", "0", 1.0), ("east", "1", 1.0)],
        ),
        (cluster("only", "n", "0-3"), []),
    ],
)
def test_sites_of_clusters(
    tmp_path: Path, clusters: str, expected: list[tuple[str, str, float]]
) -> None:
    sites: GridSites = read_sites(str(platform(tmp_path, clusters)))
    assert sites == tuple(
        GridSite(name, processors(members), speed) for name, members, speed in expected
    )


def run_at_sites(path: Path, **settings: Any) -> tuple[str | None, list[str]]:
    run = Settings(platform=str(path), **settings).run()
    machine = resolve_machine(run)
    return str(path) if machine.clusters_are_sites else run.sites, [*machine.notes]


def test_clusters_of_unequal_hosts_are_no_sites_and_that_is_said(tmp_path: Path) -> None:
    unequal = '<host id="m" speed="3Gf"/><host id="n" speed="2Gf"/>'
    path = platform(tmp_path, unequal + cluster("a", "x", "0-3"))
    sites, (note,) = run_at_sites(path)
    assert sites is None
    assert "cannot be grid sites" in note
    assert "'z' differ in speed" in note
    assert note in simulate("sample", platform=path, first=3).settings["notes"]
    assert run_at_sites(platform(tmp_path, unequal)) == (None, [])  # it has but one


def test_batsim_may_read_a_platform_that_we_cannot(tmp_path: Path) -> None:
    """Its sites are then not known; the embedded simulator refuses the file."""
    grid = platforms_folder() / "m256.xml"
    assert run_at_sites(grid, backend="batsim") == (str(grid), [])
    odd = platform(tmp_path, "<what-is-this/>")
    sites, (note,) = run_at_sites(odd, backend="batsim")
    assert sites is None
    assert "cannot be grid sites" in note
    assert "<what-is-this>" in note
    assert run_at_sites(odd, backend="batsim", sites="2,2") == ("2,2", [])
    with pytest.raises(PlatformError):
        run_at_sites(odd)


def test_jobs_wider_than_the_machine_are_told_of(tmp_path: Path) -> None:
    lines = [swf_line(at, size=size) for at, size in ((1, 4), (12, 6), (13, 5))]
    (tmp_path / "a.swf").write_text(swf_text(*lines))
    result = simulate(tmp_path / "a.swf")
    (note,) = (note for note in result.settings["notes"] if "wider" in note)
    assert re.findall(r"\d+", note) == ["2", "4", "12", "6"]
    assert result.measured["overall"]["nb_rejected"] == 2
    enough = simulate(tmp_path / "a.swf", sites="5,1").settings["notes"]
    assert not any("wider" in note for note in enough)
