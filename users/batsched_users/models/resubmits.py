"""Users of any model who submit withdrawn jobs again, changed or not, as users of logs do."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from heapq import heappop, heappush
from itertools import count
from math import inf
from random import Random
from typing import Any

import msgspec

from batsched_py.errors import UsageError
from batsched_py.model.site_view import OwnJob, SiteView
from batsched_py.model.user_model import (
    WITHDRAWN,
    EndedJob,
    StartedJob,
    Withdraw,
    ask_next_due,
)
from batsched_py.options.option_values import number
from batsched_py.workload import Workload, WorkloadJob
from batsched_py.workload.workload import ORIGINAL_SUBMISSION
from batsched_users.behaviour.job_names import JobNames
from batsched_users.behaviour.levers import ScaledProfiles
from batsched_users.behaviour.random_streams import Chance, Seed
from batsched_users.behaviour.withdrawal_habits import WAITS, read_habits
from batsched_users.models.wrapping import ModelName, ModelOptions, Wrapper

_KINDS = ("same", "smaller", "larger", "mixed")


class _Again(msgspec.Struct, eq=False):
    """A job that was withdrawn and is submitted again, once or more often."""

    original: WorkloadJob
    """As the wrapped model made it."""
    submit_time: float
    """First submission."""
    current: WorkloadJob
    """The job that was submitted last in its place."""
    random: Random | None = None
    """Random numbers of the job, from its first withdrawal on."""
    attempts: int = 0
    longer: float = 1.0
    """Factor of the run time of the original job."""


class _View:
    """What users see of the site, with the names that the wrapped model knows."""

    def __init__(
        self, site: SiteView, ids: Mapping[str, str], running: Mapping[str, _Again]
    ) -> None:
        self._site, self._ids, self._running = site, ids, running

    def __getattr__(self, name: str) -> Any:
        return getattr(self._site, name)  # all that names no jobs

    def own_jobs(self, user: str | None) -> list[OwnJob]:
        """Return the jobs of a user that wait or run, as the wrapped model made them."""
        jobs = []
        for job in self._site.own_jobs(user):
            again = self._running.get(job.submitted.id)
            if again is not None:
                job = job._replace(submitted=again.original, submit_time=again.submit_time)
            jobs.append(job)
        return jobs

    def expected_start(self, job_id: str) -> float | None:
        """Return when a waiting job starts by the policy's plan (seconds)."""
        return self._site.expected_start(self._ids.get(job_id, job_id))


