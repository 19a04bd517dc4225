"""The quick formula of energy: by hand, beside a sum over jobs, and beside the simulated power."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import isnan, nan
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.decision_process import DecisionProcess
from batsched_py.metrics import EqualHosts, JobTable, busy_within
from batsched_py.metrics.machine import busy_time
from batsched_py.model.user_model import UserModel
from batsched_py.schedulers.easy import Easy
from batsched_py.simulator.engine import Options, Outcome, Simulator
from batsched_py.simulator.platform.platform_reader import read_platform
from batsched_py.testing import DrawnJob, workload
from batsched_py.workload import Workload
from batsched_users.models.sufficient import Sufficient
from helpers.schedules_by_hand import table_of_runs

PLATFORM = Path(__file__).parents[2] / "platforms" / "energy_16.xml"
HOSTS = EqualHosts(idle=95, computing=220)
"""The first pstate of platforms/energy_16.xml."""


def test_by_hand() -> None:
    """16 hosts for 100 s; 4 of them compute from 10 to 30, 2 from 20 to 60."""
    table = table_of_runs([(10, 30, 4), (20, 60, 2), (nan, nan, 0)], 16)
    assert busy_within(table, [(0, 100)]) == 4 * 20 + 2 * 40
    assert busy_within(table, [(0, 15), (25, 40), (90, 200)]) == 4 * 5 + 4 * 5 + 2 * 15
    assert HOSTS.energy(table, [(0, 100)]) == 95 * 16 * 100 + 125 * 160
    assert HOSTS.energy(table, [(70, 90)]) == 95 * 16 * 20
    assert HOSTS.energy(table, []) == 0
    assert HOSTS.energies(table, []).shape == (0,)
    hourly = HOSTS.energies(table_of_runs([(1800, 3600, 4)], 16), [(0, 3600), (3600, 7200)])
    assert hourly.tolist() == [95 * 16 * 3600 + 125 * 4 * 1800, 95 * 16 * 3600]
    assert busy_within(table_of_runs([(nan, nan, 0)]), [(0, 10)]) == 0
    assert isnan(HOSTS.energy(table_of_runs([(0, 1, 1)]), [(0, 1)]))


@given(
    jobs=st.lists(st.tuples(st.integers(0, 40), st.integers(1, 20), st.integers(1, 9)), min_size=1),
    cuts=st.lists(st.integers(-5, 70), min_size=2, unique=True).map(sorted),
)
def test_as_a_sum_over_the_jobs(jobs: list[tuple[int, int, int]], cuts: list[int]) -> None:
    """Every other time between the cuts, each clipped out of every job."""
    table = table_of_runs([(start, start + run, size) for start, run, size in jobs])
    spans = list(zip(cuts[::2], cuts[1::2], strict=False))
    slow = sum(busy_time(table, begin, end) for begin, end in spans)
    assert busy_within(table, spans) == pytest.approx(slow, abs=1e-6)


def simulated(
    profile: str, users: Callable[[Workload], UserModel] | None = None
) -> tuple[Outcome, JobTable]:
    """Fifty jobs that wait for each other on 16 hosts with power; of ``users``, if any."""
    random = np.random.default_rng(5)
    drawn = [
        DrawnJob(float(at), int(random.integers(1, 17)), float(random.integers(1, 90)), None, "u")
        for at in np.cumsum(random.integers(0, 30, 50))
    ]
    load = workload(drawn, 16, profile)
    dynamic = users is not None
    options = Options(energy=True, dynamic_jobs=dynamic, profile_reuse=dynamic)
    simulator = Simulator(read_platform(PLATFORM), [] if dynamic else [load], options)
    process = DecisionProcess(Easy(), None if users is None else users(load))
    outcome = simulator.run(process.answer)
    jobs = [(job.start_time, job.finish_time, len(job.alloc)) for job in outcome.jobs]
    return outcome, table_of_runs(jobs, 16)


LEVERS = "delay:0.3,reconfiguration:0.3,time_degradation:0.3"


@pytest.mark.parametrize(
    "users", [None, partial(Sufficient, signal="0:00-0:10", red=LEVERS)], ids=["rigid", "levers"]
)
def test_as_the_simulator_accounts_for_it(users: Callable[[Workload], UserModel] | None) -> None:
    """At each start and end of a job, what all hosts have consumed since the beginning; also where
    users delay jobs and make them smaller."""
    outcome, table = simulated("parallel_homogeneous", users)
    if users is not None:
        assert len({job.description.extra.get("lever") for job in outcome.jobs}) == 4
    assert outcome.power is not None
    events = list(outcome.power.energy.events())
    assert len(events) >= 100
    for time, joules, *_ in events:
        assert HOSTS.energy(table, [(0, time)]) == pytest.approx(joules, rel=1e-9)
