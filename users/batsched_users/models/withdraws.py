"""Users of any model who withdraw waiting jobs, as often as users of logs do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from heapq import heapify, heappop, heappush
from itertools import count
from math import inf, log1p
from random import Random
from typing import Any, Literal, Protocol

import msgspec

from batsched_py.errors import UsageError
from batsched_py.model.user_model import WITHDRAWN, EndedJob, StartedJob, Withdraw, ask_next_due
from batsched_py.options.option_values import number, one_of
from batsched_py.plugins import plugins
from batsched_py.units import HOUR
from batsched_py.workload import Workload, WorkloadJob
from batsched_users.behaviour.calendar import Calendar
from batsched_users.behaviour.job_names import JobNames
from batsched_users.behaviour.patience import AgeHazard, PresenceHazard, WeekClock
from batsched_users.behaviour.random_streams import Chance, Seed
from batsched_users.behaviour.withdrawal_habits import ABSENCES, AGES, Choice, Habits, read_habits
from batsched_users.models.wrapping import ModelName, ModelOptions, Wrapper

Clock = Literal["user", "job"]
_PER_1000_HOURS = 1 / (1000 * HOUR)
_LEAST_COMPACTED = 1000
"""Number of plans below which outdated ones are not removed."""


class Withdraws(Wrapper):
    """Users of another model who withdraw waiting jobs at rates learned from a log.

    With ``clock=user``, a user with waiting jobs decides at a rate that depends on the time since
    the user's last visible act, on day and night, and on the weekend. A visible act is a submission
    or the end of an own job that was not withdrawn. Each decision withdraws one waiting job, or
    all. Jobs without user are never withdrawn. With ``clock=job``, each job is withdrawn at a rate
    that depends on its age in the queue.

    For the wrapped model, a withdrawn job has ended, with the state WITHDRAWN. With ``rate=0`` the
    results are those of the wrapped model. Random numbers depend on the seed and the user, or on
    the job for ``clock=job``. So users have the same patience under every policy, and if ``rate``
    grows, jobs are withdrawn earlier (``clock=job``).

    Rates come from logs of one scheduler and include corrections of mistakes. They do not change
    with the wait that users expect, which is our assumption.

    Args:
        clock: Rate by the user's last visible act, or by the age of the job.
        habits: Rates and choices of users: the name of a log, or a file that ``users learn
            withdrawals`` has written. Allowed: sdsc_sp2, sdsc_ds, or a path.
        rate: Factor of all rates; 3 for users who are three times as impatient. Allowed: a number,
            at least 0.
        mean_patience: Mean time to withdrawal in seconds, exponentially distributed, in place of
            the habits; with ``clock=job`` only (null: habits). Allowed: a number above 0.
    """

    def __init__(
        self,
        workload: Workload,
        *,
        model: ModelName = plugins.RIGID,
        model_options: ModelOptions = None,
        clock: Clock = "user",
        habits: str = "sdsc_sp2",
        rate: float = 1.0,
        mean_patience: float | None = None,
        seed: Seed = 0,
    ) -> None:
        chance = Chance(seed)
        factor = number("rate", rate, 0)
        by_job = one_of("clock", clock, Clock) == "job"
        if mean_patience is not None and not by_job:
            raise UsageError(f"mean_patience={mean_patience}: needs clock=job")
        self._clock: _Clock
        if mean_patience is not None:
            if not number("mean_patience", mean_patience, 0):
                raise UsageError("mean_patience=0: expected a number above 0")
            self._clock = _JobClock(AgeHazard((0.0,), (1 / mean_patience,)), factor, chance)
        elif by_job:
            self._clock = _JobClock(_hazard_by_age(read_habits(habits)), factor, chance)
        else:
            known = read_habits(habits)
            hazard = _hazard_by_presence(known, Calendar.of(workload))
            self._clock = _UserClock(hazard, known.choice, factor, chance)
            if workload.jobs and all(job.user is None for job in workload.jobs):
                raise UsageError(
                    f"clock=user: no job of {workload.name} has a user, so nobody would withdraw "
                    "anything; with clock=job each job has a patience of its own"
                )
        super().__init__(workload, model, model_options, seed)

    def next_submission(self) -> float:
        """Return when users act next (seconds): submissions, and decisions to withdraw."""
        return min(self._clock.find_due(), ask_next_due(self.inner))

    def jobs_to_submit(self, now: float) -> Iterable[WorkloadJob | Withdraw]:
        """Return what the wrapped model does, then the withdrawals of its users."""
        acts = self.take_inner(now)
        if type(acts) is not list:
            return self._follow(now, acts)
        for act in acts:
            if isinstance(act, WorkloadJob):
                self._clock.submitted(now, act)
        if self._clock.find_due() > now:
            return acts
        return [*acts, *map(Withdraw, self._clock.decide(now))]

    def _follow(
        self, now: float, acts: Iterable[WorkloadJob | Withdraw]
    ) -> Iterator[WorkloadJob | Withdraw]:
        """Do the same for acts that come one by one, maybe without end."""
        for act in acts:
            if isinstance(act, WorkloadJob):
                self._clock.submitted(now, act)
            yield act
        yield from map(Withdraw, self._clock.decide(now))

    def job_started(self, now: float, job: StartedJob) -> None:
        """Note that a job waits no longer."""
        self._clock.started(now, job.submitted)
        super().job_started(now, job)

    def job_ended(self, now: float, job: EndedJob, state: str) -> None:
        """Note the end of a job, which may be that of a waiting job."""
        self._clock.ended(now, job.submitted, withdrawn=state == WITHDRAWN)
        super().job_ended(now, job, state)

    def statistics(self) -> Mapping[str, Any]:
        """Count the jobs without user that nobody withdraws, beside the wrapped model's counts."""
        inner, nb = super().statistics(), self._clock.nb_without_user
        if not nb:
            return inner
        before = f"{inner['summary']}; " if inner.get("summary") else ""
        summary = f"{before}{nb} jobs have no user, so nobody withdraws them: see clock=job"
        return {**inner, "without_user": nb, "summary": summary}

    def job_paused(self, now: float, job: EndedJob) -> None:
        """Note that a job was withdrawn and will be submitted again."""
        self._clock.ended(now, job.submitted, withdrawn=True)
        super().job_paused(now, job)

    def job_resumed(self, now: float, job: WorkloadJob) -> None:
        """Note that a job that had paused waits again, with a patience of its own."""
        self._clock.submitted(now, job)
        super().job_resumed(now, job)