class Resubmits(Wrapper):
    """Users of another model who submit withdrawn jobs again some minutes later.

    The probability depends on how long the job waited. The new job is the same (a correction of
    something else), smaller, larger or mixed, with ratios of sizes and requested times of a log.
    Its run time changes like its requested time, which is at most the longest one of the log. Jobs
    that a user withdraws at one instant are all submitted again or none of them. The new job has
    the id of the first one with ``+1``, ``+2``, ...; it belongs to the same session, and has no
    recorded submission.

    For the wrapped model, the job goes on: it learns of the end of the new job as the end of its
    own job. Jobs that depended on the withdrawn job, and were withdrawn with it, are submitted
    after the new one and depend on it.

    Random numbers depend on the seed and the job. The model counts the new jobs by kind.

    Args:
        habits: Probabilities, gaps and ratios: the name of a log, or a file that ``users learn
            withdrawals`` has written. Allowed: sdsc_sp2, sdsc_ds, or a path.
        share: Factor of the probabilities. Allowed: a number from 0 to 1.
    """

    def __init__(
        self,
        workload: Workload,
        *,
        model: ModelName = "withdraws",
        model_options: ModelOptions = None,
        habits: str = "sdsc_sp2",
        share: float = 1.0,
        seed: Seed = 0,
    ) -> None:
        self._habits = read_habits(habits).resubmission
        self._share = number("share", share, 0, 1)
        self._chance, self._names = Chance(seed), JobNames()
        super().__init__(workload, model, model_options, seed)
        inner = self.inner
        while isinstance(inner, Wrapper):
            if isinstance(inner, Resubmits):
                raise UsageError(
                    "model_options: expected no second model that submits jobs again, since both "
                    "would give new jobs the same ids"
                )
            inner = inner.inner
        self._scaled = ScaledProfiles(self.inner.profiles)
        self.profiles: Mapping[str, dict[str, Any]] = self._scaled
        self._nb_res = workload.nb_res
        requests = (job.walltime or job.estimate or 0.0 for job in workload.jobs)
        self._longest = max(requests, default=inf)
        self._ids: dict[str, str] = {}
        """Id that the wrapped model gave a job -> id of the job submitted last in its place."""
        self._paused: dict[str, float] = {}
        """Id of the wrapped model's job -> when it is submitted again, if that is to come."""
        self._running: dict[str, _Again] = {}
        """Jobs that were submitted again and have not ended, by their ids in the system."""
        self._due: list[tuple[float, int, _Again | WorkloadJob]] = []
        # time, number, job to submit again or job that waits for one
        self._number = count()
        self._decided: dict[str, tuple[float, float | None]] = {}
        """Time of the last withdrawal of each user, and when these jobs are submitted again."""
        self._counts = dict.fromkeys(_KINDS, 0)

    @property
    def reacts(self) -> bool | None:
        """True: users submit jobs again because of what happened to them."""
        return True

    def begin(self, site: SiteView) -> None:
        """Show the site to the wrapped model, with the jobs as it made them."""
        self._tell("begin", _View(site, self._ids, self._running))

    def next_submission(self) -> float:
        """Return when users act next (seconds), inf if nothing is due."""
        return min(self._due[0][0] if self._due else inf, ask_next_due(self.inner))

    def jobs_to_submit(self, now: float) -> Iterable[WorkloadJob | Withdraw]:
        """Yield jobs that are submitted again, then what the wrapped model does."""
        while self._due and self._due[0][0] <= now:
            planned = heappop(self._due)[-1]
            if isinstance(planned, WorkloadJob):
                yield from self._submit(now, planned)
            elif planned.original.id in self._paused:  # else it was withdrawn meanwhile
                yield self._submit_again(now, planned)
        for item in self.take_inner(now):
            if isinstance(item, WorkloadJob):
                yield from self._submit(now, item)
            elif self._paused.pop(item.job, None) is None:
                yield Withdraw(self._ids.get(item.job, item.job), item.kill)
            else:
                self._give_up(now, item.job)

    def job_started(self, now: float, job: StartedJob) -> None:
        """Report a start to the wrapped model, as that of its own job."""
        again = self._running.get(job.id)
        if again is not None:
            job = msgspec.structs.replace(
                job, submitted=again.original, submit_time=again.submit_time
            )
        super().job_started(now, job)

    def job_ended(self, now: float, job: EndedJob, state: str) -> None:
        """Report the end of a job to the wrapped model, unless the job is submitted again."""
        again = self._running.pop(job.id, None)
        waited = job.waited
        if again is not None:
            job = msgspec.structs.replace(
                job, submitted=again.original, submit_time=again.submit_time
            )
        if state == WITHDRAWN:
            again = again or _Again(job.submitted, job.submit_time, job.submitted)
            due = self._decide(now, again, waited)
            if due is not None:
                self._paused[again.original.id] = due
                heappush(self._due, (due, next(self._number), again))
                self.job_paused(now, job)
                return
        self.inner.job_ended(now, job, state)

    def statistics(self) -> dict[str, Any]:
        """Count the jobs that were submitted again, by kind, beside the wrapped model's counts."""
        inner = dict(super().statistics())
        if not sum(self._counts.values()):
            return inner
        text = ", ".join(f"{kind} {nb}" for kind, nb in self._counts.items())
        before = f"{inner['summary']}; " if inner.get("summary") else ""
        summary = f"{before}submitted again: {text}"
        return {**inner, "resubmitted": dict(self._counts), "summary": summary}

    def _submit(self, now: float, job: WorkloadJob) -> Iterator[WorkloadJob]:
        """Yield a job of the wrapped model, later if it depends on one that is to come again."""
        if not job.after:
            yield job
        elif paused := [self._paused[before] for before in job.after if before in self._paused]:
            heappush(self._due, (max(paused), next(self._number), job))
        else:
            renamed = msgspec.structs.replace(job, after=self._rename(job.after))
            self._running[job.id] = _Again(job, now, renamed)
            yield renamed

    def _rename(self, after: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(self._ids.get(before, before) for before in after)

    def _decide(self, now: float, again: _Again, waited: float) -> float | None:
        """Return when a withdrawn job is submitted again (seconds), None if it is not."""
        job = again.original
        if again.random is None:
            name = self._names.make_name(job)
            again.random = self._chance.stream("resubmits", job.user, name)
        wants, gap = again.random.random(), again.random.random()
        paused = [self._paused[before] for before in job.after if before in self._paused]
        if paused:  # it was withdrawn with a job that it depends on
            return max(paused)
        decided = None if job.user is None else self._decided.get(job.user)
        if decided is not None and decided[0] == now:
            return decided[1]
        step = bisect_right(WAITS, waited) - 1
        due = None
        if wants < self._share * self._habits.probabilities[step]:
            due = now + self._find_gap(gap)
        if job.user is not None:
            self._decided[job.user] = now, due
        return due

    def _find_gap(self, probability: float) -> float:
        gaps = self._habits.gaps
        place = probability * (len(gaps) - 1)
        low = int(place)
        return gaps[low] + (place - low) * (gaps[low + 1] - gaps[low])

    def _submit_again(self, now: float, again: _Again) -> WorkloadJob:
        original = again.original
        del self._paused[original.id]
        job = self._change(again)
        again.attempts += 1
        extra = {k: v for k, v in original.extra.items() if k != ORIGINAL_SUBMISSION}
        again.current = job = msgspec.structs.replace(
            job,
            id=f"{original.id}+{again.attempts}",
            after=self._rename(original.after),
            original_submission_time=None,
            extra=extra,
        )
        self._ids[original.id] = job.id
        self._running[job.id] = again
        self.job_resumed(now, msgspec.structs.replace(job, id=original.id, after=original.after))
        return job

    def _change(self, again: _Again) -> WorkloadJob:
        """Return the job with another size and request, drawn from the habits."""
        assert again.random is not None  # it was withdrawn
        kind, place = self._choose_kind(again.random.random()), again.random.random()
        self._counts[kind] += 1
        job = again.current
        if kind == "same":
            return job
        ratios = getattr(self._habits, f"{kind}_ratios")
        wider, longer = ratios[int(place * len(ratios))]
        request = job.walltime or job.estimate  # 0 of a zero-length job with exact estimate
        # without a limit, ratios of jobs that come again and again would make requests of years
        longer = min(longer, max(1.0, self._longest / request)) if request else 1.0
        again.longer *= longer
        return msgspec.structs.replace(
            job,
            size=max(1, min(self._nb_res, round(job.size * wider))),
            walltime=None if job.walltime is None else max(1.0, job.walltime * longer),
            estimate=None if job.estimate is None else max(1.0, job.estimate * longer),
            profile=job.profile
            if longer == 1
            else self._scaled.scale(again.original, again.longer),
        )

    def _choose_kind(self, drawn: float) -> str:
        for kind in _KINDS:
            drawn -= getattr(self._habits, kind)
            if drawn < 0:
                return kind
        return _KINDS[0]

    def _give_up(self, now: float, job_id: str) -> None:
        """End a job that the wrapped model withdraws before it is submitted again."""
        again = next(
            item
            for *_, item in self._due
            if isinstance(item, _Again) and item.original.id == job_id
        )
        ended = EndedJob(again.original, again.submit_time, None, now)
        self.inner.job_ended(now, ended, WITHDRAWN)
