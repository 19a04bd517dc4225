"""Trained agents: networks that answer from weights, with numpy alone, and their files."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, cast

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from batsched_py.errors import InputError, UsageError, located
from batsched_py.files.readers import parse_json, read_bytes
from batsched_py.files.writers import write_whole
from batsched_py.options.checked_values import check_fields
from batsched_py.schedulers.agent.choices import Backfill, Choice, Head, Order, Start, count_actions
from batsched_py.schedulers.agent.encoder import Encoder, Observation

Array = NDArray[np.float64]
ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "relu": lambda x: np.maximum(x, 0.0),
    "tanh": np.tanh,
}


class Priority(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """EASY backfilling in the order of the network's number for each job, larger ones first."""


class Layer(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """A layer of a network, with n inputs and m outputs.

    Raises :class:`UsageError` for other shapes, and for numbers that are not finite.

    >>> Layer([[1.0], [2.0]], [0.5]).shape
    (2, 1)
    """

    weights: list[list[float]]
    """Shape (n, m)."""
    biases: list[float]
    """Shape (m,)."""

    def __post_init__(self) -> None:
        """Check the shapes."""
        nb_outputs = {len(row) for row in self.weights}
        if nb_outputs != {len(self.biases)} or not all(np.isfinite(a).all() for a in self.arrays):
            raise UsageError(
                f"a layer has rows of {sorted(nb_outputs)} weights and {len(self.biases)} biases: "
                "expected finite numbers, and in each row as many weights as biases"
            )

    @classmethod
    def of(cls, weights: ArrayLike, biases: ArrayLike) -> Layer:
        """Return a layer of arrays of shape (n, m) and (m,)."""
        return cls(np.asarray(weights).tolist(), np.asarray(biases).tolist())

    @cached_property
    def arrays(self) -> tuple[Array, Array]:
        """The weights and the biases as arrays."""
        return np.array(self.weights, np.float64), np.array(self.biases, np.float64)

    @property
    def shape(self) -> tuple[int, int]:
        """(n, m)."""
        return len(self.weights), len(self.biases)


class Agent(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True):
    """A trained agent: what it chooses, what it sees, and its network.

    Raises :class:`UsageError` for layers that do not fit together. A linear agent that prefers
    short jobs:

    >>> encoder = Encoder(features=("log_estimate", "log_wait"), machine_features=())
    >>> agent = Agent(decides=Priority(), encoder=encoder, layers=[Layer([[-1.0], [0.5]], [0.0])])
    >>> agent.compute(np.array([[0.5, 0.5], [0.9, 0.1]]), np.empty(0)).round(2).tolist()
    [[-0.25], [-0.85]]
    """

    decides: Backfill | Start | Head | Order | Priority
    encoder: Encoder = msgspec.field(default_factory=Encoder)
    network: Literal["kernel", "mlp"] = "kernel"
    """``kernel`` rates each job alone, from its features and those of the machine; for the action
    to wait, a row of zeros stands for the job. ``mlp`` rates all actions from all jobs at once."""
    activation: Literal["relu", "tanh"] = "tanh"
    """The function between two layers."""
    layers: list[Layer]
    note: str = ""
    """How the agent was trained, for its users."""

    def __post_init__(self) -> None:
        """Check that the network fits to what it decides, and the layers to each other."""
        check_fields(self)
        window, nb_features = self.encoder.shape
        is_kernel = self.network == "kernel"
        if isinstance(self.decides, Order if is_kernel else Priority):
            raise UsageError(
                f"a network {self.network} cannot decide {type(self.decides).__name__}: expected "
                f"{'mlp' if is_kernel else 'kernel'}"
            )
        nb_outputs = 1 if is_kernel else count_actions(cast(Choice, self.decides), window)
        nb_inputs = (1 if is_kernel else window) * nb_features + len(self.encoder.machine_features)
        shapes = [layer.shape for layer in self.layers]
        given = [nb_inputs, *(after for _, after in shapes)]
        taken = [*(before for before, _ in shapes), nb_outputs]
        if given != taken or not shapes:
            raise UsageError(
                f"layers of shape {', '.join(map(str, shapes)) or 'none'}: expected the first with "
                f"{nb_inputs} inputs, the last with {nb_outputs} outputs, and those between to fit"
            )

    def compute(self, inputs: NDArray[Any], others: NDArray[Any]) -> Array:
        """Return the outputs of the network, shape (k, m), for k inputs of shape (k, n).

        ``others`` of shape (g,) are further inputs, the same for all.
        """
        activate = ACTIVATIONS[self.activation]
        (weights, biases), *rest = [layer.arrays for layer in self.layers]
        nb_inputs = len(weights) - len(others)
        sums: Array = inputs @ weights[:nb_inputs] + (others @ weights[nb_inputs:] + biases)
        for weights, biases in rest:
            sums = activate(sums) @ weights + biases
        return sums

    def rate(self, observation: Observation) -> Array:
        """Return a number for each of A actions, shape (A,)."""
        jobs, machine, mask, _ = observation
        if self.network == "mlp":
            return self.compute(jobs.reshape(1, -1), machine).ravel()
        rows = np.zeros((len(mask), jobs.shape[1]))
        rows[: len(jobs)] = jobs
        return self.compute(rows, machine).ravel()

    def choose(self, observation: Observation) -> int:
        """Return the allowed action of the largest number."""
        return int(np.where(observation.mask, self.rate(observation), -np.inf).argmax())

    def save(self, path: str | Path) -> None:
        """Write the agent to a JSON file, for the policy ``agent``."""
        write_whole(path, msgspec.json.format(msgspec.json.encode(self), indent=0) + b"\n")


def load_agent(path: str | Path) -> Agent:
    """Return the agent in a file that :meth:`Agent.save` wrote; raises :class:`InputError`."""
    content = read_bytes(path)
    with located(path, UsageError, InputError):
        return parse_json(content, Agent, Path(path), unique_names=True)
