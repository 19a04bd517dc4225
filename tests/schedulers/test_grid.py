"""The policy grid: the same as its slow twin, as EASY on one site, and what else always holds."""

from __future__ import annotations

from math import inf
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.schedulers.grid.costs import Costs
from batsched_py.schedulers.grid.grid_policy import Grid
from batsched_py.testing import check_machine
from helpers.examples import few_examples
from helpers.grid_twin import GridJob
from helpers.grids import (
    Failure,
    Ran,
    allocations,
    by_the_twin,
    outcome_with_failures,
    placements,
    ran,
    simulated,
)

SCENARIOS = ["local", "sharing", "multi_site"]
SITES = st.sampled_from([[4, 3, 1], [5, 5, 5], [9, 1, 1]])
TABLES = ["unlimited", "1-4:1,5-20:2"]
LARGEST = 9
"""The most processors of a drawn job."""


def jobs_of(
    run_time: st.SearchStrategy[float], latest: int = 30, least: int = 1
) -> st.SearchStrategy[list[GridJob]]:
    """Return at least so many jobs, with such run times and estimates, in order of their ids."""
    submit, size, home = st.integers(0, latest), st.integers(1, LARGEST), st.integers(0, 2)
    a_job = st.tuples(submit, size, run_time, run_time, home)
    rows = st.lists(a_job, min_size=least, max_size=25).map(
        lambda rows: sorted(rows, key=lambda row: row[0])
    )
    return rows.map(lambda rows: [GridJob(f"{at:04d}", *row) for at, row in enumerate(rows)])


JOBS = jobs_of(st.integers(1, 15))
OF_THE_TWIN: dict[str, st.SearchStrategy[Any]] = {
    "scenario": st.sampled_from(SCENARIOS),
    "selection": st.sampled_from(["best_fit", "biggest_free", "equal_util"]),
    "reservation": st.sampled_from(["easy", "none"]),
    "overhead": st.sampled_from([0, 0.25, 0.5, 3]),
    "lower_bound": st.integers(0, 5),
    "bound": st.sampled_from(["above", "from"]),
    "fragments": st.sampled_from(TABLES),
    "adaptive": st.booleans(),
    "booked_overhead": st.booleans(),
    "extra_nodes": st.sampled_from(["first", "instant", "none"]),
}
BEYOND_IT: dict[str, st.SearchStrategy[Any]] = {
    "selection": st.sampled_from(["best_fit", "equal_util", "random", "earliest_end"]),
    "transfer": st.sampled_from([0, 2.5]),
    "bandwidth": st.sampled_from([None, 2]),
    "try_on_submission": st.booleans(),
    "order": st.sampled_from(["fcfs", "sjf", "widest", "expansion_factor"]),
    "seed": st.integers(0, 2),
}
ALL = st.fixed_dictionaries(OF_THE_TWIN | BEYOND_IT)
"""Any options."""


def text(sites: list[int]) -> str:
    return ",".join(map(str, sites))


@given(JOBS, SITES, st.fixed_dictionaries(OF_THE_TWIN))
def test_as_the_twin(jobs: list[GridJob], sites: list[int], options: dict[str, Any]) -> None:
    assert ran(jobs, text(sites), **options) == by_the_twin(jobs, sites, **options)


@few_examples
@given(jobs_of(st.floats(0.1, 15), latest=9, least=12), st.sampled_from(["4,3,2", "5,5,5"]), ALL)
def test_the_search_by_width_finds_whom_a_look_at_each_job_finds(
    jobs: list[GridJob], sites: str, options: dict[str, Any]
) -> None:
    """Costs that differ by job want the look at each; without such costs it must give the same."""
    options.update(scenario="multi_site", transfer=0, bandwidth=None, selection="best_fit")
    by_width = simulated(jobs, sites, **options).jobs_csv()
    with patch.object(Costs, "depends_on_job", property(lambda costs: True)):
        assert simulated(jobs, sites, **options).jobs_csv() == by_width


