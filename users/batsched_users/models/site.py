"""Site-Sim users (Shmueli, Feitelson 2009): a closed loop learnt from many logs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from math import inf
from pathlib import Path
from random import Random
from typing import Any, Final, Literal

import msgspec

from batsched_py.errors import InputError, UsageError
from batsched_py.files.readers import is_folder
from batsched_py.model.user_model import EndedJob
from batsched_py.options import option_values as options
from batsched_py.options.option_values import (
    MOST_USERS,
    MOST_WEEKS,
    number,
    one_of,
    whole_number,
)
from batsched_py.support.json_values import did_you_mean
from batsched_py.units import MINUTE, WEEK
from batsched_py.workload import Workload, WorkloadJob
from batsched_users.behaviour import think_times as thinking
from batsched_users.behaviour.calendar import Calendar
from batsched_users.behaviour.empirical_distributions import (
    Probabilities,
    Quantiles,
    read_distribution,
    write_distribution,
)
from batsched_users.behaviour.job_profiles import RunTimeProfiles, name_profile
from batsched_users.behaviour.random_streams import Chance, Seed
from batsched_users.behaviour.weekly_activity import ActivityCycle

SHIPPED = Path(__file__).parents[1] / "data" / "site"
"""The default set of distributions, made by
``batsched_users.learning.learn_site.learn_site`` from the logs that its files name."""

SETS = {
    "pooled": SHIPPED,
    **{
        name: SHIPPED.parent / f"site_{name.lower().replace('-', '_')}"
        for name in ("logs-alike", "series", "Par", "CTC", "KTH", "SP2", "BLUE")
    },
}
"""Name of each set of distributions in the package -> its folder. All are from five logs: in
``pooled``, every job counts the same; in ``logs-alike``, every log does; in ``series``, sizes and
run times count once per run of repetitions; the others are from one log each."""

ALWAYS = ActivityCycle(0, 0)
"""The activity cycle of users who never sleep."""

MOST_AT_ONCE = 1_000_000
"""Largest number of jobs of a batch, as they are made at once."""
LastJob = Literal["submitted", "ended"]
TooWide = Literal["redraw", "cut"]
Estimates = Literal["exact", "learnt"]
RunTimes = Literal["learnt", "thirds"]
SUBMITTED: Final = "submitted"
REDRAW: Final = "redraw"
EXACT: Final = "exact"
LEARNT: Final = "learnt"
THIRDS: Final = "thirds"
CLASSES = (MINUTE + 0.5, 10 * MINUTE + 0.5)
"""Borders of the paper's classes of run times: up to 1 minute, to 10 minutes, and longer. Run times
are rounded to whole seconds, hence the half ones."""


class SiteDistributions(msgspec.Struct, frozen=True, kw_only=True):
    """The distributions of Site-Sim users, each in a file with the name of the field."""

    think_times: Quantiles
    """Seconds from the end of a batch to the next one of the session: 0 to 20 minutes."""
    breaks: Quantiles
    """Seconds from the end of a batch to the next one of another session: 20 minutes to 8 h."""
    batch_widths: Probabilities
    """Number of jobs that are submitted without waiting for the one before."""
    sizes: Probabilities
    """Processors of a job."""
    run_times: Quantiles
    """Seconds."""
    repetitions: Probabilities
    """Number of jobs of the same size that a user submits in succession."""
    requested_times: Quantiles | None = None
    """Seconds; None if the logs have none."""

    @classmethod
    def read(cls, folder: str | Path) -> SiteDistributions:
        """Read the distributions in a folder, where the file of ``requested_times`` may be absent.

        Raises :class:`UsageError` and :class:`InputError`.
        """
        read: dict[str, Any] = {}
        for name in cls.__struct_fields__:
            path = Path(folder) / f"{name}.json"
            if name == "requested_times" and not path.exists():
                continue
            read[name] = read_distribution(path)
            kind = Probabilities if name in ("batch_widths", "sizes", "repetitions") else Quantiles
            if not isinstance(read[name], kind):
                wanted = "probabilities" if kind is Probabilities else "quantiles"
                raise InputError(f"{path}: expected {wanted}")
            least = 1 if kind is Probabilities else 0
            if read[name].quantile(0.0) < least:
                raise InputError(f"{path}: {read[name].quantile(0.0):g} is less than {least}")
            for value, _ in read[name].pairs if kind is Probabilities else ():
                if value != int(value):
                    raise InputError(f"{path}: {value:g} is not a whole number")
                if name == "batch_widths" and value > MOST_AT_ONCE:
                    raise InputError(f"{path}: batches of {value:g} jobs, more than {MOST_AT_ONCE}")
        return cls(**read)

    def limit(
        self,
        nb_res: int,
        *,
        too_wide: TooWide = REDRAW,
        run_times: RunTimes = LEARNT,
        longest_run_time: float | None = None,
        largest_size: int | None = None,
    ) -> SiteDistributions:
        """Return the distributions, limited to a machine of ``nb_res`` processors.

        The options are those of :class:`SiteUsers`. Raises :class:`UsageError`.
        """
        sizes, times = self.sizes, self.run_times
        if largest_size is not None:
            sizes = sizes.truncate(whole_number("largest_size", largest_size, 1))
        if one_of("too_wide", too_wide, TooWide) == REDRAW:
            sizes = sizes.truncate(nb_res)
        if longest_run_time is not None:
            times = times.truncate(number("longest_run_time", longest_run_time, 1))
        if one_of("run_times", run_times, RunTimes) == THIRDS:
            try:
                times = times.balance_parts(*CLASSES)
            except UsageError as error:
                limit = "" if longest_run_time is None else f", {longest_run_time=:g}"
                thirds = " s, to ".join(f"{border:g}" for border in CLASSES)
                raise UsageError(
                    f"run_times={run_times}{limit}: {error}; expected some up to {thirds} s, and "
                    "longer"
                ) from None
        return msgspec.structs.replace(self, sizes=sizes, run_times=times)

    def write(self, folder: str | Path) -> None:
        """Write each distribution to a file in ``folder``; raises :class:`OutputError`."""
        for name in self.__struct_fields__:
            if (distribution := getattr(self, name)) is not None:
                write_distribution(Path(folder) / f"{name}.json", distribution)


class _JobDraws(msgspec.Struct, frozen=True):
    """Draws the jobs of all users from distributions, by the options of :class:`SiteUsers`."""

    nb_res: int
    sizes: Probabilities
    run_times: Quantiles
    widths: Probabilities | None
    repetitions: Probabilities | None
    requests: Quantiles | None

    def width(self, random: Random) -> int:
        """Draw the number of jobs of the next batch."""
        return int(self.widths.sample(random)) if self.widths else 1

    def draw(self, user: _SiteUser) -> None:
        """Draw the size and times of the next jobs of ``user``, and how often they are repeated."""
        random = user.jobs
        user.size = min(int(self.sizes.sample(random)), self.nb_res)
        user.run_time = user.request = max(1, round(self.run_times.sample(random)))
        user.left = int(self.repetitions.sample(random)) if self.repetitions else 1
        if self.requests is not None:
            user.request = round(self.requests.sample(random, least=user.run_time))


class _SiteUser(msgspec.Struct, eq=False):
    """The state of one user: the batch in the system, and what the user submits next."""

    name: str
    moves: Random
    """Random numbers for the times: hours of work, continuation, think times and breaks."""
    jobs: Random
    """Random numbers for the jobs: a user's k-th job is the same under every policy."""
    cycle: ActivityCycle
    session: int = 1
    batch: int = 0
    awaited: str = ""
    """Last job of the batch in the system."""
    unfinished: int = 0
    """Number of jobs of this batch that have not ended."""
    since: float | None = None
    """Submission of the last batch until it has ended, then its end; None before the first."""
    size: int = 0
    run_time: float = 0.0
    request: float = 0.0
    left: int = 0
    """Number of further jobs with this size and run time."""


