"""Platforms as data: equal hosts, scaled ones, and the first of them."""

from __future__ import annotations

from typing import Any

import pytest

from batsched_py.errors import PlatformError, ProtocolError
from batsched_py.simulator.batsim4.simulator import Batsim4Simulator
from batsched_py.simulator.batsim5.simulator import Batsim5Simulator
from batsched_py.simulator.engine import Options
from batsched_py.simulator.platform.hosts import (
    Host,
    Platform,
    limit_hosts,
    make_homogeneous,
    scale_speeds,
)
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
        (Batsim4Simulator, Options(compute_sharing=True)),
        (Batsim4Simulator, Options(energy=True)),
        (Batsim5Simulator, Options(protocol=5)),
    ],
)
def test_cores_that_jobs_or_watts_would_share_are_refused(
    kind: type[Batsim4Simulator], options: Options
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
