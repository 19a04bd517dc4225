"""Users of any model who reduce their jobs while energy is scarce (Madon, Gatt, Da Costa)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from heapq import heapify, heappop, heappush
from itertools import count
from math import inf
from typing import Any, Literal, TypeVar

import msgspec

from batsched_py.errors import InvariantError, PluginError, UsageError
from batsched_py.model.site_view import SiteView
from batsched_py.model.user_model import (
    WITHDRAWN,
    EndedJob,
    StartedJob,
    UserModel,
    Withdraw,
    ask_next_due,
    find_method,
    reacts,
    take_submissions,
)
from batsched_py.options.option_values import boolean, number, one_of
from batsched_py.plugins import plugins
from batsched_py.protocol.batsim_jobs_columns import REJECTED
from batsched_py.support.json_values import did_you_mean
from batsched_py.workload import Workload, WorkloadJob
from batsched_users.behaviour.calendar import Calendar
from batsched_users.behaviour.energy_signal import GREEN, RED, STATES, YELLOW, read_signal
from batsched_users.behaviour.job_names import JobNames
from batsched_users.behaviour.levers import (
    DELAY,
    RENOUNCE,
    LeverCounts,
    Reduction,
    ScaledProfiles,
    choose_lever,
    join_levers,
    read_levers,
)
from batsched_users.behaviour.random_streams import Chance, Seed
from batsched_users.models.rigid import Rigid, load_model
from batsched_users.models.synthetic import Synthetic

Known = TypeVar("Known", StartedJob, EndedJob)
_MOST_AT_ONCE = 1_000_000
"""Passes of a model at one instant after which it counts as endless."""


class _Wish(msgspec.Struct, frozen=True, gc=False):
    """A job that the wrapped model wished to submit, and that its user has changed or delayed."""

    job: WorkloadJob
    at: float
    """When the model wished to submit it."""
    name: str = ""
    """Name of the random stream for this job."""
    turn: int = 0
    """Number of times that its user has delayed it."""


class Sufficient:
    """Users of another model who delay, change or renounce jobs while energy is scarce.

    A signal says when energy is green, yellow or red. In each state, users apply levers to the jobs
    that they would submit. All options that are not listed here are options of ``model``. The
    levers are:

    - ``delay``: submit as soon as the signal is better.
    - ``reconfiguration``: take ``space_factor`` of the processors, for a longer time.
    - ``space_degradation``: take ``space_factor`` of the processors for the same time.
    - ``time_degradation``: take the same processors for ``time_factor`` of the time.
    - ``renounce``: do not submit. For the model, the job ends at once, like a rejected job.

    Walltime and estimate change like the run time. Processors are rounded up, so jobs of one
    processor are neither reconfigured nor degraded in space. Jobs without user stay unchanged.

    Random numbers depend on the seed, the user and the job, and are the same for a recorded job in
    every model. If probabilities grow in proportion, jobs with a lever keep it. Jobs carry the
    columns ``lever`` and ``wished_submission_time``. A summary of jobs by lever, and of the time in
    red and yellow, is printed and stored as ``user_statistics``.

    Sources: Madon, Da Costa, Pierson, Euro-Par 2022; Gatt, Madon, Da Costa, ICT4S 2024; names of
    the levers by Madon, PhD thesis, Toulouse 2024. There, users submit at recorded times. The
    factors of one half, and the submission of delayed jobs as soon as possible, are our
    assumptions.

    Args:
        signal: When energy is scarce: the red hours of every day, or a CSV file with the column
            ``time`` and ``state`` (green, yellow, red) or a value. Allowed: hours such as
            16:00-20:00, or a path.
        model: Model of the users. Allowed: a name as for --users, or file.py:Class.
        share: Share of the users who take part, drawn at random. Allowed: a number from 0 to 1.
        red: Levers in red, each with a probability (null: ``delay`` for all jobs). Allowed: such as
            delay:0.5,renounce:0.1; or delay for all jobs.
        yellow: Levers in yellow (empty: none). Allowed: as for ``red``.
        green: Levers in green (empty: none). Allowed: as for ``red``.
        yellow_from: Value of the signal from which it is yellow (null: never).
        red_from: Value of the signal from which it is red (null: never).
        repeats: Whether the signal repeats without end; if not, it is green before and after.
        space_factor: Processors of a reconfigured or space-degraded job, as a share. Allowed: a
            number above 0, at most 1.
        time_factor: Run time of a time-degraded job, as a share. Allowed: a number above 0, at most
            1.
        alpha: A job on 1/k of its processors runs k^alpha times as long; 1 keeps its work. Allowed:
            a number from 0 to 10.
        again: Whether users choose a lever again for a delayed job that is due.
        counts_from: Begin of the response times of delayed jobs, for the model: the submission, or
            the time of the wish.
    """

    def __init__(
        self,
        workload: Workload,
        *,
        signal: str,
        model: str = plugins.RIGID,
        share: float = 1.0,
        red: str | None = None,
        yellow: str = "",
        green: str = "",
        yellow_from: float | None = None,
        red_from: float | None = None,
        repeats: bool = False,
        space_factor: float = 0.5,
        time_factor: float = 0.5,
        alpha: float = 1.0,
        again: bool = False,
        counts_from: Literal["submission", "wish"] = "submission",
        seed: Seed = 0,
        **options: Any,
    ) -> None:
        said = {**locals()}  # the wrapper's own options
        self._signal = read_signal(
            str(signal),
            Calendar.of(workload),
            yellow_from=yellow_from,
            red_from=red_from,
            repeats=boolean("repeats", repeats),
        )
        default = DELAY if self._signal.has(RED) else ""
        texts = {RED: default if red is None else red, YELLOW: yellow, GREEN: green}
        self._levers = {state: read_levers(state, text) for state, text in texts.items()}
        if red is None and not any(self._levers.values()):
            raise UsageError(
                f"signal={signal} is never red, so nobody would do anything: say what "
                "users do in another state, or give another signal"
            )
        self._check_states(str(signal))
        self._share = number("share", share, 0, 1)
        self._reduction = Reduction(space_factor, time_factor, alpha)
        self._again = boolean("again", again)
        counted = one_of("counts_from", counts_from, ("submission", "wish"))
        self._from_wish = counted == "wish"
        self._chance = Chance(seed)
        kind = load_model(model)
        if kind is Sufficient:
            raise UsageError(f"model={model}: expected another model, since this one wraps it")
        if any(self._levers.values()):
            _check_users(kind, model, workload, options)
        _check_names(kind, model, options, said)
        self._inner: UserModel = plugins.make_users(kind, model, workload, options, seed)
        self._inner_started = find_method(self._inner, "job_started")
        profiles = ScaledProfiles(self._inner.profiles)
        self._scaled = profiles
        self.profiles: Mapping[str, dict[str, Any]] = profiles
        self._takes_part: dict[str, bool] = {}
        self._names = JobNames()
        self._held: list[tuple[float, int, _Wish]] = []
        self._order = count()
        self._renounced: list[_Wish] = []
        self._changed: dict[str, _Wish] = {}
        """Name of each changed job in the system -> the wish that it came from."""
        self._counts = LeverCounts({lever for levers in self._levers.values() for lever in levers})

    @property
    def reacts(self) -> bool | None:
        """Whether the users of the wrapped model react."""
        return reacts(self._inner)

    @property
    def follows_dependencies(self) -> bool:
        """Whether the wrapped model follows the recorded dependencies of a log."""
        return bool(getattr(self._inner, "follows_dependencies", False))

    def next_submission(self) -> float:
        """Return the time of the next new or delayed job, inf if there is none."""
        held = self._held[0][0] if self._held else inf
        return min(held, ask_next_due(self._inner))

    def jobs_to_submit(self, now: float) -> Iterable[WorkloadJob | Withdraw]:
        """Yield delayed jobs that are due, then new jobs of the wrapped model."""
        self._counts.note_time(now)
        submitted = False
        while self._held and self._held[0][0] <= now:
            for job in self._submitted(heappop(self._held)[-1], now):
                submitted = True
                yield job
        self._report_renounced(now)
        # If all jobs were delayed or renounced, the renounced ones may have made others due.
        for _ in range(_MOST_AT_ONCE):
            if submitted or ask_next_due(self._inner) > now:
                return
            wished = False
            for wish in take_submissions(self._inner, now):
                wished = True
                if isinstance(wish, Withdraw):
                    if not self._withdraw_delayed(wish.job, now):
                        submitted = True
                        yield wish
                    continue
                self._counts.jobs += 1
                for job in self._submitted(_Wish(wish, now, self._names.make_name(wish)), now):
                    submitted = True
                    yield job
            self._report_renounced(now)
            if not wished:
                return
        raise InvariantError(
            f"{type(self._inner).__name__} is due at {now} however many jobs are renounced there"
        )

    def begin(self, site: SiteView) -> None:
        """Show the site to the wrapped model, if it looks at it."""
        if (begin := find_method(self._inner, "begin")) is not None:
            begin(site)

    def job_started(self, now: float, job: StartedJob) -> None:
        """Report a start to the wrapped model, if it wants to know."""
        if self._inner_started is not None:
            self._inner_started(now, self._as_wished(job, self._changed.get(job.id)))

    def job_ended(self, now: float, job: EndedJob, state: str) -> None:
        """Report the end of a job to the wrapped model, in the form that the model wished it."""
        self._counts.note_time(now)
        job = self._as_wished(job, self._changed.pop(job.id, None))
        self._inner.job_ended(now, job, state)

    def statistics(self) -> dict[str, Any]:
        """Count jobs by lever, and seconds by state from the first submission to the last end.

        ``jobs`` counts the wished jobs. A job that was delayed and then changed counts twice.
        """
        return self._counts.statistics(self._signal)

    def _submitted(self, wish: _Wish, now: float) -> Iterator[WorkloadJob]:
        """Yield the job that is submitted now for a wish, unless it is delayed or renounced."""
        lever = self._lever(wish, now)
        if lever == RENOUNCE:
            self._counts.add(RENOUNCE)
            self._renounced.append(wish)
        elif lever == DELAY:
            if not wish.turn:
                self._counts.add(DELAY)
            back = self._signal.better_from(now)
            held = msgspec.structs.replace(wish, turn=wish.turn + 1)
            heappush(self._held, (back, next(self._order), held))
        else:
            yield self._as_changed(wish, lever)

    def _lever(self, wish: _Wish, now: float) -> str:
        """Return the lever that the user chooses for a job now, ``""`` for none."""
        job = wish.job
        if job.user is None or (wish.turn and not self._again):
            return ""
        levers = self._levers[self._signal.state(now)]
        if not levers or not self._participates(job.user):
            return ""
        random = self._chance.stream("lever", job.user, wish.name, wish.turn)
        return choose_lever(levers, random.random(), random.random())

    def _participates(self, user: str) -> bool:
        if user not in self._takes_part:
            drawn = self._chance.stream("takes part", user).random()
            self._takes_part[user] = drawn < self._share
        return self._takes_part[user]

    def _as_changed(self, wish: _Wish, lever: str) -> WorkloadJob:
        """Return the job that is submitted for a wish, and remember the wish if it differs."""
        job, notes, changes = wish.job, {}, {}
        delayed = DELAY if wish.turn else ""
        if delayed:
            notes = {"lever": DELAY, "wished_submission_time": wish.at}
        size, longer = self._reduction.apply(lever, job.size) if lever else (job.size, 1.0)
        if (size, longer) != (job.size, 1.0):
            notes["lever"] = join_levers(delayed, lever)
            self._counts.add(lever)
            changes = {
                "size": size,
                "profile": self._scaled.scale(job, longer),
                "walltime": None if job.walltime is None else job.walltime * longer,
                "estimate": None if job.estimate is None else job.estimate * longer,
            }
        if not notes:
            return job
        self._changed[job.id] = wish
        return msgspec.structs.replace(job, extra={**job.extra, **notes}, **changes)

    def _as_wished(self, job: Known, wish: _Wish | None) -> Known:
        """Return a job of the system as the model wished it, if its user changed or delayed it."""
        if wish is None:
            return job
        submit = wish.at if self._from_wish else job.submit_time
        return msgspec.structs.replace(job, submitted=wish.job, submit_time=submit)

    def _withdraw_delayed(self, job_id: str, now: float) -> bool:
        """End a job for the model if its user delays it; return whether that is so."""
        for entry in self._held:
            if entry[2].job.id == job_id:
                self._held.remove(entry)
                heapify(self._held)
                wish = entry[2]
                submit = wish.at if self._from_wish else now
                self._inner.job_ended(now, EndedJob(wish.job, submit, None, now), WITHDRAWN)
                return True
        return False

    def _report_renounced(self, now: float) -> None:
        """Report renounced jobs to the wrapped model as rejected jobs, which have ended."""
        renounced, self._renounced = self._renounced, []
        for wish in renounced:
            submit = wish.at if self._from_wish else now
            self._inner.job_ended(now, EndedJob(wish.job, submit, None, now), REJECTED)

    def _check_states(self, said: str) -> None:
        """Raise :class:`UsageError` for levers in a state that the signal never has, and for delays
        in a state that never gets better.
        """
        for state, levers in self._levers.items():
            if levers and not self._signal.has(state):
                there = " or ".join(other for other in STATES if self._signal.has(other))
                raise UsageError(
                    f"{state}={','.join(levers)}: signal={said} is never {state}, only {there}; "
                    f"leave {state} out"
                )
            if DELAY in levers and self._signal.never_better(state):
                raise UsageError(f"{state}: jobs cannot be delayed; signal={said} is never better")


def _check_names(
    kind: type[Any], model: str, options: Mapping[str, Any], said: Mapping[str, Any]
) -> None:
    """Raise :class:`PluginError` for an option that neither the wrapper nor its model has, and
    :class:`UsageError` for a given option that both have.
    """
    accepted = plugins.find_accepted_options(kind)
    if accepted is None:
        return
    own = {option.name: option.default for option in plugins.find_option_parameters(Sufficient)}
    for name in options:
        if name not in accepted:
            names = [*own, *accepted]
            raise PluginError(
                f"neither 'sufficient' nor its model {model!r} has an option called {name!r}"
                f"{did_you_mean(name, names)}; there are: {', '.join(names)}"
            )
    for name in sorted(set(own) & set(accepted) - {"seed", "model"}):
        if said[name] != own[name]:
            raise UsageError(
                f"{name}={said[name]}: is an option of 'sufficient', and of {model!r} too: give "
                "that of the model in a population file (model=population)"
            )


def _check_users(
    kind: type[Any], model: str, workload: Workload, options: Mapping[str, Any]
) -> None:
    """Raise :class:`UsageError` for a model whose jobs have no users who could choose levers."""
    if kind is Synthetic and options.get("split") is None:
        raise UsageError(
            f"model={model}: its jobs have no users, so nobody would do anything; with split=N "
            "each has one"
        )
    if kind is Rigid and workload.jobs and all(job.user is None for job in workload.jobs):
        raise UsageError(
            f"model={model}: no job of {workload.name} has a user, so nobody would do anything; "
            "give another log, or a model that makes users up"
        )
