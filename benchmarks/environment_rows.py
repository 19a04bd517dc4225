"""Rows of environments in which agents learn: steps, resets, and training by MaskablePPO."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from measuring import Bench, Measured, SkippedError, cpu, row

from batsched_py.environments import SchedulingEnv
from batsched_py.errors import MissingExtraError

PLACES = 4
"""Episodes of 256 jobs each, at equal distances in the log."""


class Played:
    """The same episodes of an environment each time, with the first allowed actions."""

    def __init__(self, bench: Bench, choice: str, users: dict[str, str]) -> None:
        self.env = SchedulingEnv(choice, log=str(bench.log), jobs=256, flat=True, **users)
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


def against_simulation(
    choice: str, users: dict[str, str], action: Callable[[Played], Any], of: str
) -> Callable[[Bench], Measured]:
    """Return the measurement of episodes, or of resets, against EASY's simulation of them."""

    def measure(bench: Bench) -> Measured:
        played = Played(bench, choice, users)
        number = played.nb_steps if of == "step" else PLACES
        return bench.paired(
            lambda: cpu(played.simulate),
            lambda: cpu(lambda: action(played)),
            lambda _, seconds: f"{1e6 * seconds / number:,.0f} us a {of}",
        )

    return measure


def training(users: dict[str, str]) -> Callable[[Bench], Measured]:
    """Return the measurement of a step of MaskablePPO against one of an environment."""

    def measure(bench: Bench) -> Measured:
        try:
            from batsched_studies.learning.train_ppo import STEPS_PER_UPDATE, make_model
        except MissingExtraError as error:
            raise SkippedError(str(error)) from None
        played = Played(bench, "Backfill", users)
        model = make_model(played.env)
        return bench.paired(
            lambda: cpu(played.play) / played.nb_steps,
            lambda: cpu(lambda: model.learn(STEPS_PER_UPDATE)) / STEPS_PER_UPDATE,
            lambda _, seconds: f"{1 / seconds:,.0f} steps a second",
            rounds=1 if bench.quick else None,
        )

    return measure


for _name, _users in {"": {}, " with feedback": {"users": "feedback"}}.items():
    _end = "-feedback" if _users else ""
    for _choice in ("Backfill", "Start", "Head", "Order"):
        _what = f"episodes of {_choice}{_name}, against their simulation with EASY"
        row(f"env-{_choice.lower()}{_end}", _what)(
            against_simulation(_choice, _users, Played.play, "step")
        )
    row(f"env-reset{_end}", f"resets of Backfill{_name}, against the simulation")(
        against_simulation("Backfill", _users, Played.reset, "reset")
    )
    _what = f"MaskablePPO in 8 environments{_name}, a step against one of Backfill"
    row(f"ppo{_end}", _what)(training(_users))
