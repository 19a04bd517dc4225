"""On which of the sites that have room a job runs.

Source: A. Streit's thesis, 2003, chapter 6, which names the first four; ties go to the first site.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import partial

from batsched_py.options.option_values import one_of
from batsched_py.schedulers.grid.placed import Placed

Selection = Callable[[Sequence[Placed]], Placed]
"""(where a job can start) -> where it starts."""
SELECTIONS: dict[str, Selection] = {
    "best_fit": partial(min, key=lambda place: place.site.free),
    "biggest_free": partial(max, key=lambda place: place.site.free),
    "equal_util": partial(max, key=lambda place: place.site.free / place.site.nb_processors),
    "earliest_end": partial(min, key=lambda place: place.end),
}
"""The fewest processors stay free, the most are free, the smallest share is in use, the job ends
first: on a fast site, or one that has its data."""


def selection_named(name: str, seed: int) -> Selection:
    """Return the selection called ``name``; ``random`` draws from ``seed``.

    Raises :class:`UsageError`.
    """
    if one_of("selection", name, [*SELECTIONS, "random"]) == "random":
        return random.Random(f"sites of {seed}").choice
    return SELECTIONS[name]
