"""Any policy, any users, any machine: what must hold in every simulation, on a few drawn ones.

``make model`` draws as many as time allows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from batsched_py.environments import Head
from batsched_py.plugins.plugins import RIGID
from helpers.agents import make_agent
from together import checks
from together.worlds import ACTING, MODELS, POLICIES, POWER, Machine, Partition, World, worlds

NB_WORLDS = settings().max_examples // 12
"""Of each policy and each user model."""
few = settings(max_examples=NB_WORLDS, suppress_health_check=list(HealthCheck))
one = settings(max_examples=1, suppress_health_check=list(HealthCheck))


def busy_worlds(**of: Any) -> st.SearchStrategy[World]:
    """Worlds in which jobs meet; hypothesis begins with three jobs on one processor."""
    return worlds(**of).filter(lambda world: world.nb_jobs > 3 and world.nodes > 1)


FOUND = [
    World(
        policy="conservative",  # a job that an outage held back was due twice
        policy_options={},
        users=ACTING,
        user_options={"chains": 1},
        nb_jobs=66,
        seed=85,
        gaps=(1,),
        lengths=(0, 0, 60),
        begins=0,
        nodes=9,
        machine=Machine(
            cores=3,
            count=3,
            partitions=(
                Partition((0, 2), False, ()),
                Partition((0, 0), True, ()),
                Partition((1, 1), True, (("tier", 1),)),
            ),
            outages=((370, 390, 1, True), (10, 220, 2, True)),
        ),
        sites=None,
        walltime="double",
        settings={
            "profile": "delay",
            "shake": 1,
            "speed_factor": 1.0,
            "runtime": "cut-at-request",
        },
    ),
    World(
        policy="multifactor",  # it kept withdrawn jobs among its new ones
        policy_options={},
        users=ACTING,
        user_options={},
        nb_jobs=66,
        seed=0,
        gaps=(0, 1, 400),
        lengths=(1, 1, 2, 5, 30),
        begins=0,
        nodes=2,
        machine=None,
        sites="s0:2",
        walltime="requested",
        settings={
            "profile": "delay",
            "speed_factor": 1.0,
            "runtime": "cut-at-request",
            "homes": "user",
            "split": None,
        },
    ),
    World(
        policy="conservative",  # no pass came as an outage took a processor that was being woken
        policy_options={},
        users=RIGID,
        user_options={},
        nb_jobs=20,
        seed=0,
        gaps=(0, 1, 30),
        lengths=(1, 1, 2, 5, 30),
        begins=0,
        nodes=2,
        machine=Machine(
            cores=1,
            count=2,
            partitions=(Partition((0, 1), False, ()), Partition((0, 0), False, ())),
            outages=((40, 60, 0, False),),
        ),
        sites=None,
        walltime="requested",
        settings={
            "profile": "delay",
            "speed_factor": 1.0,
            "runtime": "recorded",
            "power": POWER | {"off_seconds": 20.0, "on_seconds": 20.0},
            "shutdown": {"idle_time": 0},
        },
    ),
]
"""Worlds that showed faults."""


@pytest.mark.parametrize("world", FOUND, ids=lambda world: world.policy)
def test_where_faults_were(world: World) -> None:
    checks.check_policy(world)
    checks.check_invariants(world)


@pytest.mark.parametrize("commit", [False, True])
def test_a_chosen_head_that_is_withdrawn_is_forgotten(commit: bool, tmp_path: Path) -> None:
    make_agent(Head(commit, backfill=False), 1).save(tmp_path / "agent.json")
    world = World(
        policy="agent",
        policy_options={"weights": str(tmp_path / "agent.json")},
        users=ACTING,
        user_options={},
        nb_jobs=20,
        seed=25,
        gaps=(1,),
        lengths=(0, 1, 1, 5),
        begins=0,
        nodes=1,
        machine=None,
        sites=None,
        walltime="requested",
        settings={"profile": "delay", "speed_factor": 1.0, "runtime": "recorded"},
    )
    checks.check_policy(world)


def of_users(*models: str | None) -> pytest.MarkDecorator:
    """Run a test for each of these user models; None: for any, as they are drawn."""
    names = [str(name).rpartition(":")[2] for name in models]
    return pytest.mark.parametrize("users", models, ids=names)


@pytest.mark.parametrize("policy", POLICIES)
@few
@given(st.data())
def test_invariants_of_every_policy(policy: str, data: st.DataObject) -> None:
    checks.check_invariants(data.draw(busy_worlds(policy=policy)))


@pytest.mark.parametrize("policy", POLICIES)
@few
@given(st.data())
def test_every_policy_with_users_who_withdraw(policy: str, data: st.DataObject) -> None:
    world = data.draw(busy_worlds(policy=policy, users=ACTING))
    checks.check_invariants(world)
    checks.check_policy(world)
    if not {"each_event", "shake"} & set(world.settings):
        checks.check_messages(world)


@pytest.mark.parametrize("policy", POLICIES)
@few
@given(st.data())
def test_every_policy_on_machines_that_sleep(policy: str, data: st.DataObject) -> None:
    world = data.draw(busy_worlds(policy=policy, sleeps=True))
    checks.check_invariants(world)
    checks.check_policy(world)
    checks.check_no_time_to_sleep(world)
    if not {"each_event", "shake"} & set(world.settings):
        checks.check_messages(world)


@of_users(RIGID, ACTING)
@settings(max_examples=NB_WORLDS * 4, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_easy_keeps_its_first_promise(users: str, data: st.DataObject) -> None:
    drawn = busy_worlds(policy="easy", users=users, sleeps=True)
    checks.check_first_promise(data.draw(drawn.filter(lambda world: world.plain)))


@of_users(*MODELS)
@few
@given(st.data())
def test_invariants_of_every_user_model(users: str, data: st.DataObject) -> None:
    checks.check_invariants(data.draw(busy_worlds(users=users)))


@of_users(*MODELS[1:])
@few
@given(st.data())
def test_users_who_only_look_change_nothing(users: str, data: st.DataObject) -> None:
    checks.check_onlookers(data.draw(busy_worlds(users=users)))


@of_users(RIGID, ACTING)
@pytest.mark.parametrize("policy", ["easy", "fcfs", "filler"])
@settings(max_examples=NB_WORLDS * 6, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_the_promises_of_simple_policies(policy: str, users: str, data: st.DataObject) -> None:
    """Only on plain machines, of jobs whose order is known."""
    drawn = busy_worlds(policy=policy, users=users).filter(lambda world: world.plain)
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


@of_users(*MODELS)
@few
@given(st.data())
def test_messages_change_nothing_with_every_user_model(users: str, data: st.DataObject) -> None:
    checks.check_messages(data.draw(busy_worlds(users=users)))


@of_users(*MODELS)
@one
@given(st.data())
def test_nobody_knows_the_future(users: str, data: st.DataObject) -> None:
    checks.check_causality(data.draw(busy_worlds(users=users)))


@few
@given(busy_worlds(users="rigid"))
def test_energy_is_that_of_the_hosts_in_use(world: World) -> None:
    checks.check_energy(world)


@pytest.mark.process
@of_users(None, ACTING)
@pytest.mark.parametrize("backend", ["socket", "socket5"])
@one
@given(st.data())
def test_sockets_change_nothing(backend: str, users: str | None, data: st.DataObject) -> None:
    checks.check_socket(data.draw(busy_worlds(users=users)), backend)


@pytest.mark.process
@of_users(RIGID, ACTING)
@pytest.mark.parametrize("backend", ["socket", "socket5"])
@one
@given(st.data())
def test_sockets_switch_as_the_embedded_one(backend: str, users: str, data: st.DataObject) -> None:
    checks.check_socket(data.draw(busy_worlds(users=users, sleeps=True)), backend)


SHAKEN = World(
    policy="easy",
    policy_options={},
    users=ACTING,
    user_options={"chains": 1},
    nb_jobs=20,
    seed=1,
    gaps=(0, 0, 0, 1),
    lengths=(1,),
    begins=0,
    nodes=1,
    machine=None,
    sites=None,
    walltime="double",
    settings={
        "profile": "parallel_homogeneous",
        "shake": 1,
        "speed_factor": 1.0,
        "runtime": "recorded",
        "power": POWER | {"off_seconds": 10.0, "on_seconds": 50.0},
        "shutdown": {"idle_time": 0},
    },
)


@pytest.mark.process
@pytest.mark.parametrize("backend", ["socket", "socket5"])
@one
@given(st.just(SHAKEN))
def test_a_seed_shakes_sockets_as_the_embedded_one(backend: str, world: World) -> None:
    checks.check_socket(world, backend)


@of_users(*(name for name in MODELS if name != "rigid"))
@pytest.mark.parametrize("protocol", [4, 5])
@one
@given(st.data())
def test_a_scheduler_of_others_meets_users(protocol: int, users: str, data: st.DataObject) -> None:
    checks.check_proxy(data.draw(busy_worlds(users=users)), protocol)


@pytest.mark.process
@pytest.mark.slow
@one
@given(busy_worlds())
def test_a_killed_campaign_goes_on(world: World) -> None:
    checks.check_resumption(world)
