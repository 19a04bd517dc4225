"""What is written of each job and of all, to the digit as Batsim writes it."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from msgspec import structs

from batsched_py.results.embedded_output import EmbeddedOutput
from batsched_py.simulator.engine import Outcome
from batsched_py.simulator.files.output_files import jobs_lines, schedule_csv
from helpers.scripted_schedulers import Timetable, compute, execute, job, simulate, workload


def waited(submitted: float, waits: float) -> Outcome:
    """A job that takes no time."""
    load = workload({"p": compute(0)}, structs.replace(job("j", "p"), submit_time=submitted))
    return simulate(Timetable({submitted + waits: [execute("w0!j", "0")]}), load)


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="no numbers of 80 bits here")
@pytest.mark.parametrize(
    ("submitted", "waits", "stretch"),
    [
        (4, 2, "200001.000000"),
        (4, 6.7, "670001.000000"),
        (51.5, 6.7, "670001.000000"),
        (5_000_001, 2, "200001.000000"),
        (5_000_001, 6.7, "670001.000019"),
        (150_000_001, 6.7, "670000.998808"),
        (1_000_000_001, 2, "200001.000002"),
        (1_000_000_001, 6.7, "670001.004770"),
        (1_700_000_001.1, 2, "200000.999996"),
        (1_700_000_001.1, 6.7, "670001.004764"),
    ],
)
def test_the_stretch_of_a_job_that_takes_no_time(
    submitted: float, waits: float, stretch: str
) -> None:
    """Batsim 4.2.0 counts it with 1e-5 s, and computes with 80 bits: these are its digits."""
    outcome = waited(submitted, waits)
    (row,) = csv.DictReader(jobs_lines(outcome.jobs))
    (summary,) = csv.DictReader(schedule_csv(outcome).splitlines())
    assert row["execution_time"] == "0.000010"
    assert (row["stretch"], summary["mean_slowdown"], summary["max_slowdown"]) == (stretch,) * 3


@pytest.mark.parametrize("submitted", [0.0, 4.0, 1e9])
def test_the_stretch_of_a_job_table(submitted: float) -> None:
    """1e-5 s beside a date keep few digits, so that it is found from the wait."""
    assert EmbeddedOutput(waited(submitted, 0)).table.stretch == pytest.approx([1], rel=1e-12)
    assert EmbeddedOutput(waited(submitted, 2)).table.stretch == pytest.approx([200_001], rel=1e-12)
