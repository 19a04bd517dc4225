"""On which of the sites that have room a job runs.

Source: A. Streit's thesis, 2003, chapter 6, which names the first four; ties go to the first site.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import msgspec

from batsched_py.model.site import Site
from batsched_py.options.option_values import one_of


class Fit(msgspec.Struct, frozen=True):
    """A site that has room for a job, which would end there at ``end`` (seconds) by estimates."""

    site: Site
    end: float


Selection = Callable[[Sequence[Fit]], Fit]


def best_fit(fits: Sequence[Fit]) -> Fit:
    """Return the site on which the fewest processors stay free."""
    return min(fits, key=lambda fit: fit.site.free)


def biggest_free(fits: Sequence[Fit]) -> Fit:
    """Return the site with the most free processors."""
    return max(fits, key=lambda fit: fit.site.free)


def equal_util(fits: Sequence[Fit]) -> Fit:
    """Return the site of which the smallest share is in use."""
    return max(fits, key=lambda fit: fit.site.free / fit.site.nb_processors)


def earliest_end(fits: Sequence[Fit]) -> Fit:
    """Return the site on which the job ends first: fast ones, and those that have its data."""
    return min(fits, key=lambda fit: fit.end)


SELECTIONS: dict[str, Selection] = {
    "best_fit": best_fit,
    "biggest_free": biggest_free,
    "equal_util": equal_util,
    "earliest_end": earliest_end,
}


def selection_named(name: str, seed: int) -> Selection:
    """Return the selection called ``name``; ``random`` draws from ``seed``.

    Raises :class:`UsageError`.
    """
    if one_of("selection", name, [*SELECTIONS, "random"]) == "random":
        return random.Random(f"sites of {seed}").choice
    return SELECTIONS[name]