class _Clock(Protocol):
    """Decides when which waiting jobs are withdrawn; times in seconds."""

    nb_without_user: int
    """Number of submitted jobs that are never withdrawn since they have no user."""

    def submitted(self, now: float, job: WorkloadJob) -> None: ...
    def started(self, now: float, job: WorkloadJob) -> None: ...
    def ended(self, now: float, job: WorkloadJob, *, withdrawn: bool) -> None: ...
    def find_due(self) -> float: ...
    def decide(self, now: float) -> Iterator[str]: ...


def _hazard_by_age(habits: Habits) -> AgeHazard:
    return AgeHazard(AGES, [rate * _PER_1000_HOURS for rate in habits.job_rates])


def _hazard_by_presence(habits: Habits, calendar: Calendar) -> PresenceHazard:
    clock = WeekClock(calendar, habits.night, habits.weekend)
    return PresenceHazard(clock, ABSENCES, [r * _PER_1000_HOURS for r in habits.user_rates])


class _JobClock:
    """Each job has a patience, drawn at its submission from a number of the job."""

    nb_without_user = 0

    def __init__(self, hazard: AgeHazard, rate: float, chance: Chance) -> None:
        self._hazard, self._rate, self._chance = hazard, rate, chance
        self._names = JobNames()
        self._waiting: dict[str, int] = {}
        """Id of each waiting job whose patience ends -> number of its plan."""
        self._plans: list[tuple[float, int, str]] = []  # time, number of the plan, job
        self._number = count()

    def submitted(self, now: float, job: WorkloadJob) -> None:
        """Plan when the job is withdrawn."""
        drawn = self._chance.number("patience", job.user, self._names.make_name(job))
        if not self._rate:
            return
        patience = self._hazard.find_age(-log1p(-drawn) / self._rate)
        if patience < inf:
            self._waiting[job.id] = plan = next(self._number)
            heappush(self._plans, (now + patience, plan, job.id))
            self._compact()

    def started(self, now: float, job: WorkloadJob) -> None:
        """Forget a job that waits no longer."""
        self._waiting.pop(job.id, None)

    def ended(self, now: float, job: WorkloadJob, *, withdrawn: bool) -> None:
        """Forget a job that waits no longer."""
        self._waiting.pop(job.id, None)

    def find_due(self) -> float:
        """Return when the next waiting job is withdrawn, inf if none is."""
        plans = self._plans
        while plans and self._waiting.get(plans[0][2]) != plans[0][1]:
            heappop(plans)
        return plans[0][0] if plans else inf

    def decide(self, now: float) -> Iterator[str]:
        """Yield the ids of the jobs whose patience has ended."""
        while self.find_due() <= now:
            yield heappop(self._plans)[2]

    def _compact(self) -> None:
        """Remove the plans of jobs that wait no longer, if they are the most."""
        if len(self._plans) > max(_LEAST_COMPACTED, 2 * len(self._waiting)):
            waiting = self._waiting
            self._plans = [plan for plan in self._plans if waiting.get(plan[2]) == plan[1]]
            heapify(self._plans)


