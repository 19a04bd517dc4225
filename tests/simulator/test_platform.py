"""Platform files: what is read, what is refused, and by which name."""

from __future__ import annotations

from pathlib import Path

import pytest

from batsched_py.errors import PlatformError
from batsched_py.simulator.platform import homogeneous, read_platform, scaled

HEAD = "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM 'https://simgrid.org/simgrid.dtd'>\n"


def write(folder: Path, body: str, head: str = HEAD) -> Path:
    path = folder / "platform.xml"
    path.write_text(f'{head}<platform version="4.1">{body}</platform>')
    return path


MASTER = '<host id="master_host" speed="1Gf"/>'


def test_ids_follow_the_names_not_the_numbers(tmp_path: Path) -> None:
    """As in Batsim: host10 comes before host2."""
    hosts = "".join(f'<host id="host{i}" speed="1Gf"/>' for i in range(11))
    platform = read_platform(write(tmp_path, f'<zone id="z">{hosts}{MASTER}</zone>'))
    assert [host.name for host in platform.hosts][:3] == ["host0", "host1", "host10"]
    assert platform.uniform_speed == 1e9


def test_cluster_pstates_and_properties(tmp_path: Path) -> None:
    """A cluster is its hosts; properties of zones are inherited."""
    body = (
        '<AS id="a" routing="Full"><prop id="site" value="here"/>'
        '<cluster id="c" prefix="n" suffix=".x" radical="0-2,7" speed="2Gf,1Gf" bw="1GBps" '
        'lat="1us"><prop id="gpu" value="no"/></cluster>'
        f"{MASTER}<link id='l' bandwidth='1' latency='0'/></AS>"
    )
    platform = read_platform(write(tmp_path, body))
    assert [host.name for host in platform.hosts] == ["n0.x", "n1.x", "n2.x", "n7.x"]
    assert platform.hosts[0].speeds == (2e9, 1e9)
    assert platform.hosts[0].properties == {"gpu": "no"}
    assert platform.hosts[0].zone_properties == {"site": "here"}


@pytest.mark.parametrize(
    ("speed", "flops"),
    [("1Gf", 1e9), ("98.095Mf", 98.095e6), ("5e8f", 5e8), ("3", 3), ("1.5Tf", 1.5e12)],
)
def test_speeds(tmp_path: Path, speed: str, flops: float) -> None:
    body = f'<zone id="z"><host id="h" speed="{speed}"/>{MASTER}</zone>'
    assert read_platform(write(tmp_path, body)).uniform_speed == pytest.approx(flops, rel=1e-15)


ENTITY = "<?xml version='1.0'?><!DOCTYPE platform [<!ENTITY a 'aaaa'>]>"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (f'<zone id="z">{MASTER}</zone>', "no hosts"),
        ('<zone id="z"><host id="h" speed="1Gf"/></zone>', "no master host"),
        (f'<zone id="z">{MASTER}<host id="h" speed="fast"/></zone>', "'fast'"),
        (f'<zone id="z">{MASTER}<host id="h" speed="0Gf"/></zone>', "'0Gf'"),
        (f'<zone id="z">{MASTER}<host id="h"/></zone>', "no attribute 'speed'"),
        (f'<zone id="z">{MASTER}{MASTER}</zone>', "defined twice"),
        (f'<zone id="z">{MASTER}<storage id="s"/></zone>', "<storage>"),
        (f'<zone id="z">{MASTER}<include file="/etc/passwd"/></zone>', "<include>"),
        ('<cluster id="c" radical="0-9999999999" speed="1Gf"/>', "more than"),
        ('<cluster id="c" radical="5-2" speed="1Gf"/>', "reversed"),
        (
            f'<zone id="z">{MASTER}<host id="h" speed="1Gf"><prop id="role" value="storage"/>'
            "</host></zone>",
            "role 'storage'",
        ),
        ("<zone id='z'>" * 3000 + "</zone>" * 3000, "too deeply"),
        ('<cluster id="c" radical="a" speed="1Gf"/>', "numbers and ranges"),
    ],
)
def test_refuses_and_says_what(tmp_path: Path, body: str, said: str) -> None:
    path = write(tmp_path, body)
    with pytest.raises(PlatformError, match=said) as caught:
        read_platform(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("content", ["", "not xml", "<a/>", f"{ENTITY}<platform>&a;</platform>"])
def test_refuses_what_is_no_platform(tmp_path: Path, content: str) -> None:
    path = tmp_path / "p.xml"
    path.write_text(content)
    with pytest.raises(PlatformError, match=r"p\.xml"):
        read_platform(path)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(PlatformError, match="No such file"):
        read_platform(tmp_path / "none.xml")


def test_homogeneous_and_scaled() -> None:
    platform = homogeneous(12, 2.0)
    assert [host.name for host in platform.hosts] == sorted(host.name for host in platform.hosts)
    assert platform.uniform_speed == 2e9
    assert scaled(platform, 0.5).uniform_speed == 1e9
    for wrong in (0, -1, 10**9):
        with pytest.raises(PlatformError):
            homogeneous(wrong)


def test_a_host_with_the_role_of_master_does_not_compute(tmp_path: Path) -> None:
    body = (
        '<zone id="z"><host id="m" speed="1Gf"><prop id="role" value="master"/></host>'
        '<host id="h" speed="1Gf"/></zone>'
    )
    assert [host.name for host in read_platform(write(tmp_path, body)).hosts] == ["h"]
