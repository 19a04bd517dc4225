"""The environments of gymnasium: spaces, seeds, wrong actions, open episodes, and errors."""

from __future__ import annotations

import gc
import warnings
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from greenlet import greenlet
from gymnasium.utils.env_checker import check_env

import batsched_py.environments
from batsched_py.environments import Backfill, Episodes, SchedulingEnv
from batsched_py.errors import BatschedError, UsageError
from helpers.answering import first_allowed, policy_of
from helpers.partitions import entry

CHOICES = ["Backfill", "Start", "Head", "Order"]


def make(choice: str = "Start", **options: Any) -> SchedulingEnv:
    return SchedulingEnv(choice, **{"log": "sample", "jobs": 60} | options)


@pytest.mark.parametrize("choice", CHOICES)
def test_check_env(choice: str) -> None:
    name = f"{batsched_py.environments.__name__.partition('.')[0]}/{choice}-v0"
    env = gymnasium.make(name, log="sample", jobs=60)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped, skip_render_check=True)


def walk(env: SchedulingEnv, **reset: Any) -> list[Any]:
    """Return the first rewards and masks of an episode of random actions."""
    _, info = env.reset(**reset)
    random, seen = np.random.default_rng(3), [info["start"], info["seed"]]
    for _ in range(99):
        _, reward, terminated, _, info = env.step(random.choice(info["action_mask"].nonzero()[0]))
        seen += [reward, info["action_mask"].tolist()]
        if terminated:
            break
    return seen


def test_seeds() -> None:
    first, second = make(users="feedback"), make(users="feedback")
    assert walk(first, seed=5) == walk(second, seed=5)
    assert walk(first) == walk(second) != walk(first, seed=5)
    again = walk(first, options={"start": 7, "seed": 1})
    assert again == walk(second, options={"start": 7, "seed": 1})
    assert again[:2] == [7, 1]


@pytest.mark.parametrize("choice", CHOICES)
def test_an_action_that_is_not_allowed_is_counted(choice: str) -> None:
    env = make(choice, jobs=200)
    _, info = env.reset(seed=1)
    nb, ended = 0, False
    while not ended:
        nb += info["action_mask"].sum() > 1
        *_, ended, _, info = env.step(10_000)
    assert info["invalid_actions"] == nb > 0


def test_open_episodes_end() -> None:
    def count() -> int:
        gc.collect()
        return sum(issubclass(type(each), greenlet) for each in gc.get_objects())

    env, before = make(jobs=30), count()
    for _ in range(1000):
        env.reset()
    env.close()
    env.close()
    assert count() <= before + 1
    for _ in range(9):  # also those of environments that nobody closes
        make(jobs=30).reset(seed=1)
    assert count() <= before + 1
    with pytest.raises(UsageError, match="reset"):
        env.step(0)


@pytest.mark.parametrize("wrong", ["0", None, 1.5, float("nan"), np.array([1])])
def test_an_action_that_is_no_whole_number_does_not_end_the_episode(wrong: Any) -> None:
    env, other = make(), make()
    _, info = env.reset(seed=1)
    other.reset(seed=1)
    with pytest.raises(TypeError):
        env.step(wrong)
    action = info["action_mask"].argmax()
    assert env.step(action)[1:4] == other.step(action)[1:4]


def test_an_episode_without_a_choice_ends_with_its_first_step() -> None:
    env = make(jobs=1)
    env.reset(seed=0)
    _, reward, terminated, _, _ = env.step(0)
    assert terminated
    assert reward == -1.0


class Failing:
    """Users whose model fails after some jobs."""

    def __init__(self, workload: Any) -> None:
        self.profiles, self._jobs = workload.profiles, list(workload.jobs)

    def next_submission(self) -> float:
        return self._jobs[0].submit_time

    def jobs_to_submit(self, now: float) -> Any:
        if len(self._jobs) < 10:
            raise ValueError("enough")
        yield self._jobs.pop(0)

    def job_ended(self, now: float, job: Any, state: str) -> None:
        pass


