"""The clusters of a platform file are the sites of the machine, and jobs may be too wide for it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from batsched_py import simulate
from batsched_py.errors import PlatformError, UsageError
from batsched_py.run.resolved_machine import read_sites, resolve_machine
from batsched_py.run.settings import Settings
from batsched_py.simulator.platform import platform_reader
from batsched_py.support.installation import platforms_folder
from batsched_py.workload.grid_sites import TABLE_7_1, GridSite, GridSites, parse_sites
from helpers.logs import swf_line, swf_text
from helpers.processors import processors

MASTER = '<zone id="front" routing="Full"><host id="master_host" speed="1Gf"/></zone>'


def platform(folder: Path, inside: str, name: str = "p.xml") -> Path:
    path = folder / name
    path.write_text(
        f'<platform version="4.1"><zone id="z" routing="Full">{MASTER}{inside}</zone></platform>'
    )
    return path


def cluster(name: str, prefix: str, radical: str, speed: str = "1Gf") -> str:
    return (
        f'<cluster id="{name}" prefix="{prefix}" suffix="" radical="{radical}" speed="{speed}" '
        'bw="1GBps" lat="0us"/>'
    )


@pytest.mark.parametrize("name", [name for name in TABLE_7_1 if name != "m512"])
def test_a_shipped_grid_has_the_sites_of_its_name(name: str) -> None:
    assert read_sites(str(platforms_folder() / f"{name}.xml")) == parse_sites(name)


@pytest.mark.parametrize("users", ["rigid", "feedback"])
@pytest.mark.parametrize("name", ["m64", "m128"])
def test_a_platform_gives_the_schedule_of_its_sites(name: str, users: str) -> None:
    rules = {"homes": "round-robin", "split": "local", "first": 400}
    path = platforms_folder() / f"{name}.xml"
    by_file = simulate("sample", platform=path, users=users, **rules)
    by_name = simulate("sample", sites=name, users=users, **rules)
    assert by_file.jobs_csv() == by_name.jobs_csv()
    assert by_file.jobs["home"].nunique() == len(parse_sites(name))
    assert by_file.settings["run"]["sites"] == str(path)


def test_one_machine_of_512_hosts_is_no_site() -> None:
    by_file = simulate("sample", platform=platforms_folder() / "m512.xml", first=100)
    assert by_file.jobs_csv() == simulate("sample", nodes=512, first=100).jobs_csv()


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


def test_rules_know_the_clusters_of_the_platform(tmp_path: Path) -> None:
    """The parts of a job of 4 are as wide as the site where it is at home."""
    clusters = cluster("b", "n", "0,2,5") + cluster("a", "n", "1,3")
    (tmp_path / "a.swf").write_text(swf_text(swf_line(1, size=4), swf_line(2, 5, size=4)))
    path = platform(tmp_path, clusters)
    result = simulate(
        tmp_path / "a.swf", platform=path, homes="round-robin", split="local", scheduler="fcfs"
    )
    jobs = result.jobs.sort_values("job_id")
    assert jobs["job_id"].astype(str).tolist() == ["1.1", "1.2", "2.1", "2.2"]
    assert jobs["requested_number_of_resources"].tolist() == [3, 1, 2, 2]
    assert jobs["home"].tolist() == ["b", "b", "a", "a"]


def test_sites_of_another_size_than_the_platform(tmp_path: Path) -> None:
    path = platform(tmp_path, cluster("a", "n", "0-3"))
    with pytest.raises(UsageError, match=r"sites 2,3 has 5 processors, but .* has 4 hosts"):
        simulate("sample", platform=path, sites="2,3")


def run_at_sites(path: Path, **settings: Any) -> tuple[str | None, list[str]]:
    run = Settings(platform=str(path), **settings).run()
    machine = resolve_machine(run)
    return str(path) if machine.clusters_are_sites else run.sites, [*machine.notes]


def test_clusters_of_unequal_hosts_are_no_sites_and_that_is_said(tmp_path: Path) -> None:
    unequal = '<host id="m" speed="3Gf"/><host id="n" speed="2Gf"/>'
    path = platform(tmp_path, unequal + cluster("a", "x", "0-3"))
    sites, (note,) = run_at_sites(path)
    assert sites is None
    assert "no sites" in note
    assert "'z' differ in speed" in note
    assert note in simulate("sample", platform=path, first=3).settings["notes"]
    assert run_at_sites(platform(tmp_path, unequal)) == (None, [])  # it has but one
    sites, (note,) = run_at_sites(
        platform(tmp_path, cluster("a", "x", "0-3") + cluster("b", "y", "0-3"), "p.txt")
    )
    assert sites is None
    assert "expected a name that ends with .xml" in note


def test_batsim_may_read_a_platform_that_we_cannot(tmp_path: Path) -> None:
    """Its sites are then not known; the embedded simulator refuses the file."""
    grid = platforms_folder() / "m256.xml"
    assert run_at_sites(grid, backend="batsim") == (str(grid), [])
    odd = platform(tmp_path, "<what-is-this/>")
    sites, (note,) = run_at_sites(odd, backend="batsim")
    assert sites is None
    assert "no sites" in note
    assert "<what-is-this> is not supported here" in note
    assert run_at_sites(odd, backend="batsim", sites="2,2") == ("2,2", [])
    with pytest.raises(PlatformError):
        run_at_sites(odd)


def test_jobs_wider_than_the_machine_are_told_of(tmp_path: Path) -> None:
    lines = [swf_line(at, size=size) for at, size in ((1, 4), (12, 6), (13, 5))]
    (tmp_path / "a.swf").write_text(swf_text(*lines))
    result = simulate(tmp_path / "a.swf")
    note = "2 jobs are wider than the machine of 4 processors and are refused, such as job 12 of 6"
    assert note in result.settings["notes"]
    assert result.measured["overall"]["nb_rejected"] == 2
    enough = simulate(tmp_path / "a.swf", sites="5,1").settings["notes"]
    assert not any("wider" in note for note in enough)


@pytest.mark.parametrize("settings", [{}, {"walltime": "exact"}, {"users": "feedback"}])
@pytest.mark.parametrize("name", ["ideal_100", "m256", "cluster_128"])
def test_a_platform_file_is_read_and_parsed_once(
    settings: dict[str, Any], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = platforms_folder() / f"{name}.xml"
    seen: list[str] = []
    parse = platform_reader._parse

    def opened(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and str(arguments[0]) == str(path):
            seen.append("read")

    def parsed(content: bytes, path: Path) -> Any:
        seen.append("parsed")
        return parse(content, path)

    monkeypatch.setattr(platform_reader, "_parse", parsed)
    opened_by_audit.append(opened)
    try:
        simulate("sample", platform=path, first=20, **settings)
    finally:
        opened_by_audit.remove(opened)
    assert seen == ["read", "parsed"]


opened_by_audit: list[Callable[[str, tuple[Any, ...]], None]] = []
"""What looks at the files that are opened: a hook can be added, but not taken away."""
sys.addaudithook(lambda event, arguments: [hook(event, arguments) for hook in opened_by_audit])
