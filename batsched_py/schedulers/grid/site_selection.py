"""Selections: rules that choose one of the sites on which a job can start.

Source: A. Streit's thesis, 2003, chapter 6, which names the first four; ties go to the first site.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import partial

from batsched_py.options.option_values import one_of
from batsched_py.schedulers.grid.placed import Placed

Selection = Callable[[Sequence[Placed]], Placed]
"""(places where a job can start) -> the place where it starts."""
SELECTIONS: dict[str, Selection] = {
    "best_fit": partial(min, key=lambda place: place.site.free),
    "biggest_free": partial(max, key=lambda place: place.site.free),
    "equal_util": partial(max, key=lambda place: place.site.free / place.site.nb_processors),
    "earliest_end": partial(min, key=lambda place: place.end),
}
"""Selections by name: the site with the fewest free processors, the most free ones, the largest
share of free ones, or the earliest end of the job (a fast site, or one that has its data)."""


def make_selection(name: str, seed: int) -> Selection:
    """Return the selection called ``name``; ``random`` draws from ``seed``.

    Raises :class:`UsageError`.
    """
    if one_of("selection", name, [*SELECTIONS, "random"]) == "random":
        return random.Random(f"sites of {seed}").choice
    return SELECTIONS[name]
