"""Platform files: what is read, what is refused, and by which name."""

from __future__ import annotations

from pathlib import Path

import pytest

from batsched_py.errors import PlatformError, UsageError
from batsched_py.simulator.files.input_files import Inputs, prepare
from batsched_py.simulator.options import Options
from batsched_py.simulator.platform.attribute_values import (
    read_bandwidth,
    read_latency,
    read_speed,
)
from batsched_py.simulator.platform.hosts import Host
from batsched_py.simulator.platform.network import Network
from batsched_py.simulator.platform.platform_reader import read_platform

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
    assert platform.hosts[0].zone_properties == {"gpu": "no", "site": "here"}


def test_units() -> None:
    """As SimGrid reads them: numbers without a unit, powers of 1000 and 1024, bits, and times."""
    units = {prefix: 1000.0**at for at, prefix in enumerate(["", *"kMGTPEZ"])}
    for prefix, scale in units.items():
        assert read_speed(f"98.095{prefix}f", "h") == pytest.approx(98.095 * scale, rel=1e-15)
    units |= {f"{prefix}i": 1024.0**at for at, prefix in enumerate("KMGTPEZ", start=1)}
    for prefix, scale in units.items():
        for text in (f"1.25{prefix}Bps", f"10{prefix}bps"):
            assert read_bandwidth(text, "l") == pytest.approx(1.25 * scale, rel=1e-15)
    seconds = {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "": 1.0, "m": 60.0}
    for unit, scale in (seconds | {"h": 3600.0, "d": 86400.0, "w": 604800.0}).items():
        assert read_latency(f"1.5{unit}", "l") == pytest.approx(1.5 * scale, rel=1e-15)
    assert (read_speed("5e8", "h"), read_bandwidth("1e6", "l"), read_latency("0", "l")) == (
        5e8,
        1e6,
        0,
    )


ENTITY = "<?xml version='1.0'?><!DOCTYPE platform [<!ENTITY a 'aaaa'>]>"


def role(text: str) -> str:
    return f'{MASTER}<host id="h" speed="1Gf"><prop id="role" value="{text}"/></host>'


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        (MASTER, "no hosts"),
        ('<host id="h" speed="1Gf"/>', "no master host"),
        (f'{MASTER}<host id="h" speed="fast"/>', "'fast'"),
        (f'{MASTER}<host id="h" speed="0Gf"/>', "speed 0 in pstate"),
        (f'{MASTER}<host id="h"/>', "no attribute 'speed'"),
        (f"{MASTER}{MASTER}", "defined twice"),
        (f'{MASTER}<trace_connect kind="SPEED"/>', "kind 'SPEED'"),
        ('<cluster id="c" radical="a" speed="1Gf"/>', "numbers and ranges"),
        (f'{MASTER}<include file="/etc/passwd"/>', "<include>"),
        ('<cluster id="c" radical="0-9999999999" speed="1Gf"/>', "more than"),
        ('<cluster id="c" radical="5-2" speed="1Gf"/>', "reversed"),
        (role("storage"), "no hosts to compute"),
        (role("storage,compute_node"), "role 'storage,compute_node'"),
        (f'{MASTER}<host id="h" speed="1Gf" core="two"/>', "core 'two'"),
        (f'{MASTER}<host id="h" speed="1,2" pstate="2"/>', "pstate '2'"),
        (f'{MASTER}<host id="h" speed="1" state_file="f"/>', "state_file"),
        ("<zone id='z'>" * 3000 + "</zone>" * 3000, "too deeply"),
    ],
)
def test_refuses_and_says_what(tmp_path: Path, inside: str, message: str) -> None:
    path = write(tmp_path, f'<zone id="z">{inside}</zone>')
    with pytest.raises(PlatformError, match=message) as caught:
        read_platform(path)
    assert str(path) in str(caught.value)


