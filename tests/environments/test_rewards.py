"""Rewards sum to metrics, and to what the table of the jobs gives."""

from __future__ import annotations

from dataclasses import replace
from math import inf, isnan
from typing import Any

import msgspec
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py import Result
from batsched_py.environments import Backfill, Episode, Episodes, Start
from batsched_py.environments.rewards import Life
from batsched_py.errors import UsageError
from batsched_py.run.resolved_run import resolve
from batsched_py.run.settings import Settings
from batsched_py.schedulers.easy import Easy
from helpers.answering import (
    busy_worlds,
    episode_of,
    few,
    first_allowed,
    make_environment,
    play,
    policy_of,
    users,
)
from together.worlds import ACTING

METRICS = {"slowdown": "mean_bounded_slowdown", "wait": "mean_waiting_time"}


def expect(result: Result, episode: Episode, reward: str) -> float:
    """Return the sum of the rewards, job by job from the tables."""
    table, measured, total = result.table, episode.recorded, 0.0
    submitted: set[str] = set()
    last = min(episode.end, max([0.0, *(t for t in table.finish if not isnan(t))]))
    for row, (name, state) in enumerate(result.jobs[["job_id", "final_state"]].to_numpy()):
        submit, start, finish = (float(c[row]) for c in (table.submit, table.start, table.finish))
        assert state != "REJECTED"
        if submit > episode.end or name not in measured:
            continue
        submitted.add(name)
        start, end = min(start, last), min(finish, last)
        run = finish - float(table.start[row]) if finish <= episode.end else measured[name].run_time
        recorded = measured[name].submit_time
        total += {
            "slowdown": -max(1.0, (start - submit + run) / max(run, 10.0)),
            "wait": submit - start,
            "response": recorded - end,
            "work": measured[name].size * (end - start),
        }[reward]
    if reward == "work":
        return total / (sum(job.size * job.run_time for job in measured.values()) or 1.0)
    if reward == "response":
        missing = [job.submit_time for name, job in measured.items() if name not in submitted]
        total -= sum(max(0.0, last - time) for time in missing)
    return total / len(measured)


@few
@given(st.data(), st.sampled_from(["slowdown", "wait", "response", "work"]))
def test_rewards_of_an_episode_that_is_cut_off(data: st.DataObject, reward: str) -> None:
    """Step by step, and by the policy; in worlds where all jobs can run."""
    world = data.draw(busy_worlds(users=data.draw(users())))
    policy, rigid = policy_of(Backfill(), first_allowed), episode_of(world, reward)
    times = sorted({0.0, *(job.submit_time for job in rigid.run.workload.jobs)})
    begin = data.draw(st.sampled_from(times[: len(times) // 2 + 1]))
    later = st.sampled_from(times[len(times) // 2 :]).map(lambda time: time + 5.5)
    end = data.draw(st.one_of(st.just(inf), later))
    episode = msgspec.structs.replace(rigid, begin=begin, end=end)
    got, result = episode.measure(policy)
    rewards, _ = play(make_environment(episode, Backfill()), first_allowed)
    assert sum(rewards) == pytest.approx(got, rel=1e-9, abs=1e-9)
    usual = world.plain and world.seconds is None and world.settings["profile"] == "delay"
    usual &= world.users != ACTING
    if usual and episode.recorded and "REJECTED" not in set(result.jobs["final_state"]):
        assert got == pytest.approx(expect(result, episode, reward), rel=1e-6, abs=1e-6)


@few
@given(st.data())
def test_users_who_kill_jobs_whose_processors_wake(data: st.DataObject) -> None:
    """Step by step, and by the policy; each job that ran has ended once."""
    world = replace(data.draw(busy_worlds(users=ACTING, sleeps=True)), user_options={"kills": 1})
    lives: list[Life] = []
    episode = msgspec.structs.replace(episode_of(world, "wait"), end=world.begins + 50.5)
    got = episode.measure(policy_of(Start(), first_allowed)).reward
    rewards, _ = play(make_environment(episode, Start()), first_allowed)
    assert sum(rewards) == pytest.approx(got, rel=1e-9, abs=1e-9)
    watched = episode_of(world, lambda life: lives.append(life) or 0.0)
    table = watched.measure(policy_of(Start(), first_allowed)).result.table
    assert sum(life.has_ended for life in lives) == sum(not isnan(start) for start in table.start)


def test_a_job_of_no_length_has_started() -> None:
    columns = {"job_number": [1], "submit_time": [0], "run_time": [0], "requested_processors": [1]}
    run = resolve(Settings(nodes=1, profile="delay"), pd.DataFrame(columns))
    rewarded = Episode(start=0, run=run, reward=lambda life: life.has_started, begin=0.0, end=inf)
    assert rewarded.measure("fcfs").reward == 1.0


def test_the_result_names_the_policy() -> None:
    result = Episodes(log="sample", jobs=9).at(0).measure(lambda: Easy(order="sjf")).result
    assert "policy Easy" in str(result)


@pytest.mark.parametrize("users", ["rigid", "feedback"])
@pytest.mark.parametrize("reward", METRICS)
@pytest.mark.parametrize("place", [{"jobs": 150}, {"days": 2, "warm_up": "1 day"}])
def test_rewards_are_metrics(reward: str, users: str, place: dict[str, Any]) -> None:
    episodes = Episodes(log="sample", users=users, reward=reward, **place)
    for start in episodes.starts[3:2000:400]:
        got, result = episodes.at(start).measure("easy")
        assert got == pytest.approx(-result.metrics[METRICS[reward]], abs=1e-8)  # 1e-5 s at least


@pytest.mark.parametrize("users", ["site", "weekly", "synthetic"])
def test_response_is_not_for_users_who_make_up_their_jobs(users: str) -> None:
    episode = Episodes(log="sample", users=users, days=3, reward="response").at(4)
    with pytest.raises(UsageError, match="make up their jobs"):
        episode.measure("easy")


def test_all_work_is_done() -> None:
    episode = Episodes(log="sample", jobs=150, reward="work").at(7)
    assert episode.measure("fcfs").reward == pytest.approx(1.0, abs=1e-9)
