"""Learns from a log how often users withdraw waiting jobs, and which ones they submit again.

All rates are counts over exposure. They assume that users do not withdraw jobs because these would
start late, and they belong to the recorded scheduler.
"""

from __future__ import annotations

from math import inf

import msgspec
import numpy as np
from numpy.typing import NDArray

from batsched_py.units import HOUR, MINUTE
from batsched_py.workload.logs.swf import SwfLog
from batsched_users.behaviour.withdrawal_habits import AGES, WAITS, Choice, Habits, Resubmission
from batsched_users.measures.job_columns import Column, Rows
from batsched_users.measures.waiting_jobs import (
    WaitingJobs,
    find_events,
    find_rows_by_user,
    find_waiting_jobs,
    find_waiting_rows,
    measure_by_absence,
    measure_by_age,
)

RESUBMISSION = 10 * MINUTE
"""Longest gap to a submission that counts as another attempt, seconds."""
_NB_RATIOS = 50
_NB_GAPS = 21
_PER_1000_HOURS = 1000 * HOUR


def learn_withdrawals(log: SwfLog, *, after_own_end: float | None = None) -> Habits:
    """Learn the habits of the user models ``withdraws`` and ``resubmits`` from a log.

    Times of day are local, by the clock of the log. ``after_own_end`` and errors are those of
    :func:`find_waiting_jobs`. An event that takes at least half of several waiting jobs counts as
    a withdrawal of all, any other as one of its first job.
    """
    jobs = find_waiting_jobs(log, after_own_end=after_own_end)
    events = find_events(jobs)
    counts, hours = measure_by_age(jobs)
    rates, night, weekend = fit_rates(*measure_by_absence(jobs))
    users = len(np.unique(jobs.user[jobs.withdrawn]))
    return Habits(
        source=f"{log.path.name}: {jobs.withdrawn.sum()} of {len(jobs.submit)} jobs withdrawn in "
        f"{len(events)} events by {users} users",
        job_rates=_round(1000 * counts / np.maximum(hours, 1e-9)),
        user_rates=_round(_PER_1000_HOURS * rates),
        night=_digits(night),
        weekend=_digits(weekend),
        choice=_learn_choice(jobs, events),
        resubmission=_learn_resubmission(jobs, events),
    )


def fit_rates(
    counts: NDArray[np.int64], hours: Column, nb_rounds: int = 100
) -> tuple[Column, float, float]:
    """Fit rates = rate of the step x factor of the night x factor of the weekend to counts.

    Arguments are those of :func:`measure_by_absence`. Returns the rates of the steps (per second,
    shape (8,)) and the two factors, which maximise the likelihood of Poisson counts.
    """
    night = weekend = 1.0
    exposure = hours * HOUR
    rates = np.zeros(len(counts))
    for _ in range(nb_rounds):
        factors = np.array([[1.0, weekend], [night, night * weekend]])
        expected = (exposure * factors).sum(axis=(1, 2))
        rates = counts.sum(axis=(1, 2)) / np.maximum(expected, 1e-9)
        by_step = exposure * rates[:, None, None]
        night = _ratio(counts[:, 1].sum(), (by_step[:, 1] * [1.0, weekend]).sum())
        weekend = _ratio(counts[:, :, 1].sum(), (by_step[:, :, 1] * [1.0, night]).sum())
    return rates, night, weekend


def _ratio(observed: float, expected: float) -> float:
    return float(observed / expected) if expected > 0 else 1.0


def _learn_choice(jobs: WaitingJobs, events: list[Rows]) -> Choice:
    of_user = find_rows_by_user(jobs)
    taken = dict.fromkeys(("all", "newest", "oldest", "other"), 0)
    for event in events:
        first = event[0]
        waiting = find_waiting_rows(jobs, of_user[int(jobs.user[first])], event)
        if len(waiting) < 2:
            continue
        if 2 * len(event) >= len(waiting) and len(event) > 1:
            taken["all"] += 1
        elif first == waiting[-1]:
            taken["newest"] += 1
        else:
            taken["oldest" if first == waiting[0] else "other"] += 1
    total = sum(taken.values())
    if not total:
        return Choice(0.0, 1.0, 0.0, 0.0)
    return Choice(**{name: round(nb / total, 4) for name, nb in taken.items()})


class Attempt(msgspec.Struct, frozen=True):
    """A withdrawal and the next submission of its user, if that follows soon."""

    wait: float
    """Seconds that the withdrawn job had waited."""
    gap: float
    """Seconds to the next submission; inf if it is not within :data:`RESUBMISSION`."""
    wider: float = 1.0
    """Size of the next job / size of the withdrawn one."""
    longer: float = 1.0
    """Requested time of the next job / that of the withdrawn one; 1 if one is unknown."""

    @property
    def kind(self) -> str:
        """``same``, ``smaller``, ``larger`` or ``mixed``: how the request changed."""
        low, high = min(self.wider, self.longer), max(self.wider, self.longer)
        if low == high == 1:
            return "same"
        return "smaller" if high <= 1 else "larger" if low >= 1 else "mixed"


def find_attempts(jobs: WaitingJobs, events: list[Rows]) -> list[Attempt]:
    """Return an attempt for the first job of each event."""
    of_user = find_rows_by_user(jobs)
    attempts = []
    for event in events:
        row = event[0]
        time, rows = jobs.left[row], of_user[int(jobs.user[row])]
        later = rows[np.searchsorted(jobs.submit[rows], time, side="right") :]
        gap = float(jobs.submit[later[0]] - time) if len(later) else inf
        if gap > RESUBMISSION:
            attempts.append(Attempt(float(jobs.wait[row]), inf))
            continue
        longer = float(jobs.request[later[0]] / jobs.request[row])
        attempts.append(
            Attempt(
                float(jobs.wait[row]),
                gap,
                float(jobs.size[later[0]] / jobs.size[row]),
                1.0 if np.isnan(longer) else longer,
            )
        )
    return attempts


