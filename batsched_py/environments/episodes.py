"""Episodes: parts of a log, each of which is simulated on its own."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from itertools import chain
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from batsched_py.environments.rewards import REWARDS, Meter, Recorded, Reward
from batsched_py.errors import UsageError
from batsched_py.model.user_model import find_method
from batsched_py.options.durations import parse_time
from batsched_py.options.option_values import one_of, whole_number
from batsched_py.run.plugin_objects import PluginObjects
from batsched_py.run.resolved_run import ResolvedRun, resolve
from batsched_py.run.settings import Settings
from batsched_py.run.simulate import execute
from batsched_py.schedulers.agent.agent_policy import make_policy
from batsched_py.schedulers.agent.networks import Agent
from batsched_py.simulator.profiles import make_usual_profile
from batsched_py.units import DAY
from batsched_py.workload.workload import REFERENCE_SPEED

if TYPE_CHECKING:
    from batsched_py.model.job import Job
    from batsched_py.model.system import System
    from batsched_py.run.result import Result
    from batsched_py.run.stored_values import ProcessSettings, Run
    from batsched_py.workload import WorkloadJob

HORIZONS = ("all", "end")


class Measured(NamedTuple):
    """The sum of the rewards of an episode, and the result of its simulation."""

    reward: float
    result: Result


class Episode(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A part of a log, and how policies are rewarded on it."""

    start: int
    """The number of its first job, or the day on which its measured part begins."""
    run: ResolvedRun
    reward: str | Reward
    begin: float
    """Recorded submission (seconds) from which on jobs are measured."""
    end: float
    """When it is cut off (seconds); inf: with its last job."""

    @cached_property
    def recorded(self) -> dict[str, Recorded]:
        """The measured jobs by name."""
        speed, profiles = REFERENCE_SPEED * self.run.run.speed_factor, self.run.workload.profiles

        def find_run_time(job: WorkloadJob) -> float:
            profile = make_usual_profile(profiles[job.profile])
            if profile is None:
                return job.walltime or job.estimate or 0.0
            length = profile.flops / speed if profile.delay is None else profile.delay
            return length if job.walltime is None else min(length, job.walltime)

        return {
            job.id: Recorded(job.submit_time, find_run_time(job), job.size)
            for job in self.run.workload.jobs
            if job.submit_time >= self.begin
        }

    def watch(self, scheduler: Any = None) -> tuple[ResolvedRun, Watch]:
        """Return the run of the episode, and what watches its rewards.

        ``scheduler`` makes the policy; None: it is made by the name that the run has.
        """
        watch = Watch(Meter(self.reward, self.recorded, self.begin, self.end))
        plugins = _WatchedPlugins(scheduler, self.run.plugins.users, watch)
        return msgspec.structs.replace(self.run, plugins=plugins), watch

    def measure(self, scheduler: Any, **options: Any) -> Measured:
        """Simulate the episode under a policy, and return the sum of its rewards.

        ``scheduler`` is an :class:`Agent`, or it and its ``options`` are as for
        :func:`~batsched_py.run.simulate.simulate`.
        """
        if isinstance(scheduler, Agent):
            scheduler = partial(make_policy, scheduler)
        if isinstance(scheduler, str):
            episode = msgspec.structs.replace(self, run=self.run.with_policy(scheduler, options))
            resolved, watch = episode.watch()
        else:
            resolved, watch = self.watch(lambda: scheduler(**options))
        result = execute(resolved, progress=False)
        return Measured(watch.finish(), result)


class Watch:
    """Watches a simulation for its rewards."""

    driver: System

    def __init__(self, meter: Meter) -> None:
        self.meter = meter

    def attach(self, policy: Any) -> Any:
        """Return a policy whose ended and withdrawn jobs the meter learns of, too."""
        for name in ("job_ended", "job_withdrawn"):
            own, note = find_method(policy, name), getattr(self.meter, name)
            setattr(policy, name, note if own is None else _both(own, note))
        return policy

    def finish(self) -> float:
        """Return the rewards since the last one that was taken, at the end of an episode."""
        driver = self.driver
        self.meter.now = driver.now
        waiting = chain(driver.waiting_jobs(), driver.held_jobs())
        running = (job for job in driver.machine.releases() if not driver.is_bound(job))
        self.meter.finish(chain(waiting, running))
        return self.meter.take()


def _both(
    own: Callable[[float, Job], Any], note: Callable[[float, Job], None]
) -> Callable[[float, Job], None]:
    def call(now: float, job: Job) -> None:
        own(now, job)
        note(now, job)

    return call


class _WatchedPlugins(PluginObjects, frozen=True):
    """The policy and the users of a simulation that is watched."""

    watch: Any = None
    stay_here = True

    def make_scheduler(self, settings: ProcessSettings) -> Any:
        return self.watch.attach(super().make_scheduler(settings))

    def named(self, run: Run, driver: Any) -> tuple[Run, list[str]]:
        self.watch.driver = driver
        return run, []


