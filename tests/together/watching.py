"""Wraps a policy or users, to watch what they see; both decide as without it."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from math import inf
from typing import Any

from batsched_py import EndedJob, Job, Machine, SiteView, StartedJob
from batsched_py.model.job import ENDED, RUNNING, WAITING
from batsched_py.model.queue import WaitingQueue
from batsched_py.model.queue.job_arrays import JobRows
from batsched_py.model.user_model import UserModel


def watch(kind: type[Any]) -> type[Any]:
    """Return a policy that checks each event and each pass.

    Each job is offered, starts, and ends, or is withdrawn before it starts; nothing of a withdrawn
    job is left after the pass. Jobs of ``Acting`` users name those that they need in ``extra``.
    """
    state: dict[str, str] = {}

    def follow(job: Job, *before: str, to: str) -> None:
        assert state.get(job.id, "new") in before, f"{job.id}: {to} after {state.get(job.id)}"
        state[job.id] = to

    def pass_on(policy: Any, event: str, now: float, job: Job) -> None:
        if hasattr(kind, event):
            getattr(kind, event)(policy, now, job)

    def schedule(self: Any, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Any]:
        for job in queue:
            assert job.state is WAITING
            follow(job, "new", "offered", "put back", to="offered")
            for needed in job.extra.get("needs", ()):
                assert state[f"dyn!{needed}"] == "ended"
        assert all(state[job.id] == "started" for job in machine.releases())
        yield from kind.schedule(self, now, queue, machine)
        gone = [job for job in _reachable_jobs(self) if state.get(job.id) == "withdrawn"]
        assert not gone, f"{kind.__name__} keeps withdrawn jobs at {now}"

    def job_started(self: Any, now: float, job: Job) -> None:
        assert job.state is RUNNING
        assert job.start_time >= now  # later if its processors are woken
        follow(job, "offered", to="started")
        pass_on(self, "job_started", now, job)

    def job_ended(self: Any, now: float, job: Job) -> None:
        # an outage may take processors that are woken for a job, which then waits again
        assert job.state is ENDED or (job.state is WAITING and job.start_time == inf)
        follow(job, "started", to="put back" if job.state is WAITING else "ended")
        pass_on(self, "job_ended", now, job)

    def job_withdrawn(self: Any, now: float, job: Job) -> None:
        assert job.state is ENDED
        follow(job, "new", "offered", to="withdrawn")
        pass_on(self, "job_withdrawn", now, job)

    methods = (schedule, job_started, job_ended, job_withdrawn)
    return type(kind.__name__, (kind,), {each.__name__: each for each in methods})


def _reachable_jobs(policy: object) -> list[Job]:
    """Return the jobs that a policy refers to, through its own objects and containers."""
    found, seen, todo = [], set[int](), [policy]
    while todo:
        each = todo.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, Job):
            found.append(each)
        elif isinstance(each, WaitingQueue):
            todo += list(each)  # inside, it keeps some that have left for a while
        elif isinstance(each, JobRows):
            todo += each.jobs()  # as this does
        elif not isinstance(each, type) and not callable(each):
            todo += gc.get_referents(each)
    return found


class Onlooking:
    """Users who do as ``inner``, and look at the site whenever they are asked."""

    def __init__(self, inner: UserModel) -> None:
        self._inner, self.profiles = inner, inner.profiles
        self._site: SiteView | None = None
        self._started: set[str] = set()

    def begin(self, site: SiteView) -> None:
        """Remember the site."""
        self._site = site
        if hasattr(self._inner, "begin"):
            self._inner.begin(site)

    def next_submission(self) -> float:
        """Return the next submission of the inner model."""
        return self._inner.next_submission()

    def jobs_to_submit(self, now: float) -> Any:
        """Look at each job, and return those of the inner model."""
        assert self._site is not None
        users = set(self._started)
        for name in users:
            for own in self._site.own_jobs(name):
                expected = self._site.expected_start(own.submitted.id)
                assert expected is None or own.start_time is None
        self._site.waiting()
        return self._inner.jobs_to_submit(now)

    def job_started(self, now: float, job: StartedJob) -> None:
        """Note whose job has started."""
        if job.user is not None:
            self._started.add(job.user)
        if hasattr(self._inner, "job_started"):
            self._inner.job_started(now, job)

    def job_ended(self, now: float, job: EndedJob, state: str) -> None:
        """Report the end to the inner model."""
        self._inner.job_ended(now, job, state)
