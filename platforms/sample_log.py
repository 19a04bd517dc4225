"""A synthetic SWF log of our own: small, seeded, the same bytes on every computer.

It is made for examples and tests where no log of the archive is at hand: a machine of 64
processors, some 50 users who work in sessions and wait for their jobs, two months. It is *not*
fitted to any machine; nothing learned from it is a finding about a real one. The model is
described in ``docs/reference/sample-log.md``; the format is the Standard Workload Format 2.2
(Chapin et al., JSSPP
1999; Feitelson's archive).

All draws are made from ``random.Random(seed).random()``, whose stream Python guarantees, and
every drawn time is rounded to whole seconds at once, so that the last digit of the C library's
logarithm does not matter.

Usage: python platforms/sample_log.py   (writes the log that ships, batsched_py/workload/)
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import exp, log
from pathlib import Path
from random import Random

from batsched_py import units
from batsched_py.errors import UsageError
from batsched_py.files.writers import write_whole

GENERATOR_VERSION = 1
"""Increased whenever the same seed gives another log; the name of its copy in the cache has it."""
PROCESSORS = 64
USERS = 46
HOUR, DAY = int(units.HOUR), int(units.DAY)  # whole numbers, as all times here
UNIX_START_TIME = 1_767_567_600
"""Monday 5 January 2026, 00:00 in Paris."""

_UNKNOWN = -1
_COMPLETED, _FAILED, _CANCELLED = 1, 0, 5
_REQUESTS = (300, 900, 1_800, HOUR, 2 * HOUR, 4 * HOUR, 8 * HOUR, 12 * HOUR, 24 * HOUR)
"""The round values that users ask for, seconds."""
_SIZES = {1: 26, 2: 14, 4: 17, 8: 17, 16: 13, 32: 6, 64: 1, 3: 2, 6: 2, 12: 3}
"""Processors of an application: weight, in about per cent."""
_LARGEST = 80 * HOUR
"""Processor-seconds of an application; else a single user would stop the machine for days."""


@dataclass(frozen=True)
class _Application:
    """What a user runs again and again."""

    number: int
    size: int
    run_time: int
    """Median of its jobs' run times, seconds."""
    request: int
    """Requested time, seconds: a round value that the user does not change."""


@dataclass(eq=False)
class _Job:
    user: _User
    application: _Application
    submit: int
    run: int
    status: int
    size_known: bool
    start: int = -1


@dataclass(eq=False)
class _User:
    number: int
    applications: list[_Application]
    current: _Application
    session_length: int
    """Mean number of jobs of a session."""
    pause: int
    """Mean long break between sessions, seconds."""
    left: int = 0
    """Jobs that the present session still has to submit."""
    running: int = 0
    """Jobs submitted that have not ended."""
    goes_home: bool = False
    """Whether the next session waits for the end of all jobs."""
    watches: bool = False
    """Whether the next job of the session waits for the end of the present one."""


class _Draw:
    """Distributions made of ``random()`` alone."""

    def __init__(self, seed: int) -> None:
        self.uniform = Random(seed).random

    def chance(self, probability: float) -> bool:
        return self.uniform() < probability

    def exponential(self, mean: float) -> int:
        return round(-mean * log(1.0 - self.uniform()))

    def lognormal(self, median: float, sigma: float) -> int:
        # Sum of 12 uniforms, nearly normal. Of integers: sum() of floats is not the same in all
        # versions of Python.
        total = sum(int(self.uniform() * 4096) for _ in range(12))
        return round(median * exp(sigma * (total / 4096 - 6)))

    def weighted(self, weights: dict[int, int]) -> int:
        at = self.uniform() * sum(weights.values())
        for value, weight in weights.items():
            at -= weight
            if at < 0:
                return value
        return value


def _activity(time: int) -> float:
    """Return how likely users are at work at ``time`` (seconds from Monday 0:00), 0 to 1."""
    day, hour = time // DAY % 7, time % DAY // HOUR
    if day >= 5:
        return 0.12 if 10 <= hour < 20 else 0.02
    if 9 <= hour < 18:
        return 0.75 if hour == 12 else 1.0
    return 0.25 if 7 <= hour < 22 else 0.03


