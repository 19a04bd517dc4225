"""The clusters of a platform file are the sites of the machine, and jobs may be too wide for it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from batsched_py import simulate
from batsched_py.errors import PlatformError
from batsched_py.run.resolved_machine import read_sites, resolve_machine
from batsched_py.run.settings import Settings
from batsched_py.support.installation import platforms_folder
from batsched_py.workload.grid_sites import GridSite, GridSites, parse_sites
from helpers.logs import swf_line, swf_text
from helpers.processors import processors

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
    assert "no sites" in note
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
    assert "no sites" in note
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
