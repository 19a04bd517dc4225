"""An agent that MaskablePPO trained chooses as the model does, and repeats."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sb3_contrib", reason="needs the extra rl: make test-rl")

import torch
from environment_rows import training
from measuring import Bench

from batsched_py import simulate
from batsched_py.environments import (
    Agent,
    Observation,
    SchedulingEnv,
    load_agent,
    make_policy,
)
from batsched_py.errors import UsageError
from batsched_studies.learning import train_ppo

MODULE = "batsched_studies.learning.train_ppo"


def play(env: SchedulingEnv, start: int, choose: Callable[[Observation], int]) -> dict[str, Any]:
    """Play the episode at a place to its end; return the last info."""
    seen, info = env.reset(options={"start": start, "seed": 5})
    done = False
    while not done:
        seen, _, done, _, info = env.step(
            choose(Observation(**seen, mask=env.action_masks(), now=0.0))
        )
    return info


@pytest.mark.parametrize("users", [{}, {"users": "feedback"}], ids=["rigid", "feedback"])
@pytest.mark.parametrize(
    ("choice", "network"),
    [
        ("Backfill", "kernel"),
        ("Backfill", "mlp"),
        ("Start", "kernel"),
        ("Head", "kernel"),
        ("Order", "mlp"),
    ],
)
def test_the_agent_chooses_as_the_model(
    choice: str, network: str, users: dict[str, Any], tmp_path: Path
) -> None:
    ended: list[tuple[float, ...]] = []

    def note(life: Any) -> float:
        ended.append((life.submit, life.size, life.start, life.end))
        return -float(life.end)

    env = SchedulingEnv(choice, log="sample", jobs=200, window=16, reward=note, **users)
    model = train_ppo.make_model(env, network=network, nb_envs=2, n_steps=64, seed=1)
    model.learn(256)
    agent = train_ppo.export(model, env)
    nb_compared = 0

    def choose(observation: Observation) -> int:
        nonlocal nb_compared
        mask = observation.mask
        seen = np.concatenate((observation.jobs.ravel(), observation.machine))
        action = int(model.predict(seen, action_masks=mask, deterministic=True)[0])
        rated, chosen = agent.rate(observation), agent.choose(observation)
        gap = rated[chosen] - rated[action]
        assert chosen == action or abs(gap) < 1e-6  # 7 digits of a log probability
        nb_compared += mask.sum() > 1
        return chosen

    for start in (900, 0):
        ended.clear()
        assert play(env, start, choose)["invalid_actions"] == 0
        of_env = sorted(ended)
        ended.clear()
        assert env.episode is not None
        env.episode.measure(lambda: make_policy(agent))
        assert sorted(ended) == of_env
    assert nb_compared > 50

    agent.save(tmp_path / "agent.json")
    weights = {"weights": str(tmp_path / "agent.json")}
    how: dict[str, Any] = {"scheduler": "agent", "scheduler_options": weights, **users}
    table = simulate("sample", first=200, seed=5, **how).jobs
    columns = ("submission_time", "requested_number_of_resources", "starting_time")
    starts = sorted(zip(*(table[name] for name in columns), strict=True))
    assert starts == [job[:3] for job in of_env]


@pytest.mark.slow
def test_a_seed_gives_the_same_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(train_ppo, "STEPS_PER_UPDATE", 256)
    how: dict[str, Any] = {"log": "sample", "users": "feedback", "jobs": 30, "steps": 512}
    points: list[train_ppo.Point] = []
    agents: list[Agent] = []

    def watch(point: train_ppo.Point, agent: Agent) -> None:
        points.append(point)
        agents.append(agent)

    agent = train_ppo.train(**how, seed=1, watch=watch)
    assert agent == train_ppo.train(**how, seed=1)
    assert agent.layers != train_ppo.train(**how, seed=2).layers
    assert [point.steps for point in points] == [256, 512, 512]
    best = max(points, key=lambda point: point.chosen)
    assert agents[points.index(best)] == agent
    assert agents[-1] == agent


def test_probabilities_of_many_actions_are_valid() -> None:
    """An error of torch for several hundred actions, since their sum is not 1 to 1e-6."""
    env = SchedulingEnv("Head", log="sample", jobs=20, window=2000)
    model = train_ppo.make_model(env, nb_envs=1)
    logits = 30 * torch.randn(100, 2000, generator=torch.Generator().manual_seed(1))
    for scale in (1.0, 1e-6):
        distribution = model.policy.action_dist.proba_distribution(action_logits=scale * logits)
        for share in (0.001, 0.5, 1.0):
            mask = np.random.default_rng(1).random(logits.shape) < share
            mask[:, 0] = True
            distribution.apply_masking(mask)
            actions = distribution.get_actions().numpy()
            assert mask[np.arange(100), actions].all()
            assert torch.isfinite(distribution.entropy()).all()


def test_rewards_are_shares_of_what_easy_gets() -> None:
    env = SchedulingEnv("Backfill", log="sample", jobs=100, reward="wait")
    rewards = []
    for played in (env, train_ppo.ShareOfEasy(env)):
        played.reset(options={"start": 900})
        done, total = False, 0.0
        while not done:
            _, reward, done, _, _ = played.step(env.action_masks().argmax())
            total += float(reward)
        rewards.append(total)
    assert env.episode is not None
    assert rewards[1] == pytest.approx(rewards[0] / -env.episode.measure("easy").reward)


@pytest.mark.slow
def test_benchmarks_measure_training(tmp_path: Path) -> None:
    assert training(2, {"users": "feedback"})(Bench(tmp_path, 1, quick=True)).ratio > 1


def test_wrong_use() -> None:
    with pytest.raises(UsageError, match=r"network=kernle.*kernel"):
        train_ppo.train(log="sample", steps=1, network="kernle")
    with pytest.raises(UsageError, match=r"choice=Bakfill.*Backfill"):
        train_ppo.train("Bakfill", log="sample", steps=1)
    with pytest.raises(UsageError, match="cannot decide Order: expected mlp"):
        train_ppo.train("Order", log="sample", steps=1)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("-O choice=Head -e agent.json", "-O choice: expected an option of the environment"),
        (
            "-O features=size,fits -e agent.json",
            """expected a list: -O 'features=["size", "fits"]'""",
        ),
        ("-e .", ". cannot be written: it is a folder"),
    ],
)
def test_wrong_commands(
    line: str, expected: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["train_ppo", "--steps", "1", *line.split()])
    with pytest.raises(SystemExit):
        train_ppo.main()
    (said,) = capsys.readouterr().err.splitlines()
    assert expected in said


@pytest.mark.slow
@pytest.mark.process
def test_the_command_and_ctrl_c(tmp_path: Path) -> None:
    line = [sys.executable, "-m", MODULE, "--steps", "99999744", "-O", "jobs=30", "-O", "window=8"]
    line += ["--network", "mlp", "-e", "agent.json"]
    with subprocess.Popen(line, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert re.match("2048 steps, .* of EASY -[01].[0-9]+$", process.stderr.readline())
        process.send_signal(signal.SIGINT)
        said = process.stderr.read().splitlines()
    assert process.returncode == 130
    assert said[-1] == "interrupted: wrote agent.json"
    agent = load_agent(tmp_path / "agent.json")
    assert [layer.shape for layer in agent.layers] == [(60, 32), (32, 16), (16, 9)]
    assert "jobs=30, window=8, log=sample, seed=0" in agent.note
