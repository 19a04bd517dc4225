"""Cost of one scheduling pass against the number of waiting jobs that cannot start.

Usage: python benchmarks/passes.py [PICTURE.png]

The waiting jobs are the hard case: half are wide and short, half narrow and too long, so that each
fails for its own reason. A pass includes the submission of one more job, which cannot start
either, and its withdrawal. Microseconds depend on the computer; what to compare is how they grow.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from batsched_py.figures.chart_files import write_chart
from batsched_py.model.job import Job
from batsched_py.model.machine import Machine
from batsched_py.model.queue import WaitingQueue
from batsched_py.schedulers.creasy import Creasy
from batsched_py.schedulers.dynp.dynp_policy import Dynp
from batsched_py.schedulers.easy import Easy
from batsched_py.schedulers.ups import Ups
from batsched_py.support import palette

NB_PROCESSORS, FREE = 128, 32
WAITING = (10, 100, 1_000, 10_000, 100_000)
POLICIES: dict[str, Callable[[], Any]] = {
    "EASY": Easy,
    "EASY, SJBF": lambda: Easy(backfill_order="sjf"),
    "CREASY": Creasy,
    "UPS by load": Ups,
    "UPS by recency": lambda: Ups(rank="recency"),
}
NOW = 1e6


def state(nb_waiting: int, seed: int = 1) -> tuple[WaitingQueue, Machine]:
    """Return a nearly full machine, and jobs of 100 users that cannot start on it."""
    rng = random.Random(seed)
    machine = Machine(NB_PROCESSORS)
    for number in range((NB_PROCESSORS - FREE) // 8):
        machine.start(Job(f"r{number}", number, 8, None, 5000.0 + 100 * number, 0.0, {}), NOW)
    queue = WaitingQueue()
    head = waiting_job(1000, NB_PROCESSORS, 1000.0, rng)
    head.submit_time = 0.0  # first in every order
    queue.append(head)
    for number in range(1, nb_waiting):
        queue.append(unfit(1000 + number, rng))
    return queue, machine


def waiting_job(number: int, size: int, estimate: float, rng: random.Random) -> Job:
    """Return a job of a random user, submitted in the order of the numbers."""
    user = str(rng.randrange(100))
    return Job(f"w{number}", number, size, None, estimate, NOW - 2e5 + number, {}, user=user)


def unfit(number: int, rng: random.Random) -> Job:
    """Return a job that is too wide, or too long."""
    if rng.random() < 0.5:
        return waiting_job(number, NB_PROCESSORS, rng.uniform(1, 1000), rng)
    return waiting_job(number, rng.randint(1, FREE), rng.uniform(50_000, 500_000), rng)


def seconds_per_pass(make: Callable[[], Any], nb_waiting: int) -> float:
    """Return the least mean seconds of a pass over some repetitions."""
    queue, machine = state(nb_waiting)
    policy = make()
    rng = random.Random(2)
    best, number = float("inf"), 10_000_000
    repeat = 20 if nb_waiting > 10_000 else 200
    for _ in range(7):
        begin = time.perf_counter()
        for _ in range(repeat):
            number += 1
            job = unfit(number, rng)
            queue.append(job)
            decision = next(policy.schedule(NOW, queue, machine), None)
            assert decision is None
            queue.remove(job)
        best = min(best, (time.perf_counter() - begin) / repeat)
    return best


def seconds_per_step(nb_waiting: int) -> float:
    """Return the seconds of a self-tuning step of dynP: three plans, metric, decision."""
    best = float("inf")
    for seed in range(20):
        queue, machine = state(nb_waiting, seed)
        policy = Dynp()
        begin = time.perf_counter()
        list(policy.schedule(NOW, queue, machine))
        best_of_state = time.perf_counter() - begin
        for _ in range(20):
            policy._seen = 0  # once more the same step
            begin = time.perf_counter()
            list(policy.schedule(NOW, queue, machine))
            best_of_state = min(best_of_state, time.perf_counter() - begin)
        best = min(best, best_of_state) if seed else best_of_state
    return best


def main(picture: str | None) -> None:
    """Print the table, and draw it if wanted."""
    print(f"{'us a pass':16}" + "".join(f"{n:>10,}" for n in WAITING) + "   ns per waiting job")
    rows = {}
    for name, make in POLICIES.items():
        rows[name] = [seconds_per_pass(make, n) for n in WAITING]
        growth = (rows[name][-1] - rows[name][0]) / (WAITING[-1] - WAITING[0]) * 1e9
        cells = "".join(f"{1e6 * seconds:10.1f}" for seconds in rows[name])
        print(f"{name:16}{cells}   {growth:8.2f}")
    for waiting in (10, 25, 50, 100):
        print(
            f"self-tuning step of dynP, {waiting} waiting: {1e3 * seconds_per_step(waiting):.3f} ms"
        )
    if picture:
        draw(rows, picture)


def draw(rows: dict[str, list[float]], picture: str) -> None:
    """Draw the passes against the waiting jobs, both axes logarithmic."""
    import altair as alt
    import pandas as pd

    limit = {"50 ns per waiting job": [50e-9 * waiting for waiting in WAITING]}
    points = [
        {"policy": name, "waiting": waiting, "microseconds": 1e6 * value}
        for name, seconds in (rows | limit).items()
        for waiting, value in zip(WAITING, seconds, strict=True)
    ]
    log, powers = alt.Scale(type="log"), alt.Axis(values=[10**power for power in range(6)])
    policy = alt.Color(
        "policy:N",
        title=None,
        sort=None,
        scale=alt.Scale(range=[*palette.CATEGORIES[: len(rows)], palette.RECORDED]),
    )
    dashes = alt.condition(
        alt.datum.policy == next(iter(limit)), alt.value([2, 2]), alt.value([1, 0])
    )
    title = "waiting jobs that cannot start"
    chart = (
        alt.Chart(pd.DataFrame(points))
        .mark_line(point=True)
        .encode(
            x=alt.X("waiting:Q", title=title, scale=log, axis=powers),
            y=alt.Y("microseconds:Q", title="microseconds per pass", scale=log, axis=powers),
            color=policy,
            strokeDash=dashes,
        )
        .properties(width=480, height=330)
    )
    write_chart(chart, Path(picture))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
