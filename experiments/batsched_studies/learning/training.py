"""Trains the agents of the study: linear ones, by CMA-ES.

The best of some candidates is not the one with the best mean reward, which single weeks rule, but
the one with the best mean rank over the same episodes. This suits rewards of any scale and sign.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from batsched_py.environments import (
    REWARDS,
    Agent,
    Encoder,
    Episode,
    Episodes,
    Layer,
    Priority,
    Start,
)
from batsched_py.support.installation import extra

WARM_UP = "3 days"
DAYS = 7
GENERATIONS, CANDIDATES, EPISODES = 12, 8, 4
"""Of a training: generations, candidates of each, and episodes on which they are compared."""
CHECKPOINTS = 4
"""Means of the search, the best of which on the last weeks is the agent."""
LAST = 0.1
"""Share of the training weeks that choose among checkpoints."""


OF_TRAINING: dict[str, Any] = {
    "slowdown": "slowdown",
    "response": "response",
    "naive": lambda life: REWARDS["slowdown"](life) * life.has_ended,
}
"""The rewards; the naive one counts ended jobs only."""


class Training(msgspec.Struct, frozen=True, kw_only=True):
    """How an agent is trained."""

    log: str
    users: str
    reward: str
    decides: str
    """``priority``: the order of an EASY queue; ``start``: which job starts, or none."""
    seed: int

    @property
    def name(self) -> str:
        """The name of the agent's file, without its ending."""
        return f"{self.decides}_{self.users}_{self.reward}_{self.seed}"


def make_agent(decides: str, weights: ArrayLike, note: str = "") -> Agent:
    """Return a linear agent of :func:`count_weights` weights."""
    encoder, choice = Encoder(), Start()  # type: tuple[Encoder, Start | Priority]
    if decides == "priority":
        features = ("log_estimate", "log_size", "log_wait", "log_slowdown", "log_area")
        encoder, choice = Encoder(features=features, machine_features=()), Priority()
    layer = Layer.of(np.reshape(weights, (-1, 1)), [0.0])
    return Agent(decides=choice, encoder=encoder, layers=[layer], note=note)


def count_weights(decides: str) -> int:
    """Return the number of weights of a linear agent."""
    encoder = Encoder()
    return 5 if decides == "priority" else encoder.shape[1] + len(encoder.machine_features)


def train(training: Training, weeks: int) -> Agent:
    """Return the agent that was trained on the first ``weeks`` of a log.

    Each training takes the same number of episodes. The last tenth of the weeks only chooses among
    checkpoints of the search.
    """
    with extra("evolve"):
        import cma

    reward = OF_TRAINING[training.reward]
    place: dict[str, Any] = {"days": DAYS, "warm_up": WARM_UP, "horizon": "end"}
    episodes = Episodes(reward=reward, log=training.log, users=training.users, **place)
    split = round((1 - LAST) * weeks) * DAYS
    places = [start for start in episodes.starts if start + DAYS <= split]
    last = [start for start in episodes.starts if split <= start <= (weeks - 1) * DAYS]
    random = np.random.default_rng(training.seed)
    nb = count_weights(training.decides)
    search = cma.CMAEvolutionStrategy(
        nb * [0.0], 0.5, {"popsize": CANDIDATES, "seed": training.seed, "verbose": -9}
    )
    means = []
    for generation in range(1, GENERATIONS + 1):
        drawn = [
            episodes.at(int(start), int(random.integers(2**32)))
            for start in random.choice(places, EPISODES, replace=False)
        ]
        candidates = search.ask()
        search.tell(candidates, rank(training.decides, candidates, drawn))
        if generation % (GENERATIONS // CHECKPOINTS) == 0:
            means.append(search.result.xfavorite)
    ranks = rank(training.decides, means, [episodes.at(start) for start in last[::3]])
    log = Path(training.log).name.partition(".swf")[0]
    note = f"Trained by CMA-ES on the first {weeks} weeks of {log}: {training.name}"
    return make_agent(training.decides, means[int(np.argmin(ranks))], note)


def rank(decides: str, candidates: Sequence[Any], episodes: Sequence[Episode]) -> list[float]:
    """Return the mean rank of each candidate's reward over episodes, the best near 1."""
    rewards = np.array(
        [
            [episode.measure(make_agent(decides, weights)).reward for weights in candidates]
            for episode in episodes
        ]
    )
    ranks: list[float] = rankdata(-rewards, axis=1).mean(axis=0).tolist()
    return ranks
