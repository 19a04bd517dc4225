"""Measures the withdrawals of four logs, and how well one half of each predicts the other."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from pathlib import Path
from typing import NamedTuple

import numpy as np

from batsched_py import simulate
from batsched_py.protocol.batsim_jobs_columns import WITHDRAWN
from batsched_py.units import DAY, HOUR, MINUTE
from batsched_py.workload.logs.swf import read_swf
from batsched_studies.filled_page import Row
from batsched_users.learning.learn_withdrawals import (
    Prediction,
    find_attempts,
    predict_second_half,
)
from batsched_users.measures.waiting_jobs import (
    estimate_share_withdrawn,
    find_events,
    find_waiting_jobs,
    measure_by_absence,
    measure_by_age,
)

LOGS = {
    "SP2": ("SDSC-SP2-1998-4.2-cln", None),
    "BLUE": ("SDSC-BLUE-2000-4.2-cln", None),
    "DS": ("SDSC-DS-2004-2.1-cln", None),
    "CEA": ("CEA-Curie-2011-2.1-cln", 5.0),
}
"""File of each log, and the seconds after an own end in which withdrawals are left out."""
AGES = {"1 min": MINUTE, "10 min": 10 * MINUTE, "1 h": HOUR, "12 h": 12 * HOUR, "1 day": DAY}
STEPS = ("<1 min", "1-10 min", "10-60 min", "1-4 h", "4-12 h", "12-24 h", "1-3 d", ">3 d")
ABSENCES = ("<1 min", "1-10 min", "10-30 min", "30-60 min", "1-4 h", "4-12 h", "12-24 h", ">1 d")
HEADER = ("log", "measure", "step", "value")


class LogFacts(NamedTuple):
    """What a log shows of withdrawals: rows of numbers, and a prediction."""

    nb_jobs: int
    nb_withdrawn: int
    nb_events: int
    rows: list[Row]
    """Rows with the columns :data:`HEADER`."""
    prediction: Prediction


class Replay(NamedTuple):
    """Per cent of jobs and of requested work that are withdrawn, simulated and recorded."""

    jobs: float
    work: float
    recorded_jobs: float
    recorded_work: float


def replay_sp2(folder: Path) -> Replay:
    """Simulate SP2 under EASY with users who withdraw jobs, and with drawn run times of others.

    The run times of jobs that were withdrawn in the log are drawn from completed jobs.
    """
    path = folder / f"{LOGS['SP2'][0]}.swf.gz"
    log = read_swf(path)
    done = simulate(
        path, scheduler="easy", users="withdraws", withdrawn="impute", walltime="requested", seed=1
    ).jobs
    withdrawn = (done.final_state == WITHDRAWN).to_numpy()
    work = (done.requested_number_of_resources * done.requested_time).to_numpy()
    known = log.column("requested_time") > 0
    recorded = np.where(known, log.sizes * log.column("requested_time"), 0.0)
    shares = (
        withdrawn.mean(),
        work[withdrawn].sum() / work.sum(),
        log.withdrawn.mean(),
        recorded[log.withdrawn].sum() / recorded.sum(),
    )
    return Replay(*(100 * float(share) for share in shares))


def measure_log(name: str, folder: Path) -> LogFacts:
    """Measure one of :data:`LOGS`, from a folder of logs."""
    file, own = LOGS[name]
    jobs = find_waiting_jobs(read_swf(folder / f"{file}.swf.gz"), after_own_end=own)
    events = find_events(jobs)
    counts, hours = measure_by_age(jobs)
    acts, presence = measure_by_absence(jobs)
    attempts = find_attempts(jobs, events)
    soon = [attempt for attempt in attempts if attempt.gap < inf]
    prediction = predict_second_half(jobs)

    def make_rows() -> Iterator[Row]:
        shares = estimate_share_withdrawn(jobs, list(AGES.values()))
        yield from (
            (name, "per cent withdrawn by age", age, f"{100 * share:.1f}")
            for age, share in zip(AGES, shares, strict=True)
        )
        yield from (
            (name, "withdrawn jobs per 1,000 job-hours, by age", step, f"{rate:.4g}")
            for step, rate in zip(STEPS, 1000 * counts / hours, strict=True)
        )
        rates = 1000 * acts.sum(axis=(1, 2)) / presence.sum(axis=(1, 2))
        yield from (
            (name, "events per 1,000 user-hours, by last visible act", step, f"{rate:.4g}")
            for step, rate in zip(ABSENCES, rates, strict=True)
        )
        again = len(soon) / len(attempts)
        gap = float(np.median([attempt.gap for attempt in soon]))
        yield name, "per cent of events with a submission within 10 min", "", f"{100 * again:.1f}"
        yield name, "median gap to that submission (s)", "", f"{gap:.0f}"
        for kind in ("same", "smaller", "larger", "mixed"):
            share = sum(attempt.kind == kind for attempt in soon) / len(soon)
            yield name, "per cent of these submissions", kind, f"{100 * share:.1f}"
        for field in prediction.__struct_fields__:
            value = getattr(prediction, field)
            yield name, "second half, observed / expected", field, f"{value:.2f}"

    return LogFacts(
        len(jobs.wait), int(jobs.withdrawn.sum()), len(events), [*make_rows()], prediction
    )
