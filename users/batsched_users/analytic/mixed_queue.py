"""Mixed model: one server with open arrivals and a fixed number of closed users.

Open jobs arrive at a fixed rate whatever happens, as jobs in a rigid replay do. The closed class
consists of ``nb_users`` users who wait for their job, think, and submit again. Both classes get the
same service. Source: N. Zakay, PhD thesis, chapter 6. Times and rates may be in any unit of time,
the same for all; a response time runs from submission to end.
"""

from __future__ import annotations

import msgspec

from batsched_py.errors import UsageError
from batsched_py.options.option_values import number, whole_number


class MixedPoint(msgspec.Struct, frozen=True):
    """Mean response times and throughputs in steady state, for one number of closed users."""

    nb_users: int
    closed_response: float
    """Mean response time of jobs of the closed users (Rc)."""
    closed_throughput: float
    """Jobs of the closed users per unit of time (Xc)."""
    closed_queue: float
    """Mean number of jobs of the closed users at the server, the one in service included."""
    throughput: float
    """Jobs of both classes per unit of time (X)."""
    open_response: float
    """Mean response time of open jobs (Ro)."""
    utilisation: float
    """Share of time in which the server is busy."""


class Bounds(msgspec.Struct, frozen=True):
    """Bounds of the mixed model from operational analysis, valid for any distribution."""

    closed_response: float
    """Lower bound of Rc: a closed job alone on the slowed server, or the server always busy."""
    closed_throughput: float
    """Upper bound of Xc."""
    throughput: float
    """Upper bound of X."""
    knee: float
    """Number of closed users at which the two bounds of Rc cross; with more, users must queue."""


def mixed(
    nb_users: int, open_rate: float, think_time: float, service_rate: float
) -> list[MixedPoint]:
    """Solve the mixed model for 1, 2, ..., ``nb_users`` closed users by mean value analysis.

    ``think_time`` is the mean of the closed users,
    ``1 / service_rate`` the mean service (S). Open jobs slow the server down for the closed class:
    ``Sc = S / (1 - open_rate S)``. A closed job that arrives finds the queue of one user fewer
    (Reiser and Lavenberg 1980), an open job the queue of all users: ``Ro = Sc (1 + closed_queue)``,
    hence ``Rc(n + 1) = Ro(n)``.

    Exact for exponential service in FCFS order, and for any service under processor sharing.
    Raises :class:`UsageError` for invalid arguments, and for ``open_rate >= service_rate``, which
    has no steady state.
    """
    nb_users = whole_number("nb_users", nb_users, 1)
    slowed = _slowed_service(open_rate, think_time, service_rate)
    points, queue = [], 0.0
    for n in range(1, nb_users + 1):
        response = slowed * (1 + queue)
        closed = n / (response + think_time)
        queue = closed * response
        points.append(
            MixedPoint(
                nb_users=n,
                closed_response=response,
                closed_throughput=closed,
                closed_queue=queue,
                throughput=open_rate + closed,
                open_response=slowed * (1 + queue),
                utilisation=(open_rate + closed) / service_rate,
            )
        )
    return points


def bounds(nb_users: int, open_rate: float, think_time: float, service_rate: float) -> Bounds:
    """Return bounds of the means that :func:`mixed` computes; it takes the same arguments.

    With few closed users, none waits for another: ``Rc >= Sc``. With many, the server is always
    busy, and Rc lies on the line of :func:`closed_response` with ``X = service_rate``. ``Sc`` is a
    bound for the means of the model, not for a single schedule.
    """
    whole_number("nb_users", nb_users, 1)
    slowed = _slowed_service(open_rate, think_time, service_rate)
    closed = min(nb_users / (slowed + think_time), service_rate - open_rate)
    return Bounds(
        closed_response=max(slowed, closed_response(nb_users, service_rate, open_rate, think_time)),
        closed_throughput=closed,
        throughput=open_rate + closed,
        knee=1 + think_time / slowed,
    )


def closed_response(nb_users: int, throughput: float, open_rate: float, think_time: float) -> float:
    """Return the mean response time of closed jobs from the total throughput X (response time law).

    ``Rc = N / (X - open_rate) - Z`` holds in every system that serves all open jobs. At full
    utilisation ``X = service_rate``, and Rc grows along a straight line with the users; at less,
    Rc is above that line. Raises :class:`UsageError` if ``throughput`` leaves nothing for the
    closed users.
    """
    if not throughput > open_rate:
        raise UsageError(f"throughput={throughput}: expected more than open_rate={open_rate}")
    return nb_users / (throughput - open_rate) - think_time


def _slowed_service(open_rate: float, think_time: float, service_rate: float) -> float:
    """Check the arguments and return ``Sc``, the service time that closed users see."""
    number("think_time", think_time, 0)
    number("open_rate", open_rate, 0)
    if number("service_rate", service_rate, 0) <= open_rate:
        raise UsageError(
            f"open_rate={open_rate}: expected less than service_rate={service_rate}; "
            "more than the server can do comes from outside, and the queue grows for ever"
        )
    return 1 / (service_rate - open_rate)
