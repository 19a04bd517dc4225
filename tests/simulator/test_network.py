"""Routes and traffic: clusters, explicit routes, coordinates, and zones in zones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.errors import PlatformError
from batsched_py.simulator.platform.hosts import Platform
from batsched_py.simulator.platform.network import Network
from batsched_py.simulator.platform.platform_reader import read_platform
from helpers.parallel_tasks_twin import one_by_one
from helpers.scripted_schedulers import Timetable, compute, execute, job, simulate, workload

MASTER = '<host id="master_host" speed="1Gf" coordinates="0 0 0"/>'


def platform_of(folder: Path, body: str) -> Platform:
    path = folder / "platform.xml"
    path.write_text(f'<platform version="4.1">{body}</platform>')
    return read_platform(path)


def network_of(folder: Path, body: str) -> Network:
    return platform_of(folder, body).network


def with_cluster(attributes: str, radical: str) -> str:
    return (
        f'<zone id="z" routing="Full">{MASTER}<cluster id="c" prefix="n" suffix="" '
        f'radical="{radical}" speed="1Gf" {attributes}/></zone>'
    )


def way(network: Network, source: str, target: str) -> tuple[list[str], float]:
    """Return the names of the links from one host to another, and the latency."""
    route = network.find_route(source, target)
    return [network.links[link].name for link in route.links], pytest.approx(route.latency)


# Clusters ----------------------------------------------------------------------------------------


SHARED, FATPIPE = 'sharing_policy="SHARED"', 'sharing_policy="FATPIPE" bb_bw="5" bb_lat="3"'
LOOPBACK = 'loopback_bw="5" loopback_lat="7"'


@pytest.mark.parametrize(
    ("attributes", "links", "links_to_itself", "latency"),
    [
        ("", "c_link_0_UP c_link_1_DOWN", "c_link_0_UP c_link_0_DOWN", 2.0),
        (SHARED, "c_link_0 c_link_1", "c_link_0", 2.0),
        (FATPIPE, "c_link_0 c_backbone c_link_1", "c_link_0 c_backbone", 5.0),
        (LOOPBACK, "c_link_0_UP c_link_1_DOWN", "c_link_0_loopback", 2.0),
    ],
)
def test_kinds_of_clusters(
    tmp_path: Path, attributes: str, links: str, links_to_itself: str, latency: float
) -> None:
    network = network_of(tmp_path, with_cluster(f'bw="8bps" lat="1" {attributes}', "0-2"))
    assert way(network, "n0", "n1") == (links.split(), latency)
    assert way(network, "n0", "n0")[0] == links_to_itself.split()
    by_name = {link.name: link for link in network.links}
    first, of_itself = by_name[links.split()[0]], by_name[links_to_itself.split()[0]]
    assert first.bandwidth == 1
    assert not first.fatpipe, "FATPIPE is SHARED here, as in SimGrid 3.32"
    assert of_itself.fatpipe is (attributes == LOOPBACK)


@pytest.mark.parametrize(
    ("policy", "backbone", "seconds"),
    [
        ("SPLITDUPLEX", "", 3.0),
        ("SHARED", "", 6.0),
        ("FATPIPE", 'bb_bw="50MBps" bb_lat="0us"', 24.0),
        ("FATPIPE", 'bb_bw="50MBps" bb_lat="0us" bb_sharing_policy="FATPIPE"', 6.0),
    ],
)
def test_how_long_all_of_a_cluster_talk(
    tmp_path: Path, policy: str, backbone: str, seconds: float
) -> None:
    """100 MB for each pair of four hosts, over links of 100 MB/s: Batsim 4.2.0's times."""
    links = f'bw="100MBps" lat="0us" sharing_policy="{policy}" {backbone}'
    platform = platform_of(tmp_path, with_cluster(links, "0-3"))
    load = workload({"p": compute(0, com=1e8)}, job("j", "p", size=4))
    outcome = simulate(Timetable({0: [execute("w0!j", "0-3")]}), load, platform=platform)
    assert outcome.jobs[0].finish_time == pytest.approx(seconds)


# Explicit routes ---------------------------------------------------------------------------------