XML = "<?xml version='1.0'?>"
ENCODED = "<?xml version='1.0' encoding='{}'?><platform/>"
NO_PLATFORM = {
    "": "well-formed XML",
    "<a/>": "must be <platform>",
    f"{ENTITY}<platform>&a;</platform>": "entities",
    f"{XML}<!DOCTYPE platform [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><platform>&x;</platform>": (
        "entities"
    ),
    # One long default value could be given to any number of elements.
    f'{XML}<!DOCTYPE platform [<!ATTLIST prop value CDATA "a">]><platform/>': "<!ATTLIST prop ",
    **{ENCODED.format(encoding): "well-formed XML" for encoding in ("foo", "utf-7")},
}


@pytest.mark.parametrize("content", NO_PLATFORM)
def test_refuses_what_is_no_platform(tmp_path: Path, content: str) -> None:
    path = tmp_path / "p.xml"
    path.write_text(content)
    with pytest.raises(PlatformError, match=rf"p\.xml: .*{NO_PLATFORM[content]}"):
        read_platform(path)
    with pytest.raises(UsageError, match=r"none\.xml"):
        read_platform(tmp_path / "none.xml")


def test_hosts_of_a_cluster_share_what_they_have(tmp_path: Path) -> None:
    """A million hosts, times a thousand properties or speeds, would not fit into memory."""
    speeds = ",".join(["1"] * 500)
    props = "".join(f'<prop id="{at}" value=""/>' for at in range(500))
    body = f'<zone id="z">{MASTER}<cluster id="c" radical="0-9999" speed="{speeds}">{props}'
    first, second, *_ = read_platform(write(tmp_path, f"{body}</cluster></zone>")).hosts
    assert (first.name, second.name) == ("0", "1")
    assert first.properties is second.properties
    assert first.speeds is second.speeds


# Roles -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("in_file", "master", "roles", "read"),
    [
        ({}, "m", {}, "abc  "),
        ({}, "none", {"m": "master"}, "abc  "),
        ({"a": "storage", "b": "compute_node", "c": ""}, "m", {}, "bc a"),
        ({}, "m", {"a": "storage", "b": "compute_node", "c": ""}, "bc a"),
        ({}, "m", {"a": "master"}, "two master hosts"),
        ({"m": "master"}, "m", {}, "'master,master'"),
        ({"a": "compute_node,compute_node"}, "m", {}, "'compute_node,compute_no"),
        ({}, "m", {"m": "compute_node"}, "no master host"),
    ],
)
def test_roles(
    tmp_path: Path, in_file: dict[str, str], master: str, roles: dict[str, str], read: str
) -> None:
    """Which hosts compute and which store, or why not; each case was tried with Batsim 4.2.0."""
    hosts = (
        f'<host id="{name}" speed="1Gf">'
        + (f'<prop id="role" value="{in_file[name]}"/>' if name in in_file else "")
        + "</host>"
        for name in "mcba"
    )
    path = write(tmp_path, f'<zone id="z">{"".join(hosts)}</zone>')
    if read.startswith(("abc", "bc")):
        platform = read_platform(path, master, roles)
        computing, storing = read.split(" ")[:2]
        assert [host.name for host in platform.hosts] == list(computing)
        assert [host.name for host in platform.storages] == list(storing)
        assert all(host.properties["role"] == "storage" for host in platform.storages)
    else:
        with pytest.raises(PlatformError, match=read):
            read_platform(path, master, roles)


