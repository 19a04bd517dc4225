"""Forecasts of submissions after a change, by user models that learn from the weeks before."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import inf
from typing import Any

import msgspec
import numpy as np

from batsched_py.model.user_model import EndedJob
from batsched_py.options.option_values import one_of, whole_number
from batsched_py.units import WEEK
from batsched_py.workload import Workload, WorkloadJob
from batsched_studies.league import RECENT, RECORDED, RIGID
from batsched_studies.league.change import Change, move_job, move_weeks, select_after, select_before
from batsched_studies.league.site_of_log import make_users
from batsched_studies.league.worlds import make_world
from batsched_users import Chance
from batsched_users.behaviour.random_streams import Seed
from batsched_users.models.adjusted import Adjusted
from batsched_users.models.distribution import Distribution
from batsched_users.models.feedback import ThinkTimeFeedback
from batsched_users.models.fluid import Fluid
from batsched_users.models.resampled import Resampled
from batsched_users.models.rigid import Rigid
from batsched_users.models.tbuos import Tbuos
from batsched_users.resampling.user_pools import EDGE_WEEKS, LONG_WEEKS


class Forecast:
    """One ensemble member of a user model: the jobs that its users submit after the change.

    Second 0 of the simulation is the change. A model knows the jobs of the weeks before it, if they
    had ended by then; the machine and the policy are those after the change.

    - ``rigid``, ``a0``, ``a60``, ``adjusted``, ``distribution`` and ``fluid`` replay the jobs
      recorded since ``horizon + spare + member`` weeks before the change.
    - ``rigid_recent`` does so from ``horizon + member`` weeks before the change on.
    - ``climatology`` replays a random earlier week for each week.
    - ``resampled``, ``tbuos`` and ``site`` draw from all of the weeks before.
    - ``recorded`` is no forecast: it replays the jobs recorded after the change.

    No job is submitted after the horizon. ``world`` names a world of
    :mod:`batsched_studies.league.worlds` that replaces the log. Each member has its own random
    numbers. The other options are those of :class:`batsched_studies.league.change.Change`.
    """

    def __init__(
        self,
        workload: Workload,
        *,
        model: str,
        change: str,
        member: int = 0,
        world: str = "",
        settle: int = 2,
        weeks: int = 12,
        spare: int = 4,
        members: int = 10,
        seed: Seed = 0,
    ) -> None:
        """Raises :class:`UsageError` for invalid options, and for logs that are too short."""
        self._change = Change(change, settle, weeks, spare, members)
        one_of("model", model, (RECORDED, *MODELS))
        place = whole_number("member", member, 0, members - 1)
        if world:
            workload = make_world(workload, world, self._change)
        if model == RECORDED:
            self._users: Any = Rigid(select_after(workload, self._change))
        else:
            known = Knowledge(
                select_before(workload, self._change), self._change, place, _own(seed, place)
            )
            self._users = MODELS[model](known)
        self.profiles = self._users.profiles
        self._until = self._change.horizon * WEEK

    def next_submission(self) -> float:
        """Return when the model submits next (seconds); inf after the predicted weeks."""
        due: float = self._users.next_submission()
        return due if due < self._until else inf

    def jobs_to_submit(self, now: float) -> Iterable[WorkloadJob]:
        """Return the jobs that the model submits at ``now``."""
        jobs: Iterable[WorkloadJob] = self._users.jobs_to_submit(now)
        return jobs

    def job_ended(self, now: float, job: EndedJob, state: str) -> None:
        """Pass the end of a job on to the model."""
        self._users.job_ended(now, job, state)


class Knowledge(msgspec.Struct, frozen=True):
    """What an ensemble member may use: the log before the change, and its options."""

    log: Workload
    """The jobs before the change, at negative times."""
    change: Change
    member: int
    seed: np.random.SeedSequence

    @property
    def replayed(self) -> Workload:
        """The log from the week in which the member's replay begins, with spare weeks."""
        return self._last(self.change.count_replayed_weeks(self.member))

    @property
    def recent(self) -> Workload:
        """The log from the week in which the member's replay begins, without spare weeks."""
        return self._last(self.change.horizon + self.member)

    def _last(self, weeks: int) -> Workload:
        """Return the last weeks, moved so that they begin at the change."""
        jobs = [job for job in self.log.jobs if job.submit_time >= -weeks * WEEK]
        return move_weeks(msgspec.structs.replace(self.log, jobs=jobs), weeks)

    @property
    def whole(self) -> Workload:
        """The whole log before the change, moved so that it begins at the change."""
        return move_weeks(self.log, self.change.learnt)

    @property
    def drawing_options(self) -> dict[str, Any]:
        """The options for resampling users from the log.

        Logs of few weeks have smaller limits than the thesis's 12 weeks to be a long-term user and
        its edges of 4 weeks.
        """
        learnt = self.change.learnt
        return {
            "weeks": self.change.horizon,
            "long_weeks": min(LONG_WEEKS, learnt / 2),
            "edge_weeks": min(EDGE_WEEKS, learnt / 6),
            "seed": self.seed,
        }

    @property
    def shuffled(self) -> Workload:
        """A log for the predicted weeks, made of weeks before the change in random order."""
        random = Chance(self.seed).stream("weeks")
        weeks: dict[int, list[WorkloadJob]] = {}
        for job in self.log.jobs:
            weeks.setdefault(int(job.submit_time // WEEK), []).append(job)
        jobs = []
        for week in range(self.change.horizon):
            drawn = random.randrange(-self.change.learnt, 0)
            for job in weeks.get(drawn, ()):
                jobs.append(move_job(job, (week - drawn) * WEEK, f"{week}.{job.id}"))
        return msgspec.structs.replace(self.log, jobs=jobs)


def _own(seed: Seed, member: int) -> np.random.SeedSequence:
    """Return the seed of a member, which does not depend on the number of members."""
    if isinstance(seed, np.random.SeedSequence):
        return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, member))
    return np.random.SeedSequence(seed, spawn_key=(member,))


MODELS: dict[str, Callable[[Knowledge], Any]] = {
    RIGID: lambda known: Rigid(known.replayed),
    RECENT: lambda known: Rigid(known.recent),
    "climatology": lambda known: Rigid(known.shuffled),
    "resampled": lambda known: Resampled(known.whole, **known.drawing_options),
    "a0": lambda known: ThinkTimeFeedback(known.replayed, sessions="arrival:0"),
    "a60": lambda known: ThinkTimeFeedback(known.replayed, sessions="arrival:60"),
    "adjusted": lambda known: Adjusted(known.replayed),
    "distribution": lambda known: Distribution(known.replayed, seed=known.seed),
    "fluid": lambda known: Fluid(known.replayed, seed=known.seed),
    "tbuos": lambda known: Tbuos(known.whole, **known.drawing_options),
    "site": lambda known: make_users(known.whole, weeks=known.change.horizon, seed=known.seed),
}
"""The models of the league, in the order in which they are shown."""
