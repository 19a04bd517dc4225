"""Synthetic logs by a known user model, at first on half of the machine.

They are the test of the league itself: the model that made the record should predict it best.
"""

from __future__ import annotations

import hashlib
from collections import ChainMap
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from batsched_py import simulate
from batsched_py.model.user_model import EndedJob, UserModel
from batsched_py.options.option_values import one_of
from batsched_py.units import HOUR, WEEK
from batsched_py.workload import Workload, WorkloadJob
from batsched_py.workload.batsim.profile_types import run_time_profile
from batsched_studies.league import RIGID
from batsched_studies.league.change import Change
from batsched_studies.league.site_of_log import site_of_log
from batsched_users.learning.ideal_machine import play_model
from batsched_users.models.rigid import Rigid

CLOSED, OPEN = "closed", "open"
WORLDS = {CLOSED: "site", OPEN: RIGID}
"""The models that are right. Users of the closed world react to the system; those of the open one
submit as they would on a machine without limits, whatever becomes of it, so that nothing changes
for them and their past is the best forecast."""
NB_USERS = {CLOSED: 40, OPEN: 8}
"""On half of the machine of the sample log those of the closed world wait long, the others not."""
LONGEST_RUN_TIME = 4 * HOUR
"""Without a bound, single users are most of what is seen of so few."""
WARM_UP = 4
"""Weeks before those of the league: users begin on an empty machine."""
_SEED = 2024
_SHUT = "shut"
"""The job of nobody that keeps half of the machine from the others."""


def world_of(workload: Workload, name: str, change: Change) -> Workload:
    """Return the record of a world, made from a log under EASY.

    Until the change half of the machine of the log is shut; it opens at the change. Nothing is
    drawn that the log or the options do not determine. The last one is kept. Raises
    :class:`UsageError` for a name that is none.
    """
    one_of("world", name, WORLDS)
    made_from = hashlib.sha256(msgspec.json.encode(workload)).hexdigest(), name, change
    if made_from not in _LAST:
        _LAST.clear()
        _LAST[made_from] = _made(workload, name, change)
    return _LAST[made_from].copy()


_LAST: dict[tuple[str, str, Change], Workload] = {}


def _made(workload: Workload, name: str, change: Change) -> Workload:
    shut = (WARM_UP + change.learnt) * WEEK
    weeks = WARM_UP + change.learnt + change.horizon
    start = change.date.timestamp() - shut
    here = msgspec.structs.replace(workload, unix_start_time=start, time_zone="UTC")
    users: UserModel = site_of_log(
        here,
        weeks=weeks,
        seed=_SEED,
        nb_users=NB_USERS[name],
        longest_run_time=LONGEST_RUN_TIME,
    )
    if name == OPEN:
        users = _whatever_happens(users, here)
    half = HalfShut(users, here, shut)
    result = simulate(here, users=lambda _workload: half, progress=False)
    return _recorded(here, result.table)


def _whatever_happens(users: UserModel, workload: Workload) -> Rigid:
    """Return users who submit what these do where every job starts at once, and never react."""
    jobs = [msgspec.structs.replace(at.job, submit_time=at.submit) for at in play_model(users)]
    profiles = {job.profile: users.profiles[job.profile] for job in jobs}
    return Rigid(msgspec.structs.replace(workload, jobs=jobs, profiles=profiles))


class HalfShut:
    """A user model, and a job of nobody that takes half of the machine until some second."""

    def __init__(self, users: UserModel, workload: Workload, until: float) -> None:
        self._users = users
        profile = {_SHUT: run_time_profile(workload.rules["profile"], until)}
        self.profiles: Mapping[str, Any] = ChainMap(profile, users.profiles)  # type: ignore[arg-type]
        size = workload.nb_res // 2
        self._shut = [
            WorkloadJob(
                id=_SHUT, submit_time=0.0, size=size, profile=_SHUT, estimate=until, user=_SHUT
            )
        ]

    def next_submission(self) -> float:
        """Return 0 at first, then the next submission of the users."""
        return 0.0 if self._shut else self._users.next_submission()

    def jobs_to_submit(self, now: float) -> Iterable[WorkloadJob]:
        """Return the job of nobody before all others."""
        shut, self._shut = self._shut, []
        due = self._users.next_submission() <= now
        return [*shut, *(self._users.jobs_to_submit(now) if due else ())]

    def job_ended(self, now: float, job: EndedJob, state: str) -> None:
        """Tell the users of their jobs."""
        if job.user != _SHUT:
            self._users.job_ended(now, job, state)


def _recorded(workload: Workload, table: Any) -> Workload:
    """Return the jobs that ran as they would stand in a log, whose policies know run times."""
    profiles: dict[str, dict[str, Any]] = {}
    jobs = []
    columns = (table.submit, table.finish, table.execution.round(3), table.size, table.ran)
    rows = zip(*(column.tolist() for column in columns), table.user, strict=True)
    for number, (submit, finish, run, size, ran, user) in enumerate(rows, start=1):
        if not ran or user == _SHUT:
            continue
        name = f"r{run:g}"
        profiles[name] = run_time_profile(workload.rules["profile"], run)
        jobs.append(
            WorkloadJob(
                id=str(number),
                submit_time=submit,
                size=int(size),
                profile=name,
                estimate=run,
                user=user,
                finish_time=finish,
            )
        )
    jobs.sort(key=lambda job: job.submit_time)
    return msgspec.structs.replace(workload, jobs=jobs, profiles=profiles)
