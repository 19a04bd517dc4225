"""Platforms that are made: as data, and as files against how they are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from batsched_py.errors import PlatformError, ProtocolError
from batsched_py.plugins.plugin_files import load_file
from batsched_py.simulator.batsim5.simulator import Batsim5Simulator
from batsched_py.simulator.energy import read_power_states
from batsched_py.simulator.engine import Options, Simulator
from batsched_py.simulator.platform.hosts import (
    Host,
    Platform,
    add_pstates,
    limit_hosts,
    make_homogeneous,
    scale_speeds,
)
from batsched_py.simulator.platform.platform_reader import read_platform
from batsched_py.simulator.platform.platform_writer import (
    make_homogeneous_xml,
    make_hosts_xml,
    scale_xml,
)
from batsched_py.support.installation import platforms_folder
from batsched_py.workload.grid_sites import TABLE_7_1
from batsched_py.workload.processor_power import PowerGroup, ProcessorPower
from helpers.processors import processors
from helpers.scripted_schedulers import (
    GIGA,
    Timetable,
    compute,
    delay,
    ends,
    execute,
    job,
    simulate,
    workload,
)


@pytest.mark.parametrize(("nodes", "factor"), [(1, 1.0), (10, 2.0), (101, 1 / 3), (5, 0.5)])
def test_what_is_written_reads_as_the_homogeneous_platform(
    tmp_path: Path, nodes: int, factor: float
) -> None:
    path = tmp_path / "p.xml"
    path.write_text(make_homogeneous_xml(nodes, factor))
    read, made = read_platform(path), make_homogeneous(nodes, factor)
    assert read.hosts == list(made.hosts)
    assert (read.storages, read.network) == (made.storages, made.network)


SLEEPY = (
    '<host id="a" speed="1Gf,2Gf, 0.5f,0.05f"><prop id="color" value="1:2:3"/>'
    '<prop id="sleep_pstates" value="1: 2:3"/></host>'
)


@pytest.mark.parametrize(
    "element",
    [
        '<host id="a" speed="1Gf"/>',
        "<host id='a' speed = '1.5e3Mf,  200kf'/>",
        '<cluster id="c" prefix="a" suffix="" radical="0-3" speed="98.095Mf" bw="1" lat="1"/>',
        '<host id="the speed=" coordinates=\'speed="3"\' speed="1Gf"/>',
        '<!-- <host id="b" speed="x"/> --><host id="a" speed="2Gf"/>',
    ],
)
@pytest.mark.parametrize("factor", [1.0, 2.0, 0.7])
def test_scaling_the_text_scales_the_platform(tmp_path: Path, element: str, factor: float) -> None:
    path, scaled_path = tmp_path / "p.xml", tmp_path / "s.xml"
    path.write_text(
        '<platform version="4.1"><zone id="z" routing="Full">'
        f'<host id="master_host" speed="1Gf"/>{element}</zone></platform>'
    )
    scaled_path.write_text(scale_xml(path.read_bytes(), path, factor))
    ours = scale_speeds(read_platform(path), factor)
    theirs = read_platform(scaled_path)
    assert [host.name for host in ours.hosts] == [host.name for host in theirs.hosts]
    for our, their in zip(ours.hosts, theirs.hosts, strict=True):
        assert their.speeds == pytest.approx(our.speeds, rel=1e-15)
        assert their.properties == our.properties


@pytest.mark.parametrize("factor", [1.0, 2.0, 0.7])
def test_scaled_hosts_switch_as_fast_as_before(tmp_path: Path, factor: float) -> None:
    path = tmp_path / "p.xml"
    path.write_text(
        '<platform version="4.1"><zone id="z" routing="Full">'
        f'<host id="master_host" speed="1Gf"/>{SLEEPY}</zone></platform>'
    )
    platform = read_platform(path)
    ours = scale_speeds(platform, factor)
    assert {host.speeds for host in ours.hosts} == {(factor * 1e9, factor * 2e9, 0.5, 0.05)}
    assert ours.find_power() == platform.find_power()


def test_hosts_with_pstates_are_read_as_they_were_made(tmp_path: Path) -> None:
    power = ProcessorPower(off_seconds=6.1, on_seconds=152.3, asleep_watts=1e-5, idle_watts=95)
    group = PowerGroup(processors("3-11"), power)
    made = add_pstates(make_homogeneous(12, 0.7), (group,))
    path = tmp_path / "p.xml"
    path.write_text(make_hosts_xml(made.hosts))
    read = read_platform(path)
    pairs = [(host.name, host.speeds, host.properties) for host in read.hosts]
    assert pairs == [(host.name, host.speeds, host.properties) for host in made.hosts]


def test_shipped_platforms() -> None:
    """Those that were generated are as they were; ids of hosts are in the order of the numbers."""
    shipped = {path.stem: path for path in platforms_folder().glob("*.xml")}
    clusters = {f"cluster_{nodes}" for nodes in (50, 64, 100, 128, 200, 256)}
    others = {"ideal_64", "ideal_100", "ideal_128", "energy_16"}
    assert shipped.keys() == {*clusters, *others, *TABLE_7_1}
    grid_xml, cluster_xml = (
        load_file(f"{platforms_folder() / 'generate.py'}:{name}")
        for name in ("grid_xml", "cluster_xml")
    )
    for name, path in shipped.items():
        if name in TABLE_7_1:
            assert path.read_text() == grid_xml(name)
            continue
        kind, _, nodes = name.partition("_")
        hosts = [host.name for host in read_platform(path).hosts]
        assert len(hosts) == int(nodes)
        assert hosts == sorted(hosts, key=lambda host: int(host.removeprefix("node")))
        if kind != "energy":
            make = make_homogeneous_xml if kind == "ideal" else cluster_xml
            assert path.read_text() == make(int(nodes))


def test_watts_of_equal_hosts(tmp_path: Path) -> None:
    """Each host of the platform has them; the master host needs none."""
    path = tmp_path / "p.xml"
    path.write_text(make_homogeneous_xml(3, 2.0, "95:220.5"))
    for host in read_platform(path).hosts:
        (power,) = read_power_states(host).watts
        assert (power.idle, power.full) == (95, 220.5)
    with pytest.raises(PlatformError, match=r"'95'.*expected .*'95:220'"):
        make_homogeneous_xml(3, 2.0, "95")


def test_cluster_has_a_network_and_energy_has_states() -> None:
    folder = platforms_folder()
    cluster = read_platform(folder / "cluster_128.xml")
    here, there = (cluster.hosts[at].name for at in (0, 127))
    assert cluster.network.find_route(here, there).latency == pytest.approx(40e-6)
    assert cluster.network.find_route(here, "master_host").latency == pytest.approx(40e-6)
    states = read_power_states(read_platform(folder / "energy_16.xml").hosts[15])
    assert (states.sleep[2].switch_off, states.sleep[2].switch_on, states.passing) == (3, 4, {3, 4})


def test_a_speed_that_is_none_is_said(tmp_path: Path) -> None:
    path = tmp_path / "p.xml"
    path.write_text('<host id="a" speed="fast"/>')
    with pytest.raises(PlatformError, match="'fast' cannot"):
        scale_xml(path.read_bytes(), path, 2.0)


# As data -----------------------------------------------------------------------------------------


def test_homogeneous_and_scaled() -> None:
    platform = make_homogeneous(12, 2.0)
    assert [host.name for host in platform.hosts] == sorted(host.name for host in platform.hosts)
    assert platform.uniform_speed == 2e9
    assert scale_speeds(platform, 0.5).uniform_speed == 1e9
    for wrong in (0, -1, 10**9):
        with pytest.raises(PlatformError):
            make_homogeneous(wrong)


def test_a_limit_that_limits_nothing_changes_nothing() -> None:
    platform = make_homogeneous(3)
    assert limit_hosts(platform, 3) is limit_hosts(platform, 10) is platform
    with pytest.raises(PlatformError, match="0 hosts"):
        limit_hosts(platform, 0)


# Several cores ------------------------------------------------------------------------------------


def of_cores(cores: int) -> Platform:
    return Platform([Host(name, (GIGA,), cores=cores) for name in "ab"])


@pytest.mark.parametrize(
    "profile",
    [compute(3), {"type": "parallel", "cpu": [3 * GIGA, GIGA], "com": [0] * 4}, delay(3)],
)
def test_a_job_computes_on_one_core_of_each_host(profile: dict[str, Any]) -> None:
    """Real Batsim gives these times, too."""
    ended = []
    for cores in (1, 8):
        scheduler = Timetable({0: [execute("w0!j", "0-1")]})
        load, platform = workload({"p": profile}, job("j", "p", size=2)), of_cores(cores)
        ended.append(ends(simulate(scheduler, load, platform=platform)))
        assert [" 8 cores" in note for note in platform.notes()] == [True] * (cores > 1)
    assert ended[0] == ended[1] == {"j": ("SUCCESSFULLY", 3)}


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (Simulator, Options(compute_sharing=True)),
        (Simulator, Options(energy=True)),
        (Batsim5Simulator, Options(protocol=5)),
    ],
)
def test_cores_that_jobs_or_watts_would_share_are_refused(
    kind: type[Simulator], options: Options
) -> None:
    with pytest.raises(PlatformError, match="'a' has 2 cores"):
        kind(of_cores(2), (), options)


def test_executors_that_would_share_cores_are_refused() -> None:
    load = workload({"p": compute(3)}, job("j", "p", size=2))
    start = execute("w0!j", "0-1", mapping={"0": "1", "1": "1"})
    assert ends(simulate(Timetable({0: [start]}), load, platform=of_cores(1)))["j"][1] == 6
    with pytest.raises(ProtocolError, match="executors on machine 1"):
        simulate(Timetable({0: [start]}), load, platform=of_cores(2))


def test_a_host_begins_in_its_pstate() -> None:
    hosts = [Host("a", (2.0, 1.0), pstate=1), Host("b", (1.0,))]
    assert hosts[0].speed == 1
    assert Platform(hosts).uniform_speed == 1
    assert Platform([Host("a", (2.0, 1.0)), hosts[1]]).uniform_speed is None
