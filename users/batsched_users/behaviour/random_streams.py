"""Streams of random numbers: one seed per run, one stream per purpose and person."""

from __future__ import annotations

from random import Random

import numpy as np

from batsched_py.errors import UsageError

Seed = np.random.SeedSequence | int
"""What a model gets as ``seed``: a number from a user, a ``SeedSequence`` from a run."""


class Chance:
    """Independent streams from one seed, by name.

    A stream depends on the seed and its name only, not on what was drawn elsewhere: the same
    person meets the same chances under every policy.
    """

    def __init__(self, seed: Seed) -> None:
        """Take a seed; raises :class:`UsageError` for one that is no number >= 0."""
        if not isinstance(seed, np.random.SeedSequence):
            if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
                raise UsageError(f"seed={seed}: expected a whole number, at least 0")
            seed = np.random.SeedSequence(seed)
        self._key = seed.generate_state(4).tobytes().hex()

    def stream(self, *names: object) -> Random:
        """Return the stream of this name, at its beginning."""
        return Random(f"{self._key}/{'/'.join(map(str, names))}")
