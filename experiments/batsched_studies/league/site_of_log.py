"""Site-level users as a log has them: what they draw is learnt from it."""

from __future__ import annotations

from tempfile import TemporaryDirectory

import numpy as np

from batsched_py.units import WEEK
from batsched_py.workload import Workload
from batsched_users.behaviour.random_streams import Seed
from batsched_users.learning.learn_site import learn_site
from batsched_users.models.site import EXACT, LEARNT, SiteUsers


def site_of_log(
    workload: Workload,
    *,
    weeks: float,
    seed: Seed,
    nb_users: int | None = None,
    longest_run_time: float | None = None,
) -> SiteUsers:
    """Return users of the model ``site`` who draw what those of the log did.

    ``nb_users`` None: as many as were active in a week of the log, on average. The model says
    nowhere how many there are; its users never leave. Policies are told requests where the log has
    any, else run times. Raises as :func:`batsched_users.learning.learn_site.learn_site`.
    """
    drawn = learn_site([workload])
    with TemporaryDirectory() as folder:
        drawn.write(folder)
        return SiteUsers(
            workload,
            nb_users=active_a_week(workload) if nb_users is None else nb_users,
            weeks=weeks,
            distributions=folder,
            estimates=EXACT if drawn.requested_times is None else LEARNT,
            longest_run_time=longest_run_time,
            seed=seed,
        )


def active_a_week(workload: Workload) -> int:
    """Return how many users submitted in a week, on average from the first job on."""
    submit = np.array([job.submit_time for job in workload.jobs])
    week = ((submit - submit.min()) // WEEK).astype(int)
    pairs = {(at, job.user) for at, job in zip(week.tolist(), workload.jobs, strict=True)}
    return max(1, round(len(pairs) / (int(week.max()) + 1)))
