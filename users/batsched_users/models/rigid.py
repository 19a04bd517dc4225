"""Rigid replay as a user model: users submit at the recorded times, whatever happens."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import Any

from batsched_py.model.user_model import EndedJob
from batsched_py.plugins import plugins
from batsched_py.workload import Workload, WorkloadJob


class Rigid:
    """Each job of the log is submitted at its recorded time (open loop).

    This class is for members of a population. ``--users rigid`` on the command line is the same
    replay without a user model, as a workload of the simulator.
    """

    reacts = False

    def __init__(self, workload: Workload) -> None:
        self.profiles = workload.profiles
        self._jobs = workload.jobs
        self._next = 0

    def next_submission(self) -> float:
        """Return the recorded time of the next job, inf after the last one."""
        return self._jobs[self._next].submit_time if self._next < len(self._jobs) else inf

    def jobs_to_submit(self, now: float) -> Iterable[WorkloadJob]:
        """Return the jobs due by ``now``, in log order."""
        first = self._next
        while self.next_submission() <= now:
            self._next += 1
        return self._jobs[first : self._next]

    def job_ended(self, now: float, job: EndedJob, state: str) -> None:
        """Do nothing: these users do not react to the end of a job."""


def load_model(name: str) -> type[Any]:
    """Load the user model that another one wraps, which may be ``rigid``.

    Raises :class:`batsched_py.errors.PluginError` if there is none.
    """
    return Rigid if name == plugins.RIGID else plugins.load(plugins.USERS, name)
