"""Weekly users: they work on some days of the week, one job after the other, and think between.

Source: S. Schlagkamp, "Influence of Dynamic Think Times on Parallel Job Scheduler Performances in
Generative Simulations", JSSPP 2015.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush
from itertools import accumulate
from math import floor, inf
from pathlib import Path
from random import Random
from typing import Annotated, Any, Literal

import msgspec

from batsched_py.errors import UsageError
from batsched_py.files.readers import is_file, read_json
from batsched_py.model.user_model import EndedJob
from batsched_py.options import option_values as options
from batsched_py.options.option_values import (
    MOST_USERS,
    MOST_WEEKS,
    number,
    one_of,
    whole_number,
)
from batsched_py.units import DAY, WEEK
from batsched_py.workload import Workload, WorkloadJob
from batsched_users.behaviour.calendar import Calendar
from batsched_users.behaviour.job_profiles import RunTimeProfiles, name_profile
from batsched_users.behaviour.random_streams import Chance, Seed
from batsched_users.behaviour.think_times import ThinkTime

PUBLISHED = Path(__file__).parents[1] / "data" / "weekly.json"
"""The parameters of the paper's simulations."""

MOST_USER_WEEKS = 10_000_000
"""Largest number of users times weeks, each of which is drawn as active or not."""
_Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
_Clock = Annotated[float, msgspec.Meta(ge=0, lt=DAY)]


