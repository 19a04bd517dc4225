"""Synthetic logs of a known user model, on half of the machine until a change.

They test the league itself: the model that made a log should predict it best.
"""

from __future__ import annotations

import hashlib
from collections import ChainMap
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from batsched_py import simulate
from batsched_py.model.user_model import EndedJob, UserModel, Withdraw
from batsched_py.options.option_values import one_of
from batsched_py.units import HOUR, WEEK
from batsched_py.workload import Workload, WorkloadJob
from batsched_py.workload.batsim.profile_types import run_time_profile
from batsched_studies.league import RIGID
from batsched_studies.league.change import Change
from batsched_studies.league.site_of_log import make_users
from batsched_users.learning.ideal_machine import play_model
from batsched_users.models.rigid import Rigid

CLOSED, OPEN = "closed", "open"
WORLDS = {CLOSED: "site", OPEN: RIGID}
"""The model that makes each world. Users of the closed world react to the system. Those of the open
world submit as on a machine without waits, so their past is the best forecast."""
NB_USERS = {CLOSED: 40, OPEN: 8}
"""On half of the sample log's machine, users wait long in the closed world, not in the open one."""
LONGEST_RUN_TIME = 4 * HOUR
"""A bound, since without it single users would dominate."""
WARM_UP = 4
"""Weeks before the learnt ones, in which the empty machine fills."""
_SEED = 2024
_SHUT = "shut"
"""The extra job, which occupies half of the machine until the change."""


def make_world(workload: Workload, name: str, change: Change) -> Workload:
    """Return the synthetic log of a world: a known user model, simulated under EASY.

    Until the change, half of the log's machine is unavailable. The result depends only on the log
    and the options; the last one is cached. Raises :class:`UsageError` for an unknown name.
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
    users: UserModel = make_users(
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
    """Return a rigid replay of what ``users`` submit if every job starts at once."""
    jobs = [msgspec.structs.replace(at.job, submit_time=at.submit) for at in play_model(users)]
    profiles = {job.profile: users.profiles[job.profile] for job in jobs}
    return Rigid(msgspec.structs.replace(workload, jobs=jobs, profiles=profiles))


class HalfShut:
    """A user model with one extra job, which takes half of the machine until some second."""

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
        """Return 0 for the extra job, then the next submission of the users (seconds)."""
        return 0.0 if self._shut else self._users.next_submission()

    def jobs_to_submit(self, now: float) -> Iterable[WorkloadJob | Withdraw]:
        """Return the jobs that are due at ``now``, the extra job first."""
        shut, self._shut = self._shut, []
        due = self._users.next_submission() <= now
        return [*shut, *(self._users.jobs_to_submit(now) if due else ())]

    def job_ended(self, now: float, job: EndedJob, state: str) -> None:
        """Pass the end of a job on to its users, unless it is the extra job."""
        if job.user != _SHUT:
            self._users.job_ended(now, job, state)


def _recorded(workload: Workload, table: Any) -> Workload:
    """Return the jobs that ran as a log, with their run times as estimates."""
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
