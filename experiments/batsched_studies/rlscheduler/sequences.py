"""Simulates the ten sequences of 1,024 jobs of each log with which RLScheduler is compared."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from functools import partial
from hashlib import sha512
from itertools import chain, product, repeat
from pathlib import Path

import numpy as np

from batsched_py import Workload, WorkloadJob, simulate
from batsched_py.metrics import mean_bounded_slowdown
from batsched_py.workload.logs.swf import read_swf
from batsched_studies.filled_page import Row
from batsched_studies.rlscheduler.policies import AT_INSTANTS, CHOICES, HEURISTICS, make_policy

LOGS = {
    "Lublin-1": "learning/lublin_1",
    "Lublin-2": "learning/lublin_2",
    "SDSC-SP2": "swf/SDSC-SP2-1998-4.2-cln",
    "HPC2N": "swf/HPC2N-2002-2.2-cln",
}
NB_SEQUENCES, LENGTH, NB_JOBS = 10, 1024, 10_000
"""How many sequences, of how many jobs, among how many jobs at the beginning of a log."""
SEED = 1
HEADER = ("log", "backfilling", "heuristic", "choice", "slowdown", "deviation", "utilisation")


def draw_starts() -> list[int]:
    """Return the place of the first job of each sequence, as gym's ``seeding`` draws it."""
    words = np.frombuffer(sha512(str(SEED).encode()).digest()[:8], dtype="<u4")
    random = np.random.RandomState(words)
    return [int(random.randint(LENGTH, NB_JOBS - LENGTH - 1)) for _ in range(NB_SEQUENCES)]


def make_sequences(shared: Path, log: str) -> list[Workload]:
    """Return the sequences of one of :data:`LOGS`, with RLScheduler's meaning of the fields.

    Times are in seconds of the log. No job has a walltime, so none is killed.
    """
    swf = read_swf(shared / f"{LOGS[log]}.swf.gz")
    run, requested = swf.column("run_time"), swf.column("requested_time")
    sizes = np.maximum(swf.column("allocated_processors"), swf.column("requested_processors"))
    columns = (
        swf.column("submit_time"),
        sizes.astype(int),
        np.where(run < 0, 10, run),
        np.where(requested == -1, run, requested),
    )
    jobs = list(zip(*(column[run != 0].tolist() for column in columns), strict=True))

    def make(start: int) -> Workload:
        rows = list(enumerate(jobs[start : start + LENGTH], start))
        return Workload(
            name=log,
            nb_res=swf.max_processors,
            jobs=[
                WorkloadJob(
                    id=str(at), submit_time=submit, size=size, profile=f"{run}", estimate=estimate
                )
                for at, (submit, size, run, estimate) in rows
            ],
            profiles={f"{run}": {"type": "delay", "delay": run} for _, (_, _, run, _) in rows},
        )

    return [make(start) for start in draw_starts()]


def simulate_row(
    sequences: list[Workload], backfilling: str, heuristic: str, choice: str
) -> tuple[str, str, str]:
    """Return mean and standard deviation of the bounded slowdown, and the mean utilisation.

    The latter is the work of all jobs per processor, from the first submission to the last start.
    """
    make = partial(make_policy, heuristic, choice, backfills=backfilling == "yes")
    by_event = choice != AT_INSTANTS
    slowdowns, utilisations = [], []
    for sequence in sequences:
        table = simulate(sequence, scheduler=make, each_event=by_event, progress=False).table
        slowdowns.append(mean_bounded_slowdown(table))
        span = table.start.max() - table.submit.min()
        utilisations.append(table.size @ table.execution / (span * sequence.nb_res))
    mean, deviation = np.mean(slowdowns), np.std(slowdowns, ddof=1)
    return f"{mean:.2f}", f"{deviation:.0f}", f"{np.mean(utilisations):.5f}"


def simulate_log(shared: Path, log: str) -> list[Row]:
    """Return the rows of a log, with the columns of :data:`HEADER`."""
    sequences = make_sequences(shared, log)
    cases = product(("no", "yes"), HEURISTICS, CHOICES)
    return [(log, *case, *simulate_row(sequences, *case)) for case in cases]


def simulate_logs(shared: Path, workers: int) -> list[Row]:
    """Return the rows of all logs, which are simulated in several processes."""
    with ProcessPoolExecutor(workers) as pool:
        return list(chain.from_iterable(pool.map(simulate_log, repeat(shared), LOGS)))
