"""Site-level users whose distributions are learnt from a log."""

from __future__ import annotations

from functools import partial
from tempfile import TemporaryDirectory

from batsched_py.model.user_model import UserModel
from batsched_py.units import WEEK
from batsched_py.workload import Workload, WorkloadJob
from batsched_studies.league.days import read_log_jobs
from batsched_users import Chance
from batsched_users.behaviour.random_streams import Seed
from batsched_users.learning.ideal_machine import play_model, require_run_time
from batsched_users.learning.learn_site import learn_site
from batsched_users.models.site import EXACT, LEARNT, SiteUsers

USERS_ON_TRIAL = 200
"""The number of users in the trial: enough to average over their differences."""
_TRIAL = 13
"""Weeks of the trial; in the first of them users arrive."""


def make_users(
    workload: Workload,
    *,
    weeks: float,
    seed: Seed,
    nb_users: int | None = None,
    longest_run_time: float | None = None,
) -> SiteUsers:
    """Return users of the model ``site`` with distributions learnt from a log.

    By default their number is fitted, so that they submit as many jobs per week as the log has if
    jobs wait as long as in the log. Users never leave. Policies get requested times if the log has
    any, else run times. Raises as :func:`batsched_users.learning.learn_site.learn_site`.
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
            on_trial = users(nb_users=USERS_ON_TRIAL, weeks=_TRIAL, seed=trial)
            share = count_jobs_per_week(workload) / count_jobs_on_trial(on_trial, workload, seed)
            nb_users = max(1, round(USERS_ON_TRIAL * share))
        return users(nb_users=nb_users, weeks=weeks, seed=seed)


def count_jobs_per_week(workload: Workload) -> float:
    """Return the mean number of jobs per week of a log."""
    first, last = (workload.jobs[at].submit_time for at in (0, -1))
    return len(workload.jobs) / max((last - first) / WEEK, 1.0)


def count_jobs_on_trial(users: UserModel, workload: Workload, seed: Seed) -> float:
    """Return how many jobs per week users submit if their jobs wait as long as the log's jobs.

    So the machine and the policy of the log do not matter.
    """
    waits: list[float] = read_log_jobs(workload, workload.nb_res).wait.tolist()
    random = Chance(seed).stream("waits")

    def end_of(job: WorkloadJob, now: float) -> float:
        return now + random.choice(waits) + require_run_time(job, users.profiles[job.profile])

    settled = [played for played in play_model(users, end_of) if played.submit >= WEEK]
    return max(len(settled), 1) / (_TRIAL - 1)