def _learn_resubmission(jobs: WaitingJobs, events: list[Rows]) -> Resubmission:
    attempts = find_attempts(jobs, events)
    made = [attempt for attempt in attempts if attempt.gap < inf]
    steps = np.searchsorted(WAITS, [attempt.wait for attempt in attempts], side="right") - 1
    soon = np.array([attempt.gap < inf for attempt in attempts])
    smaller, larger, mixed = (
        round(_ratio(sum(a.kind == kind for a in made), len(made)), 4)
        for kind in ("smaller", "larger", "mixed")
    )
    gaps = [attempt.gap for attempt in made] or [0.0]
    return Resubmission(
        probabilities=[
            round(float(soon[steps == step].mean()), 4) if (steps == step).any() else 0.0
            for step in range(len(WAITS))
        ],
        gaps=[round(gap, 1) for gap in np.quantile(gaps, np.linspace(0, 1, _NB_GAPS)).tolist()],
        same=round(1 - smaller - larger - mixed, 4),
        smaller=smaller,
        larger=larger,
        mixed=mixed,
        smaller_ratios=_pick(made, "smaller"),
        larger_ratios=_pick(made, "larger"),
        mixed_ratios=_pick(made, "mixed"),
    )


def _pick(attempts: list[Attempt], kind: str) -> list[tuple[float, float]]:
    """Return the ratios of some attempts of a kind, equally spaced in ascending order."""
    ratios = sorted((a.wider, a.longer) for a in attempts if a.kind == kind) or [(1.0, 1.0)]
    nb = min(_NB_RATIOS, len(ratios))
    return [
        (_digits(wider), _digits(longer))
        for wider, longer in (ratios[int((k + 0.5) * len(ratios) / nb)] for k in range(nb))
    ]


def _round(values: Column) -> list[float]:
    return [_digits(value) for value in values.tolist()]


def _digits(value: float) -> float:
    return float(f"{value:.4g}")


# Validation --------------------------------------------------------------------------------------


class Prediction(msgspec.Struct, frozen=True):
    """Events of the second half of a log, observed / expected from the first half."""

    constant: float
    """With one rate for all waiting jobs, in the first three days of their waits."""
    by_age: float
    """With rates by age in the steps of AGES, in the same days."""
    by_absence: float
    """With rates by the time since the user's last visible act in the steps of ABSENCES."""
    by_absence_and_hours: float
    """With these rates, night and weekend: the habits of ``withdraws``."""
    gain: float
    """Log-likelihood of the second half with the habits of ``withdraws``, minus that with the
    constant rate; per event, in nats."""


def predict_second_half(jobs: WaitingJobs) -> Prediction:
    """Fit rates to the first half of the jobs, and predict events in the second, given its waits.

    Rates by age count the events by the age of their first job.
    """
    early = np.arange(len(jobs.submit)) < len(jobs.submit) // 2
    first, second = jobs.select(early), jobs.select(~early)
    observed = len(find_events(second))
    (counts, hours), (more_counts, more_hours) = _events_by_age(first), _events_by_age(second)
    (acts, presence), (_, more_presence) = measure_by_absence(first), measure_by_absence(second)
    rates, night, weekend = fit_rates(acts, presence)
    steps = acts.sum(axis=(1, 2)) / presence.sum(axis=(1, 2))
    factors = np.array([[1.0, weekend], [night, night * weekend]])
    by_hours = (more_presence * HOUR * factors).sum(axis=(1, 2)) @ rates
    days, more_days = hours[:-1].sum(), more_hours[:-1].sum()
    in_days = counts[:-1].sum(), more_counts[:-1].sum()
    constant = counts.sum() / hours.sum()
    gain = _likelihood(rates * HOUR, factors, second, by_hours) - _constant_likelihood(
        constant, second, more_hours.sum()
    )
    return Prediction(
        constant=float(in_days[1] / (in_days[0] / days * more_days)),
        by_age=float(in_days[1] / (more_hours[:-1] @ (counts / hours)[:-1])),
        by_absence=float(observed / (more_presence.sum(axis=(1, 2)) @ steps)),
        by_absence_and_hours=float(observed / by_hours),
        gain=gain / observed,
    )


def _likelihood(rates: Column, factors: Column, jobs: WaitingJobs, expected: float) -> float:
    """Return the log-likelihood of the events of ``jobs`` under rates per hour of presence."""
    acts, _ = measure_by_absence(jobs)
    logs = np.log(rates[:, None, None] * factors)
    return float((acts * logs)[acts > 0].sum() - expected)


def _constant_likelihood(rate: float, jobs: WaitingJobs, hours: float) -> float:
    """Return the log-likelihood of the events under one rate per hour of each waiting job."""
    of_user = find_rows_by_user(jobs)
    waiting = [
        len(find_waiting_rows(jobs, of_user[int(jobs.user[event[0]])], event))
        for event in find_events(jobs)
    ]
    return float(np.log(rate * np.array(waiting)).sum() - rate * hours)


def _events_by_age(jobs: WaitingJobs) -> tuple[NDArray[np.int64], Column]:
    _, hours = measure_by_age(jobs)
    firsts = np.array([event[0] for event in find_events(jobs)], dtype=np.intp)
    return np.histogram(jobs.wait[firsts], np.array([*AGES, inf]))[0], hours
