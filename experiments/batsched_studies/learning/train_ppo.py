"""Trains an agent by MaskablePPO, and writes it to a file for the policy ``agent``.

``python -m batsched_studies.learning.train_ppo --help`` shows the options. This is the only module
that imports torch, sb3-contrib and stable-baselines3 (extra ``rl``).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from copy import copy
from inspect import signature
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from batsched_py.environments import Agent, Layer
from batsched_py.errors import BatschedError, MissingExtraError, UsageError
from batsched_py.files.writers import make_folder_of
from batsched_py.options.option_values import one_of
from batsched_py.options.setting_fields import parse_options
from batsched_py.support.installation import extra
from batsched_py.support.terminal_text import say, standard_streams

try:
    with extra("rl"):
        import gymnasium
        import torch
        from gymnasium.wrappers import FlattenObservation
        from sb3_contrib import MaskablePPO
        from sb3_contrib.common.maskable.distributions import MaskableCategoricalDistribution
        from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
        from stable_baselines3.common.callbacks import BaseCallback
        from stable_baselines3.common.monitor import Monitor
        from stable_baselines3.common.torch_layers import MlpExtractor
        from stable_baselines3.common.vec_env import DummyVecEnv
        from torch import nn

        from batsched_py.environments import SchedulingEnv
except MissingExtraError as error:
    if __name__ != "__main__":
        raise
    say(f"train_ppo: error: {error}")
    sys.exit(error.exit_code)

STEPS_PER_UPDATE = 2048
"""Steps of all environments together between two changes of the weights."""
NB_CHECKED = 10
"""Episodes in which the agent is measured before each change."""


class Point(NamedTuple):
    """A point of the learning curve; rewards as :class:`ShareOfEasy` divides them."""

    steps: int
    sampled: float
    """Mean reward of the last 100 episodes, whose actions were drawn; NaN before the first ends."""
    chosen: float
    """Mean reward of the agent, which takes the best actions, in the same episodes each time."""
    easy: float
    """Mean reward of EASY in these: nearly -1 where its rewards are below 0."""


Watch = Callable[[Point, Agent], None]
"""Gets each point of the learning curve, and the best agent so far."""


class ShareOfEasy(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Divides rewards by what EASY gets on the same episode, so that all episodes count alike.

    Rewards differ by orders of magnitude between logs, and between the weeks of one. The sum is -1
    where the agent is as good as EASY; 1 where EASY's reward is above 0 (``work``, and ``response``
    of users who submit earlier than recorded). The divisor is at least a tenth of its mean
    so far, since EASY may get 0.
    """

    def __init__(self, env: SchedulingEnv) -> None:
        super().__init__(env)
        self._base, self._sum, self._nb_episodes, self._divisor = env, 0.0, 0, 1.0

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        seen = self.env.reset(**options)
        assert self._base.episode is not None
        reward = abs(self._base.episode.measure("easy").reward)
        self._sum, self._nb_episodes = self._sum + reward, self._nb_episodes + 1
        self._divisor = max(reward, 0.1 * self._sum / self._nb_episodes) or 1.0
        return seen

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take an action."""
        seen, reward, terminated, truncated, info = self.env.step(action)
        return seen, float(reward) / self._divisor, terminated, truncated, info


class _Rows(nn.Module):
    """Makes a row for each action of a flat observation: a job, or zeros, and the machine."""

    def __init__(self, shape: tuple[int, int], nb_actions: int) -> None:
        super().__init__()
        self._shape, self._nb_further = shape, nb_actions - shape[0]

    def forward(self, seen: Any) -> Any:
        """Return (B, A, F + G) of an observation of shape (B, W * F + G)."""
        window, nb_features = self._shape
        jobs, machine = seen.tensor_split([window * nb_features], dim=1)
        jobs = nn.functional.pad(jobs.view(-1, window, nb_features), (0, 0, 0, self._nb_further))
        return torch.cat((jobs, machine[:, None, :].expand(-1, jobs.shape[1], -1)), dim=2)


class _NumberPerRow(MaskableCategoricalDistribution):
    def proba_distribution_net(self, latent_dim: int) -> Any:
        return nn.Sequential(nn.Linear(latent_dim, 1), nn.Flatten(-2))


class KernelPolicy(MaskableActorCriticPolicy):
    """One small network rates each action; the value is computed from all that is seen.

    ``shape`` is that of the jobs in a flat observation, (W, F).
    """

    def __init__(self, *arguments: Any, shape: tuple[int, int], **options: Any) -> None:
        self._shape = shape
        super().__init__(*arguments, **options)

    def _build_mlp_extractor(self) -> None:
        super()._build_mlp_extractor()
        window, nb_features = self._shape
        nb_inputs = nb_features + self.features_dim - window * nb_features
        layers = MlpExtractor(nb_inputs, self.net_arch, self.activation_fn).policy_net
        nb_actions = int(self.action_space.n)
        self.mlp_extractor.policy_net = nn.Sequential(_Rows(self._shape, nb_actions), *layers)
        self.action_dist = _NumberPerRow(nb_actions)


def make_model(
    env: SchedulingEnv,
    *,
    seed: int = 0,
    network: str = "kernel",
    hidden: Sequence[int] = (32, 16),
    nb_envs: int = 8,
    **options: Any,
) -> MaskablePPO:
    """Return a model that is not trained yet, which learns in copies of an environment.

    It sees the jobs and the machine as one array. Rewards are not discounted, since their sum is
    the metric. ``options`` are those of MaskablePPO.
    """
    is_kernel = one_of("network", network, ("kernel", "mlp")) == "kernel"
    torch.set_num_threads(1)  # faster for small networks, and the same sums in each run
    shape = {"shape": env.encoder.shape} if is_kernel else {}
    usual: dict[str, Any] = {"batch_size": 256, "n_epochs": 4, "learning_rate": 1e-3}
    usual |= {"n_steps": max(2, STEPS_PER_UPDATE // nb_envs), "gamma": 1.0, "gae_lambda": 0.99}
    return MaskablePPO(
        KernelPolicy if is_kernel else MaskableActorCriticPolicy,
        DummyVecEnv([lambda: Monitor(FlattenObservation(ShareOfEasy(copy(env))))] * nb_envs),
        policy_kwargs={"net_arch": {"pi": list(hidden), "vf": [64, 64]}, **shape},
        # the environments have this seed and the next ones: those of two trainings must differ
        seed=int(np.random.SeedSequence(seed).generate_state(1)[0] >> 1),
        device="cpu",
        **usual | options,
    )


def export(model: MaskablePPO, env: SchedulingEnv, note: str = "") -> Agent:
    """Return the agent that chooses as a model does, for the policy ``agent``."""
    parts = (model.policy.mlp_extractor.policy_net, model.policy.action_net)
    linear = [m for part in parts for m in part.modules() if isinstance(m, nn.Linear)]
    return Agent(
        decides=env.choice,
        encoder=env.encoder,
        network="kernel" if isinstance(model.policy, KernelPolicy) else "mlp",
        layers=[Layer.of(m.weight.detach().T, m.bias.detach()) for m in linear],
        note=note,
    )


class _Choosing(BaseCallback):
    """Measures the agent before each change of the weights, and keeps the best one."""

    def __init__(self, env: SchedulingEnv, seed: int, note: str, watch: Watch) -> None:
        super().__init__()
        random = np.random.default_rng(seed)
        episodes = [env.episodes.draw(random) for _ in range(NB_CHECKED)]
        rewards = np.array([episode.measure("easy").reward for episode in episodes])
        divisors = np.maximum(abs(rewards), 0.1 * abs(rewards).mean() or 1.0)
        self._episodes = list(zip(episodes, divisors, strict=True))
        self._easy = float(np.mean(rewards / divisors))
        self._env, self._note, self._watch = env, note, watch
        self._best = -np.inf

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        agent = export(self.model, self._env, self._note)
        shares = [episode.measure(agent).reward / by for episode, by in self._episodes]
        rewards = [episode["r"] for episode in self.model.ep_info_buffer]
        sampled = float(np.mean(rewards)) if rewards else np.nan
        point = Point(self.num_timesteps, sampled, float(np.mean(shares)), self._easy)
        if point.chosen > self._best:
            self.agent, self._best = agent, point.chosen
        self._watch(point, self.agent)

    _on_training_end = _on_rollout_end


def train(
    choice: str = "Backfill",
    *,
    steps: int,
    seed: int = 0,
    network: str = "kernel",
    hidden: Sequence[int] = (32, 16),
    nb_envs: int = 8,
    watch: Watch = lambda point, agent: None,
    **options: Any,
) -> Agent:
    """Train an agent for a number of ``steps``, rounded up to whole updates.

    Training draws actions, while an agent takes the best one: if that is to wait, it can be bad
    although the draws are good. So the agent is returned that was best in :data:`NB_CHECKED`
    episodes. ``choice`` and ``options`` are those of :class:`.SchedulingEnv`, ``hidden`` the
    sizes of hidden layers. The same arguments give the same agent. Torch computes on one thread.
    """
    env = SchedulingEnv(choice, **options)
    model = make_model(env, seed=seed, network=network, hidden=hidden, nb_envs=nb_envs)
    named = [f"{name}={value}" for name, value in options.items() if not callable(value)]
    note = f"MaskablePPO, {steps} steps, {', '.join([*named, f'seed={seed}'])}"
    choosing = _Choosing(env, seed, note, watch)
    model.learn(steps, callback=choosing)
    return choosing.agent


def command(
    output: Annotated[Path, typer.Option("-e", "--export", help="File of the agent (JSON).")],
    choice: Annotated[str, typer.Option(help="Backfill, Start, Head or Order.")] = "Backfill",
    log: Annotated[str, typer.Option(help="Log: a file, or a name of `logs list`.")] = "sample",
    users: Annotated[str | None, typer.Option(help="User model; default: rigid replay.")] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            "-O",
            metavar="KEY=VALUE",
            help="Option of the environment, such as jobs=30; repeatable.",
        ),
    ] = None,
    steps: Annotated[
        int,
        typer.Option(min=1, help=f"Decisions; rounded up to a multiple of {STEPS_PER_UPDATE}."),
    ] = 100_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the training.")] = 0,
    network: Annotated[str, typer.Option(help="kernel (rates each job) or mlp.")] = "kernel",
) -> None:
    """Train an agent by MaskablePPO. Ctrl-C writes the best one so far."""
    best: list[Agent] = []

    def watch(point: Point, agent: Agent) -> None:
        best[:] = [agent]
        say(
            f"{point.steps} steps, reward {point.sampled:.4f}, of the agent {point.chosen:.4f}, "
            f"of EASY {point.easy:.4f}"
        )

    options = _parse(option or []) | {"log": log} | ({"users": users} if users else {})
    make_folder_of(output)
    if rest := -steps % STEPS_PER_UPDATE:
        steps += rest
        say(f"trains for {steps} steps, a multiple of {STEPS_PER_UPDATE}")
    code = 0
    try:
        best[:] = [train(choice, steps=steps, seed=seed, network=network, watch=watch, **options)]
    except KeyboardInterrupt:
        if not best:
            raise
        code = 130
    best[0].save(output)
    say(f"{'interrupted: ' * bool(code)}wrote {output}")
    raise typer.Exit(code)


def _parse(texts: Sequence[str]) -> dict[str, Any]:
    """Return options of the environment; raises :class:`UsageError` for those of the training."""
    options = parse_options(texts, "-O")
    for name, value in options.items():
        if name in {*signature(train).parameters, *signature(command).parameters}:
            raise UsageError(
                f"-O {name}: expected an option of the environment; for others see --help"
            )
        if name in ("features", "machine_features", "orders") and isinstance(value, str):
            expected = f"-O '{name}={json.dumps(value.split(','))}'"
            raise UsageError(f"-O {name}={value}: expected a list: {expected}")
    return options


def main() -> None:
    """Run the command; exit codes as those of ``batsched-py``."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command()(command)
    with standard_streams():
        try:
            app()
        except BatschedError as error:
            say(f"train_ppo: error: {error}")
            sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
