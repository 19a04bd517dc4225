"""The place of a job on grid sites, how it is selected, and the reservation of another job.

Source: A. Streit's thesis, 2003, chapters 6 and 7. Chapter 6 names the first four selections; ties
go to the first site.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from batsched_py.model.decisions import Start
from batsched_py.model.job import Job
from batsched_py.model.site import Site
from batsched_py.options.option_values import one_of
from batsched_py.processors.sets import NO_PROCESSORS
from batsched_py.schedulers.grid.spreading import Fragments


class Reserved(msgspec.Struct):
    """The reservation of the queue's head, by which other jobs end by ``horizon`` (seconds).

    Longer jobs take at most ``extra`` processors of ``site``, or of all sites if it is None.
    """

    site: Site | None
    horizon: float
    extra: int

    def count_taken(self, parts: Fragments) -> int:
        """Return how many of a job's processors are on the site of the reservation."""
        return sum(number for site, number in parts if self.site in (None, site))


class Placed(msgspec.Struct, frozen=True):
    """A job that can start now, with its place, dilation, transfer, begin and expected end."""

    job: Job
    parts: Fragments
    dilation: float
    transfer: float
    begin: float
    end: float

    @property
    def site(self) -> Site:
        """The site on which the job runs, or that of its first fragment."""
        return self.parts[0][0]

    def start(self) -> Start:
        """Return the decision that starts the job at its place."""
        processors = NO_PROCESSORS
        for site, number in self.parts:
            processors |= site.choose_free(number)
        return Start(self.job, processors, self.dilation, self.transfer)


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
