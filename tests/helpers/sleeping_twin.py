"""A slow twin of machines that sleep: single processors, FCFS or EASY, and the idle rule.

At each event it goes through all processors and all jobs, and it uses nothing of the package. Times
are in seconds. EASY's extra nodes are all that are there at the shadow time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf


@dataclass
class Job:
    """A job: what is known of it, and what becomes of it; the estimate is the walltime."""

    id: str
    submit: float
    size: int
    run: float
    walltime: float
    start: float = inf
    end: float = inf
    """When it ends; a kill makes it earlier."""
    processors: tuple[int, ...] = ()
    state: str = "coming"
    """Then waiting, bound, running, and ended; or rejected, or withdrawn."""


@dataclass
class Processor:
    """A processor: "idle", "busy", being switched "off" or "on", or "asleep"."""

    number: int
    seconds: tuple[float, float] | None
    """To switch it off, and on; None if it is always on."""
    state: str = "idle"
    since: float = 0.0
    until: float = inf
    """When the switch will be done."""
    to_wake: bool = False
    """Whether it is woken as soon as it is off."""
    job: Job | None = None
    broken: bool = False
    life: list[tuple[float, float, str]] = field(default_factory=list)
    """Begin and end of each state that it was in."""

    def become(self, state: str, now: float) -> None:
        """Change into another state; a switch lasts its time."""
        if now > self.since:
            self.life.append((self.since, now, self.state))
        self.state, self.since, self.until = state, now, inf
        if state in ("off", "on") and self.seconds is not None:
            self.until = now + self.seconds[state == "on"]

    def ready(self, now: float) -> float:
        """Return when it is on if somebody asks for it."""
        if self.state in ("idle", "busy") or self.seconds is None:
            return now
        if self.state == "on":
            return self.until
        return (now if self.state == "asleep" else self.until) + self.seconds[1]


class Twin:
    """A simulation to the end.

    Jobs are (id, submission, size, run time, walltime). ``seconds`` are those to switch each
    processor off and on, outages (begin, end, processor), withdrawals (time, id); they kill, too.
    """

    def __init__(
        self,
        jobs: Sequence[tuple[str, float, int, float, float]],
        seconds: Sequence[tuple[float, float] | None],
        policy: str,
        idle_time: float = inf,
        keep: int = 0,
        outages: Sequence[tuple[float, float, int]] = (),
        withdrawals: Sequence[tuple[float, str]] = (),
    ) -> None:
        self.jobs = [Job(*job) for job in sorted(jobs, key=lambda job: (job[1], job[0]))]
        self.processors = [Processor(number, each) for number, each in enumerate(seconds)]
        self.policy, self.idle_time, self.keep = policy, idle_time, keep
        self.outages, self.withdrawals = outages, sorted(withdrawals)
        self.now = 0.0
        self.asked: dict[tuple[float, str, float], list[int]] = defaultdict(list)
        """Processors that were asked to switch, by time, kind and duration."""
        while (now := self.next_event()) < inf:
            self.now = now
            self.pass_events()
            self.start_jobs()
            if all(job.state in ("ended", "rejected", "withdrawn") for job in self.jobs):
                break
            self.wake_for_head()
            self.switch_off()
        for each in self.processors:
            each.become(each.state, self.now)
        self.last_end = max([job.end for job in self.jobs if job.state == "ended"], default=0.0)

    def life(self, at: int) -> list[tuple[float, float, str]]:
        """Return the states of a processor until the last end of a job, with begin and end."""
        last, life = self.last_end, self.processors[at].life
        return [(begin, min(end, last), state) for begin, end, state in life if begin < last]

    def joules(self, watts: Mapping[str, float]) -> list[float]:
        """Return what each processor consumed until the last end of a job."""
        lives = map(self.life, range(len(self.processors)))
        return [sum((end - begin) * watts[state] for begin, end, state in life) for life in lives]

    def switches(self) -> list[tuple[float, str, tuple[int, ...], float]]:
        """Return what was asked: when, to "off" or "on", for which processors, when done."""
        return sorted(
            (time, to, tuple(sorted(numbers)), time + lasts)
            for (time, to, lasts), numbers in self.asked.items()
        )

    # What happens --------------------------------------------------------------------------------

    def of(self, state: str) -> list[Job]:
        return [job for job in self.jobs if job.state == state]

    def next_event(self) -> float:
        times = [job.submit for job in self.of("coming")] + [job.end for job in self.of("running")]
        times += [each.until for each in self.processors]
        later = [each.since + self.idle_time for each in self.processors if self.may_go(each)]
        later += [time for begin, end, _ in self.outages for time in (begin, end)]
        later += [time for time, _ in self.withdrawals]
        return min(times + [time for time in later if time > self.now], default=inf)

    def pass_events(self) -> None:
        """Let happen what happens now."""
        self.break_and_repair()
        for job in self.of("running"):
            if job.end == self.now:
                self.take_back(job, "ended")
        for each in self.processors:
            if each.until == self.now:
                each.become("idle" if each.state == "on" else "asleep", self.now)
                if each.to_wake:
                    self.wake(each)
        self.begin_bound_jobs()
        for job in self.of("coming"):
            if job.submit == self.now:
                job.state = "waiting" if job.size <= len(self.processors) else "rejected"
        for time, name in self.withdrawals:
            if time == self.now:
                self.withdraw(next(job for job in self.jobs if job.id == name))

    def break_and_repair(self) -> None:
        """Begin and end outages; running jobs go on, others are put back into their place."""
        for begin, end, at in self.outages:
            each = self.processors[at]
            if self.now in (begin, end):
                each.broken = self.now == begin
                if each.state == "idle":
                    each.become("idle", self.now)
            each.to_wake &= not each.broken
            if each.broken and each.job is not None and each.job.state == "bound":
                self.take_back(each.job, "waiting")

    def withdraw(self, job: Job) -> None:
        """Withdraw a job; one that runs is killed, and ends after what is decided now."""
        if job.state in ("waiting", "bound"):
            self.take_back(job, "withdrawn")
        elif job.state == "running":
            job.end = self.now

    def take_back(self, job: Job, state: str) -> None:
        """Take its processors from a job, which has ended or not begun."""
        for each in self.processors:
            if each.job is job:
                each.job = None
                if each.state in ("busy", "idle"):
                    each.become("idle", self.now)
        job.state = state
        if state != "ended":
            job.processors = ()

    def begin_bound_jobs(self) -> None:
        """Begin the jobs whose processors are all on."""
        for job in self.of("bound"):
            if all(self.processors[at].state == "idle" for at in job.processors):
                job.state, job.start = "running", self.now
                job.end = self.now + min(job.run, job.walltime)
                for at in job.processors:
                    self.processors[at].become("busy", self.now)

    # What is there -------------------------------------------------------------------------------

    def free(self) -> list[Processor]:
        """Return the free processors, those ready first, then those of lowest number."""
        free = [each for each in self.processors if each.job is None and not each.broken]
        return sorted(free, key=lambda each: (each.ready(self.now), each.number))

    def comes(self, each: Processor, *, by_itself: bool = False) -> float:
        """Return when a processor is free and on, by estimates; maybe if nobody has to wake it."""
        sleeps = each.state == "asleep" or (each.state == "off" and not each.to_wake)
        if each.broken or (by_itself and sleeps):
            return inf
        if each.job is None:
            return each.ready(self.now)
        begins = max(self.processors[at].ready(self.now) for at in each.job.processors)
        return min(each.job.start, begins) + each.job.walltime

    def there(self, time: float, *, by_itself: bool = False) -> int:
        """Return how many processors are free and on at ``time``, if no further job begins."""
        return sum(self.comes(each, by_itself=by_itself) <= time for each in self.processors)

    def shadow_time(self, job: Job) -> float:
        """Return the first time at which there are enough."""
        return sorted(self.comes(each) for each in self.processors)[job.size - 1]

    # What is decided -----------------------------------------------------------------------------

    def start_jobs(self) -> None:
        """Start the first job as long as it fits, and under EASY others that do not delay it."""
        while waiting := self.of("waiting"):
            head, free = waiting[0], self.free()
            fits = head.size <= len(free)
            begins = free[head.size - 1].ready(self.now) if fits else inf
            if not fits or (self.policy == "easy" and begins > self.shadow_time(head)):
                break
            self.bind(head)
        if not waiting or self.policy == "fcfs":
            return
        shadow_time = self.shadow_time(waiting[0])
        extra = self.there(shadow_time) - waiting[0].size
        for job in waiting[1:]:
            free = self.free()
            if job.size <= len(free):
                if free[job.size - 1].ready(self.now) + job.walltime <= shadow_time:
                    self.bind(job)
                elif job.size <= extra and shadow_time < inf:
                    self.bind(job)
                    extra -= job.size

    def bind(self, job: Job) -> None:
        """Give processors to a job and wake them; it begins when all are on."""
        chosen = self.free()[: job.size]
        job.state = "bound"
        job.processors = tuple(sorted(each.number for each in chosen))
        for each in chosen:
            each.job = job
            self.wake(each)
        self.begin_bound_jobs()

    def wake(self, each: Processor) -> None:
        """Wake a processor; one that is being switched off is woken when it is off."""
        each.to_wake = each.state == "off"
        if each.state == "asleep":
            self.switch(each, "on")

    def switch(self, each: Processor, to: str) -> None:
        assert each.seconds is not None
        each.become(to, self.now)
        self.asked[self.now, to, each.seconds[to == "on"]].append(each.number)

    def spare(self) -> float:
        """Return how many processors more than the first job needs are there at its shadow time.

        inf if nothing is promised to anybody; those that somebody has to wake are not there.
        """
        waiting = self.of("waiting")
        shadow_time = self.shadow_time(waiting[0]) if waiting else inf
        if shadow_time == inf:
            return inf
        return self.there(shadow_time, by_itself=True) - waiting[0].size

    def wake_for_head(self) -> None:
        """Wake what the first job lacks, those that are ready first."""
        for each in self.free():
            if self.spare() < 0 and self.comes(each, by_itself=True) == inf:
                self.wake(each)

    def may_go(self, each: Processor) -> bool:
        is_idle = each.state == "idle" and each.job is None and not each.broken
        return is_idle and each.seconds is not None

    def switch_off(self) -> None:
        """Switch off what has been idle for long, as long as enough is left."""
        going = [each for each in self.processors if self.may_go(each)]
        for each in sorted(going, key=lambda each: (each.since, -each.number)):
            nb_idle = sum(other.state == "idle" for other in self.free())
            is_spare = nb_idle > self.keep and self.spare() > 0
            if is_spare and each.since + self.idle_time <= self.now:
                self.switch(each, "off")