class SizeClass(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Jobs of one size: how frequent they are, and their normally distributed run times."""

    size: Annotated[int, msgspec.Meta(ge=1)]
    """Processors; the paper has powers of two."""
    probability: _Share
    mean: Annotated[float, msgspec.Meta(ge=1)]
    """Run time in seconds, before short ones are redrawn or clipped."""
    deviation: Annotated[float, msgspec.Meta(ge=0)]
    """Seconds."""


class UserClass(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of users who behave alike; shares sum to 1."""

    name: str
    count: Annotated[int, msgspec.Meta(ge=1, le=MOST_USERS)]
    """Number of users of the class."""
    activity: _Share
    """Probability that a week is active (p_a)."""
    weekdays: Annotated[list[_Share], msgspec.Meta(min_length=7, max_length=7)]
    """Share of each weekday from Monday to Sunday (p_d)."""
    day_begin: _Clock
    """Begin of the working day in seconds since midnight (t_b)."""
    day_end: _Clock
    """End of the working day (t_e); no job is submitted later that day."""
    sizes: Annotated[list[SizeClass], msgspec.Meta(min_length=1)]

    def __post_init__(self) -> None:
        if self.day_end < self.day_begin:
            raise ValueError(
                f"day_end={self.day_end:g} is before day_begin={self.day_begin:g}: expected a "
                "working day of one calendar day"
            )
        shares = {"weekdays": self.weekdays, "sizes": [s.probability for s in self.sizes]}
        for what, parts in shares.items():
            if abs(sum(parts) - 1) > 1e-3:  # files have rounded shares
                raise ValueError(f"{what}: the shares sum to {sum(parts):g}, expected 1")


class Parameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of a parameter file of the model ``weekly``: its classes of users."""

    classes: Annotated[list[UserClass], msgspec.Meta(min_length=1)]
    source: str = ""
    """Source of the numbers."""


def read_parameters(path: str | Path) -> Parameters:
    """Read a parameter file (JSON) of the model ``weekly``.

    Raises :class:`UsageError` if there is no such file, and InputError if it is wrong.
    """
    path = Path(path)
    if not is_file(path):
        raise UsageError(f"parameters={path}: there is no such file; expected JSON as {PUBLISHED}")
    return read_json(path, Parameters)


class _WeeklyUser(msgspec.Struct, eq=False, kw_only=True):
    name: str
    kind: UserClass
    shares: list[float]
    """Cumulative probabilities of the sizes."""
    week: int | None = None
    worked: tuple[bool, ...] = ()
    """Whether the user works on each day of that week, Monday first."""


class _Chain(msgspec.Struct, eq=False, kw_only=True):
    """A chain of jobs of a user, one after the other: submit, wait, think, submit."""

    user: _WeeklyUser
    day: int
    """The day on which the chain begins; 0 for a user's only chain."""
    until: float
    """The second from which on the chain submits nothing."""
    jobs: Random
    """Random numbers for jobs: the k-th job of a chain is the same under every policy."""
    moves: Random
    """Random numbers for submissions that move, with options that draw their time."""
    begun: bool = False


class WeeklyUsers:
    """Users who submit a job, wait for its end, think, and submit the next, on working days only.

    A submission outside the working day moves to the next working day of the user. So a job that
    ends in the evening, at the weekend or in an inactive week is followed by a job on the next
    working day. A user whose think time ends after the evening continues on the next working day.

    Jobs wider than the machine ask for all of it and keep their run time. Run times are whole
    seconds; policies see them as estimates, and jobs have no walltime. The options ``chains``,
    ``days``, ``short`` and ``first`` decide where the paper is not precise: it says one job per
    user, and its numbers need several; its tables fit ``short=clip``.

    Source: S. Schlagkamp, 2015.

    Args:
        nb_users: Number of users, shared among the classes of the parameter file (null: that of the
            file). Allowed: a whole number from 1 to 100000.
        weeks: Weeks after which users submit nothing. Allowed: a number from 0 to 10000.
        think: Think time after a response: ``lin`` is 0.4826 R + 1779 s, ``c20`` is 20 minutes.
            Allowed: lin, cMINUTES, constant:SECONDS, or linear:SLOPE:SECONDS.
        parameters: JSON file of the users (null: the 10 users of the paper). Allowed: a path.
        activity: Probability that a week is active (null: that of the parameter file). Allowed: a
            number from 0 to 1.
        chains: Number of jobs of a user in the system: one (``single``), or one more for each
            working day of the week (``daily``).
        days: How the shares p of the weekdays select working days: each with probability min(1, 5
            p) (``each``), or one for each submission that has to move (``draw``).
        short: What happens to run times below 1 s: drawn again (``redraw``), or 1 s (``clip``).
        first: Time of the first job of a day: the begin of the working day, or a random instant of
            it.
    """

    makes_up_jobs = True
    reacts = True

    def __init__(
        self,
        workload: Workload,
        *,
        nb_users: int | None = None,
        weeks: float = 10.0,
        think: str = "lin",
        parameters: str | None = None,
        activity: float | None = None,
        chains: Literal["single", "daily"] = "single",
        days: Literal["each", "draw"] = "each",
        short: Literal["redraw", "clip"] = "redraw",
        first: Literal["begin", "spread"] = "begin",
        seed: Seed = 0,
    ) -> None:
        """Make the users on the machine of ``workload``, with its clock and its kind of profiles.

        ``nb_users`` (None: as many as ``parameters`` has) are shared among the classes in
        proportion to their counts. ``think`` is a text for
        :meth:`batsched_users.behaviour.think_times.ThinkTime.parse`.
        ``parameters`` is a file (None: :data:`PUBLISHED`, the paper's 10 users), ``activity`` takes
        the place of its p_a.

        Raises :class:`UsageError` for options and :class:`InputError` for files that are wrong.
        """
        self.profiles = RunTimeProfiles(workload.rules)
        self._most = workload.nb_res
        self._calendar = Calendar.of(workload)
        self._horizon = number("weeks", weeks, 0, MOST_WEEKS) * WEEK
        self._think = ThinkTime.parse(str(think))
        self._activity = None if activity is None else number("activity", activity, 0, 1)
        self._daily = one_of("chains", chains, ("single", "daily")) == "daily"
        self._draws = one_of("days", days, ("each", "draw")) == "draw"
        self._clips = one_of("short", short, ("redraw", "clip")) == "clip"
        self._spreads = one_of("first", first, ("begin", "spread")) == "spread"
        self._chance = Chance(seed)
        self._nb_jobs = 0
        self._due: list[tuple[float, int, int, _Chain]] = []  # time, user, day of the chain
        self._in_system: dict[str, _Chain] = {}  # by job
        self._users: list[_WeeklyUser] = []
        file = PUBLISHED if parameters is None else options.path("parameters", parameters)
        kinds = _deal(read_parameters(file), nb_users)
        if len(kinds) * weeks > MOST_USER_WEEKS:
            raise UsageError(
                f"weeks={weeks}: {len(kinds)} users for so long are more than "
                f"{MOST_USER_WEEKS:.0e} weeks, each of which is active or not by chance"
            )
        for kind in kinds:
            name = str(len(self._users) + 1)
            shares = list(accumulate(each.probability for each in kind.sizes))
            user = _WeeklyUser(name=name, kind=kind, shares=shares)
            self._users.append(user)
            if self._daily:
                self._begin(user, 0)
            else:
                self._plan(self._chain(user), 0.0, None)

    def next_submission(self) -> float:
        """Return the time of the next planned submission, inf if none is planned."""
        return self._due[0][0] if self._due else inf

    def jobs_to_submit(self, now: float) -> Iterable[WorkloadJob]:
        """Return the jobs due by ``now``, simultaneous ones in order of users and their chains."""
        jobs = []
        while self._due and self._due[0][0] <= now:
            *_, chain = heappop(self._due)
            job = self._job(chain, now)
            self._in_system[job.id] = chain
            jobs.append(job)
            if self._daily and not chain.begun:
                chain.begun = True
                self._begin(chain.user, chain.day + 1)
        return jobs

    def job_ended(self, now: float, job: EndedJob, state: str) -> None:
        """Plan the user's next submission after a think time, however the job ended."""
        chain = self._in_system.pop(job.id)
        wish = now + self._think(now - job.submit_time)
        self._plan(chain, wish, self._day(job.submit_time))

    def _job(self, chain: _Chain, now: float) -> WorkloadJob:
        self._nb_jobs += 1
        user, chance = chain.user, chain.jobs
        (drawn,) = chance.choices(user.kind.sizes, cum_weights=user.shares)
        run_time = chance.gauss(drawn.mean, drawn.deviation)
        while run_time < 1:  # ends soon: the mean is at least 1
            run_time = 1.0 if self._clips else chance.gauss(drawn.mean, drawn.deviation)
        run_time = float(round(run_time))
        return WorkloadJob(
            id=str(self._nb_jobs),
            submit_time=now,
            size=min(drawn.size, self._most),
            profile=name_profile(run_time),
            estimate=run_time,
            user=user.name,
        )

    def _chain(self, user: _WeeklyUser, day: int | None = None) -> _Chain:
        """Return a chain that begins on ``day`` and ends with its week; None: the only chain."""
        names = (user.name,) if day is None else (user.name, day)
        jobs, moves = (self._chance.stream(what, *names) for what in ("jobs", "moves"))
        until = self._horizon
        if day is not None:
            until = min(until, self._midnight(day - day % 7 + 7))
        return _Chain(user=user, day=day or 0, until=until, jobs=jobs, moves=moves)

    def _begin(self, user: _WeeklyUser, day: int) -> None:
        """Plan the first job of the chain of the user's next working day, from ``day`` on."""
        while self._midnight(day) < self._horizon:
            if self._is_worked(user, day) and self._midnight(day) + user.kind.day_end >= 0:
                chain = self._chain(user, day)
                self._push(chain, max(0.0, self._opening(chain, day)))
                return
            day += 1

    def _plan(self, chain: _Chain, wish: float, today: int | None) -> None:
        """Plan a submission at the time ``wish``; ``today`` is the day of the chain's last one."""
        if wish < chain.until:
            self._push(chain, self._move(chain, wish, today))

    def _push(self, chain: _Chain, due: float) -> None:
        if due < chain.until:
            heappush(self._due, (due, int(chain.user.name) - 1, chain.day, chain))

    def _midnight(self, day: int) -> float:
        """Return the second at which a day begins; day 0 is the Monday of second 0's week."""
        return day * DAY - self._calendar.at_origin

    def _day(self, time: float) -> int:
        """Return the number of the day that contains a second."""
        return floor((time + self._calendar.at_origin) / DAY)

    def _opening(self, chain: _Chain, day: int) -> float:
        """Return the second at which the first job of a day is submitted."""
        kind, offset = chain.user.kind, chain.user.kind.day_begin
        if self._spreads:
            offset = chain.moves.uniform(kind.day_begin, kind.day_end)
        return self._midnight(day) + offset

    def _move(self, chain: _Chain, wish: float, today: int | None) -> float:
        """Return ``wish``, or the time to which it moves, which may be after the chain's end."""
        user, kind = chain.user, chain.user.kind
        day = self._day(wish)
        time_of_day = wish - self._midnight(day)
        if kind.day_begin <= time_of_day <= kind.day_end and (
            day == today or (not self._draws and self._is_worked(user, day))
        ):
            return wish
        if time_of_day > kind.day_end:
            day += 1
        weekday = chain.moves.choices(range(7), kind.weekdays)[0] if self._draws else None
        while self._midnight(day) < chain.until and not self._is_worked(user, day, weekday):
            day += 1
        return max(wish, self._opening(chain, day))

    def _is_worked(self, user: _WeeklyUser, day: int, weekday: int | None = None) -> bool:
        """Return whether the user works on a day, which must be ``weekday`` unless that is None."""
        week, at = divmod(day, 7)
        if week != user.week:
            user.week, user.worked = week, self._draw_week(user, week)
        return user.worked[at] and weekday in (None, at)

    def _draw_week(self, user: _WeeklyUser, week: int) -> tuple[bool, ...]:
        chance = self._chance.stream("week", user.name, week)
        activity = user.kind.activity if self._activity is None else self._activity
        if chance.random() >= activity:
            return (False,) * 7
        if self._draws:
            return tuple(share > 0 for share in user.kind.weekdays)
        return tuple(chance.random() < 5 * share for share in user.kind.weekdays)


def _deal(parameters: Parameters, nb_users: Any) -> list[UserClass]:
    """Return the class of each of ``nb_users`` users, in proportion to the classes' counts."""
    listed = [kind for kind in parameters.classes for _ in range(kind.count)]
    if nb_users is None:
        return listed
    count = whole_number("nb_users", nb_users, 1, MOST_USERS)
    return [listed[(2 * k + 1) * len(listed) // (2 * count)] for k in range(count)]
