"""The policy grid and its slow twin, against schedules found by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from batsched_py.errors import UsageError
from batsched_py.schedulers.grid.grid_policy import Grid
from batsched_py.testing import starts
from helpers.grids import (
    Failure,
    begins,
    grid_jobs,
    outcome_with_failures,
    placed,
    placements,
    ran,
    simulated,
)

SPREAD: dict[str, Any] = {"scenario": "multi_site", "reservation": "easy"}


def test_at_home_or_on_another_site() -> None:
    """All users live at the first of two sites of 4.

    local    site 0 |AAAAAAAAAABBBBBBBBBBCCCCC        sharing  site 0 |AAAAAAAAAACCCCC
             site 1 |                                          site 1 |BBBBBBBBBB
    """
    rows = [(0, 4, 10), (0, 4, 10), (1, 2, 5)]
    at_home = placed(rows, [4, 4], scenario="local")
    assert at_home["C"] == (20, 25, ((0, 2),))
    assert [job.start for job in at_home.values()] == [0, 10, 20]
    assert placed(rows, [4, 4], scenario="sharing") == {
        "A": (0, 10, ((0, 4),)),
        "B": (0, 10, ((1, 4),)),
        "C": (10, 15, ((0, 2),)),
    }
    moved = [(0, 4, 10), (0, 4, 10, 10, 1)]
    assert placed(moved, [4, 4], scenario="local")["B"] == (0, 10, ((1, 4),))


def test_reservation_on_one_of_two_sites() -> None:
    """C reserves the site of A from 10 on: D would hold it longer, E ends before.

    site 0 (4) |AAAAAAAAAACCCCC         without any   |AAAAAAAAAA
               |AAAAAAAAAACCCCC                       |AAAAAAAAAA
               |AAAAAAAAAACCCCC                       |AAAAAAAAAA
               |  .EEEEEE.CCCCC                       |  DDDDDDDDDDDDDDDDDDDD
    site 1 (2) |BBBBBBBBDDDDDDDDDDDDDDDDDDDD          |BBBBBBBBEEEEEE
    """
    rows = [(0, 3, 10), (0, 2, 8), (1, 4, 5), (2, 1, 20), (3, 1, 6)]
    assert placed(rows, [4, 2], scenario="sharing") == {
        "A": (0, 10, ((0, 3),)),
        "B": (0, 8, ((1, 2),)),
        "C": (10, 15, ((0, 4),)),
        "D": (8, 28, ((1, 1),)),
        "E": (3, 9, ((0, 1),)),
    }
    assert begins(rows, [4, 2], scenario="sharing", reservation="none") == [0, 0, 22, 2, 8]


def test_a_job_that_waits_by_choice() -> None:
    """C of 5 has 3 and 2 free nodes of 6 and 6. It waits for site 1, where B ends at 5 (15 = 15).

    Without a reservation D takes the two nodes of site 1: at 5 there are 3 and 4, none of 6 before
    30, and C is spread after all. EASY holds site 1 for C but for one node: D goes to site 0.
    """
    rows = [(0, 3, 30), (0, 4, 5), (0, 5, 10), (1, 2, 30)]
    jobs = placed(
        rows, [6, 6], overhead=0.5, adaptive=True, reservation="none", scenario="multi_site"
    )
    assert jobs["D"] == (1, 31, ((1, 2),))
    assert jobs["C"] == (5, 20, ((0, 1), (1, 4)))
    jobs = placed(
        rows, [6, 6], overhead=0.5, adaptive=True, reservation="easy", scenario="multi_site"
    )
    assert jobs["C"] == (5, 15, ((1, 5),))
    assert jobs["D"] == (1, 31, ((0, 2),))


@pytest.mark.parametrize(("booked", "start"), [(True, 2), (False, 30)])
def test_booked_overhead(booked: bool, start: float) -> None:
    """A is spread and runs until 20, B of all nodes waits for it. C of 10 ends before, or not.

    Without the overhead A's end is expected at 10, where no node is extra.
    """
    rows = [(0, 4, 10), (1, 6, 5), (2, 1, 10)]
    jobs = placed(rows, [3, 3], overhead=1, booked_overhead=booked, **SPREAD)
    assert jobs["A"] == (0, 20, ((0, 3), (1, 1)))
    assert jobs["B"] == (20, 30, ((0, 3), (1, 3)))
    assert jobs["C"].start == start


def test_a_limit_of_fragments_may_make_a_head_wait_longer() -> None:
    """At 5 one node is free on each of four sites; J of 4 would be in four parts, may be in two."""
    half = [(0, 1, 5, 10), (0, 1, 10), (0, 2, 20)]
    rows = [*half, *half, (0, 3, 30), (0, 3, 30), (0, 1, 5, 50), (1, 4, 60)]
    jobs = placed(rows, [4, 4, 4, 4], fragments="1-99:2", **SPREAD)
    assert jobs["J"] == (10, 70, ((0, 2), (1, 2)))


# What the twin does not know ---------------------------------------------------------------------


def alone(rows: list[Any], sites: str, more: Any = None, **options: Any) -> dict[str, Any]:
    """Return where and when each job ran under the policy alone."""
    return ran(grid_jobs(rows), sites, more, **options)


def columns(result: Any, *names: str) -> list[tuple[Any, ...]]:
    """Return columns of the results, by job, None where they are empty."""
    table = result.jobs.sort_values("job_id")[list(names)].astype(object)
    return list(table.where(table.notna(), None).itertuples(index=False, name=None))


def test_random_draws_from_the_sites_that_have_room() -> None:
    """Eight jobs of 2, one after the other; the second site has room for none."""
    rows = [(10 * at, 2, 5) for at in range(8)]

    def sites_used(seed: int) -> list[int]:
        jobs = alone(rows, "4,1,4", selection="random", seed=seed)
        return [site for job in jobs.values() for site in job.sites]

    drawn = [sites_used(seed) for seed in (1, 2, 3)]
    assert all(set(sites) == {0, 2} for sites in drawn)
    assert drawn[0] == sites_used(1)
    assert drawn[0] != drawn[1] != drawn[2]


def test_earliest_end() -> None:
    """On the fast site; where that is away, at home, unless it ends sooner in spite of the move."""
    rows = [(0, 2, 10), (20, 2, 10), (20, 2, 10, 10, 2)]
    fast = alone(rows, "2,4@2,4", selection="earliest_end")
    assert [job[:2] for job in fast.values()] == [(0, 5), (20, 25), (20, 25)]
    assert {job.sites[0] for job in fast.values()} == {1}
    at_home = alone(rows, "2,4,4", selection="earliest_end", transfer=1)
    assert [job.sites for job in at_home.values()] == [[0], [0], [2]]
    for transfer, site in ((4, 2), (6, 0)):
        jobs = alone(rows, "2,4,4@2", selection="earliest_end", transfer=transfer)
        assert jobs["A"].sites == [site]


@pytest.mark.parametrize(("estimate", "start"), [(18, 1), (19, 20)])
def test_reservations_count_with_speeds(estimate: float, start: float) -> None:
    """A's end on the fast site is expected at 10, when C of 4 starts there; until then D may run.

    site1 (4, twice as fast) |AAAAAAAAAACCCCCCCCCC      site2 (4) |BBBBBBBBBBBBBBBBBBBBBBBB
                             | DDDDDDDDD
    """
    rows = [(0, 3, 20), (0, 4, 40), (1, 4, 20), (1, 1, estimate)]
    jobs = alone(rows, "4@2,4")
    assert jobs["C"] == (10, 20, ((0, 4),))
    assert jobs["D"].start == start


def test_a_head_is_promised_the_site_that_has_room_first() -> None:
    """Even if it ended sooner on the fast one, on which B ends before it was expected to.

    A job starts as soon as one site has room for it, and never waits for another.
    """
    rows = [(0, 4, 8), (0, 2, 8, 80), (0, 2, 24), (1, 4, 20), (2, 2, 24)]
    jobs = alone(rows, "4,4@2")
    assert jobs["D"] == (8, 28, ((0, 4),))
    assert jobs["E"] == (4, 16, ((1, 2),))


def test_transfers() -> None:
    """A at home costs nothing; B away and C partly away cost 5 s, B's 30 bytes 3 s more."""
    jobs, sites = grid_jobs([(0, 4, 10), (0, 4, 10), (50, 6, 10), (90, 2, 10, 10, 1)]), "4,4"
    more = {"A": {"data": 70}, "B": {"data": 30}}
    options: dict[str, Any] = {
        "transfer": 5,
        "bandwidth": 10,
        "overhead": 0.5,
        "scenario": "multi_site",
    }
    result = simulated(jobs, sites, more, selection="earliest_end", **options)
    at = placements(result.table_as_written(), jobs, sites)
    assert at == {
        "A": (0, 10, ((0, 4),)),
        "B": (0, 18, ((1, 4),)),
        "C": (50, 70, ((0, 4), (1, 2))),
        "D": (90, 100, ((1, 2),)),
    }
    assert columns(result, "dilation", "transfer") == [(None, None), (1, 8), (1.5, 5), (None, None)]


