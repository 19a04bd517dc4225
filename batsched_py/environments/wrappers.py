"""Wrappers of environments: a reward relative to a policy, and episodes at fixed places."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import cycle
from typing import Any

import gymnasium

from batsched_py.environments.scheduling_env import SchedulingEnv


def _find_base(env: gymnasium.Env[Any, Any]) -> SchedulingEnv:
    base = env.unwrapped
    assert isinstance(base, SchedulingEnv), f"{base}: expected an environment of batsched_py"
    return base


class RelativeReward(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Subtracts what a named policy gets on the same episode, with the last reward of each.

    ``options`` are those of the policy. With ``horizon=end`` too, both are measured to the end of
    the episode. Not for rewards that are functions.

    >>> env = RelativeReward(SchedulingEnv("Backfill", log="sample", jobs=100), "easy")
    """

    def __init__(self, env: gymnasium.Env[Any, Any], scheduler: str, **options: Any) -> None:
        super().__init__(env)
        self._base, self._scheduler, self._options = _find_base(env), scheduler, options

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take an action."""
        seen, reward, terminated, truncated, info = self.env.step(action)
        if terminated or truncated:
            assert self._base.episode is not None
            reward = float(reward) - self._base.episode.measure(self._scheduler, **self._options)[0]
        return seen, float(reward), terminated, truncated, info


class FixedStarts(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Begins the episodes at some places, one after the other and then again, to compare agents.

    ``seed`` is that of the users of each episode.

    >>> env = FixedStarts(SchedulingEnv("Backfill", log="sample", jobs=100), [0, 500, 1000])
    """

    def __init__(self, env: gymnasium.Env[Any, Any], starts: Iterable[int], seed: int = 0) -> None:
        super().__init__(env)
        self._starts, self._seed = cycle(list(starts)), seed

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin the episode at the next place."""
        place = {"start": next(self._starts), "seed": self._seed}
        return self.env.reset(seed=seed, options=place | (options or {}))
