"""Agents that nobody trained: of each kind of choice and network, with random weights."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import strategies as st

from batsched_py.environments import (
    JOB_FEATURES,
    MACHINE_FEATURES,
    Agent,
    Backfill,
    Encoder,
    Head,
    Layer,
    Order,
    Priority,
    Start,
)
from batsched_py.schedulers.agent.choices import count_actions

DEFAULT = Encoder()


def make_agent(
    decides: Any, seed: int, *hidden: int, encoder: Encoder = DEFAULT, **of: Any
) -> Agent:
    """Return an agent with random weights, and hidden layers of these widths."""
    is_mlp = of.get("network") == "mlp"
    window, nb_features = encoder.shape
    nb_inputs = len(encoder.machine_features) + nb_features * (window if is_mlp else 1)
    widths = nb_inputs, *hidden, count_actions(decides, window) if is_mlp else 1
    draw = np.random.default_rng(seed).standard_normal
    layers = [Layer.of(draw(shape), draw(shape[1])) for shape in pairwise(widths)]
    return Agent(decides=decides, encoder=encoder, layers=layers, **of)


def encoders() -> st.SearchStrategy[Encoder]:
    """Any encoder."""
    return st.builds(
        Encoder,
        window=st.sampled_from([1, 4, 64]),
        features=names(JOB_FEATURES),
        machine_features=names(MACHINE_FEATURES),
        arrangement=st.sampled_from(["submission", "ends", "sjf", "expansion_factor"]),
    )


def names(known: Iterable[str]) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from([*known]), min_size=1, unique=True).map(tuple)


@st.composite
def agents(draw: st.DrawFn) -> Agent:
    """Any agent."""
    kinds = st.sampled_from([Backfill(), Backfill("ljf"), Start(), Order(), Priority()])
    decides = draw(kinds | st.builds(Head, st.booleans(), st.booleans()))
    networks = {Order: ["mlp"], Priority: ["kernel"]}.get(type(decides), ["kernel", "mlp"])
    return make_agent(
        decides,
        draw(st.integers(0, 99)),
        *draw(st.sampled_from([(), (3,), (4, 2)])),
        encoder=draw(encoders()),
        network=draw(st.sampled_from(networks)),
        activation=draw(st.sampled_from(["relu", "tanh"])),
    )