@pytest.mark.parametrize(("transfer", "start"), [(4, 1), (5, 15)])
def test_a_transfer_must_end_before_the_reservation_too(transfer: float, start: float) -> None:
    """C reserves site1 from 10 on; D, whose home is site2, runs there for 5 s and the transfer.

    site1 (4) |AAAAAAAAAACCCCC      site2 (2) |BBBBBBBBBBBBBBBBBBBB
              | DDDDDDDDD                     |BBBBBBBBBBBBBBBBBBBB
    """
    rows = [(0, 3, 10), (0, 2, 20, 20, 1), (1, 4, 5), (1, 1, 5, 5, 1)]
    jobs = alone(rows, "4,2", transfer=transfer)
    assert jobs["C"].start == 10
    assert jobs["D"].start == start


def test_data_that_are_no_bytes() -> None:
    with pytest.raises(UsageError, match="'much' data"):
        alone([(0, 4, 10), (0, 4, 10)], "4,4", {"B": {"data": "much"}}, bandwidth=1)


def test_tried_on_submission() -> None:
    """C comes when one is free, and delays B; D comes when none is, and waits its turn."""
    rows = [(0, 3, 10), (1, 4, 5), (2, 1, 20), (3, 1, 20)]
    assert [job.start for job in alone(rows, "4").values()] == [0, 10, 15, 15]
    tried = alone(rows, "4", try_on_submission=True)
    assert [job.start for job in tried.values()] == [0, 22, 2, 27]