@pytest.mark.parametrize("zero", range(4))
@pytest.mark.parametrize("energy", [False, True])
def test_speed_0_only_where_nothing_computes(tmp_path: Path, zero: int, energy: bool) -> None:
    """Of four pstates the first is the usual one, then: to sleep, and two that are passed."""
    speeds = ",".join("0f" if at == zero else "1Gf" for at in range(4))
    watts = '<prop id="wattage_per_state" value="1:2,1:2,1:2,1:2"/>'
    for role in ("compute_node", "storage"):
        hosts = "".join(
            f'<host id="{name}" speed="{speed}">{watts}<prop id="role" value="{of}"/>'
            '<prop id="sleep_pstates" value="1:2:3"/></host>'
            for name, speed, of in (("h0", speeds, role), ("h1", "1f,1f,1f,1f", "compute_node"))
        )
        path = write(tmp_path, f'<zone id="z" routing="Full">{MASTER}{hosts}</zone>')
        inputs, options = Inputs(platform=path), Options(energy=energy)
        if role == "compute_node" and (zero == 0 or (energy and zero != 1)):
            with pytest.raises(PlatformError, match=rf"'h0' .* in pstate {zero}"):
                prepare(inputs, options)
        else:
            prepare(inputs, options)


@pytest.mark.parametrize("name", ["storage_speed_zero", "missing_route", "cluster_properties"])
def test_platforms_of_others(shared: Path, name: str) -> None:
    """Platforms that real Batsim reads."""
    (path,) = (shared / "cases" / name).glob("*.xml")
    assert read_platform(path).hosts


def test_properties_of_inner_zones_win(tmp_path: Path) -> None:
    body = (
        '<zone id="o"><prop id="a" value="outer"/><prop id="b" value="outer"/>'
        f'<zone id="i"><prop id="b" value="inner"/><host id="h" speed="2f,1f" pstate="1"/></zone>'
        f"{MASTER}</zone>"
    )
    assert read_platform(write(tmp_path, body)).hosts == [
        Host("h", (2.0, 1.0), {}, {"a": "outer", "b": "inner"}, 1, "i")
    ]


def test_cabinets_and_peers_are_hosts(tmp_path: Path) -> None:
    body = (
        '<zone id="z" routing="Cluster"><cabinet id="k" prefix="n" suffix="" radical="1-2" '
        'speed="1Gf" bw="1" lat="1"/><peer id="p" speed="1Gf" bw_in="1" bw_out="1"/>'
        f"{MASTER}</zone>"
    )
    platform = read_platform(write(tmp_path, body))
    assert [host.name for host in platform.hosts] == ["n1", "n2", "p"]
    with pytest.raises(PlatformError, match="routing 'Cluster'"):
        platform.network.find_route("n1", "n2")


# Networks ----------------------------------------------------------------------------------------

TWO = '<host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>'
LINK = '<link id="l" bandwidth="1MBps" latency="1ms"/>'
ROUTE = '<route src="a" dst="b"><link_ctn id="l"/></route>'


def zone(inside: str, routing: str = "Full") -> str:
    return f'<zone id="z" routing="{routing}">{TWO}{MASTER}{inside}</zone>'


