"""Rows of environments in which agents learn: steps, resets, and training by MaskablePPO."""

from __future__ import annotations

from collections.abc import Callable

from measuring import Bench, Measured, SkippedError, cpu, row

from batsched_py.environments import SchedulingEnv
from batsched_py.errors import MissingExtraError

PLACES = 4
"""Episodes of 256 jobs each, at equal distances in the log."""


class Played:
    """The same episodes of an environment each time, with the first allowed actions."""

    def __init__(self, bench: Bench, choice: str, users: dict[str, str]) -> None:
        self.env = SchedulingEnv(choice, log=str(bench.log), jobs=256, **users)
        starts = self.env.episodes.starts
        self._starts = starts[:: len(starts) // PLACES][:PLACES]
        self.nb_steps = self.play()

    def reset(self) -> None:
        for start in self._starts:
            self.env.reset(options={"start": start})

    def play(self) -> int:
        nb_steps = 0
        for start in self._starts:
            self.env.reset(options={"start": start})
            done = False
            while not done:
                _, _, terminated, truncated, _ = self.env.step(self.env.action_masks().argmax())
                done, nb_steps = terminated or truncated, nb_steps + 1
        return nb_steps

    def simulate(self) -> None:
        for start in self._starts:
            self.env.episodes.at(start).measure("easy")


def in_ms(standard: float, seconds: float) -> str:
    """Return what to note of episodes or resets: milliseconds of one."""
    return f"{1e3 * seconds / PLACES:.1f} ms beside {1e3 * standard / PLACES:.1f}"


def steps(choice: str, users: dict[str, str]) -> Callable[[Bench], Measured]:
    """Return the measurement of episodes against EASY's simulation of them."""

    def measure(bench: Bench) -> Measured:
        played = Played(bench, choice, users)
        return bench.paired(
            lambda: cpu(played.simulate),
            lambda: cpu(played.play),
            lambda standard, seconds: (
                f"{played.nb_steps / seconds:,.0f} steps a second; an episode "
                + in_ms(standard, seconds)
            ),
        )

    return measure


def resets(users: dict[str, str]) -> Callable[[Bench], Measured]:
    """Return the measurement of resets, each up to its first choice, against EASY's simulation."""

    def measure(bench: Bench) -> Measured:
        played = Played(bench, "Backfill", users)
        return bench.paired(lambda: cpu(played.simulate), lambda: cpu(played.reset), in_ms)

    return measure


def training(nb_envs: int, users: dict[str, str]) -> Callable[[Bench], Measured]:
    """Return the measurement of a step of MaskablePPO against one of an environment."""

    def measure(bench: Bench) -> Measured:
        try:
            from batsched_studies.learning.train_ppo import STEPS_PER_UPDATE, make_model
        except MissingExtraError as error:
            raise SkippedError(str(error)) from None
        played = Played(bench, "Backfill", users)
        model = make_model(played.env, nb_envs=nb_envs)

        def update() -> None:
            model.learn(STEPS_PER_UPDATE, reset_num_timesteps=False)  # episodes go on

        return bench.paired(
            lambda: cpu(played.play) / played.nb_steps,
            lambda: cpu(update) / STEPS_PER_UPDATE,
            lambda standard, seconds: (
                f"{1 / seconds:,.0f} steps a second beside {1 / standard:,.0f}"
            ),
        )

    return measure


for _name, _users in {"": {}, " with feedback": {"users": "feedback"}}.items():
    _end = "-feedback" if _users else ""
    for _choice in ("Backfill", "Start", "Head", "Order"):
        _what = f"episodes of {_choice}{_name}, against their simulation with EASY"
        row(f"env-{_choice.lower()}{_end}", _what)(steps(_choice, _users))
    _what = f"resets of Backfill{_name}, against the simulation of the episodes"
    row(f"env-reset{_end}", _what)(resets(_users))
    for _nb_envs in (1, 8):
        _what = f"MaskablePPO, {_nb_envs} x Backfill{_name}, a step against one of the environment"
        row(f"ppo-{_nb_envs}{_end}", _what)(training(_nb_envs, _users))
