"""Where a job of a grid starts, by which rules, and what is promised to another.

Source: A. Streit's thesis, 2003, chapters 6 and 7.
"""

from __future__ import annotations

import msgspec

from batsched_py.model.decisions import Start
from batsched_py.model.job import Job
from batsched_py.model.site import Site
from batsched_py.processors.sets import NO_PROCESSORS
from batsched_py.schedulers.grid.costs import Costs
from batsched_py.schedulers.grid.site_selection import Selection
from batsched_py.schedulers.grid.spreading import Fragments, Spreading


class GridRules(msgspec.Struct, frozen=True):
    """By which rules jobs are placed; without ``spreading`` each runs on one site."""

    select: Selection
    costs: Costs
    spreading: Spreading | None = None
    adaptive: bool = False
    """Whether a job is spread only if it ends earlier then than it would on one site."""
    extra_nodes: str = "first"
    """Which jobs give extra nodes, see :func:`~batsched_py.schedulers.easy.easy_reservation`."""


class Reserved(msgspec.Struct):
    """What is promised to the head of the queue: later jobs end by ``horizon`` (seconds), or keep
    at most ``extra`` processors longer: of ``site``, or if that is None of all."""

    site: Site | None
    horizon: float
    extra: int

    def held_by(self, parts: Fragments) -> int:
        """Return how many of the processors that are promised a job takes."""
        return sum(number for site, number in parts if self.site in (None, site))


class Placed(msgspec.Struct, frozen=True):
    """A job that can start now: where, how much longer it runs there, its end by estimates."""

    job: Job
    parts: Fragments
    dilation: float
    transfer: float
    end: float

    def start(self) -> Start:
        """Return the decision."""
        processors = NO_PROCESSORS
        for site, number in self.parts:
            processors |= site.free_processors.lowest(number)
        return Start(self.job, processors, self.dilation, self.transfer)
