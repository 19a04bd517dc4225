"""Environments pass the checks of gymnasium and stable-baselines3, in any vectorisation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium", reason="needs the extra gym")
env_checker = pytest.importorskip("gymnasium.utils.env_checker")

from batsched_py.environments import SchedulingEnv  # noqa: E402

CHOICES = ("Backfill", "Start", "Head", "Order")
NEEDS_RL = "needs the extra rl: make test-rl"
RIGID: dict[str, Any] = {"log": "sample"}
REACTING = RIGID | {"users": "feedback"}
of_replays = pytest.mark.parametrize("replay", [RIGID, REACTING], ids=["rigid", "feedback"])


def of_each(test: Any) -> Any:
    """Run a test for all environments, rigid and with users; a warning is an error."""
    parametrised = of_replays(pytest.mark.parametrize("choice", CHOICES)(test))
    return pytest.mark.filterwarnings("error")(parametrised)


@of_each
def test_gymnasium_finds_no_fault(choice: str, replay: dict[str, Any]) -> None:
    env = gymnasium.make(f"batsched_py/{choice}-v0", **replay, jobs=30)
    env_checker.check_env(env.unwrapped)
    env.close()


@of_each
def test_stable_baselines_finds_no_fault(choice: str, replay: dict[str, Any]) -> None:
    checker = pytest.importorskip("stable_baselines3.common.env_checker", reason=NEEDS_RL)
    env = gymnasium.wrappers.FlattenObservation(SchedulingEnv(choice, **replay, jobs=30))
    checker.check_env(env)
    env.close()


def test_stable_baselines_takes_dicts() -> None:
    checker = pytest.importorskip("stable_baselines3.common.env_checker", reason=NEEDS_RL)
    with pytest.warns(UserWarning, match="unconventional shape") as caught:
        checker.check_env(SchedulingEnv(jobs=30, **RIGID))
    assert len(caught) == 1, "it expects pictures where a box has two dimensions"


def play(vectorised: Any, steps: int) -> list[Any]:
    """Take random allowed actions, the same each time; return all that is seen."""
    random = np.random.default_rng(1)
    vectorised.seed(3)
    seen = [vectorised.reset()]
    for _ in range(steps):
        masks = np.stack(vectorised.env_method("action_masks"))
        actions = (masks * random.random(masks.shape)).argmax(1)
        observations, rewards, dones, _ = vectorised.step(actions)
        seen += [observations, rewards, dones]
    vectorised.close()
    return seen


@pytest.mark.slow
@pytest.mark.process
@of_replays
def test_vectorisation_changes_nothing(replay: dict[str, Any]) -> None:
    vec_env = pytest.importorskip("stable_baselines3.common.vec_env", reason=NEEDS_RL)
    flatten = gymnasium.wrappers.FlattenObservation

    def make() -> Any:
        return flatten(SchedulingEnv("Start", **replay, jobs=20))

    in_one = play(vec_env.DummyVecEnv([make] * 2), 100)
    assert any(done.any() for done in in_one[3::3])
    for kind in (vec_env.DummyVecEnv, vec_env.SubprocVecEnv):
        for one, other in zip(in_one, play(kind([make] * 2), 100), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6)  # DummyVecEnv rounds rewards
