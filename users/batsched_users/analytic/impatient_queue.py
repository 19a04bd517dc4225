"""Impatient queue (Erlang-A): jobs of one processor whose users withdraw them if they wait long.

Jobs arrive as a Poisson process and run for exponential times on one of ``nb_servers`` processors.
Each waiting job is withdrawn after an exponential patience. The number of jobs is a birth-death
process, so all means are exact. Sources: C. Palm 1957; Garnett, Mandelbaum, Reiman 2002. Times may
be in any unit, the same for all.
"""

from __future__ import annotations

from itertools import count
from math import inf

import msgspec

from batsched_py.errors import UsageError
from batsched_py.options.option_values import number, whole_number
from batsched_py.workload import Workload, WorkloadJob
from batsched_users.behaviour.job_profiles import name_profile
from batsched_users.behaviour.random_streams import Chance, Seed

_USERS = 10
"""Users among whom jobs are shared out: policies that order users need some, and few are fast."""
_NEGLIGIBLE = 1e-18
"""Probability of a state, relative to the likeliest one, from which on states are left out."""


class ImpatientQueue(msgspec.Struct, frozen=True):
    """Shares and means in steady state.

    ``withdrawn``, ``queue``, ``wait`` and ``utilisation`` hold for every policy that never leaves a
    processor free while a job waits, and that knows neither run times nor patience. The waits of
    served and of withdrawn jobs are those of first come, first served.
    """

    withdrawn: float
    """Share of the jobs that are withdrawn."""
    waiting: float
    """Share of the jobs that find all processors busy."""
    queue: float
    """Mean number of waiting jobs."""
    wait: float
    """Mean wait of all jobs, to the start or to the withdrawal."""
    served_wait: float
    """Mean wait of the jobs that start, those that start at once included."""
    withdrawn_wait: float
    """Mean wait of the jobs that are withdrawn."""
    utilisation: float
    """Mean share of busy processors."""


def impatient(
    interarrival: float, service: float, nb_servers: int, patience: float
) -> ImpatientQueue:
    """Solve the impatient queue for mean interarrival, service and patience times.

    A job that finds j jobs waiting starts if its patience outlasts j + 1 exponential stages, which
    end with rates s / S + k / P, k = 0, ..., j, for s processors, service S and patience P. Raises
    :class:`UsageError` for arguments that are not positive or not finite.

    >>> round(impatient(100, 1000, 8, 2000).withdrawn, 6)
    0.227218
    """
    servers = whole_number("nb_servers", nb_servers, 1)
    for name, value in (
        ("interarrival", interarrival),
        ("service", service),
        ("patience", patience),
    ):
        if not 0 < number(name, value, 0) < inf:
            raise UsageError(f"{name}={value}: expected a finite number above 0")
    states = _solve(interarrival, service, servers, patience)
    full = servers / service
    waiting = sum(states[servers:])
    queue = sum(n * p for n, p in enumerate(states[servers:]))
    served_wait, stages = 0.0, 0.0
    for ahead, probability in enumerate(states[servers:]):
        stages += 1 / (full + (ahead + 1) / patience)
        starts = full / (full + (ahead + 1) / patience)
        served_wait += probability * starts * stages
    wait = queue * interarrival
    withdrawn = wait / patience
    busy = sum(min(n, servers) * p for n, p in enumerate(states))
    return ImpatientQueue(
        withdrawn=withdrawn,
        waiting=waiting,
        queue=queue,
        wait=wait,
        served_wait=served_wait / (1 - withdrawn),
        withdrawn_wait=(wait - served_wait) / withdrawn,
        utilisation=busy / servers,
    )


def _solve(interarrival: float, service: float, servers: int, patience: float) -> list[float]:
    """Return the probabilities of 0, 1, 2, ... jobs in the system."""
    weights, largest = [1.0], 1.0
    for n in count(1):
        ends = min(n, servers) / service + max(0, n - servers) / patience
        weights.append(weights[-1] / (interarrival * ends))
        largest = max(largest, weights[-1])
        if n > servers and weights[-1] < _NEGLIGIBLE * largest:
            break
        if largest > 1e200:  # only their ratios matter
            weights = [weight / largest for weight in weights]
            largest = 1.0
    total = sum(weights)
    return [weight / total for weight in weights]


def make_impatient_workload(
    nb_jobs: int, interarrival: float, service: float, nb_servers: int, seed: Seed = 0
) -> Workload:
    """Make a workload of such jobs: of one processor each, without walltime, of ten users.

    Times are seconds. Simulate it with the users ``withdraws``, ``clock=job`` and
    ``mean_patience``. Estimates are the mean service time, so that policies know nothing of run
    times. Raises :class:`UsageError` for wrong arguments.
    """
    total = whole_number("nb_jobs", nb_jobs, 0)
    random = Chance(seed).stream("impatient queue")
    jobs, profiles, now = [], {}, 0.0
    for place in range(total):
        now += random.expovariate(1 / number("interarrival", interarrival, 0))
        run_time = random.expovariate(1 / number("service", service, 0))
        profile = name_profile(run_time)
        profiles[profile] = {"type": "delay", "delay": run_time}
        jobs.append(
            WorkloadJob(
                id=str(place + 1),
                submit_time=now,
                size=1,
                profile=profile,
                estimate=float(service),
                user=str(random.randrange(_USERS) + 1),
            )
        )
    servers = whole_number("nb_servers", nb_servers, 1)
    return Workload(name="impatient queue", nb_res=servers, jobs=jobs, profiles=profiles)