@dataclass
class _Site:
    """Users and machine together: users submit, wait for their jobs, and come back."""

    draw: _Draw
    end: int
    """No job is submitted from here on, seconds."""
    jobs: list[_Job] = field(default_factory=list)
    queue: list[_Job] = field(default_factory=list)
    running: list[_Job] = field(default_factory=list)
    free: int = PROCESSORS
    events: list[tuple[int, int, _Job | _User]] = field(default_factory=list)
    """Heap of (time, serial number, a job that ends or a user who submits)."""
    serial: int = 0

    def run(self) -> list[_Job]:
        """Simulate until the last job has ended; return the jobs in order of submission."""
        for number in range(1, USERS + 1):
            self._come_back(_new_user(self.draw, number), self._first_day())
        while self.events:
            time, _, what = heappop(self.events)
            if isinstance(what, _Job):
                self._job_ends(time, what)
            elif time < self.end:
                self._submit(time, what)
            self._start_jobs(time)
        return self.jobs

    def _first_day(self) -> int:
        early = self.draw.chance(0.6)  # most users were there before the log began
        return round(self.draw.uniform() * (4 * DAY if early else 0.9 * self.end))

    def _plan(self, time: int, what: _Job | _User) -> None:
        self.serial += 1
        heappush(self.events, (time, self.serial, what))

    def _come_back(self, user: _User, time: int) -> None:
        """Plan a session at ``time``, or when the user is next at work."""
        while not self.draw.chance(_activity(time)):
            time += 60 + self.draw.exponential(HOUR)
        user.left = 1 + self.draw.exponential(user.session_length - 1)
        self._plan(time, user)

    def _break(self, user: _User, time: int) -> None:
        mean = 0.7 * HOUR if self.draw.chance(0.4) else user.pause
        self._come_back(user, time + 60 + self.draw.exponential(mean))

    def _submit(self, time: int, user: _User) -> None:
        draw = self.draw
        if draw.chance(0.12):
            user.current = user.applications[int(draw.uniform() * len(user.applications))]
        job = _new_job(draw, user, time)
        self.jobs.append(job)
        self.queue.append(job)
        user.running += 1
        user.left -= 1
        short = user.current.run_time < HOUR / 3
        if user.left > 0 and short and draw.chance(0.5):
            user.watches = True
        elif user.left > 0:
            self._plan(time + 5 + draw.exponential(240), user)
        elif draw.chance(0.85):
            user.goes_home = True
        else:
            self._break(user, time)

    def _job_ends(self, time: int, job: _Job) -> None:
        self.free += job.application.size
        self.running.remove(job)
        user = job.user
        user.running -= 1
        if user.running:
            return
        if user.watches:
            user.watches = False
            self._plan(time + 20 + self.draw.exponential(300), user)
        elif user.goes_home:
            user.goes_home = False
            self._break(user, time)

    def _start_jobs(self, time: int) -> None:
        """Start jobs in order of arrival; later ones may go first if they end in time (EASY)."""
        waiting: list[_Job] = []
        shadow_time, extra = 0, 0  # reservation of the first job that has to wait
        for job in self.queue:
            size = job.application.size
            in_time = not waiting or time + job.application.request <= shadow_time
            if size > self.free or not (in_time or size <= extra):
                if not waiting:
                    shadow_time, extra = self._reservation(size)
                waiting.append(job)
                continue
            if not in_time:
                extra -= size
            self.free -= size
            job.start = time
            self.running.append(job)
            self._plan(time + job.run, job)
        self.queue = waiting

    def _reservation(self, size: int) -> tuple[int, int]:
        """Return when ``size`` processors will be free at the latest, and how many more are."""
        free = self.free
        for job in sorted(self.running, key=_latest_end):
            free += job.application.size
            if free >= size:
                break
        return _latest_end(job), free - size


def _latest_end(job: _Job) -> int:
    return job.start + job.application.request


def _new_user(draw: _Draw, number: int) -> _User:
    applications = [_new_application(draw, 3 * (number - 1) + i) for i in (1, 2, 3)]
    heavy = number != USERS and draw.chance(0.25)
    return _User(
        number=number,
        applications=applications,
        current=applications[0],
        session_length=1 + draw.lognormal(3 if heavy else 2, 0.5),
        pause=draw.lognormal(36 * HOUR if heavy else 120 * HOUR, 0.5),
    )


