"""Columns for grid sites: the home of each job, and its processors on each site."""

from __future__ import annotations

from array import array

import msgspec
import numpy as np

from batsched_py.processors.sets import ProcessorSet
from batsched_py.results.job_table import NO_HOME, JobTable
from batsched_py.workload.grid_sites import GridSites

_SHORT = 1 << 16


class SiteColumns:
    """Collects the columns for grid sites, one job after the other.

    Two bytes per job, and for each site two more (four on sites of 65,536 processors or more).
    """

    def __init__(self, sites: GridSites) -> None:
        self.sites = sites
        self._number_of = {site.name: number for number, site in enumerate(sites)}
        self._home = array("h")
        self._on_site = array("H" if all(site.size < _SHORT for site in sites) else "I")

    def add(self, home: str | None, processors: ProcessorSet) -> None:
        """Append a job: the name of its home, and its processors (none if it did not run)."""
        self._home.append(NO_HOME if home is None else self._number_of.get(home, NO_HOME))
        self._on_site.extend(len(processors & site.processors) for site in self.sites)

    def added_to(self, table: JobTable) -> JobTable:
        """Return the table with these columns; no job may be added afterwards."""
        shape = len(self._home), len(self.sites)
        return msgspec.structs.replace(
            table,
            sites=self.sites,
            home=np.asarray(self._home),
            on_site=np.asarray(self._on_site).reshape(shape),
        )