class Episodes:
    """Draws episodes from a log, to train and to compare policies.

    An episode has a number of ``jobs`` in a row. With ``days``, it has all jobs of these days, and
    those of a ``warm_up`` before them, which are not measured (seconds, or a text such as ``3
    days``). It ends with its last job, or with the ``horizon`` ``end`` after its days. The machine
    is empty at its begin, and its users know of no jobs before it.

    ``reward`` is one of :data:`~batsched_py.environments.rewards.REWARDS`, or a function of what
    became of a job. ``settings`` are keywords of
    :func:`~batsched_py.run.simulate.simulate`, such as ``log`` and ``users``. Raises
    :class:`UsageError` for values that make no sense.

    >>> episode = Episodes(jobs=100, reward="wait", log="sample").at(0)
    >>> reward, result = episode.measure("easy", order="sjf")
    >>> round(float(reward + result.metrics["mean_waiting_time"]), 9)
    0.0
    """

    def __init__(
        self,
        *,
        reward: str | Reward = "slowdown",
        jobs: int | None = None,
        days: int | None = None,
        warm_up: str | float = 0.0,
        horizon: str = "all",
        **settings: Any,
    ) -> None:
        self._reward = reward if callable(reward) else one_of("reward", reward, REWARDS)
        if (jobs is None) == (days is None):
            raise UsageError("an episode has a number of jobs or of days: give one of them")
        if jobs is not None:
            jobs = whole_number("jobs", jobs, 1)
        if days is not None:
            days = whole_number("days", days, 1)
        self._jobs, self._days = jobs, days
        for name in settings:
            if name in ("scheduler", "scheduler_options", "seed"):
                raise UsageError(f"{name}: an episode has none, give it to what runs the episode")
        self._warm_up = parse_time("warm_up", warm_up)
        self._cut_off = one_of("horizon", horizon, HORIZONS) == "end"
        if jobs is not None and (self._warm_up or self._cut_off):
            raise UsageError("warm_up and horizon=end are for episodes of days")
        self._run = resolve(Settings(**settings))
        times = self._times = np.array([job.submit_time for job in self._run.workload.jobs])
        if jobs is not None:
            nb_starts, unit = len(times) - jobs + 1, "jobs"
            starts = np.arange(max(nb_starts, 0))
        else:
            unit, nb_days = "days", int((times[-1] - times[0]) / DAY) + 1
            starts = np.arange(np.ceil(self._warm_up / DAY), nb_days - (days or 0) + 1)
            begins = times[0] + starts * DAY
            ends = begins + (days or 0) * DAY
            starts = starts[np.searchsorted(times, ends) > np.searchsorted(times, begins)]
        self.starts: list[int] = starts.astype(int).tolist()
        """The places where an episode can begin: numbers of jobs, or days after the first
        submission; in ascending order."""
        if not self.starts:
            size = len(times) if jobs is not None else nb_days
            raise UsageError(
                f"an episode of {jobs or days} {unit}: expected at least 1, and less than the log, "
                f"which has {size} {unit}"
            )

    @property
    def log_digest(self) -> str | None:
        """SHA-256 of the log, None if it is not a file."""
        return self._run.input.sha256

    def draw(self, random: np.random.Generator) -> Episode:
        """Return an episode at a random place, whose users have a random seed."""
        start = self.starts[int(random.integers(len(self.starts)))]
        return self.at(start, int(random.integers(2**32)))

    def at(self, start: int, seed: int = 0) -> Episode:
        """Return the episode that begins at a place of :attr:`starts`.

        ``seed`` is that of its users. Raises :class:`UsageError` for other places.
        """
        if start not in self.starts:
            raise UsageError(f"start={start}: expected {self.starts[0]} to {self.starts[-1]}")
        start, seed = int(start), int(seed)  # maybe of numpy; both are stored
        times, end, warm_up = self._times, inf, 0.0
        if self._days is None:
            first, last = start, start + (self._jobs or 0)
            begin = float(times[first])
        else:
            begin = float(times[0]) + start * DAY
            first, last = np.searchsorted(times, (begin - self._warm_up, begin + self._days * DAY))
            end = begin + self._days * DAY if self._cut_off else inf
            warm_up = max(0.0, begin - float(times[first]))
        workload = self._run.workload.part(first, last)
        run = msgspec.structs.replace(self._run.run, seed=seed, warm_up=warm_up)
        source = msgspec.structs.replace(self._run.input, workload=workload)
        resolved = msgspec.structs.replace(self._run, run=run, input=source)
        return Episode(start=start, run=resolved, reward=self._reward, begin=begin, end=end)
