"""What is written of each job and of all, to the digit as Batsim writes it."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from batsched_py.files.csv_text import quote_field
from batsched_py.processors.sets import to_text
from batsched_py.protocol.batsim_jobs_columns import REJECTED, SUCCESS, WALLTIME_REACHED
from batsched_py.protocol.messages import JobDescription
from batsched_py.results.embedded_output import EmbeddedOutput
from batsched_py.simulator.ended_jobs import iterate_columns
from batsched_py.simulator.engine import Outcome
from batsched_py.simulator.files.output_files import format_schedule_csv, make_lines
from batsched_py.simulator.jobs import SimulatedJob
from batsched_py.simulator.profiles import Profile
from helpers.processors import processors
from helpers.scripted_schedulers import Timetable, compute, execute, job, simulate, workload


def waited(submitted: float, waits: float) -> Outcome:
    """A job that takes no time."""
    load = workload({"p": compute(0)}, structs.replace(job("j", "p"), submit_time=submitted))
    return simulate(Timetable({submitted + waits: [execute("w0!j", "0")]}), load)


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="no numbers of 80 bits here")
@pytest.mark.parametrize(
    ("submitted", "waits", "stretch"),
    [
        (4, 6.7, "670001.000000"),
        (5_000_001, 6.7, "670001.000019"),
        (150_000_001, 6.7, "670000.998808"),
        (1_000_000_001, 6.7, "670001.004770"),
        (1_700_000_001.1, 6.7, "670001.004764"),
    ],
)
def test_the_stretch_of_a_job_that_takes_no_time(
    submitted: float, waits: float, stretch: str
) -> None:
    """Batsim 4.2.0 counts it with 1e-5 s, and computes with 80 bits: these are its digits."""
    outcome = waited(submitted, waits)
    (row,) = csv.DictReader(make_lines(iterate_columns(outcome.jobs)))
    (summary,) = csv.DictReader(format_schedule_csv(outcome).splitlines())
    assert row["execution_time"] == "0.000010"
    assert (row["stretch"], summary["mean_slowdown"], summary["max_slowdown"]) == (stretch,) * 3


@pytest.mark.parametrize("submitted", [0.0, 4.0, 1e9])
def test_the_stretch_of_a_job_table(submitted: float) -> None:
    """1e-5 s beside a date keep few digits, so that it is found from the wait."""
    assert EmbeddedOutput(waited(submitted, 0)).table.stretch == pytest.approx([1], rel=1e-12)
    assert EmbeddedOutput(waited(submitted, 2)).table.stretch == pytest.approx([200_001], rel=1e-12)


def row_of(job: SimulatedJob) -> str:
    """A line of ``_jobs.csv``, a field after the other."""
    told = job.description
    workload, _, name = told.id.partition("!")
    walltime = -1.0 if told.walltime is None else told.walltime
    head = ",".join(map(quote_field, (name, workload, told.profile)))
    head += f",{told.submit_time:.6f},{told.size},{walltime:.6f}"
    if job.final_state == REJECTED:
        return f'{head},0,{REJECTED},,,,,,,,,"{job.metadata}"\n'
    execution, finish = job.finish_time - job.start_time, job.finish_time
    if execution > 0:
        stretch = (finish - told.submit_time) / execution
    else:
        execution, finish = 1e-5, finish + 1e-5
        least = np.longdouble("1e-5")
        stretch = float((np.longdouble(job.start_time) + least - told.submit_time) / least)
    times = (job.start_time, execution, finish, job.start_time - told.submit_time)
    numbers = ",".join(f"{value:.6f}" for value in (*times, finish - told.submit_time, stretch))
    success = int(job.final_state == SUCCESS)
    return (
        f"{head},{success},{job.final_state},{numbers},{to_text(job.alloc)},"
        f'{job.consumed_energy:.6f},"{job.metadata}"\n'
    )


TIMES = st.integers(0, 10**9).map(float) | st.floats(0, 1e9)


@st.composite
def ended_jobs(draw: st.DrawFn) -> SimulatedJob:
    walltime = draw(st.none() | TIMES)
    names = st.text('ab!,"', min_size=1, max_size=3)
    told = JobDescription(f"w0!{draw(names)}", draw(TIMES), draw(st.integers(1, 9)), "p", walltime)
    job = SimulatedJob(told, Profile(delay=1.0), metadata=draw(st.text("a,", max_size=2)))
    job.final_state = draw(st.sampled_from([SUCCESS, WALLTIME_REACHED, REJECTED]))
    if job.final_state != REJECTED:
        job.start_time = told.submit_time + draw(TIMES)
        job.finish_time = job.start_time + draw(TIMES)
        job.alloc = ALLOCS[told.size % 2]
        job.consumed_energy = draw(st.sampled_from([-1.0, 2.5]))
    return job


ALLOCS = (processors("0-1 3"), processors("0"))


@given(st.lists(ended_jobs(), max_size=9))
def test_columns_give_the_line_of_each_job(jobs: list[SimulatedJob]) -> None:
    assert list(make_lines(iterate_columns(jobs)))[1:] == list(map(row_of, jobs))
