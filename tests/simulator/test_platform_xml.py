"""Platform files as they are written, against how they are read."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from batsched_py.data import data_folder
from batsched_py.errors import PlatformError
from batsched_py.simulator.platform import homogeneous, read_platform, scaled
from batsched_py.simulator.platform_xml import homogeneous_xml, scaled_xml


@pytest.mark.parametrize(("nodes", "factor"), [(1, 1.0), (10, 2.0), (101, 1 / 3), (5, 0.5)])
def test_what_is_written_reads_as_the_homogeneous_platform(
    tmp_path: Path, nodes: int, factor: float
) -> None:
    path = tmp_path / "p.xml"
    path.write_text(homogeneous_xml(nodes, factor))
    assert read_platform(path) == homogeneous(nodes, factor)


@pytest.mark.parametrize(
    "element",
    [
        '<host id="a" speed="1Gf"/>',
        "<host id='a' speed = '1.5e3Mf,  200kf'/>",
        '<host speed="7f"\n id="a"><prop id="speed" value="3Gf"/></host>',
        '<cluster id="c" prefix="a" suffix="" radical="0-3" speed="98.095Mf" bw="1" lat="1"/>',
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
    scaled_path.write_text(scaled_xml(path, factor))
    ours = scaled(read_platform(path), factor)
    theirs = read_platform(scaled_path)
    assert [host.name for host in ours.hosts] == [host.name for host in theirs.hosts]
    for one, other in zip(ours.hosts, theirs.hosts, strict=True):
        assert other.speeds == pytest.approx(one.speeds, rel=1e-15)
        assert other.properties == one.properties


def test_a_speed_that_is_none_is_said(tmp_path: Path) -> None:
    path = tmp_path / "p.xml"
    path.write_text('<host id="a" speed="fast"/>')
    with pytest.raises(PlatformError, match="'fast' cannot be scaled"):
        scaled_xml(path, 2.0)


def test_the_files_of_the_project_are_what_the_generator_writes() -> None:
    sys.path.insert(0, str(data_folder("platforms")))
    import generate  # type: ignore[import-not-found]

    for nodes in generate.SIZES:
        path = data_folder("platforms") / f"ideal_{nodes}.xml"
        assert path.read_text() == homogeneous_xml(nodes)
