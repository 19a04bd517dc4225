"""Metrics of grid sites: the work done for their own users and for the users of other sites.

Of tables with :attr:`JobTable.sites`, whose jobs belong to the users of one site (their home), and
run there, elsewhere, or on several sites at once. Work is ``w p`` in processor-seconds, as it was
executed: longer on several sites if the policy dilates it, and at the speed of its processors. A
job on several sites is done on each by its processors there.
"""

from __future__ import annotations

import msgspec
import numpy as np

from batsched_py.metrics.machine import makespan
from batsched_py.results.job_table import Column, JobTable
from batsched_py.support.quotient import ratio


def nb_multi_site_jobs(table: JobTable) -> float:
    """Jobs that ran on more than one site.

    Unit: jobs. Source: Streit 2003, table 7.3.
    """
    return float(_on_several(table).sum())


def multi_site_job_share(table: JobTable) -> float:
    """Jobs that ran on more than one site, as a share of those that ran.

    Unit: 1. Source: Streit 2003, tables 7.3 and 7.6.
    """
    return ratio(nb_multi_site_jobs(table), float(table.ran.sum()))


def multi_site_area_share(table: JobTable) -> float:
    """``sum w p`` of the jobs that ran on more than one site / ``sum w p``, as they ran there.

    Unit: 1. Source: Streit 2003, table 7.4.
    """
    area = table.only_ran.area
    return ratio(float(area[_on_several(table.only_ran)].sum()), float(area.sum()))


def away_area_share(table: JobTable) -> float:
    """``sum w p`` done on other sites than the user's home / ``sum w p``.

    Unit: 1. Source: this project.
    """
    return ratio(float(site_work(table).given.sum()), float(table.only_ran.area.sum()))


def _on_several(table: JobTable) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.asarray((table.on_site > 0).sum(axis=1) > 1)


class SiteWork(msgspec.Struct):
    """The work of each site, over all jobs that ran; columns of shape (sites,), processor-s."""

    work_of_users: Column
    """Of the jobs of its users, wherever it was done."""
    work_done: Column
    """Done on its processors for users of any site, known or unknown."""
    given: Column
    """Done on its processors for users of other sites; over all sites as much as ``taken``."""
    taken: Column
    """Done on the processors of other sites for its users."""

    @property
    def balance(self) -> Column:
        """``given - taken``: above 0 where a site does more for others than others for it."""
        return self.given - self.taken


def site_work(table: JobTable) -> SiteWork:
    """Return the work of each site: of its users, done there, done for others and by others."""
    ran = table.only_ran
    nb = len(table.sites)
    exchanged = np.zeros((nb + 1, nb))  # of whose users, done where; the last: of unknown homes
    for site in range(nb):
        done = ran.on_site[:, site] * ran.execution
        exchanged[:, site] = np.roll(np.bincount(ran.home + 1, done, nb + 1), -1)
    known = exchanged[:-1]
    at_home = np.diagonal(known)
    of_users = known.sum(axis=1)
    return SiteWork(
        work_of_users=of_users,
        work_done=exchanged.sum(axis=0),
        given=known.sum(axis=0) - at_home,
        taken=of_users - at_home,
    )


def utilisation_of_sites(table: JobTable, work: SiteWork) -> Column:
    """Return the ``work`` done on each site / (its processors x (max f - min a)); shape (sites,).

    From the first submission to the last end of the whole machine, so that the mean over its
    processors is the machine's. Unit: 1.
    """
    sizes = np.array([site.size for site in table.sites], dtype=np.float64)
    return np.asarray(work.work_done / (sizes * makespan(table)))