@given(JOBS, st.sampled_from(["4,3@2,1@0.5", "5,5,5", "9@0.5,1,1"]), ALL)
def test_where_and_how_long(jobs: list[GridJob], sites: str, options: dict[str, Any]) -> None:
    """A job is on one site or is longer by the overhead; fragments are as allowed; work is kept."""
    more = {job.id: {"data": job.run_time} for job in jobs}
    table = simulated(jobs, sites, more, **options).table_as_written()
    at = placements(table, jobs, sites)
    speeds = [float(site.partition("@")[2] or 1) for site in sites.split(",")]
    area = 0.0
    for job in jobs:
        placed = at[job.id]
        if placed is None:
            continue
        slowest = min(speeds[site] for site in placed.sites)
        spread = len(placed.fragments) > 1
        at_home = placed.sites == [job.home]
        away = (
            0.0 if at_home else options["transfer"] + job.run_time / (options["bandwidth"] or 1e99)
        )
        lasts = job.run_time * (1 + options["overhead"] if spread else 1) / slowest + away
        assert placed.start >= job.submit
        assert placed.end - placed.start == pytest.approx(lasts, abs=1e-5)
        assert sum(number for _, number in placed.fragments) == job.size
        if options["scenario"] == "local":
            assert at_home
        if spread:
            assert options["scenario"] == "multi_site"
            assert_may_be_spread(job, placed, sites, options)
        area += job.size * lasts
    assert float((table.size * (table.finish - table.start))[table.ran].sum()) == pytest.approx(
        area, abs=1e-3
    )
    assert_never_overfull([job for job in at.values() if job], sites)


def assert_may_be_spread(job: GridJob, placed: Ran, sites: str, options: dict[str, Any]) -> None:
    """Assert that bound and limits allow it."""
    sizes = [int(site.partition("@")[0]) for site in sites.split(",")]
    if options["fragments"] != "unlimited":
        assert len(placed.fragments) <= (1 if job.size <= 4 else 2)
    if job.size <= max(sizes):
        assert job.size >= options["lower_bound"] + (options["bound"] == "above")


def assert_never_overfull(at: list[Ran], sites: str) -> None:
    """Assert that no site has more processors in use than it has."""
    for begun in at:
        together = [job for job in at if job.start <= begun.start < job.end]
        for site, size in enumerate(sites.split(",")):
            assert sum(dict(job.fragments).get(site, 0) for job in together) <= int(
                size.split("@")[0]
            )


@given(
    jobs_of(st.integers(1, 15), latest=15, least=8),
    st.lists(st.integers(0, 30), max_size=14),
    st.sampled_from(["4,3@2,1@0.5", "5,5,5", "9@0.5,1,1"]),
    ALL,
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 7), st.integers(1, 20)), max_size=3),
)
def test_nobody_waits_for_ever(
    jobs: list[GridJob],
    unknown: list[int],
    sites: str,
    options: dict[str, Any],
    repairs: list[tuple[float, int, float]],
) -> None:
    """Though some ends are not known, some jobs are late, and processors fail and come back."""
    drawn = [job._replace(estimate=inf) if at in unknown else job for at, job in enumerate(jobs)]
    failures: list[Failure] = []
    for begin, first, lasts in repairs:
        broken = f"{first}-{first + 1}"
        failures += [(begin, broken, False), (begin + lasts, broken, True)]
    check_machine(outcome_with_failures(drawn, sites, failures, Grid(**options)))


@pytest.mark.parametrize(("reservation", "policy"), [("easy", "easy"), ("none", "filler")])
@pytest.mark.parametrize("sites", ["9", "west:9"])
@given(
    JOBS,
    st.sampled_from(SCENARIOS),
    st.sampled_from(["fcfs", "sjf", "expansion_factor"]),
    OF_THE_TWIN["extra_nodes"],
)
@few_examples
def test_on_one_site(
    reservation: str,
    policy: str,
    sites: str,
    jobs: list[GridJob],
    scenario: str,
    order: str,
    extra: str,
) -> None:
    """As EASY, and without its reservation as what starts whatever fits, processor by processor."""
    homes = {job.id: {"home": "west"} for job in jobs}
    rules: dict[str, Any] = {"scenario": scenario, "reservation": reservation, "overhead": 3}
    grid = simulated(jobs, sites, homes, order=order, extra_nodes=extra, **rules)
    ours = {"extra_nodes": extra} if policy == "easy" else {}
    plain = simulated(jobs, sites, homes, policy, order=order, **ours)
    assert allocations(grid) == allocations(plain)
