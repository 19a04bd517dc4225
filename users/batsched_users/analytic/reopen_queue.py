"""Re-open model: one server whose users arrive, and stay longer if response times are short.

Users arrive as a Poisson process. After each job a user submits another with a probability that
may depend on its response time, after a think time; else the user leaves. One server in FCFS
order; service and think times are exponential. Source: N. Zakay, PhD thesis, chapter 6; with a
constant probability the model is called partly open elsewhere. Times and rates may be in any unit
of time, the same for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from math import exp, inf, nan

import msgspec

from batsched_py.errors import UsageError
from batsched_py.options.option_values import number, whole_number
from batsched_users.behaviour import think_times as thinking
from batsched_users.behaviour.random_streams import Chance, Seed

Continuation = Callable[[float], float]
"""Gives the probability that a user submits another job after a response time."""


class Reopen(msgspec.Struct, frozen=True):
    """Means and rates of a re-open model, simulated or in closed form."""

    throughput: float
    """Jobs per unit of time (X)."""
    mean_response: float
    """From submission to end (R)."""
    jobs_per_user: float
    throughput_per_user: float
    """All jobs divided by the total time that users stay, from first submission to last end."""
    mean_of_user_throughputs: float
    """Mean over users of their jobs divided by the time they stay, for comparison only. It has no
    finite expectation if a user may leave after a short first job (constant probability,
    hyperbola): a simulated value depends on a few users who stayed for an instant."""
    continued_run_time: float
    """Mean service time of jobs after which the user submitted another; nan if there are none."""
    last_run_time: float
    """Mean service time of jobs after which the user left."""
    utilisation: float
    mean_queue: float
    """Mean number of jobs at the server over time, the one in service included."""


def constant(probability: float) -> Continuation:
    """Return a continuation whose probability does not depend on the response time.

    Raises :class:`UsageError` for a probability outside [0, 1).
    """
    if number("probability", probability, 0, 1) == 1:
        raise UsageError("probability=1: expected less than 1; users would never leave")
    return lambda response: probability


def exponential(unit: float = 1.0) -> Continuation:
    """Return the continuation ``e^-r``, with r the response time in ``unit`` (mean service)."""
    if number("unit", unit, 0) == 0:
        raise UsageError("unit=0: expected more than 0")
    return lambda response: exp(-response / unit)


def hyperbola(minutes: float = 1.0) -> Continuation:
    """Return the continuation of Site-Sim users, a hyperbola over the response time.

    It is :func:`batsched_users.behaviour.think_times.continuation`. ``minutes`` is the length of
    the model's unit of time. The thesis takes a mean service of 10 minutes as the unit, so that
    ``hyperbola(10)`` is ``0.8 / (0.5 r + 1)``.
    """
    if number("minutes", minutes, 0) == 0:
        raise UsageError("minutes=0: expected more than 0")
    return lambda response: thinking.continuation(minutes * response)


def reopen(
    open_rate: float,
    continuation: Continuation,
    *,
    think_time: float = 1.0,
    service_rate: float = 1.0,
    nb_users: int = 10_000,
    seed: Seed = 0,
) -> Reopen:
    """Simulate a re-open model with ``nb_users`` users, from an empty system until all have left.

    ``open_rate`` is the rate at which users arrive, ``think_time`` a mean. ``continuation`` must
    return less than 1 often enough for users to leave. Rates are over the time to the last end;
    nothing is discarded. Deterministic for a seed. Raises :class:`UsageError` for invalid
    arguments, also for ``open_rate >= service_rate``: first jobs alone then overload the server.
    """
    _check(open_rate, think_time, service_rate)
    nb_users = whole_number("nb_users", nb_users, 1)
    response = continued_run = last_run = residence = user_throughputs = end = 0.0
    nb_jobs = 0
    jobs = _served(open_rate, think_time, service_rate, continuation, nb_users, seed)
    for submit, run, end, came, place, goes_on in jobs:
        nb_jobs += 1
        response += end - submit
        if goes_on:
            continued_run += run
        else:
            last_run += run
            residence += end - came
            user_throughputs += place / (end - came) if end > came else inf
    continued = nb_jobs - nb_users  # each user has one last job
    return Reopen(
        throughput=nb_jobs / end,
        mean_response=response / nb_jobs,
        jobs_per_user=nb_jobs / nb_users,
        throughput_per_user=nb_jobs / residence,
        mean_of_user_throughputs=user_throughputs / nb_users,
        continued_run_time=continued_run / continued if continued else nan,
        last_run_time=last_run / nb_users,
        utilisation=(continued_run + last_run) / end,
        mean_queue=response / end,
    )


def _served(
    open_rate: float,
    think_time: float,
    service_rate: float,
    continuation: Continuation,
    nb_users: int,
    seed: Seed,
) -> Iterator[tuple[float, float, float, float, int, bool]]:
    """Yield the jobs of all users in order of submission, which is also the order of their ends.

    A job is yielded as submission, run time, end, arrival of its user, place among the user's jobs
    (from 1), and whether the user submits another.

    In FCFS order a job's end is known when it is submitted, as no later one can delay it. So
    submissions are the only events, and only present users take memory.
    """
    chance = Chance(seed)
    interval, service, think = (
        chance.stream("reopen", name).expovariate for name in ("arrival", "service", "think")
    )
    choice = chance.stream("reopen", "choice").random
    free = 0.0  # when the server has done all that was submitted
    first = interval(open_rate)
    due = [(first, first, 0)]  # heap: next submission, first submission and jobs so far of a user
    to_come = nb_users - 1
    while due:
        now, came, jobs = heappop(due)
        if not jobs and to_come:
            to_come -= 1
            newcomer = now + interval(open_rate)
            heappush(due, (newcomer, newcomer, 0))
        run = service(service_rate)
        free = max(now, free) + run
        goes_on = choice() < continuation(free - now)
        if goes_on:
            heappush(due, (free + think_time * think(1.0), came, jobs + 1))
        yield now, run, free, came, jobs + 1, goes_on


def solve_constant(
    open_rate: float, probability: float, *, think_time: float = 1.0, service_rate: float = 1.0
) -> Reopen:
    """Return the exact steady state of a re-open model with a constant probability.

    A user submits ``1 / (1 - p)`` jobs, so ``X = open_rate / (1 - p)``; the network has product
    form, and ``E[R] = 1 / (service_rate - X)`` as in an M/M/1 queue, whatever the think time. It
    is stable for ``p < 1 - open_rate / service_rate``; else :class:`UsageError`.
    """
    _check(open_rate, think_time, service_rate)
    constant(probability)
    throughput = open_rate / (1 - probability)
    if throughput >= service_rate:
        raise UsageError(
            f"probability={probability}: expected less than 1 - open_rate / service_rate = "
            f"{1 - open_rate / service_rate:g}; with more the queue grows for ever"
        )
    response = 1 / (service_rate - throughput)
    return Reopen(
        throughput=throughput,
        mean_response=response,
        jobs_per_user=1 / (1 - probability),
        # By user 1 / (1 - p) responses and p / (1 - p) think times
        throughput_per_user=1 / (response + probability * think_time),
        mean_of_user_throughputs=inf,
        continued_run_time=1 / service_rate if probability else nan,
        last_run_time=1 / service_rate,
        utilisation=throughput / service_rate,
        mean_queue=throughput * response,
    )


def _check(open_rate: float, think_time: float, service_rate: float) -> None:
    number("think_time", think_time, 0)
    number("service_rate", service_rate, 0)
    if not 0 < number("open_rate", open_rate, 0) < service_rate:
        raise UsageError(
            f"open_rate={open_rate}: expected more than 0 and less than "
            f"service_rate={service_rate}; each user submits a job at least"
        )
