"""Platform files as they are written, against how they are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from batsched_py.errors import PlatformError
from batsched_py.plugins.plugin_files import load_file
from batsched_py.simulator.energy import read_power_states
from batsched_py.simulator.platform.hosts import make_homogeneous, scale_speeds
from batsched_py.simulator.platform.platform_reader import read_platform
from batsched_py.simulator.platform.platform_writer import make_homogeneous_xml, scale_xml
from batsched_py.support.installation import platforms_folder
from batsched_py.workload.grid_sites import TABLE_7_1


@pytest.mark.parametrize(("nodes", "factor"), [(1, 1.0), (10, 2.0), (101, 1 / 3), (5, 0.5)])
def test_what_is_written_reads_as_the_homogeneous_platform(
    tmp_path: Path, nodes: int, factor: float
) -> None:
    path = tmp_path / "p.xml"
    path.write_text(make_homogeneous_xml(nodes, factor))
    read, made = read_platform(path), make_homogeneous(nodes, factor)
    assert read.hosts == list(made.hosts)
    assert (read.storages, read.network) == (made.storages, made.network)


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


def test_shipped_platforms() -> None:
    """Those that were generated are as they were; ids of hosts are in the order of the numbers."""
    shipped = {path.stem: path for path in platforms_folder().glob("*.xml")}
    others = {"ideal_64", "ideal_100", "ideal_128", "cluster_128", "energy_16"}
    assert shipped.keys() == {*others, *TABLE_7_1}
    grid_xml = load_file(f"{platforms_folder() / 'generate.py'}:grid_xml")
    for name, path in shipped.items():
        if name in TABLE_7_1:
            assert path.read_text() == grid_xml(name)
            continue
        kind, _, nodes = name.partition("_")
        hosts = [host.name for host in read_platform(path).hosts]
        assert len(hosts) == int(nodes)
        assert hosts == sorted(hosts, key=lambda host: int(host.removeprefix("node")))
        assert kind != "ideal" or path.read_text() == make_homogeneous_xml(int(nodes))


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
