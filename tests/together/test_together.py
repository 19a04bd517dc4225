"""Any policy, any users, any machine: what must hold in every simulation, on a few drawn ones.

``make model`` draws as many as time allows.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from together import checks
from together.worlds import MODELS, POLICIES, World, worlds

NB_WORLDS = settings().max_examples // 12
"""Of each policy and each user model."""
few = settings(max_examples=NB_WORLDS, suppress_health_check=list(HealthCheck))
one = settings(max_examples=1, suppress_health_check=list(HealthCheck))


def busy_worlds(**of: Any) -> st.SearchStrategy[World]:
    """Worlds in which jobs meet; hypothesis begins with three jobs on one processor."""
    return worlds(**of).filter(lambda world: world.nb_jobs > 3 and world.nodes > 1)


@pytest.mark.parametrize("policy", POLICIES)
@few
@given(st.data())
def test_invariants_of_every_policy(policy: str, data: st.DataObject) -> None:
    checks.check_invariants(data.draw(busy_worlds(policy=policy)))


@pytest.mark.parametrize("users", MODELS)
@few
@given(st.data())
def test_invariants_of_every_user_model(users: str, data: st.DataObject) -> None:
    checks.check_invariants(data.draw(busy_worlds(users=users)))


@pytest.mark.parametrize("policy", ["easy", "fcfs", "filler"])
@settings(max_examples=NB_WORLDS * 6, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_the_promises_of_simple_policies(policy: str, data: st.DataObject) -> None:
    """Only on plain machines, of jobs whose order is known."""
    drawn = busy_worlds(policy=policy, users="rigid").filter(lambda world: world.plain)
    checks.check_invariants(data.draw(drawn))


@few
@given(busy_worlds())
def test_a_run_is_the_same_after_others(world: World) -> None:
    checks.check_the_same_again(world)


@pytest.mark.parametrize("policy", POLICIES)
@few
@given(st.data())
def test_messages_change_nothing_under_every_policy(policy: str, data: st.DataObject) -> None:
    checks.check_messages(data.draw(busy_worlds(policy=policy)))


@pytest.mark.parametrize("users", MODELS)
@few
@given(st.data())
def test_messages_change_nothing_with_every_user_model(users: str, data: st.DataObject) -> None:
    checks.check_messages(data.draw(busy_worlds(users=users)))


@pytest.mark.parametrize("users", MODELS)
@one
@given(st.data())
def test_nobody_knows_the_future(users: str, data: st.DataObject) -> None:
    checks.check_causality(data.draw(busy_worlds(users=users)))


@few
@given(busy_worlds(users="rigid"))
def test_energy_is_that_of_the_hosts_in_use(world: World) -> None:
    checks.check_energy(world)


@pytest.mark.process
@pytest.mark.parametrize("backend", ["socket", "socket5"])
@one
@given(st.data())
def test_sockets_change_nothing(backend: str, data: st.DataObject) -> None:
    checks.check_socket(data.draw(busy_worlds()), backend)


@pytest.mark.process
@pytest.mark.slow
@one
@given(busy_worlds())
def test_a_killed_campaign_goes_on(world: World) -> None:
    checks.check_resumption(world)