def _new_application(draw: _Draw, number: int) -> _Application:
    size = draw.weighted(_SIZES)
    longest = min(16 * HOUR, _LARGEST // size)
    run_time = max(10, min(draw.lognormal(5_600, 1.6), longest))
    wished = run_time * (1.3 + 4 * draw.uniform())
    request = next((value for value in _REQUESTS if value >= wished), _REQUESTS[-1])
    return _Application(number, size, run_time, request)


def _new_job(draw: _Draw, user: _User, time: int) -> _Job:
    application = user.current
    run = max(1, draw.lognormal(application.run_time, 0.25))
    status = _COMPLETED
    if draw.chance(0.05):  # it crashes on the way, or at once
        status = _FAILED
        run = 0 if draw.chance(0.2) else round(run * draw.uniform())
    if run >= application.request:  # the limit is kept to the second
        run, status = application.request, _CANCELLED
    return _Job(user, application, time, run, status, size_known=not draw.chance(0.006))


def generate_sample_log(seed: int = 1, days: int = 60) -> list[str]:
    """Return the lines of a synthetic SWF log, header first, without line ends.

    ``days`` is the time during which jobs are submitted, from Monday 5 January 2026, 0:00 in
    Paris; the defaults give some 3,500 jobs. The last job may end later. Jobs are numbered from
    1 in order of submission. Raises :class:`UsageError` for less than one day.
    """
    if days < 1:
        raise UsageError(f"a log of {days} days has no jobs; expected at least 1")
    jobs = _Site(_Draw(seed), days * DAY).run()
    return [*_header(seed, days, len(jobs)), *map(_record, range(1, len(jobs) + 1), jobs)]


def _header(seed: int, days: int, count: int) -> list[str]:
    return [
        "; Version: 2.2",
        "; Computer: synthetic cluster",
        "; Installation: synthetic",
        "; Information: batsched_py, docs/sample-log.md",  # as in version 1, whose bytes stay
        f"; MaxJobs: {count}",
        f"; MaxRecords: {count}",
        "; Preemption: No",
        f"; UnixStartTime: {UNIX_START_TIME}",
        "; TimeZone: 3600",
        "; TimeZoneString: Europe/Paris",
        f"; MaxNodes: {PROCESSORS}",
        f"; MaxProcs: {PROCESSORS}",
        "; MaxQueues: 1",
        "; Queue: 1 batch",
        "; MaxPartitions: 1",
        "; Partition: 1 all",
        "; Note: THIS LOG IS SYNTHETIC: no real user and no real machine is behind it",
        f"; Note: made by batsched_py.workload.sample, generator version {GENERATOR_VERSION},",
        f";       seed {seed}, {days} days",
        "; Note: scheduler: EASY backfilling",
        "; Note: licence: Apache-2.0",
        ";",
    ]


def _record(number: int, job: _Job) -> str:
    application, user = job.application, job.user.number
    unknown_user = user == USERS  # the last one stands for those whom the log does not know
    fields = (
        number,
        job.submit,
        job.start - job.submit,
        job.run,
        application.size,
        _UNKNOWN,  # processor time used
        _UNKNOWN,  # memory used
        application.size if job.size_known else _UNKNOWN,
        application.request,
        _UNKNOWN,  # memory requested
        job.status,
        _UNKNOWN if unknown_user else user,
        _UNKNOWN if unknown_user else 1 + user // 8,
        application.number,
        1,  # queue
        1,  # partition
        _UNKNOWN,  # preceding job
        _UNKNOWN,  # think time after it
    )
    return " ".join(map(str, fields))


def main() -> None:
    """Write the default log where the package has it."""
    text = "".join(f"{line}\n" for line in generate_sample_log())
    place = Path(__file__).parents[1] / "batsched_py" / "workload" / "logs" / "sample-v1.swf.gz"
    write_whole(place, gzip.compress(text.encode("ascii"), mtime=0))


if __name__ == "__main__":
    main()
