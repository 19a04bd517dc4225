"""Users of a log who do all that users may do, and who hold what they learn against a ledger."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from math import inf
from random import Random
from typing import Any

import msgspec

from batsched_py import EndedJob, SiteView, StartedJob, Withdraw, Workload, WorkloadJob
from batsched_py.model.job import RUNNING, WAITING, JobState
from batsched_py.options.option_values import boolean, number

SUCCESS = "COMPLETED_SUCCESSFULLY"
DELAYS = (0.0, 0.0, 10.0, 20.0, 50.0, 300.0, 5000.0)
"""Seconds from a submission to its withdrawal: times of the log and of ends, or long after."""
MOST_AGAIN = 3
"""How often a job is submitted again at most."""


class Entry(msgspec.Struct):
    """What users know of a job that they submitted; times in seconds."""

    job: WorkloadJob
    submit: float
    start: float | None = None
    end: float | None = None
    state: str = ""
    """The final state, "" before the end."""

    def now(self) -> JobState:
        """Return whether it waits or runs."""
        return WAITING if self.start is None else RUNNING


class Acting:
    """Submit the jobs of a log at their times, withdraw some, and let some depend on others.

    Of twins, two jobs that are submitted at once, one is withdrawn when the other starts. The
    options are shares of jobs, and whether users resubmit, set deadlines and look at the site.
    """

    reacts = True

    def __init__(
        self,
        workload: Workload,
        *,
        withdraws: float = 0.3,
        kills: float = 0.3,
        chains: float = 0.3,
        twins: float = 0.1,
        resubmits: bool = True,
        deadlines: bool = True,
        looks: bool = True,
        seed: int = 0,
    ) -> None:
        shares = {"withdraws": withdraws, "kills": kills, "chains": chains, "twins": twins}
        self._share = {name: number(name, of, 0, most=1) for name, of in shares.items()}
        self._resubmits = boolean("resubmits", resubmits)
        self._deadlines = boolean("deadlines", deadlines)
        self._looks = boolean("looks", looks)
        self.profiles = workload.profiles
        self._random = Random(seed)
        self._due: list[tuple[float, int, WorkloadJob | Withdraw]] = []
        self._nb_planned = 0
        self._twin: dict[str, str] = {}
        self._ledger: dict[str, Entry] = {}
        self._open: dict[str, Entry] = {}
        self._site: SiteView | None = None
        self._nb = {"acts": 0, "kills": 0, "withdrawn": 0}
        latest: list[str] = []
        for job in workload.jobs:
            self._plan_job(job, latest)

    def _does(self, habit: str) -> bool:
        return self._random.random() < self._share[habit]

    def _plan(self, time: float, act: WorkloadJob | Withdraw) -> None:
        self._nb_planned += 1
        heappush(self._due, (time, self._nb_planned, act))

    def _plan_job(self, job: WorkloadJob, latest: list[str]) -> None:
        random, now = self._random, job.submit_time
        after: tuple[str, ...] = ()
        if latest and self._does("chains"):
            after = tuple(random.sample(latest, min(len(latest), random.randint(1, 2))))
        if self._deadlines:
            job = msgspec.structs.replace(job, deadline=now + 100.0)
        # policies do not know it, those that are watched do
        job = msgspec.structs.replace(job, after=after, extra=job.extra | {"needs": after})
        self._plan(now, job)
        latest.append(job.id)
        del latest[:-4]
        if self._does("twins"):
            twin = msgspec.structs.replace(job, id=f"{job.id}t", size=max(1, job.size // 2))
            self._plan(now, twin)
            self._twin[job.id], self._twin[twin.id] = twin.id, job.id
        while self._does("withdraws") and random.random() < 0.9:  # a second time would be too late
            withdrawal = Withdraw(job.id, kill=self._does("kills"))
            self._plan(now + random.choice(DELAYS), withdrawal)

    # What users do -------------------------------------------------------------------------------

    def begin(self, site: SiteView) -> None:
        """Remember the site."""
        assert not self._ledger
        self._site = site

    def next_submission(self) -> float:
        """Return when the next job or withdrawal is due."""
        return self._due[0][0] if self._due else inf

    def jobs_to_submit(self, now: float) -> Iterator[WorkloadJob | Withdraw]:
        """Submit and withdraw what is due, mostly all at once."""
        assert self._site is not None
        assert self._site.now == now
        if self._looks and self._random.random() < 0.2:
            self._look(self._site)
        while self._due and self._due[0][0] <= now:
            act = heappop(self._due)[2]
            if isinstance(act, WorkloadJob):
                self._ledger[act.id] = self._open[act.id] = Entry(act, now)
            else:
                self._nb["acts"] += 1
                entry = self._open.get(act.job)
                self._nb["kills"] += act.kill and entry is not None and entry.now() is RUNNING
            yield act
            if self._random.random() < 0.1:
                return

    def _look(self, site: SiteView) -> None:
        """What they see is what they know."""
        waiting = [entry for entry in self._open.values() if entry.now() is WAITING]
        assert site.waiting().nb_jobs == len(waiting)
        for user in {entry.job.user for entry in self._open.values()}:
            own = [entry for entry in self._open.values() if entry.job.user == user]
            known = sorted((e.job.id, e.now().value, e.submit, e.start) for e in own)
            seen = site.own_jobs(user)
            assert known == sorted((s[0].id, s[1].value, *s[2:]) for s in seen)
        for entry in self._open.values():
            expected = site.expected_start(entry.job.id)
            assert expected is None or entry.now() is WAITING

    # What users learn ----------------------------------------------------------------------------

    def job_started(self, now: float, job: StartedJob) -> None:
        """Withdraw the twin of a job that starts."""
        entry = self._open[job.id]
        assert entry.start is None
        assert job.submitted is entry.job
        assert (job.submit_time, job.start_time) == (entry.submit, now)
        for before in entry.job.after:
            assert self._ledger[before].state == SUCCESS
        entry.start = now
        if job.id in self._twin:
            self._plan(now, Withdraw(self._twin[job.id]))

    def job_ended(self, now: float, job: EndedJob, state: str) -> None:
        """Submit some of the withdrawn and killed jobs again."""
        entry = self._open.pop(job.id)
        assert job.submitted is entry.job
        assert (job.submit_time, job.start_time) == (entry.submit, entry.start)
        assert job.finish_time == now
        assert (entry.start is None) == (state in ("REJECTED", "WITHDRAWN"))
        assert job.waited == (now if entry.start is None else entry.start) - entry.submit
        entry.end, entry.state = now, state
        if state == "WITHDRAWN":
            befores = [self._ledger[before].state for before in job.submitted.after]
            # else it was withdrawn with a job that it depends on
            self._nb["withdrawn"] += all(before in ("", SUCCESS) for before in befores)
        if self._resubmits and state in ("WITHDRAWN", "COMPLETED_KILLED"):
            again = f"{job.id}r"
            if again.count("r") <= MOST_AGAIN and self._random.random() < 0.4:
                changed: dict[str, Any] = {"id": again, "size": max(1, job.size // 2)}
                smaller = msgspec.structs.replace(job.submitted, after=(), **changed)
                smaller.extra = {**smaller.extra, "needs": ()}
                self._plan(now + self._random.choice((0.0, 10.0)), smaller)

    def statistics(self) -> dict[str, Any]:
        """Return the ledger, and the number of withdrawals that came too late."""
        assert not self._open
        nb = self._nb
        return {
            "jobs": {name: [e.state, e.submit, e.start, e.end] for name, e in self._ledger.items()},
            "after": {name: [*entry.job.after] for name, entry in self._ledger.items()},
            "too_late": nb["acts"] - nb["kills"] - nb["withdrawn"],
        }
