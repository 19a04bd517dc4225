"""Platforms as data: equal hosts, scaled ones, and the first of them."""

from __future__ import annotations

import pytest

from batsched_py.errors import PlatformError
from batsched_py.simulator.platform.hosts import Host, Platform, homogeneous, limited, scaled
from batsched_py.simulator.platform.network import Network


def test_homogeneous_and_scaled() -> None:
    platform = homogeneous(12, 2.0)
    assert [host.name for host in platform.hosts] == sorted(host.name for host in platform.hosts)
    assert platform.uniform_speed == 2e9
    assert scaled(platform, 0.5).uniform_speed == 1e9
    for wrong in (0, -1, 10**9):
        with pytest.raises(PlatformError):
            homogeneous(wrong)


@pytest.mark.parametrize("factor", [0.0, -1.0, float("inf"), float("nan")])
def test_no_platform_has_such_speeds(factor: float) -> None:
    with pytest.raises(PlatformError, match="speed factor"):
        homogeneous(2, factor)


def test_scaling_and_limiting_keep_storages_and_network() -> None:
    network = Network(problem="none")
    platform = Platform([Host("a", (1.0,)), Host("b", (1.0,))], [Host("s", (4.0,))], network)
    for other in (scaled(platform, 3.0), limited(platform, 1)):
        assert other.storages == platform.storages
        assert other.network is network
    assert [host.speed for host in scaled(platform, 3.0).hosts] == [3.0, 3.0]
    assert [host.name for host in limited(platform, 1).hosts] == ["a"]


def test_a_limit_that_limits_nothing_changes_nothing() -> None:
    platform = homogeneous(3)
    assert limited(platform, 3) is limited(platform, 10) is platform
    with pytest.raises(PlatformError, match="0 hosts"):
        limited(platform, 0)


def test_a_host_begins_in_its_pstate() -> None:
    hosts = [Host("a", (2.0, 1.0), pstate=1), Host("b", (1.0,))]
    assert hosts[0].speed == 1
    assert Platform(hosts).uniform_speed == 1
    assert Platform([Host("a", (2.0, 1.0)), hosts[1]]).uniform_speed is None
