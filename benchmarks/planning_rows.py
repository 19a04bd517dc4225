"""Rows of planning and of scheduling passes: how they grow with the number of waiting jobs."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from math import log10
from time import process_time

import floor_plan
from loop_rows import PLANNERS
from measuring import Bench, Measured, row

from batsched_py.model.job import Job
from batsched_py.model.machine import Machine
from batsched_py.model.policy import Scheduler
from batsched_py.model.queue import WaitingQueue
from batsched_py.schedulers.dynp.dynp_policy import Dynp

NB_PROCESSORS, FREE = 128, 32
NOW = 1e6


def busy_machine() -> Machine:
    """Return a machine with a fourth of its processors free."""
    machine = Machine(NB_PROCESSORS)
    for number in range((NB_PROCESSORS - FREE) // 8):
        machine.start(Job(f"r{number}", number, 8, None, 5000.0 + 100 * number, 0.0, {}), NOW)
    return machine


def waiting_job(number: int, size: int, estimate: float, draw: random.Random) -> Job:
    """Return a job of one of 100 users, submitted in the order of the numbers."""
    user = str(draw.randrange(100))
    return Job(f"w{number}", number, size, None, estimate, NOW - 2e5 + number, {}, user=user)


def usual_jobs(nb_waiting: int) -> list[Job]:
    """Return waiting jobs of powers of two, the first of which takes the whole machine."""
    draw = random.Random(nb_waiting)
    jobs = [waiting_job(1000, NB_PROCESSORS, 1000.0, draw)]
    for number in range(1001, 1000 + nb_waiting):
        estimate = round(10 ** draw.uniform(2, 5))
        jobs.append(waiting_job(number, 2 ** draw.randrange(8), estimate, draw))
    return jobs


def planning_pass(
    policy: Callable[[], Scheduler], nb_waiting: int, rounds: int = 1, *, nb_new: int | None = None
) -> float:
    """Return the least CPU seconds of a pass that sees ``nb_new`` waiting jobs for the first time
    (default: all): with one, the usual step of a run."""
    nb_known = 0 if nb_new is None else nb_waiting - nb_new
    best = float("inf")
    for _ in range(rounds):
        machine, queue, scheduler = busy_machine(), WaitingQueue(), policy()
        jobs = usual_jobs(nb_waiting)
        for job in jobs[:nb_known]:
            queue.append(job)
        list(scheduler.schedule(NOW, queue, machine))
        for job in jobs[nb_known:]:
            queue.append(job)
        begin = process_time()
        list(scheduler.schedule(NOW, queue, machine))
        best = min(best, process_time() - begin)
    return best


@cache
def warm() -> None:
    """Plan until what is compiled for those who plan much is compiled (100,000 jobs placed)."""
    for _ in range(40):
        planning_pass(Dynp, 1000)


def reference_step(nb_waiting: int, rounds: int = 1) -> float:
    """Return the least CPU seconds of a self-tuning step of the reference."""
    releases = [(end, size) for end, size, _, _ in busy_machine().expected_releases()]
    line = floor_plan.FreeProcessors(NOW, FREE, releases)
    jobs = [(job.size, job.estimate, job.submit_time) for job in usual_jobs(nb_waiting)]
    best = float("inf")
    for _ in range(rounds):
        begin = process_time()
        floor_plan.step(jobs, line)
        best = min(best, process_time() - begin)
    return best


def steps(nb_waiting: int) -> Callable[[Bench], Measured]:
    """Return the measurement of a step of dynP beside the reference."""
    repeats = max(1, 1000 // nb_waiting)

    def measure(bench: Bench) -> Measured:
        warm()
        return bench.paired(
            lambda: reference_step(nb_waiting, repeats),
            lambda: planning_pass(Dynp, nb_waiting, repeats, nb_new=1),
            lambda standard, step: f"{1e3 * step:.2f} ms beside {1e3 * standard:.2f}",
        )

    return measure


for _nb_waiting, _wanted in ((50, None), (100, 1 / 5), (300, None), (1000, 1 / 15)):
    _what = f"a step of dynP, {_nb_waiting:,} waiting, one of them new, against plain Python"
    row(f"dynp-step-{_nb_waiting}", _what, wanted=_wanted)(steps(_nb_waiting))


def exponent(policy: Callable[[], Scheduler]) -> Callable[[Bench], Measured]:
    """Return the measurement of how a pass grows with the queue."""

    def measure(bench: Bench) -> Measured:
        warm()
        few, many = (50, 500) if bench.quick else (1000, 10_000)
        planning_pass(policy, few)
        grown = bench.paired(
            lambda: planning_pass(policy, few, 3),
            lambda: planning_pass(policy, many),
            lambda few, many: f"{1e3 * few:.1f} and {1e3 * many:.0f} ms",
            rounds=1,
        )
        return grown._replace(ratio=log10(grown.ratio))

    return measure


for _name, _policy in PLANNERS.items():
    _what = f"exponent of a pass of {_name}, 1,000 to 10,000 waiting"
    row(f"exponent-{_name}", _what, wanted=1.4)(exponent(_policy))