def test_routes_of_a_platform_of_batsim(shared: Path) -> None:
    """Routes are symmetrical, hosts have a loopback, the one given to them."""
    folder = shared / "batsim_transcripts" / "02_profile_types_fcfs"
    network = read_platform(folder / "small_platform.xml").network
    assert way(network, "Fafard", "Ginette")[0] == ["8", "1", "0", "2", "5"]
    assert way(network, "Ginette", "Fafard")[0] == ["5", "2", "0", "1", "8"]
    assert way(network, "Jupiter", "Jupiter") == (["loopback"], 15e-6)
    assert way(network, "Jupiter", "master_host") == (["9"], 1.461517e-3)
    with pytest.raises(PlatformError, match="no host 'Nobody'"):
        network.find_route("Fafard", "Nobody")


HOSTS = '<host id="a" speed="1"/><host id="b" speed="1"/>'


def test_split_duplex_links_are_reversed_on_the_way_back(tmp_path: Path) -> None:
    body = (
        f'<zone id="z" routing="Full">{MASTER}{HOSTS}'
        '<link id="l" bandwidth="1" latency="1" sharing_policy="SPLITDUPLEX"/>'
        '<link id="k" bandwidth="1" latency="2"/>'
        '<route src="a" dst="b"><link_ctn id="l" direction="UP"/><link_ctn id="k"/></route></zone>'
    )
    network = network_of(tmp_path, body)
    assert way(network, "a", "b") == (["l_UP", "k"], 3)
    assert way(network, "b", "a") == (["k", "l_DOWN"], 3)


def test_a_route_may_be_one_way(tmp_path: Path) -> None:
    body = (
        f'<zone id="z" routing="Full">{MASTER}{HOSTS}<link id="l" bandwidth="1" latency="1"/>'
        '<route src="a" dst="b" symmetrical="NO"><link_ctn id="l"/></route></zone>'
    )
    network = network_of(tmp_path, body)
    assert way(network, "a", "b") == (["l"], 1)
    assert way(network, "a", "a") == (["__loopback__"], 15e-6)
    assert network.without_route is None
    assert way(network, "b", "a") == ([], 0)  # as in SimGrid: it takes no time
    assert network.without_route == "zone 'z' has no route from 'b' to 'a'"


# Coordinates -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "target", "latency"),
    [("a", "b", 0.005), ("a", "c", 0.007), ("c", "c", 0.004), ("a", "a", 0)],
)
def test_coordinates_are_milliseconds(
    tmp_path: Path, source: str, target: str, latency: float
) -> None:
    """The distance in the plane, and the heights of both ends."""
    hosts = "".join(
        f'<host id="{name}" speed="1" coordinates="{at}"/>'
        for name, at in (("a", "0 0 0"), ("b", "3 -4 0"), ("c", "3 -4 -2"))
    )
    network = network_of(tmp_path, f'<zone id="z" routing="Vivaldi">{MASTER}{hosts}</zone>')
    assert way(network, source, target) == ([], latency)


# Zones in zones ----------------------------------------------------------------------------------


def test_zones_in_zones(tmp_path: Path) -> None:
    """From a host three zones deep, by the gateways of each, to a cluster beside the outermost."""
    body = """
    <zone id="top" routing="Full">
      <zone id="outer" routing="Full">
        <zone id="inner" routing="Full">
          <host id="h" speed="1"/> <router id="r"/> <link id="h_r" bandwidth="1" latency="1"/>
          <route src="h" dst="r"><link_ctn id="h_r"/></route>
        </zone>
        <zone id="exit" routing="None"> <router id="x"/> </zone>
        <link id="inner_exit" bandwidth="1" latency="10"/>
        <zoneRoute src="inner" dst="exit" gw_src="r" gw_dst="x">
          <link_ctn id="inner_exit"/>
        </zoneRoute>
      </zone>
      <cluster id="c" prefix="c" suffix="" radical="0-1" speed="1" bw="1" lat="100"/>
      <link id="outer_c" bandwidth="1" latency="1000"/>
      <zoneRoute src="outer" dst="c" gw_src="x" gw_dst="cc_router">
        <link_ctn id="outer_c"/>
      </zoneRoute>
      <host id="master_host" speed="1"/>
    </zone>"""
    network = network_of(tmp_path, body)
    assert way(network, "h", "c1") == (["h_r", "inner_exit", "outer_c", "c_link_1_DOWN"], 1111)
    assert way(network, "c1", "h") == (["c_link_1_UP", "outer_c", "inner_exit", "h_r"], 1111)
    with pytest.raises(PlatformError, match="no zoneRoute from"):
        network.find_route("h", "master_host")