def test_a_head_whose_end_nobody_knows() -> None:
    """B of 6 can only run on site2, as soon as A ends. Two nodes are extra there, D's, not C's."""
    rows = [(0, 5, 10, None), (1, 6, 5, None), (2, 3, 100, None), (2, 2, 100, None)]
    rows += [(3, 1, 9, None)]
    jobs = alone(rows, "2,8")
    assert jobs["B"] == (10, 15, ((1, 6),))
    assert jobs["C"].start == 15
    assert jobs["D"] == (2, 102, ((0, 2),))
    assert jobs["E"] == (3, 12, ((1, 1),))


@pytest.mark.parametrize(("estimate", "start"), [(9, 1), (10, 20)])
def test_without_booked_overhead_ends_still_count_the_speed(estimate: float, start: float) -> None:
    """A runs twice as fast, to 10; C may run until then, when B of all nodes starts."""
    rows = [(0, 3, 20), (1, 4, 20), (1, 1, 2 * estimate)]
    jobs = alone(rows, "4@2", booked_overhead=False)
    assert jobs["B"].start == 10
    assert jobs["C"].start == start


# Processors that fail ----------------------------------------------------------------------------


def with_failures(
    rows: list[Any], sites: str, failures: Sequence[Failure], **options: Any
) -> list[float | None]:
    """Return the starts."""
    return starts(outcome_with_failures(grid_jobs(rows), sites, failures, Grid(**options)))


@pytest.mark.parametrize("scenario", ["sharing", "multi_site"])
def test_a_site_that_fails(scenario: str) -> None:
    """site1 is out of order from 1 to 20: A runs on there, the others queue at site2.

    Then the last of them starts on site1, as E runs on site2.
    """
    rows = [(0, 4, 10), (2, 4, 5), (3, 4, 5), (3, 4, 5), (3, 4, 5), (3, 4, 5)]
    failures = [(1, "0-3", False), (20, "0-3", True)]
    at = with_failures(rows, "4,4", failures, scenario=scenario, reservation="easy")
    assert at == [0, 2, 7, 12, 17, 20]


def test_a_head_that_waits_for_a_repair_holds_nothing() -> None:
    """A wants all four of site2, of which one fails; the others start meanwhile, on both sites."""
    rows = [(2, 4, 5), (3, 2, 20), (4, 3, 7), (5, 1, 5)]
    failures = [(1, "2", False), (30, "2", True)]
    assert with_failures(rows, "2,4", failures) == [30, 3, 4, 11]
    at_home = [(*row, row[2], 1) for row in rows]
    assert with_failures(at_home, "2,4", failures, scenario="local") == [30, 3, 23, 5]
