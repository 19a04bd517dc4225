"""Site-level users with distributions learnt from a log."""

from __future__ import annotations

from functools import partial
from tempfile import TemporaryDirectory

from batsched_py.model.user_model import UserModel
from batsched_py.units import WEEK
from batsched_py.workload import Workload, WorkloadJob
from batsched_studies.league.days import jobs_of_log
from batsched_users import Chance
from batsched_users.behaviour.random_streams import Seed
from batsched_users.learning.ideal_machine import play_model, require_run_time
from batsched_users.learning.learn_site import learn_site
from batsched_users.models.site import EXACT, LEARNT, SiteUsers

CROWD = 200
"""Users on trial: single ones differ much."""
_TRIAL = 13
"""Weeks of the trial; in the first of them users arrive."""


def site_of_log(
    workload: Workload,
    *,
    weeks: float,
    seed: Seed,
    nb_users: int | None = None,
    longest_run_time: float | None = None,
) -> SiteUsers:
    """Return users of the model ``site`` with the distributions of a log.

    ``nb_users`` None: so many that the jobs a week of the log come out where jobs wait as long as
    they did in the log. The model says nowhere how many there are; its users never leave. Policies
    are told requests where the log has any, else run times. Raises as
    :func:`batsched_users.learning.learn_site.learn_site`.
    """
    drawn = learn_site([workload])
    with TemporaryDirectory() as folder:
        drawn.write(folder)
        users = partial(
            SiteUsers,
            workload,
            distributions=folder,
            estimates=EXACT if drawn.requested_times is None else LEARNT,
            longest_run_time=longest_run_time,
        )
        if nb_users is None:
            trial = Chance(seed).stream("trial").getrandbits(63)
            crowd = users(nb_users=CROWD, weeks=_TRIAL, seed=trial)
            share = jobs_a_week(workload) / jobs_on_trial(crowd, workload, seed)
            nb_users = max(1, round(CROWD * share))
        return users(nb_users=nb_users, weeks=weeks, seed=seed)


def jobs_a_week(workload: Workload) -> float:
    """Return how many jobs a log has a week, from the first to the last."""
    first, last = (workload.jobs[at].submit_time for at in (0, -1))
    return len(workload.jobs) / max((last - first) / WEEK, 1.0)


def jobs_on_trial(users: UserModel, workload: Workload, seed: Seed) -> float:
    """Return the jobs per week of users whose jobs wait as long as jobs of the log.

    So it does not matter on which machine, and under which policy, the log was recorded.
    """
    waits: list[float] = jobs_of_log(workload, workload.nb_res).wait.tolist()
    random = Chance(seed).stream("waits")

    def end_of(job: WorkloadJob, now: float) -> float:
        return now + random.choice(waits) + require_run_time(job, users.profiles[job.profile])

    settled = [played for played in play_model(users, end_of) if played.submit >= WEEK]
    return max(len(settled), 1) / (_TRIAL - 1)