def test_errors_of_the_simulation_reach_the_step() -> None:
    env = make(users=Failing)
    for seed in (1, 2):
        with pytest.raises((ValueError, BatschedError), match="enough"):
            walk(env, seed=seed)
        with pytest.raises(UsageError, match="reset"):
            env.step(0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"choice": "Backfil"}, "did you mean 'Backfill'"),
        ({"windw": 3}, r"no keyword 'windw' \(did you mean 'window'"),
        ({"horizons": 3}, r"no keyword 'horizons' \(did you mean 'horizon'"),
        ({"logg": "sample"}, r"no keyword 'logg' \(did you mean 'log'"),
        ({"options": 3}, "no keyword 'options'"),
        ({"settings": 3}, "no keyword 'settings'"),
        ({"jobs": None, "days": 3, "warm_up": -1}, "warm_up=-1"),
        ({"jobs": 0}, "jobs=0"),
        ({"jobs": 2.5}, "jobs=2.5"),
        ({"jobs": "5"}, "jobs=5"),
        ({"days": 3}, "give one of them"),
        ({"jobs": None, "days": 1000}, "the log has 60 days"),
        ({"jobs": None, "days": 3, "warm_up": "90 days"}, "after a warm_up of 90 days"),
        ({"horizon": "end"}, "episodes of days"),
        ({"reward": "speed"}, "expected one of slowdown"),
        ({"scheduler": "sjf"}, "scheduler"),
        ({"seed": 3}, "seed"),
        ({"order": "sfj", "choice": "Backfill"}, "sfj"),
        ({"window": 0}, "window=0"),
        ({"arrangement": "end"}, "submission, ends"),
        ({"features": ["siz"]}, "did you mean 'size'"),
    ],
)
def test_wrong_options(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make(**wrong)


def test_wrong_keywords_of_episodes() -> None:
    with pytest.raises(UsageError, match=r"no keyword 'user' \(did you mean 'users'"):
        Episodes(log="sample", jobs=60, user="feedback")
    with pytest.raises(UsageError, match=r"no keyword 'dayz' \(did you mean 'days'"):
        Episodes(log="sample", dayz=7)


@pytest.mark.parametrize("start", [-1, 3371, "3"])
def test_places_that_are_none(start: Any) -> None:
    assert Episodes(log="sample", jobs=60).starts[-1] == 3370
    with pytest.raises(UsageError, match=f"start={start}"):
        make().reset(options={"start": start})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strat": 3}, r"options=strat \(did you mean 'start'\?\): expected one of start, seed"),
        ({"seed": -1}, "seed=-1: expected a whole number"),
        ({"seed": "a"}, "seed=a: expected a whole number"),
    ],
)
def test_wrong_options_of_a_reset(options: dict[str, Any], message: str) -> None:
    env = make()
    env.reset(seed=1)
    with pytest.raises(UsageError, match=message):
        env.reset(options=options)


def test_numbers_of_numpy_are_places() -> None:
    env = make()
    _, info = env.reset(options={"start": np.int64(7), "seed": np.uint32(5)})
    assert [info["start"], info["seed"]] == [7, 5]
    assert type(info["start"]) is type(info["seed"]) is int


def test_nodes_with_memory_count_cores(tmp_path: Path) -> None:
    """Agents place no jobs on nodes; a policy that does is measured on the same machine."""
    machine = tmp_path / "machine.toml"
    machine.write_text(entry("nodes", count=32, cores=4, memory="8 GiB"))
    episode = Episodes(log="sample", jobs=60, machine=machine).at(0)
    agent = episode.measure(policy_of(Backfill(), first_allowed)).result
    easy = episode.measure("easy").result
    assert agent.jobs["starting_time"].equals(easy.jobs["starting_time"])
    assert any("it counts the cores of all" in note for note in agent.settings["notes"])