class _Presence(msgspec.Struct, eq=False):
    """A user's last visible act, waiting jobs, and the hazard that is left until a decision."""

    random: Random
    left: float
    """Cumulative hazard from ``since`` to the next decision, over the factor of the rates."""
    acted: float = 0.0
    since: float = 0.0
    waiting: dict[str, None] = {}
    """Ids of waiting jobs, the oldest submission first."""
    plan: int = -1
    """Number of the plan for the next decision, -1 for no plan."""


class _UserClock:
    """Each user has exponential thresholds of the hazard, which grows while own jobs wait."""

    def __init__(self, hazard: PresenceHazard, choice: Choice, rate: float, chance: Chance) -> None:
        self._hazard, self._rate, self._chance = hazard, rate, chance
        self._choice = choice
        self.nb_without_user = 0
        self._users: dict[str, _Presence] = {}
        self._changed: dict[str, None] = {}
        """Users whose next decision is to be planned anew, in order."""
        self._plans: list[tuple[float, int, str]] = []  # time, number of the plan, user
        self._number = count()

    def submitted(self, now: float, job: WorkloadJob) -> None:
        """Note a visible act, and a waiting job."""
        if job.user is None or not self._rate:
            self.nb_without_user += bool(self._rate)
            return
        user = self._users.get(job.user)
        if user is None:
            random = self._chance.stream("withdraws", job.user)
            user = self._users[job.user] = _Presence(random, random.expovariate(1.0))
        self._act(now, job.user, user)
        user.waiting[job.id] = None

    def started(self, now: float, job: WorkloadJob) -> None:
        """Note that a job waits no longer."""
        user = self._users.get(job.user or "")
        if user is not None and job.id in user.waiting:
            if len(user.waiting) == 1:
                self._catch_up(now, user)
                user.plan = -1
            del user.waiting[job.id]

    def ended(self, now: float, job: WorkloadJob, *, withdrawn: bool) -> None:
        """Note the end of a job: a visible act, unless it was withdrawn."""
        user = self._users.get(job.user or "")
        if user is None:
            return
        self.started(now, job)  # if it still waited
        if not withdrawn:
            assert job.user is not None
            self._act(now, job.user, user)

    def find_due(self) -> float:
        """Return when the next user decides, inf if none does."""
        plans = self._plans
        for name in self._changed:
            user = self._users[name]
            if user.waiting:
                time = self._hazard.find_time(user.acted, user.since, user.left / self._rate)
                user.plan = next(self._number)
                heappush(plans, (time, user.plan, name))
        self._changed.clear()
        if len(plans) > max(_LEAST_COMPACTED, 2 * len(self._users)):
            plans[:] = [plan for plan in plans if self._users[plan[2]].plan == plan[1]]
            heapify(plans)
        while plans and self._users[plans[0][2]].plan != plans[0][1]:
            heappop(plans)
        return plans[0][0] if plans else inf

    def decide(self, now: float) -> Iterator[str]:
        """Yield the ids of the jobs that users withdraw by ``now``."""
        while self.find_due() <= now:
            name = heappop(self._plans)[2]
            user = self._users[name]
            yield from self._choose(user)
            user.left, user.since = user.random.expovariate(1.0), now
            user.plan = -1
            self._changed[name] = None

    def _choose(self, user: _Presence) -> list[str]:
        """Return the waiting jobs that a user withdraws; always takes two random numbers."""
        which, place = user.random.random(), user.random.random()
        waiting, choice = list(user.waiting), self._choice
        which -= choice.all
        if which < 0 or len(waiting) == 1:
            return waiting
        newest, oldest = choice.newest, choice.oldest
        if len(waiting) == 2:  # there is no other one
            which *= (newest + oldest) / ((newest + oldest + choice.other) or 1.0)
        if which < newest:
            return waiting[-1:]
        if which < newest + oldest or len(waiting) == 2:
            return waiting[:1]
        return [waiting[1 + int(place * (len(waiting) - 2))]]

    def _act(self, now: float, name: str, user: _Presence) -> None:
        self._catch_up(now, user)
        user.acted = now
        user.plan = -1
        self._changed[name] = None

    def _catch_up(self, now: float, user: _Presence) -> None:
        """Take the hazard since the last change off the threshold."""
        if user.waiting and user.since < now:
            spent = self._hazard.integrate(user.acted, user.since, now)
            user.left = max(0.0, user.left - self._rate * spent)
        user.since = now