class SiteUsers:
    """Site-Sim users, who submit a batch, wait for its last job, then continue, rest or sleep.

    After a response time R of the last job of a batch, a user

    - sleeps until the activity cycle opens again, if it is closed now;
    - else continues the session with probability ``continuation``, after a think time of less than
      20 minutes;
    - else takes a break of 20 minutes to 8 hours, or until the activity cycle opens again.

    All jobs of a batch are submitted at one instant. Sizes and run times are drawn independently
    from the distributions of logs, and repeated for a random number of jobs (locality). The k-th
    job of a user is the same under every policy. The log gives the machine, the clock and the kind
    of profiles; its jobs are not used. Jobs have no walltime.

    Source: Shmueli, Feitelson, TPDS 20(7), 2009, section 3. The paper leaves open which job is the
    last, when users start, how closed hours affect think times and breaks, and what happens to jobs
    wider than the machine. Raises :class:`UsageError`, and InputError for wrong files.

    Args:
        nb_users: Number of users. Allowed: a whole number from 1 to 100000.
        weeks: Weeks after which users submit nothing. Allowed: a number from 0 to 10000.
        distributions: Distributions of the logs: the name of a set in this package, or a folder
            (null: ``pooled``, all logs together). Allowed: pooled, logs-alike, series, Par, CTC,
            KTH, SP2, BLUE, or the path of a folder.
        continuation: Probability to continue the session after a response; the default is 0.8 /
            (0.05 R + 1) for R minutes. Allowed: a number from 0 to 1, or a function in Python.
        last_job: Which job of a batch users wait for: the last one that they ``submitted``, or the
            last one that ``ended``.
        too_wide: What happens to jobs wider than the machine: drawn again, or cut to its size.
        estimates: Estimates that policies see: the exact run time, or a requested time of the logs.
        batches: Whether users submit batches; if not, they wait for each job.
        locality: Whether jobs repeat; if not, each is drawn anew.
        sleep: Whether users have hours of activity; if not, they are always active.
        run_times: Run times as in the logs (``learnt``), or up to 1 minute, up to 10 minutes and
            longer equally often (``thirds``).
        longest_run_time: Longest run time in seconds; longer ones are drawn again (null: no limit).
            Allowed: a number, at least 1.
        largest_size: Most processors of a job; larger sizes are drawn again (null: no limit).
            Allowed: a whole number, at least 1.
    """

    makes_up_jobs = True
    reacts = True

    def __init__(
        self,
        workload: Workload,
        *,
        nb_users: int = 250,
        weeks: float = 26.0,
        distributions: str | Path | None = None,
        continuation: Callable[[float], float] | float = thinking.continuation,
        last_job: LastJob = SUBMITTED,
        too_wide: TooWide = REDRAW,
        estimates: Estimates = EXACT,
        batches: bool = True,
        locality: bool = True,
        sleep: bool = True,
        run_times: RunTimes = LEARNT,
        longest_run_time: float | None = None,
        largest_size: int | None = None,
        seed: Seed = 0,
    ) -> None:
        self.profiles = RunTimeProfiles(workload.rules)
        self._until = number("weeks", weeks, 0, MOST_WEEKS) * WEEK
        self._calendar = Calendar.of(workload)
        self._all_must_end = one_of("last_job", last_job, LastJob) == "ended"
        self._sleep = options.boolean("sleep", sleep)
        folder = SHIPPED if distributions is None else _set_named(distributions)
        self._drawn = drawn = SiteDistributions.read(folder).limit(
            workload.nb_res,
            too_wide=too_wide,
            run_times=run_times,
            longest_run_time=longest_run_time,
            largest_size=largest_size,
        )
        if estimates == LEARNT and drawn.requested_times is None:
            raise UsageError(f"estimates={estimates}: {folder} has no requested_times.json")
        self._jobs = _JobDraws(
            workload.nb_res,
            drawn.sizes,
            drawn.run_times,
            drawn.batch_widths if options.boolean("batches", batches) else None,
            drawn.repetitions if options.boolean("locality", locality) else None,
            drawn.requested_times if one_of("estimates", estimates, Estimates) == LEARNT else None,
        )
        self._continuation = _probability(continuation)
        self._nb_jobs = 0
        self._due: list[tuple[float, int]] = []  # time, user
        chance = Chance(seed)
        count = whole_number("nb_users", nb_users, 1, MOST_USERS)
        self._users = [self._newcomer(user, chance) for user in range(count)]

    def _newcomer(self, index: int, chance: Chance) -> _SiteUser:
        moves, jobs = (chance.stream("site", kind, index) for kind in ("moves", "jobs"))
        cycle = ActivityCycle.draw(moves)
        user = _SiteUser(str(index + 1), moves, jobs, cycle if self._sleep else ALWAYS)
        first = round(moves.uniform(0, WEEK))
        self._plan(index, user.cycle.next_opening(self._calendar, first))
        return user

    def _plan(self, index: int, time: float) -> None:
        if time < self._until:
            heappush(self._due, (time, index))

    # The user model ------------------------------------------------------------------------------

    def next_submission(self) -> float:
        """Return the time of the next planned batch, inf if none is planned."""
        return self._due[0][0] if self._due else inf

    def jobs_to_submit(self, now: float) -> Iterable[WorkloadJob]:
        """Return the jobs of the batches due by ``now``, simultaneous ones in order of users."""
        jobs: list[WorkloadJob] = []
        while self._due and self._due[0][0] <= now:
            _, index = heappop(self._due)
            self._submit(self._users[index], now, jobs)
        return jobs

    def job_ended(self, now: float, job: EndedJob, state: str) -> None:
        """Plan the next batch of the user if this job completed the last one."""
        index = int(job.user or 0) - 1
        user = self._users[index]
        if self._all_must_end:
            user.unfinished -= 1
            if user.unfinished:
                return
        elif job.id != user.awaited:
            return
        assert user.since is not None  # a batch is under way
        response, user.since = now - user.since, now
        self._plan(index, self._next(user, now, response))

    # A user --------------------------------------------------------------------------------------

    def _next(self, user: _SiteUser, now: float, response: float) -> float:
        """Return when the user submits next, after a response time of ``response`` seconds."""
        calendar, random = self._calendar, user.moves
        back = now
        if user.cycle.is_open(calendar, now):
            if random.random() < self._continuation(response / MINUTE):
                return now + round(self._drawn.think_times.sample(random))
            back += round(self._drawn.breaks.sample(random))
        user.session += 1
        return user.cycle.next_opening(calendar, back)

    def _submit(self, user: _SiteUser, now: float, jobs: list[WorkloadJob]) -> None:
        width = self._jobs.width(user.jobs)
        user.batch += 1
        notes: dict[str, Any] = {"session": user.session, "batch": user.batch}
        extra = notes if user.since is None else {**notes, "think_time": now - user.since}
        for _ in range(width):
            jobs.append(self._job(user, now, extra))
            extra = notes  # only the first job follows a think time
        user.awaited, user.unfinished, user.since = jobs[-1].id, width, now

    def _job(self, user: _SiteUser, now: float, extra: dict[str, Any]) -> WorkloadJob:
        if not user.left:
            self._jobs.draw(user)
        user.left -= 1
        self._nb_jobs += 1
        return WorkloadJob(
            id=str(self._nb_jobs),
            submit_time=now,
            size=user.size,
            profile=name_profile(user.run_time),
            estimate=user.request,
            user=user.name,
            extra=extra,
        )


def _set_named(name: str | Path) -> Path:
    """Return the folder of a set of distributions; raises :class:`UsageError` if there is none."""
    folder = SETS.get(str(name)) or options.path("distributions", name)
    if not is_folder(folder):
        raise UsageError(
            f"distributions={name}{did_you_mean(str(name), SETS)}: there is no such folder; the "
            f"sets that come along are {', '.join(SETS)}"
        )
    return folder


def _probability(continuation: Callable[[float], float] | float) -> Callable[[float], float]:
    if callable(continuation):
        return continuation
    constant = number("continuation", continuation, 0, 1)
    return lambda response: constant
