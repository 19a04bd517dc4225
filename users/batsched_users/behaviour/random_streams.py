"""Streams of random numbers: one seed per run, one stream per purpose and user."""

from __future__ import annotations

from hashlib import blake2b
from random import Random
from typing import Annotated

import numpy as np
from msgspec import Meta

from batsched_py.errors import UsageError

Seed = (
    np.random.SeedSequence
    | Annotated[
        int,
        Meta(
            title="Seed of the random numbers; if not given, that of the run.",
            description="a whole number, at least 0",
        ),
    ]
)
"""Type of a model's option ``seed``: a number from a user, a ``SeedSequence`` from a run."""


class Chance:
    """Independent streams of random numbers from one seed, by name.

    A stream depends only on the seed and its name, not on numbers drawn from other streams. So a
    user gets the same random numbers under every policy.
    """

    def __init__(self, seed: Seed) -> None:
        """Take a seed; raises :class:`UsageError` if it is not a whole number >= 0."""
        if not isinstance(seed, np.random.SeedSequence):
            if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
                raise UsageError(f"seed={seed}: expected a whole number, at least 0")
            seed = np.random.SeedSequence(seed)
        self._key = seed.generate_state(4).tobytes().hex()

    def stream(self, *names: object) -> Random:
        """Return a new generator for the stream with this name, at its first number."""
        return Random(f"{self._key}/{'/'.join(map(str, names))}")

    def number(self, *names: object) -> float:
        """Return the only number of the stream with this name: uniform in [0, 1).

        It is cheaper than a :meth:`stream` for a single number, and differs from its first one.
        """
        name = f"{self._key}/{'/'.join(map(str, names))}".encode()
        return int.from_bytes(blake2b(name, digest_size=8).digest()) / 2.0**64 % 1.0
