"""Machines that sleep: all drivers give the jobs, the switches and the joules of the slow twin."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers.sleeping_cases import CASES, WATTS, SleepingCase
from helpers.sleeping_worlds import Seen, SleepingWorld, sleeping_worlds, without_collisions

many = settings(max_examples=2 * settings().max_examples, suppress_health_check=list(HealthCheck))


def assert_equal(seen: Seen, expected: Seen) -> None:
    """Joules are compared if somebody accounted for them."""
    assert seen.jobs == expected.jobs
    assert seen.switches == expected.switches
    if seen.joules is not None:
        assert seen.joules == pytest.approx(expected.joules, rel=1e-12, abs=1e-9)


@many
@given(sleeping_worlds())
def test_without_messages(world: SleepingWorld) -> None:
    assert_equal(world.direct(), world.expected())


@many
@given(sleeping_worlds(outages=True))
def test_with_messages(world: SleepingWorld) -> None:
    assert_equal(world.with_messages(), world.expected())


@given(sleeping_worlds())
def test_with_messages_of_batsim_5(world: SleepingWorld) -> None:
    assert_equal(world.with_messages(5), world.expected())


@given(sleeping_worlds())
def test_without_an_account_of_energy(world: SleepingWorld) -> None:
    seen = world.with_messages(energy=False, switching=True)
    assert_equal(seen, world.expected())
    assert seen.joules is None


@given(sleeping_worlds(users=False), st.integers(0, 99))
def test_the_order_of_simultaneous_events(drawn: SleepingWorld, shake: int) -> None:
    """It matters only where a processor may be needed at the instant at which it is due to go."""
    world = without_collisions(drawn)
    assert_equal(world.with_messages(shake=shake), world.expected())


@pytest.mark.parametrize("case", CASES, ids=[str(at) for at in range(len(CASES))])
def test_cases_by_hand(case: SleepingCase) -> None:
    world = SleepingWorld(
        *(case.policy, case.idle_time, case.keep, tuple(case.seconds), tuple(case.jobs)),
        *(case.outages, case.withdrawals),
        has_users=bool(case.withdrawals),
    )
    seen = world.with_messages(watts=WATTS)
    assert (seen.jobs, seen.switches) == (case.runs, case.switches)
    assert seen.joules == pytest.approx(sum(case.joules), rel=1e-12)
