"""Mixed model: one server for users who come from outside and for users who always come back.

The open class comes at a rate whatever happens, as jobs in a replay do; the closed class are
``nb_users`` users who wait for their job, think, and submit again. Both get the same service.
Source: N. Zakay, PhD thesis, chapter 6. Times and rates may be in any unit of time, the same for
all; a response time is from submission to end.
"""

from __future__ import annotations

import msgspec

from batsched_py.errors import UsageError
from batsched_py.options.option_values import number, whole_number


class MixedPoint(msgspec.Struct, frozen=True):
    """The steady state with a number of closed users."""

    nb_users: int
    closed_response: float
    """Mean response time of jobs of the closed users (Rc)."""
    closed_throughput: float
    """Jobs of the closed users by unit of time (Xc)."""
    closed_queue: float
    """Mean number of jobs of the closed users at the server, the one in service included."""
    throughput: float
    """Jobs of both classes by unit of time (X)."""
    open_response: float
    """Mean response time of jobs from outside (Ro)."""
    utilisation: float
    """Share of time in which the server is busy."""


class Bounds(msgspec.Struct, frozen=True):
    """The asymptotes of operational analysis; they need no distribution."""

    closed_response: float
    """Rc is at least this: alone on what the open class leaves, or on the line of full use."""
    closed_throughput: float
    """Xc is at most this."""
    throughput: float
    """X is at most this."""
    knee: float
    """Number of closed users at which the asymptotes cross: from here on users must queue."""


def mixed(
    nb_users: int, open_rate: float, think_time: float, service_rate: float
) -> list[MixedPoint]:
    """Return the steady states with 1, 2, ..., ``nb_users`` closed users, by exact MVA.

    ``think_time`` is the mean of the closed users, ``1 / service_rate`` the mean service (S). The
    closed class sees a server slowed down by the open one, ``Sc = S / (1 - open_rate S)``; an
    arriving closed job finds the queue of one user less (Reiser and Lavenberg 1980), a job from
    outside finds them all: ``Ro = Sc (1 + closed_queue)``. Hence ``Rc(n + 1) = Ro(n)``.

    Exact for exponential service in FCFS order, and for any service under processor sharing.
    Raises :class:`UsageError` for what has no steady state (``open_rate >= service_rate``) or
    makes no sense.
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
    """Return the asymptotes for ``nb_users`` closed users; arguments and errors of :func:`mixed`.

    With few users nobody waits for another closed one, ``Rc >= Sc``; with many the server is
    always busy and Rc lies on the line of :func:`closed_response` with ``X = service_rate``. Jobs
    from outside take their share at once here, so ``Sc`` is a bound for the means of the model,
    not for a schedule.
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
    """Return Rc where the total throughput X is known: ``N / (X - open_rate) - Z``.

    The response time law, true in every system in which the open class flows through. At full
    utilisation ``X = service_rate``, and Rc grows along a straight line with the users; before
    that ``X < service_rate``, and Rc is above that line. Raises :class:`UsageError` if
    ``throughput`` leaves nothing for the closed users.
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
