"""An agent that answers by a simple rule gives the schedule of the policy that has this rule."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.environments import (
    Agent,
    Backfill,
    Encoder,
    Head,
    Layer,
    Order,
    Priority,
    SchedulingEnv,
    Start,
    make_policy,
)
from batsched_py.schedulers.agent.choices import Choice
from helpers.answering import (
    Hashed,
    Rule,
    busy_worlds,
    episode_of,
    few,
    first_allowed,
    last_allowed,
    make_environment,
    play,
    policy_of,
    users,
)
from together.worlds import RIGID, World

ORDERS = ["fcfs", "lcfs", "sjf", "widest", "expansion_factor"]


def check_twin(world: World, policy: Any, twin: str, **options: Any) -> None:
    episode = episode_of(world)
    own = episode.measure(policy).result
    other = episode.measure(twin, **options).result
    assert own.jobs_csv() == other.jobs_csv()
    assert own.output.schedule_csv() == other.output.schedule_csv()


@few
@given(st.data(), st.sampled_from(ORDERS), st.sampled_from(ORDERS))
def test_backfill_of_the_first_in_an_order(data: st.DataObject, order: str, behind: str) -> None:
    world = data.draw(busy_worlds(users=data.draw(users())))
    policy = policy_of(Backfill(order), first_allowed, behind)
    check_twin(world, policy, "easy", order=order, backfill_order=behind)


@few
@given(st.data(), st.sampled_from(ORDERS))
def test_the_first_in_an_order_is_head(data: st.DataObject, order: str) -> None:
    world = data.draw(busy_worlds(users=data.draw(users())))
    policy = policy_of(Head(), first_allowed, order)
    check_twin(world, policy, "easy", order=order, backfill_order="fcfs")


@few
@given(st.data(), st.sampled_from(ORDERS))
def test_no_backfilling(data: st.DataObject, order: str) -> None:
    """Only on processors that do not sleep: EASY may wait rather than wake some."""
    world = data.draw(busy_worlds(users=data.draw(users()), sleeps=False))
    policy = policy_of(Head(backfill=False), first_allowed, order)
    check_twin(world, policy, "list", order=order)
    check_twin(world, policy_of(Backfill(order), last_allowed), "list", order=order)


@few
@given(st.data(), st.sampled_from(ORDERS))
def test_start_what_fits(data: st.DataObject, order: str) -> None:
    world = data.draw(busy_worlds(users=data.draw(users())))
    policy = policy_of(Start(), first_allowed, order)
    check_twin(world, policy, "list", order=order, take="first_fit")


@few
@given(st.data(), st.integers(0, 4))
def test_always_the_same_order(data: st.DataObject, at: int) -> None:
    world = data.draw(busy_worlds(users=data.draw(users())))
    check_twin(world, policy_of(Order(tuple(ORDERS)), lambda mask: at), "easy", order=ORDERS[at])


@few
@given(st.data(), st.sampled_from([("log_estimate", "sjf"), ("size", "narrowest")]))
def test_linear_priorities(data: st.DataObject, rule: tuple[str, str]) -> None:
    world = data.draw(busy_worlds(users=data.draw(users())))
    feature, order = rule
    encoder = Encoder(features=(feature, "log_wait"))
    layers = [Layer([[-1.0], *[[0.0]] * 5], [0.5])]
    agent = Agent(decides=Priority(), encoder=encoder, layers=layers)
    check_twin(world, lambda: make_policy(agent), "easy", order=order)


@pytest.mark.parametrize("choice", [Backfill("sjf"), Start(), Head(), Head(commit=True), Order()])
@few
@given(st.data(), st.sampled_from([first_allowed, last_allowed, Hashed]))
def test_an_environment_is_the_policy(choice: Choice, data: st.DataObject, kind: Any) -> None:
    """Any answers give the schedule and the rewards of a policy that gives the same ones."""

    def rule() -> Rule:
        return kind() if kind is Hashed else kind

    world = data.draw(busy_worlds(users=data.draw(users())))
    episode = episode_of(world)
    reward, result = episode.measure(policy_of(choice, rule()))
    env = make_environment(episode, choice)
    rewards, own = play(env, rule())
    assert own is not None
    assert own.jobs_csv() == result.jobs_csv()
    assert sum(rewards) == pytest.approx(reward, rel=1e-9, abs=1e-9)


@pytest.mark.process
@pytest.mark.parametrize("users", [RIGID, "feedback"])
@pytest.mark.parametrize("choice", ["Backfill", "Head"])
def test_behind_a_socket(choice: str, users: str) -> None:
    """The same as with the embedded simulator, also after an open episode."""
    played = []
    for backend in ("embedded", "socket"):
        env = SchedulingEnv(choice, log="sample", jobs=150, users=users, backend=backend)
        env.reset(seed=2)
        rewards, result = play(env, Hashed(), options={"start": 600, "seed": 3})
        assert result is not None
        played.append([result.jobs_csv(), sum(rewards)])
    assert played[0] == [played[1][0], pytest.approx(played[1][1], rel=1e-9)]
