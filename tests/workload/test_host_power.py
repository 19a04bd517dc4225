"""The power of hosts by the properties of platform files."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.errors import PlatformError
from batsched_py.simulator.platform.hosts import add_pstates, make_grid, make_homogeneous
from batsched_py.workload.grid_sites import parse_sites
from batsched_py.workload.host_power import find_power_groups
from batsched_py.workload.processor_power import PowerGroup, ProcessorPower
from helpers.powers import BY_HAND
from helpers.processors import processors

WATTS = "100:100:200,10:10:10,120:120:120,150:150:150"
SPEEDS = (1e9, 1.0, 0.05, 0.02)


def host(speeds: Any = SPEEDS, watts: str | None = WATTS, sleep: str | None = "1:2:3", at: int = 0):
    given = {"wattage_per_state": watts, "sleep_pstates": sleep}
    return "h", {name: text for name, text in given.items() if text is not None}, speeds, at


def test_equal_hosts_are_a_group():
    other = host(watts="95:190", sleep=None, speeds=(1e9,))
    groups = find_power_groups([host(), other, host(speeds=(2e9, 1.0, 0.05, 0.02))])
    awake = ProcessorPower(idle_watts=95, computing_watts=190)
    assert groups == (
        PowerGroup(processors("0 2"), BY_HAND, 0, 1),
        PowerGroup(processors("1"), awake, 0, -1),
    )


@pytest.mark.parametrize(
    ("given", "power", "asleep"),
    [
        (host(watts=None), ProcessorPower(off_seconds=20, on_seconds=50), 1),
        (host(speeds=()), ProcessorPower(idle_watts=100, computing_watts=200, asleep_watts=10), 1),
        (host(at=1), ProcessorPower(idle_watts=10, computing_watts=10), -1),
        (host(speeds=(), watts=None), ProcessorPower(), 1),
        (host(sleep="2:0:3,1:2:3", watts=None), ProcessorPower(off_seconds=1e-9, on_seconds=50), 2),
    ],
    ids=["no watts", "Batsim 4.2", "begins asleep", "4.2 without watts", "the first of two"],
)
def test_what_is_not_known(given, power, asleep):
    (group,) = find_power_groups([given])
    assert (group.power, group.asleep_pstate) == (power, asleep)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (host(watts="100:200"), "4 speeds and 1 values"),
        (host(watts=WATTS.replace("10:10:10", "-1:2:3")), "wattage_per_state '-1:2:3'"),
        (host(watts=WATTS.replace("10:10:10", "nan:nan")), "nan:nan"),
        (host(watts=WATTS.replace("200", "1e300")), "computing_watts = 1e.300: expected"),
        (host(sleep="1:2:9"), "from 0 to 3"),
        (host(speeds=(1e9, 1.0, 0.0, 0.02)), "'h': off_seconds = inf"),
        (host(speeds=(1e9, 1.0, 0.05, 1e-20)), "on_seconds = 1e.20"),
    ],
)
def test_malformed_properties_are_named(given, words):
    with pytest.raises(PlatformError, match=words):
        find_power_groups([given])


seconds = st.floats(1e-6, 1e9)
watts = st.none() | st.floats(0, 1e6)
powers = st.builds(
    ProcessorPower,
    **dict.fromkeys(["idle_watts", "computing_watts", "asleep_watts"], watts),
    off_seconds=seconds,
    on_seconds=seconds,
    **dict.fromkeys(["off_joules", "on_joules"], watts),
)


@given(powers)
def test_pstates_give_the_power_back(power):
    """Unknown watts are 0 there; joules come back to rounding, all else to the last bit."""
    group = PowerGroup(processors("1-2"), power)
    platform = add_pstates(make_homogeneous(4, 0.7), (group,))
    others, (read) = platform.find_power()
    assert others.processors == processors("0 3")
    assert (others.power, others.asleep_pstate) == (
        ProcessorPower(idle_watts=0, computing_watts=0),
        -1,
    )
    assert (read.processors, read.awake_pstate, read.asleep_pstate) == (group.processors, 0, 1)
    for name in ProcessorPower.__struct_fields__:
        there, here = getattr(read.power, name), getattr(power, name) or 0
        assert there == (pytest.approx(here, rel=1e-14) if "joules" in name else here)
    assert [each.speeds[0] for each in platform.hosts] == [0.7e9] * 4


def test_the_speeds_of_sites_stay():
    power = ProcessorPower(off_seconds=5, on_seconds=7)
    platform = make_grid(parse_sites("west:2,east:2@1.5"))
    switched = add_pstates(platform, (PowerGroup(processors("0-99"), power),))
    assert [each.speeds[0] for each in switched.hosts] == [1e9, 1e9, 1.5e9, 1.5e9]
    assert {each.speeds[1:] for each in switched.hosts} == {(1.0, 1 / 5, 1 / 7)}
    assert [each.cluster for each in switched.hosts] == [each.cluster for each in platform.hosts]
    assert [each.name for each in switched.hosts] == [each.name for each in platform.hosts]


def test_hosts_that_cannot_sleep_stay_as_they_are():
    platform = make_homogeneous(3)
    metered = ProcessorPower(idle_watts=95, computing_watts=190)
    assert add_pstates(platform, (PowerGroup(processors("0-2"), metered),)) is platform
