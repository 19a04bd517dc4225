"""Episodes: parts of a log, each of which is simulated on its own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property, partial
from inspect import getfullargspec
from math import ceil, inf
from typing import Any, NamedTuple

import msgspec
import numpy as np

from batsched_py.environments.rewards import REWARDS, Meter, Recorded, Reward
from batsched_py.errors import UsageError
from batsched_py.options.durations import parse_time
from batsched_py.options.option_values import number, one_of, whole_number
from batsched_py.run.plugin_objects import PluginObjects
from batsched_py.run.resolved_run import ResolvedRun, resolve
from batsched_py.run.result import Result
from batsched_py.run.settings import Settings
from batsched_py.run.simulate import execute
from batsched_py.run.stored_values import ProcessSettings, Run
from batsched_py.schedulers.agent.agent_policy import make_policy
from batsched_py.schedulers.agent.networks import Agent
from batsched_py.schedulers.partitioned import unwrap_policy
from batsched_py.simulator.profiles import make_usual_profile
from batsched_py.support.json_values import did_you_mean, to_python
from batsched_py.units import DAY
from batsched_py.workload import WorkloadJob
from batsched_py.workload.workload import REFERENCE_SPEED


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
            limit = inf if job.walltime is None else job.walltime
            return min(profile.compute_duration(speed, job.size), limit)

        return {
            job.id: Recorded(job.submit_time, find_run_time(job), job.size)
            for job in self.run.workload.jobs
            if job.submit_time >= self.begin
        }

    def watch(self, run: ResolvedRun, scheduler: Any = None) -> tuple[ResolvedRun, Meter]:
        """Return a run of the episode whose rewards a meter sums, and this meter.

        ``scheduler`` makes the policy; None: it is made by the name that the run has.
        """
        meter = Meter(self.reward, self.recorded, self.begin, self.end)
        plugins = _WatchedPlugins(scheduler, run.plugins.users, meter)
        return msgspec.structs.replace(run, plugins=plugins), meter

    def measure(self, scheduler: Any, **options: Any) -> Measured:
        """Simulate the episode under a policy, and return the sum of its rewards.

        ``scheduler`` is an :class:`Agent`, or it and its ``options`` are as for
        :func:`~batsched_py.run.simulate.simulate`.
        """
        if isinstance(scheduler, Agent):
            check_keywords(options, ())
            scheduler = partial(make_policy, scheduler)
        if isinstance(scheduler, str):
            resolved, meter = self.watch(self.run.with_policy(scheduler, options))
        else:
            resolved, meter = self.watch(self.run, lambda: scheduler(**options))
        result = execute(resolved, progress=False)
        return Measured(meter.finish(), result)


class _WatchedPlugins(PluginObjects, frozen=True):
    """The policy and the users of a simulation, whose events a meter sees."""

    meter: Any = None
    stay_here = True

    def make_scheduler(self, settings: ProcessSettings) -> Any:
        return self.meter.watch(super().make_scheduler(settings))

    def named(self, run: Run, driver: Any) -> tuple[Run, list[str]]:
        self.meter.driver = driver
        if self.scheduler is not None:  # without a digest of its source, which takes longer
            kind = type(unwrap_policy(driver.scheduler))
            run = msgspec.structs.replace(run, scheduler=kind.__name__)
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
        check_keywords(settings, KEYWORDS)
        if (jobs is None) == (days is None):
            raise UsageError("an episode has a number of jobs or of days: give one of them")
        unit = "jobs" if days is None else "days"
        nb = self._nb = whole_number(unit, jobs if days is None else days, 1)
        self._are_days = days is not None
        self._reward = reward if callable(reward) else one_of("reward", reward, REWARDS)
        self._warm_up = number("warm_up", parse_time("warm_up", warm_up), 0)
        self._cut_off = one_of("horizon", horizon, ("all", "end")) == "end"
        if not self._are_days and (self._warm_up or self._cut_off):
            raise UsageError("warm_up and horizon=end are for episodes of days")
        for name in settings:
            if name in ("scheduler", "scheduler_options", "seed"):
                raise UsageError(f"{name}: an episode has none, give it to what runs the episode")
        self._run = resolve(Settings(scheduler="agent", **settings))  # that it can decide for
        times = self._times = np.array([job.submit_time for job in self._run.workload.jobs])
        self.starts: Sequence[int]
        """The places where an episode can begin: numbers of jobs, or days after the first
        submission; in ascending order."""
        if self._are_days:
            size = int((times[-1] - times[0]) / DAY) + 1
            days_in = np.arange(ceil(self._warm_up / DAY), size - nb + 1)
            first, last = np.searchsorted(times, self._find_days(days_in))
            self.starts = days_in[first < last].tolist()
        else:
            size = len(times)
            self.starts = range(size - nb + 1)
        if not self.starts:
            before = f" after a warm_up of {self._warm_up / DAY:g} days" if self._warm_up else ""
            raise UsageError(
                f"there is no episode of {nb} {unit}{before}: the log has {size} {unit}"
            )

    def draw(self, random: np.random.Generator, **given: int) -> Episode:
        """Return an episode whose ``start`` and ``seed`` of users are random, if not ``given``."""
        start = self.starts[int(random.integers(len(self.starts)))]
        return self.at(**{"start": start, "seed": int(random.integers(2**32))} | given)

    def at(self, start: int, seed: int = 0) -> Episode:
        """Return the episode that begins at a place of :attr:`starts`.

        ``seed`` is that of its users. Raises :class:`UsageError` for other places.
        """
        start = whole_number("start", to_python(start), 0)
        if start not in self.starts:
            raise UsageError(
                f"start={start}: expected one of starts, from {self.starts[0]} to {self.starts[-1]}"
            )
        times, end = self._times, inf
        if self._are_days:
            begin, end = self._find_days(start)
            first, last = np.searchsorted(times, (begin - self._warm_up, end))
        else:
            begin, first, last = float(times[start]), start, start + self._nb
        warm_up = max(0.0, begin - float(times[first]))
        seed = whole_number("seed", to_python(seed), 0)
        run = msgspec.structs.replace(self._run.run, seed=seed, warm_up=warm_up)
        workload = self._run.workload.part(first, last)
        source = msgspec.structs.replace(self._run.input, workload=workload)
        resolved = msgspec.structs.replace(self._run, run=run, input=source)
        end = end if self._cut_off else inf
        return Episode(start=start, run=resolved, reward=self._reward, begin=begin, end=end)

    def _find_days(self, start: Any) -> tuple[Any, Any]:
        """Return when the days from ``start`` on begin and end (seconds); arrays give arrays."""
        begin = float(self._times[0]) + start * DAY
        return begin, begin + self._nb * DAY


KEYWORDS = (*getfullargspec(Episodes).kwonlyargs, *Settings.__struct_fields__)
"""Of :class:`Episodes` and :func:`~batsched_py.run.simulate.simulate`."""


def check_keywords(keywords: Iterable[str], known: Collection[str]) -> None:
    """Raise :class:`UsageError` for a keyword that is not known."""
    for name in keywords:
        if name not in known:
            raise UsageError(f"there is no keyword {name!r}{did_you_mean(name, known)}")
