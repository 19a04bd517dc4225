"""Agents that nobody trained: of each kind of choice and network, with random weights."""

from __future__ import annotations

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

ARRANGEMENTS = ["submission", "ends", "sjf", "expansion_factor"]


def make_agent(decides: Any, seed: int = 0, hidden: tuple[int, ...] = (), **of: Any) -> Agent:
    """Return an agent with random weights; ``of`` are fields of the encoder, and ``network``."""
    network = of.pop("network", "kernel")
    encoder = Encoder(**of)
    window, nb_features = encoder.shape
    nb_inputs = len(encoder.machine_features) + nb_features * (window if network == "mlp" else 1)
    nb_outputs = decides.count_actions(window) if network == "mlp" else 1
    draw = np.random.default_rng(seed).standard_normal
    shapes = pairwise([nb_inputs, *hidden, nb_outputs])
    layers = [Layer.of(draw((before, after)), draw(after)) for before, after in shapes]
    return Agent(decides=decides, encoder=encoder, network=network, layers=layers)


def encoders() -> st.SearchStrategy[dict[str, Any]]:
    """Return fields of an encoder."""
    return st.fixed_dictionaries(
        {
            "window": st.sampled_from([1, 4, 64]),
            "features": st.lists(st.sampled_from(sorted(JOB_FEATURES)), unique=True, min_size=1),
            "machine_features": st.lists(st.sampled_from(sorted(MACHINE_FEATURES)), unique=True),
            "arrangement": st.sampled_from(ARRANGEMENTS),
        }
    ).map(lambda of: {name: tuple(v) if isinstance(v, list) else v for name, v in of.items()})


@st.composite
def agents(draw: st.DrawFn) -> Agent:
    """Any agent."""
    heads = st.builds(Head, st.booleans(), st.booleans())
    kinds = st.sampled_from([Backfill(), Backfill("ljf"), Start(), Order(), Priority()])
    decides = draw(st.one_of(kinds, heads))
    networks = {Order: ["mlp"], Priority: ["kernel"]}.get(type(decides), ["kernel", "mlp"])
    of = draw(encoders()) | {"network": draw(st.sampled_from(networks))}
    hidden = draw(st.sampled_from([(), (3,), (4, 2)]))
    return make_agent(decides, draw(st.integers(0, 99)), hidden, **of)
