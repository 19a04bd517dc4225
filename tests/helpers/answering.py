"""Agents that answer by simple rules, as policies and as players of environments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
from hypothesis import HealthCheck, assume, settings
from hypothesis import strategies as st

from batsched_py import Result
from batsched_py.environments import Encoder, SchedulingEnv, scheduling_env
from batsched_py.environments.episodes import Episode
from batsched_py.errors import InputError, UsageError
from batsched_py.run.simulate import execute_unguarded
from batsched_py.schedulers.agent.choices import Asker, Choice, make_asking_policy
from together.worlds import ACTING, RIGID, World, worlds

few = settings(
    max_examples=max(8, settings().max_examples // 4), suppress_health_check=list(HealthCheck)
)

Rule = Callable[[np.ndarray[Any, Any]], int]
"""Returns an action for a mask of the allowed ones."""


def first_allowed(mask: np.ndarray[Any, Any]) -> int:
    return int(mask.argmax())


def last_allowed(mask: np.ndarray[Any, Any]) -> int:
    return int(mask.nonzero()[0][-1])


class Hashed:
    """Takes any allowed action: always the same after the same answers, here and in a policy."""

    def __init__(self) -> None:
        self.nb = 0

    def __call__(self, mask: np.ndarray[Any, Any]) -> int:
        self.nb += 1
        allowed = mask.nonzero()[0]
        return int(allowed[self.nb * 7919 % 10007 % len(allowed)])


def busy_worlds(**of: Any) -> st.SearchStrategy[World]:
    drawn = worlds(policy="easy", **of).map(lambda world: replace(world, policy_options={}))
    return drawn.filter(lambda world: world.nb_jobs > 3 and world.nodes > 1)


def users() -> st.SearchStrategy[str]:
    return st.sampled_from([RIGID, "feedback", ACTING])


def episode_of(world: World, reward: Any = "wait") -> Episode:
    """Return a world as an episode; one whose options do not go together is left out."""
    try:
        run = replace(world, policy="agent").resolve()  # on a machine that it can decide for
        return Episode(start=0, run=run, reward=reward, begin=0.0, end=float("inf"))
    except (UsageError, InputError):
        assume(False)
        raise


def policy_of(choice: Choice, rule: Rule, order: str = "fcfs") -> Callable[[], Any]:
    """Return what makes a policy that answers by a rule, which sees 400 jobs in an order."""
    arrangement = "submission" if order == "fcfs" else order
    asked = Asker(Encoder(window=400, arrangement=arrangement), lambda seen: rule(seen.mask))
    return lambda: make_asking_policy(choice, asked)


class OnlyEpisode:
    """Episodes in place of those of a log: always the same."""

    def __init__(self, episode: Episode) -> None:
        self._episode = episode

    def draw(self, random: np.random.Generator) -> Episode:
        return self._episode


def make_environment(episode: Episode, choice: Choice) -> SchedulingEnv:
    """Return an environment of one episode."""
    fields = {name: getattr(choice, name) for name in choice.__struct_fields__}
    fixed = {"jobs": 1, "log": "sample", "first": 1}
    env = SchedulingEnv(type(choice).__name__, **fixed, window=400, **fields)
    env.episodes = OnlyEpisode(episode)  # type: ignore[assignment]
    return env


def play(env: SchedulingEnv, rule: Rule, **reset: Any) -> tuple[list[float], Result | None]:
    """Return the rewards of an episode and its result, None if it was cut off."""
    results: list[Result] = []

    def keep(resolved: Any, **options: Any) -> None:
        results.append(execute_unguarded(resolved, **options))

    with patch.object(scheduling_env, "execute_unguarded", keep):
        _, info = env.reset(**reset)
        rewards, ended = [], False
        while not ended:
            _, reward, terminated, truncated, info = env.step(rule(info["action_mask"]))
            rewards.append(reward)
            ended = terminated or truncated
    return rewards, results[0] if results else None