@pytest.mark.parametrize(
    ("route", "message"),
    [
        ('<zoneRoute src="c" dst="d" gw_src="c0" gw_dst="x"/>', "no gateway 'x'"),
        ('<route src="c0" dst="d0"/>', "'c0' is not"),
        ('<zoneRoute src="c" dst="e" gw_src="c0" gw_dst="d0"/>', "'e' is not"),
        ('<zoneRoute src="c" dst="d" gw_src="d0" gw_dst="c0"/>', "'d0' is not"),
        ('<zoneRoute src="c" dst="d" gw_dst="d0"/>', "no attribute 'gw_src'"),
        ("", "no zoneRoute"),
    ],
)
def test_routes_between_zones_that_lead_nowhere(tmp_path: Path, route: str, message: str) -> None:
    clusters = "".join(
        f'<cluster id="{c}" prefix="{c}" suffix="" radical="0" speed="1" bw="1" lat="1"/>'
        for c in "cd"
    )
    network = network_of(tmp_path, f'<zone id="z" routing="Full">{MASTER}{clusters}{route}</zone>')
    with pytest.raises(PlatformError, match=message):
        network.find_route("c0", "d0")


# Traffic -----------------------------------------------------------------------------------------


AMOUNTS = st.sampled_from([0.0, 0.0, 1.0, 2.5, 1e6])


def check_traffic(network: Network, hosts: list[str], data: st.DataObject) -> None:
    """Any matrix of bytes, and equal messages, are summed up as if one by one."""
    nb = len(hosts)
    sent = np.array([[data.draw(AMOUNTS) for _ in range(nb)] for _ in range(nb)])
    amount = data.draw(AMOUNTS)
    equal = np.full((nb, nb), amount)
    np.fill_diagonal(equal, 0.0)
    for given_, matrix in ((sent, sent), (amount, equal)):
        ours, theirs = network.add_up_traffic(hosts, given_), one_by_one(network, hosts, matrix)
        assert ours.weights == pytest.approx(theirs.weights, rel=1e-12)
        assert (ours.latency, ours.window) == pytest.approx((theirs.latency, theirs.window))


BETWEEN = """
<zone id="z" routing="Full">
  <cluster id="A" prefix="a" suffix="" radical="0-2" speed="1" bw="1" lat="1" bb_bw="1" bb_lat="2"/>
  <cluster id="B" prefix="b" suffix="" radical="0-2" speed="1" bw="1" lat="3"
           sharing_policy="SHARED" bb_bw="1" bb_lat="4" bb_sharing_policy="FATPIPE"/>
  <cluster id="C" prefix="c" suffix="" radical="0-2" speed="1" bw="1" lat="5"
           sharing_policy="FATPIPE" loopback_bw="1" loopback_lat="1"/>
  <zone id="M" routing="Full"><host id="master_host" speed="1"/></zone>
  <link id="l" bandwidth="1" latency="10"/>
  <link id="f" bandwidth="1" latency="20" sharing_policy="FATPIPE"/>
  <zoneRoute src="A" dst="B" gw_src="aA_router" gw_dst="bB_router"><link_ctn id="l"/></zoneRoute>
  <zoneRoute src="A" dst="C" gw_src="aA_router" gw_dst="c1">
    <link_ctn id="l"/><link_ctn id="f"/>
  </zoneRoute>
  <zoneRoute src="B" dst="C" gw_src="bB_router" gw_dst="cC_router"><link_ctn id="f"/></zoneRoute>
  <zoneRoute src="A" dst="M" gw_src="aA_router" gw_dst="master_host"><link_ctn id="f"/></zoneRoute>
</zone>"""


@pytest.fixture(scope="module")
def three_clusters(tmp_path_factory: pytest.TempPathFactory) -> Network:
    """All kinds of sharing; one gateway is a host, which makes that way its own for each host."""
    return network_of(tmp_path_factory.mktemp("between"), BETWEEN)


IN_CLUSTERS = ["a0", "a1", "a2", "b0", "b1", "c0", "c1", "c2"]
NOT_ALL = ["a0", "a1", "master_host"]


@given(
    st.sampled_from([IN_CLUSTERS, IN_CLUSTERS, NOT_ALL]).flatmap(
        lambda names: st.lists(st.sampled_from(names), min_size=2, max_size=7)
    ),
    st.data(),
)
def test_traffic_between_clusters(
    three_clusters: Network, hosts: list[str], data: st.DataObject
) -> None:
    check_traffic(three_clusters, hosts, data)