def cluster(attributes: str) -> str:
    return (
        f'<zone id="z" routing="Full">{MASTER}<cluster id="c" prefix="" suffix="" radical="0-1" '
        f'speed="1Gf" {attributes}/></zone>'
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (zone(ROUTE + LINK, "Floyd"), "routing 'Floyd'"),
        (f'<zone id="z">{TWO}{MASTER}</zone>', "routing ''"),
        (zone('<bypassRoute src="a" dst="b"/>'), "<bypassRoute>"),
        (zone('<trace_connect kind="BANDWIDTH"/>'), "<trace_connect>"),
        (zone('<link id="l" bandwidth="inf" latency="0"/>'), "bandwidth 'inf'"),
        (zone('<link id="l" bandwidth="1" latency="-1"/>'), "latency '-1'"),
        (zone('<link id="l" latency="1"/>'), "no attribute 'bandwidth'"),
        (zone('<link id="l" bandwidth="1" bandwidth_file="f"/>'), "bandwidth_file"),
        (zone('<link id="l" bandwidth="1" sharing_policy="WIFI"/>'), "'WIFI'"),
        (zone('<link id="l" bandwidth="1Gf" latency="0"/>'), "bandwidth '1Gf'"),
        (zone('<zone id="z" routing="Full"/>'), "'z' is defined twice"),
        (cluster('bw="1" lat="1" topology="TORUS" topo_parameters="2"'), "topology 'TORUS'"),
        (cluster('bw="1" lat="1" limiter_link="5"'), "limiter_link"),
        (cluster('bw="1" lat="1" bb_lat="1"'), "'bb_bw'"),
        (zone(LINK + LINK), "'l' is defined twice"),
        (zone(ROUTE), "no link 'l'"),
        (zone(LINK + ROUTE + ROUTE), "from 'a' to 'b'"),
        (zone(LINK + '<route src="a" dst="x"><link_ctn id="l"/></route>'), "'x' is not"),
        (
            zone('<link id="l" bandwidth="1" sharing_policy="SPLITDUPLEX"/>' + ROUTE),
            "'l' with the direction",
        ),
        (zone("") + '<zone id="y" routing="Full"/>', "2 outermost zones"),
        (zone("") + '<host id="c" speed="1Gf"/>', "<host> outside"),
        (zone('<zone id="y" routing="Full"/>', "Vivaldi"), "the Vivaldi zone"),
        (cluster('bw="1" lat="1" sharing_policy="WIFI"'), "'WIFI'"),
        (cluster('bw="1" lat="1" bb_bw="1" bb_sharing_policy="SPLITDUPLEX"'), "bb_sharing"),
    ],
)
def test_a_network_that_is_not_supported_is_refused_only_when_used(
    tmp_path: Path, body: str, message: str
) -> None:
    path = write(tmp_path, body)
    platform = read_platform(path)
    assert len(platform.hosts) >= 2
    with pytest.raises(PlatformError, match=message) as caught:
        platform.network.find_route(platform.hosts[0].name, platform.hosts[1].name)
    assert str(path) in str(caught.value)
    assert "real Batsim" in str(caught.value)


# What Batsim 4.2.0 does when it sends its first messages, from the master host to itself.
AT_HOME = '<host id="h" speed="1Gf" coordinates="0 0 0"/>'
INSIDE = '<cluster id="c" prefix="c" suffix="" radical="0-3" speed="1" bw="1" lat="0"/>'


@pytest.mark.parametrize(
    ("body", "master", "fault"),
    [
        (f'<zone id="z" routing="None">{MASTER}{AT_HOME}</zone>', "master_host", "'None'"),
        (f'<zone id="z" routing="None">{INSIDE}</zone>', "c0", ""),
        (f'<zone id="z" routing="Vivaldi">{MASTER}{AT_HOME}</zone>', "master_host", "coordinates"),
        (f'<zone id="z" routing="Vivaldi">{AT_HOME}<host id="i" speed="1"/></zone>', "h", ""),
        (f'<zone id="z" routing="Full">{MASTER}{AT_HOME}</zone>', "master_host", ""),
    ],
)
def test_the_master_host_must_be_reached(
    tmp_path: Path, body: str, master: str, fault: str
) -> None:
    path = write(tmp_path, body)
    if fault:
        with pytest.raises(PlatformError, match=f"cannot be here: .*{fault}"):
            read_platform(path, master)
    else:
        assert read_platform(path, master).hosts


def test_blank_lines_before_the_declaration(tmp_path: Path) -> None:
    """Four of Batsim's own platforms begin with one."""
    body = f'<zone id="z" routing="Full">{MASTER}{AT_HOME}</zone>'
    assert read_platform(write(tmp_path, body, "  \n \t\r\n" + HEAD)).hosts


def test_where_messages_take_no_time_is_the_plainest_network(tmp_path: Path) -> None:
    hosts = "".join(
        f'<host id="{name}" speed="1Gf" coordinates="1 2 0"/>' for name in ("a", "master_host")
    )
    platform = read_platform(write(tmp_path, f'<zone id="z" routing="Vivaldi">{hosts}</zone>'))
    assert platform.network == Network()
