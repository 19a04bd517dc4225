"""Environments for agents that learn by reward, with the interface of gymnasium.

The simulation runs in a greenlet. When its policy asks, it switches to the agent, which switches
back with an action: simulator, users and policies are those of every simulation.
"""

from __future__ import annotations

from functools import partial
from math import inf
from operator import index
from typing import Any, TypeVar

import gymnasium
import msgspec
import numpy as np
from greenlet import GreenletExit, getcurrent, greenlet
from gymnasium.spaces import Box, Dict, Discrete
from numpy.typing import NDArray

from batsched_py.environments.episodes import KEYWORDS, Episode, Episodes, check_keywords
from batsched_py.errors import UsageError
from batsched_py.options.checked_values import convert
from batsched_py.options.option_values import one_of
from batsched_py.run.simulate import execute_unguarded
from batsched_py.schedulers.agent.choices import CHOICES, Asker, count_actions, make_asking_policy
from batsched_py.schedulers.agent.encoder import Encoder, Observation

S = TypeVar("S", bound=msgspec.Struct)


class SchedulingEnv(gymnasium.Env[Any, Any]):
    """An agent schedules the jobs of one episode after the other.

    ``choice`` is what it chooses: a name of :data:`.CHOICES`, with the fields of that class as
    keywords. Further keywords are those of :class:`.Encoder` for what it sees, of
    :class:`.Episodes` for episodes and rewards, and of
    :func:`~batsched_py.run.simulate.simulate`, such as ``log`` and ``users``. An observation is a
    dict of ``jobs``, shape (W, F), and ``machine``, shape (G,).

    ``info`` and :meth:`action_masks` have the mask of the allowed actions. An action that is not
    allowed is to wait, or the first allowed one, and is counted in ``info["invalid_actions"]``.

    >>> env = SchedulingEnv("Backfill", log="sample", users="feedback", jobs=100)
    >>> observation, info = env.reset(seed=1)
    >>> observation, reward, terminated, truncated, info = env.step(info["action_mask"].argmax())
    >>> env.close()
    """

    def __init__(self, choice: str = "Backfill", **options: Any) -> None:
        kind = CHOICES[one_of("choice", choice, CHOICES)]
        check_keywords(options, [*KEYWORDS, *kind.__struct_fields__, *Encoder.__struct_fields__])
        self.choice = _make(kind, options, choice)
        """What the agent chooses."""
        self.encoder = _make(Encoder, options, "encoder")
        if options.get("jobs") is None and "days" not in options:
            options["jobs"] = 256
        self.episodes = Episodes(**options)
        """Where the episodes come from."""
        self.episode: Episode | None = None
        """The current episode."""
        nb_actions = count_actions(self.choice, self.encoder.window)
        shapes = {"jobs": self.encoder.shape, "machine": (len(self.encoder.machine_features),)}
        self.observation_space = Dict({name: Box(0.0, 1.0, shapes[name]) for name in shapes})
        self.action_space = Discrete(nb_actions)
        zeros = {name: np.zeros(shapes[name], np.float32) for name in shapes}
        self._nothing = Observation(**zeros, mask=np.arange(nb_actions) == 0, now=inf)
        self._seen = self._nothing
        self._simulation: greenlet | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode at a random place, or at ``options["start"]``.

        ``options["seed"]`` is that of its users. After the same ``seed``, the same episodes follow.
        An episode without any choice ends with its first step.
        """
        for name in options or ():
            one_of("options", name, ("start", "seed"))
        super().reset(seed=seed)
        self.close()
        self.episode = episode = self.episodes.draw(self.np_random, **options or {})
        self._asker = Asker(self.encoder, lambda seen: getcurrent().parent.switch(seen))
        policy = partial(make_asking_policy, self.choice, self._asker)
        resolved, self._meter = episode.watch(episode.run, policy)
        self._simulation = greenlet(partial(execute_unguarded, progress=False))
        self._seen = self._switch(resolved)
        place = {"start": episode.start, "seed": episode.run.run.seed}
        return self._show(), self._describe() | place | {"log": episode.run.input.sha256}

    def step(self, action: int | np.int64) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take an action; return observation, reward, terminated, truncated and info."""
        if self._simulation is None or self.episode is None:
            raise UsageError("no episode has begun: call reset() first")
        action = index(action)  # else the simulation would fail, and could not go on
        if self._seen.now < inf:
            self._seen = self._switch(action)
        terminated = self._seen.now == inf
        truncated = not terminated and self.episode.end < self._seen.now
        if truncated or terminated:
            reward = self._meter.finish()
            self.close()
        else:
            reward = self._meter.take()
        return self._show(), reward, terminated, truncated, self._describe()

    def action_masks(self) -> NDArray[np.bool_]:
        """Return which actions are allowed now, shape (A,)."""
        return self._seen.mask

    def close(self) -> None:
        """End the open episode, if there is one."""
        if self._simulation is not None:
            self._simulation.parent = getcurrent()
            self._simulation.throw(GreenletExit)
            self._simulation = None

    def _switch(self, value: Any) -> Observation:
        """Let the simulation go on until it asks again; at its end, see nothing."""
        simulation = self._simulation
        assert simulation is not None
        simulation.parent = getcurrent()
        self._simulation = None  # it stays so after an error
        seen = simulation.switch(value)
        self._simulation = simulation
        return seen if isinstance(seen, Observation) else self._nothing

    def _show(self) -> dict[str, Any]:
        return {"jobs": self._seen.jobs, "machine": self._seen.machine}

    def _describe(self) -> dict[str, Any]:
        return {"action_mask": self._seen.mask.copy(), "invalid_actions": self._asker.nb_invalid}


def _make(kind: type[S], options: dict[str, Any], what: str) -> S:
    """Return a struct of its fields among ``options``, which are removed from these."""
    fields = {name: options.pop(name) for name in kind.__struct_fields__ if name in options}
    return convert(fields, kind, what, UsageError)
