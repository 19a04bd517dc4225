"""How costs grow: with the log, the machine, the queue and the users, as figures."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import cache
from itertools import count, islice
from math import ceil, log10
from math import floor as floor_of
from pathlib import Path
from time import process_time
from typing import Any

import floor
from floor_queue import Blocks
from loop_rows import loop
from measuring import Bench, cpu
from planning_rows import FREE, NB_PROCESSORS, NOW, busy_machine, planning_pass, waiting_job, warm

from batsched_py import Workload
from batsched_py.figures.chart_files import write_chart
from batsched_py.model.job import Job
from batsched_py.model.policy import Scheduler
from batsched_py.model.queue import WaitingQueue
from batsched_py.schedulers.creasy import Creasy
from batsched_py.schedulers.dynp.dynp_policy import Dynp
from batsched_py.schedulers.easy import Easy
from batsched_py.schedulers.planning.planning_policy import Planning
from batsched_py.schedulers.ups import Ups
from batsched_py.support import palette
from batsched_py.workload.workload import WorkloadJob

Line = dict[float, float]
"""What is measured (seconds, microseconds) at each size."""

PASSES: dict[str, Callable[[], Scheduler]] = {
    "EASY": Easy,
    "EASY, SJBF": lambda: Easy(backfill_order="sjf"),
    "CREASY": Creasy,
    "UPS by load": Ups,
    "UPS by recency": lambda: Ups(rank="recency"),
}


def draw(bench: Bench, folder: Path) -> None:
    """Measure and draw everything; the names of the files say what grows."""
    folder.mkdir(parents=True, exist_ok=True)
    small = bench.quick
    a_job, a_pass = "microseconds a job", "microseconds a pass"
    log = by_log((300, 1000) if small else (1000, 3000, 10_000, 30_000, 100_000, 300_000))
    chart(folder / "speed_log.png", "jobs of the log", a_job, log)
    machine = by_machine((100, 1000) if small else (100, 1000, 10_000, 100_000, 1_000_000))
    chart(folder / "speed_machine.png", "processors", a_job, machine)
    queue = passes((10, 100) if small else (10, 100, 1000, 10_000, 100_000))
    chart(folder / "passes.png", "waiting jobs that cannot start", a_pass, queue)
    plans = planning((10, 30) if small else (10, 30, 100, 300, 1000, 3000))
    chart(folder / "speed_planning.png", "waiting jobs", "milliseconds a plan", plans)
    users = by_users((1, 30) if small else (1, 10, 100, 1000, 10_000))
    chart(folder / "speed_users.png", "users", a_job, users)


@cache
def drawn_jobs(nb_jobs: int, nb_users: int = 100, nb_processors: int = 128) -> Workload:
    """Return a workload at three fourths of the load that the machine can take."""
    draw = random.Random(1)
    jobs, profiles, time = [], {}, 0.0
    for number in range(nb_jobs):
        size, run = 2 ** draw.randrange(6), round(10 ** draw.uniform(1, 4))
        time += draw.expovariate(1 / 220)
        profiles[str(run)] = {"type": "delay", "delay": run}
        job = WorkloadJob(
            id=str(number),
            submit_time=round(time),
            size=size,
            profile=str(run),
            walltime=run * draw.choice((1.5, 2, 5)),
            user=str(draw.randrange(nb_users)),
            finish_time=round(time) + run,
        )
        jobs.append(job)
    return Workload(name="drawn", nb_res=nb_processors, jobs=jobs, profiles=profiles)


def columns_of(load: Workload) -> floor.Columns:
    """Return a drawn workload as the floors read one."""
    rows = [
        (job.submit_time, job.id, job.size, load.profiles[job.profile]["delay"], job.walltime)
        for job in load.jobs
    ]
    submit, names, size, run, estimate = zip(*sorted(rows), strict=True)
    return floor.Columns(load.nb_res, names, submit, size, run, estimate)


def per_job(seconds: float, load: Workload) -> float:
    return 1e6 * seconds / len(load.jobs)


def by_log(sizes: Sequence[int]) -> dict[str, Line]:
    """Measure EASY against the length of the log."""
    lines: dict[str, Line] = {"EASY": {}, "EASY, feedback": {}, "floor": {}}
    for nb_jobs in sizes:
        load = drawn_jobs(nb_jobs)
        jobs = columns_of(load)
        lines["EASY"][nb_jobs] = per_job(loop(load), load)
        lines["EASY, feedback"][nb_jobs] = per_job(loop(load, sessions="arrival:60"), load)
        seconds = cpu(lambda jobs=jobs: floor.easy(jobs, Blocks(jobs)))  # type: ignore[misc]
        lines["floor"][nb_jobs] = per_job(seconds, load)
    return lines


def by_machine(sizes: Sequence[int]) -> dict[str, Line]:
    """Measure the same jobs on larger machines, and jobs that are as much larger."""
    same: Line = {}
    load = drawn_jobs(sizes[-1] if len(sizes) == 2 else 2000)
    for processors in sizes:
        processors = max(processors, load.nb_res)
        alone = loop(drawn_jobs(1), processors=processors)
        same[processors] = per_job(loop(load, processors=processors) - alone, load)
    return {"EASY, the same jobs": same}


def by_users(sizes: Sequence[int]) -> dict[str, Line]:
    """Measure feedback against the number of users among whom the same jobs are divided."""
    line: Line = {}
    for nb_users in sizes:
        load = drawn_jobs(1000 if len(sizes) == 2 else 10_000, nb_users)
        line[nb_users] = per_job(loop(load, sessions="arrival:60"), load)
    return {"EASY, feedback": line}


def planning(sizes: Sequence[int]) -> dict[str, Line]:
    """Measure plans from scratch against the queue."""
    warm()
    policies: dict[str, Callable[[], Scheduler]] = {"planning": Planning, "dynP": Dynp}
    return {
        name: {nb: 1e3 * planning_pass(policy, nb, 3) for nb in sizes}
        for name, policy in policies.items()
    }


def passes(sizes: Sequence[int]) -> dict[str, Line]:
    """Measure a pass against the number of waiting jobs that cannot start."""
    return {
        name: {nb: 1e6 * seconds_of_a_pass(make, nb) for nb in sizes}
        for name, make in PASSES.items()
    }


def seconds_of_a_pass(make: Callable[[], Scheduler], nb_waiting: int) -> float:
    """Return the least mean CPU seconds of a pass, with a job that comes and is withdrawn.

    The waiting jobs are the hard case: half are wide and short, half narrow and too long, so that
    each fails for its own reason.
    """
    draw = random.Random(1)
    machine, queue, policy = busy_machine(), WaitingQueue(), make()
    head = waiting_job(1000, NB_PROCESSORS, 1000.0, draw)
    head.submit_time = 0.0  # first in every order
    queue.append(head)
    for number in range(1001, 1000 + nb_waiting):
        queue.append(unfit(number, draw))
    best, numbers = float("inf"), count(10_000_000)
    repeat = 20 if nb_waiting > 10_000 else 200
    for _ in range(5):
        begin = process_time()
        for number in islice(numbers, repeat):
            job = unfit(number, draw)
            queue.append(job)
            decision = next(policy.schedule(NOW, queue, machine), None)
            assert decision is None
            queue.remove(job)
        best = min(best, (process_time() - begin) / repeat)
    return best


def unfit(number: int, draw: random.Random) -> Job:
    """Return a job that is too wide, or too long."""
    if draw.random() < 0.5:
        return waiting_job(number, NB_PROCESSORS, draw.uniform(1, 1000), draw)
    return waiting_job(number, draw.randint(1, FREE), draw.uniform(50_000, 500_000), draw)


def chart(path: Path, what: str, measured: str, lines: dict[str, Line]) -> None:
    """Draw lines, both axes logarithmic."""
    import altair as alt
    import pandas as pd

    points = [
        {"line": line, "size": size, "value": value}
        for line, values in lines.items()
        for size, value in values.items()
    ]
    log = alt.Scale(type="log")
    powers = alt.Axis(values=[10**power for power in range(7)], format="~s", grid=True)
    values = [value for line in lines.values() for value in line.values()]
    domain = [10 ** floor_of(log10(min(values))), 10 ** ceil(log10(max(values)))]
    grid = alt.Axis(values=[n * 10**power for power in range(-3, 7) for n in (1, 2, 5)])
    colour: Any = alt.Color(
        "line:N", title=None, sort=None, scale=alt.Scale(range=[*palette.CATEGORIES])
    )
    drawn = (
        alt.Chart(pd.DataFrame(points))
        .mark_line(point=True)
        .encode(
            x=alt.X("size:Q", title=what, scale=log, axis=powers),
            y=alt.Y(
                "value:Q", title=measured, scale=alt.Scale(type="log", domain=domain), axis=grid
            ),
            color=colour,
        )
        .properties(width=480, height=300)
    )
    write_chart(drawn, path)
