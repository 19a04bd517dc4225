"""The daily activity of users after a change: recorded, or predicted by an ensemble member."""

from __future__ import annotations

from math import nan

import msgspec
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batsched_py.support.step_functions import Intervals
from batsched_py.units import DAY, HOUR, MINUTE, WEEK
from batsched_py.workload import Workload
from batsched_studies.league.change import Change
from batsched_users.behaviour.job_profiles import run_time_of

Floats = NDArray[np.float64]
WIDTHS = (1 / 16, 1 / 4)
"""The largest shares of the machine of narrow jobs and of jobs of middle width."""


class Jobs(msgspec.Struct, frozen=True):
    """Jobs with their results, in columns of shape (n,); second 0 is the change."""

    submit: Floats
    wait: Floats
    """nan for a rejected job."""
    run: Floats
    size: Floats
    user: NDArray[np.object_]
    nb_processors: int

    @property
    def used(self) -> Intervals:
        """The processors that jobs occupied, from their start to their end."""
        ran = np.isfinite(self.wait)
        start = (self.submit + self.wait)[ran]
        return Intervals(start, start + self.run[ran], self.size[ran])

    @property
    def width(self) -> NDArray[np.intp]:
        """The width class of each job: 0 narrow, 1 of middle width, 2 wide (:data:`WIDTHS`)."""
        return np.searchsorted(WIDTHS, self.size / self.nb_processors)

    @property
    def log_wait(self) -> Floats:
        """The waits on a logarithmic scale: log10(1 + minutes)."""
        return np.asarray(np.log10(1 + self.wait / MINUTE))


def read_log_jobs(workload: Workload, nb_processors: int) -> Jobs:
    """Return the jobs of a log as they were recorded; run times must not have been cut."""
    jobs = workload.jobs
    run = np.array([run_time_of(workload.profiles[job.profile]) for job in jobs])
    submit = np.array([job.submit_time for job in jobs])
    finish = np.array([nan if job.finish_time is None else job.finish_time for job in jobs])
    size = np.array([job.size for job in jobs], dtype=float)
    user = np.array([job.user for job in jobs], dtype=object)
    wait = np.maximum(finish - submit - run, 0.0)  # ends are rounded
    return Jobs(submit, wait, run, size, user, nb_processors)


def read_run_jobs(jobs: pd.DataFrame, nb_processors: int) -> Jobs:
    """Return the jobs of a simulation on processors as fast as those of the log."""
    columns = ("submission_time", "waiting_time", "execution_time")
    submit, wait, run = (jobs[name].to_numpy(dtype=float) for name in columns)
    size = jobs["requested_number_of_resources"].to_numpy(dtype=float)
    user = jobs["user"].to_numpy(dtype=object)
    return Jobs(submit, wait, run, size, user, nb_processors)


class Days(msgspec.Struct, frozen=True):
    """The quantities by day that forecasts are scored on, shape (days,); amounts are ln(1 + x).

    So a forecast that is wrong by a factor of two counts the same on a busy day and on a quiet one,
    and no single day decides.
    """

    jobs: Floats
    """Jobs submitted."""
    work: Floats
    """Processor-hours of the jobs submitted."""
    users: Floats
    """Users who submitted."""
    profile: Floats
    """Jobs submitted in each hour of the day; shape (days, 24)."""
    wait: Floats
    """Mean of log10(1 + wait in minutes) of the jobs submitted; nan without any."""
    utilisation: Floats
    """Share of the processors that were busy, on average."""

    @classmethod
    def from_jobs(cls, jobs: Jobs, change: Change) -> Days:
        """Return the quantities of the scored days, computed from jobs."""
        begin, number = change.settle * WEEK, change.weeks * 7
        day = np.floor((jobs.submit - begin) / DAY).astype(int)
        inside = (day >= 0) & (day < number)
        of_day = day[inside]

        def total(values: Floats) -> Floats:
            sums = np.bincount(of_day, weights=values[inside], minlength=number)
            return np.asarray(sums, dtype=float)

        ran = np.isfinite(jobs.wait)
        counts = np.bincount(of_day, minlength=number).astype(float)
        hour = np.floor(jobs.submit[inside] % DAY / HOUR).astype(int)
        profile = np.bincount(of_day * 24 + hour, minlength=number * 24).reshape(number, 24)
        users = pd.Series(jobs.user[inside]).groupby(of_day).nunique()
        with np.errstate(invalid="ignore"):
            wait = total(np.where(ran, jobs.log_wait, 0.0)) / total(ran.astype(float))
        return cls(
            jobs=np.log1p(counts),
            work=np.log1p(total(jobs.size * np.where(ran, jobs.run, 0.0)) / HOUR),
            users=np.log1p(users.reindex(range(number), fill_value=0).to_numpy(dtype=float)),
            profile=np.log1p(profile.astype(float)),
            wait=wait,
            utilisation=compute_busy(jobs, begin, number) / jobs.nb_processors,
        )


def compute_busy(jobs: Jobs, begin: float, days: int) -> Floats:
    """Return the mean number of busy processors of each day from ``begin`` on; shape (days,)."""
    return jobs.used.means(begin + DAY * np.arange(days + 1, dtype=float))
