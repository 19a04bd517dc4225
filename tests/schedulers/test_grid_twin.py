"""The twin of the grid, against schedules found by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.schedulers.easy import Easy
from batsched_py.testing import DrawnJob, run, starts, workload
from helpers.grid_twin import GridJob, Options, Placed, schedule

Row = tuple[Any, ...]
"""(submission, size, run time), then the estimate (default: the run time) and the home."""


def grid_jobs(rows: Sequence[Row]) -> list[GridJob]:
    """Return jobs A, B, C, ..."""
    return [
        GridJob(chr(ord("A") + at), row[0], row[1], row[2], *(row[3:] or row[2:3]))
        for at, row in enumerate(rows)
    ]


def placed(rows: Sequence[Row], sites: Sequence[int], **options: Any) -> dict[str, Any]:
    """Return (start, end, fragments) of each job, None where it is refused."""
    return dict(sorted(schedule(grid_jobs(rows), sites, Options(**options)).items()))


def begins(rows: Sequence[Row], sites: Sequence[int], **options: Any) -> list[float | None]:
    return [job and job.start for job in placed(rows, sites, **options).values()]


def at_most(limit: int) -> Callable[[int], int]:
    """Return a limit of fragments for all widths."""
    return lambda width: limit


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


def test_who_is_refused() -> None:
    """The home has 4 processors, the largest site 8, all 12; spread, 12 need both sites."""
    rows = [(0, 5, 1), (10, 9, 1), (20, 13, 1)]
    assert begins(rows, [4, 8], scenario="local") == [None, None, None]
    assert begins(rows, [4, 8], scenario="sharing") == [0, None, None]
    assert begins(rows, [4, 8]) == [0, 10, None]
    assert begins(rows, [4, 8], fragment_limit=at_most(1)) == [0, None, None]


@pytest.mark.parametrize(
    ("selection", "site"), [("best_fit", 1), ("biggest_free", 2), ("equal_util", 0)]
)
def test_selection(selection: str, site: int) -> None:
    """A takes 7 of sites 5, 10 and 6: free are 5, 3 and 6, in use 0, 70 and 0 %."""
    jobs = placed([(0, 7, 9), (0, 3, 9)], [5, 10, 6], scenario="sharing", selection=selection)
    assert jobs["B"] == (0, 9, ((site, 3),))


def test_ties_of_selection_go_to_the_first_site() -> None:
    for selection in ("best_fit", "biggest_free", "equal_util"):
        jobs = placed([(0, 2, 9)], [4, 4], scenario="sharing", selection=selection)
        assert jobs["A"].fragments == ((0, 2),)


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


def test_the_site_reserved_is_the_first_to_be_free() -> None:
    """B ends at 6, A at 10: C reserves site 1, and the long D goes to site 0."""
    rows = [(0, 3, 10), (0, 3, 6), (1, 4, 5), (2, 1, 20)]
    jobs = placed(rows, [4, 4], scenario="sharing")
    assert jobs["C"] == (6, 11, ((1, 4),))
    assert jobs["D"] == (2, 22, ((0, 1),))


def test_extra_nodes_are_taken_once() -> None:
    """Of 6, A holds 4 until 10, and B wants 5 then: one is extra, C's; D would be one too many."""
    rows = [(0, 4, 10), (1, 5, 5), (2, 1, 20), (2, 1, 20), (2, 1, 8)]
    for options in ({"scenario": "sharing"}, {"scenario": "local"}, {"scenario": "multi_site"}):
        assert begins(rows, [6], **options) == [0, 10, 2, 15, 2]


def test_spread_over_sites() -> None:
    """Most free nodes first, ties to the first site; half as long again, but not on one site."""
    rows = [(0, 8, 10, 12), (20, 3, 10), (20, 2, 10), (21, 3, 10)]
    assert placed(rows, [2, 4, 3], overhead=0.5) == {
        "A": (0, 15, ((1, 4), (2, 3), (0, 1))),
        "B": (20, 30, ((2, 3),)),
        "C": (20, 30, ((0, 2),)),
        "D": (21, 31, ((1, 3),)),
    }
    one_free_on_each = [(0, 2, 10), (0, 3, 10), (0, 4, 10), (1, 3, 10)]
    jobs = placed(one_free_on_each, [3, 4, 5], overhead=0.5)
    assert jobs["D"] == (1, 16, ((0, 1), (1, 1), (2, 1)))


@pytest.mark.parametrize(
    ("bound", "reading", "start"),
    [(2, "above", 1), (3, "above", 10), (3, "from", 1), (4, "from", 10)],
)
def test_lower_bound(bound: int, reading: str, start: float) -> None:
    """One and two nodes are free for C, which wants 3, until A and B end at 10.

    D is wider than a site: no bound holds it.
    """
    rows = [(0, 3, 10), (0, 2, 10), (1, 3, 10), (50, 8, 10)]
    jobs = placed(rows, [4, 4], overhead=0.5, lower_bound=bound, bound_reading=reading)
    at_once, alone = (1, 16, ((1, 2), (0, 1))), (10, 20, ((0, 3),))
    assert jobs["C"] == (at_once if start == 1 else alone)
    assert jobs["D"] == (50, 65, ((0, 4), (1, 4)))


def test_fragment_limit() -> None:
    """Free are 1, 2 and 2 of 4, 2 and 2 until A ends at 10; B of 4 takes two parts, C of 5 three.

    No job of 5 runs in less than two parts.
    """
    for_four, for_five = [(0, 3, 10), (1, 4, 5)], [(0, 3, 10), (1, 5, 5)]
    assert placed(for_four, [4, 2, 2], fragment_limit=at_most(2))["B"] == (1, 6, ((1, 2), (2, 2)))
    assert placed(for_four, [4, 2, 2], fragment_limit=at_most(1))["B"] == (10, 15, ((0, 4),))
    assert placed(for_five, [4, 2, 2])["B"] == (1, 6, ((1, 2), (2, 2), (0, 1)))
    assert placed(for_five, [4, 2, 2], fragment_limit=at_most(2))["B"] == (10, 15, ((0, 4), (1, 1)))
    assert placed(for_five, [4, 2, 2], fragment_limit=at_most(1))["B"] is None
    by_width = placed(for_four, [4, 2, 2], fragment_limit=lambda width: 1 if width <= 4 else 8)
    assert by_width["B"].start == 10


@pytest.mark.parametrize("reservation", ["easy", "none"])
@pytest.mark.parametrize(("estimate", "start"), [(5, 5), (6, 0), (20, 0)])
def test_adaptive(estimate: float, start: float, reservation: str) -> None:
    """C of 3 would end at 15 if spread now, at ``estimate`` + 10 on the site of B alone.

    B ends at 5 in any case: the estimates decide, and where both are 15 C waits.
    """
    rows = [(0, 3, 10, 30), (0, 2, 5, estimate), (0, 3, 10)]
    jobs = placed(rows, [4, 4], overhead=0.5, adaptive=True, reservation=reservation)
    assert jobs["C"] == ((5, 15, ((1, 3),)) if start else (0, 15, ((1, 2), (0, 1))))


def test_a_job_that_waits_by_choice() -> None:
    """C of 5 has 3 and 2 free nodes of 6 and 6. It waits for site 1, where B ends at 5 (15 = 15).

    Without a reservation D takes the two nodes of site 1: at 5 there are 3 and 4, none of 6 before
    30, and C is spread after all. EASY holds site 1 for C but for one node: D goes to site 0.
    """
    rows = [(0, 3, 30), (0, 4, 5), (0, 5, 10), (1, 2, 30)]
    jobs = placed(rows, [6, 6], overhead=0.5, adaptive=True, reservation="none")
    assert jobs["D"] == (1, 31, ((1, 2),))
    assert jobs["C"] == (5, 20, ((1, 4), (0, 1)))
    jobs = placed(rows, [6, 6], overhead=0.5, adaptive=True, reservation="easy")
    assert jobs["C"] == (5, 15, ((1, 5),))
    assert jobs["D"] == (1, 31, ((0, 2),))


@pytest.mark.parametrize(("booked", "start"), [(True, 2), (False, 30)])
def test_booked_overhead(booked: bool, start: float) -> None:
    """A is spread and runs until 20, B of all nodes waits for it. C of 10 ends before, or not.

    Without the overhead A's end is expected at 10, where no node is extra.
    """
    rows = [(0, 4, 10), (1, 6, 5), (2, 1, 10)]
    jobs = placed(rows, [3, 3], overhead=1, booked_overhead=booked)
    assert jobs["A"] == (0, 20, ((0, 3), (1, 1)))
    assert jobs["B"] == (20, 30, ((0, 3), (1, 3)))
    assert jobs["C"].start == start


@pytest.mark.parametrize(("estimate", "start"), [(4, 1), (5, 20)])
def test_a_part_on_the_reserved_site(estimate: float, start: float) -> None:
    """D may not be spread: it reserves site 0, where B alone runs on after 10. One node is extra.

    E would have two nodes of each site and run twice as long: it must be over by 10.

    site 0 (6) |AAAAAAAAAADDDDDDDDDD              site 1 (6) |CCCCCCCCCCCCCCCCCCCC
               |AAAAAAAAAADDDDDDDDDD                         |CCCCCCCCCCCCCCCCCCCC
               |BBBBBBBBBBBBBBBBBBBBBBBBBBBBBB               |CCCCCCCCCCCCCCCCCCCC
               |BBBBBBBBBBBBBBBBBBBBBBBBBBBBBB               |CCCCCCCCCCCCCCCCCCCC
               |EEEEEEEE  DDDDDDDDDD                         |EEEEEEEE
               |EEEEEEEE                                    |EEEEEEEE
    """
    rows = [(0, 2, 10), (0, 2, 30), (0, 4, 20), (1, 3, 10), (1, 4, estimate)]
    jobs = placed(rows, [6, 6], overhead=1, lower_bound=3)
    assert [job.fragments[0][0] for job in jobs.values()][:3] == [0, 0, 1]
    assert jobs["D"] == (10, 20, ((0, 3),))
    spread = (1, 9, ((0, 2), (1, 2)))
    assert jobs["E"] == (spread if start == 1 else (20, 25, ((0, 4),)))


def test_pooled_reservation() -> None:
    """B of 5 needs both sites of 3, from 10 on; one node of all is extra, and C takes it."""
    rows = [(0, 4, 10), (1, 5, 5), (1, 1, 50), (1, 1, 50)]
    assert placed(rows, [3, 3]) == {
        "A": (0, 10, ((0, 3), (1, 1))),
        "B": (10, 15, ((0, 3), (1, 2))),
        "C": (1, 51, ((1, 1),)),
        "D": (15, 65, ((1, 1),)),
    }


rows_of = st.lists(
    st.tuples(
        st.integers(0, 30), st.integers(1, 9), st.integers(1, 12), st.integers(1, 20), st.just(0)
    ),
    max_size=14,
)


@given(rows_of, st.data())
def test_what_holds_for_all(rows: list[Row], data: st.DataObject) -> None:
    """No site is overfull; a job is on one site or is stretched; the rules of spreading hold."""
    sites = [4, 3, 1]
    options = Options(
        scenario=data.draw(st.sampled_from(["local", "sharing", "multi_site"])),
        selection=data.draw(st.sampled_from(["best_fit", "biggest_free", "equal_util"])),
        reservation=data.draw(st.sampled_from(["easy", "none"])),
        overhead=data.draw(st.sampled_from([0, 0.5, 3])),
        lower_bound=data.draw(st.integers(0, 4)),
        bound_reading=data.draw(st.sampled_from(["above", "from"])),
        fragment_limit=data.draw(st.sampled_from([None, at_most(2)])),
        adaptive=data.draw(st.booleans()),
        booked_overhead=data.draw(st.booleans()),
    )
    jobs = grid_jobs(rows)
    ran: list[Placed] = []
    schedule_of_all = schedule(jobs, sites, options)
    for job in jobs:
        at = schedule_of_all[job.id]
        assert (at is None) == (
            job.size > {"local": 4, "sharing": 4, "multi_site": 8}[options.scenario]
            or (options.fragment_limit is not None and job.size == 8)
        )
        if at is None:
            continue
        ran.append(at)
        spread = len(at.fragments) > 1
        stretch = 1 + options.overhead if spread else 1
        assert at.start >= job.submit
        assert at.end == at.start + job.run_time * stretch
        assert sum(nodes for _, nodes in at.fragments) == job.size
        assert len(at.fragments) <= (2 if options.fragment_limit else 3)
        bound = options.lower_bound + (options.bound_reading == "above")
        assert not spread or job.size > 4 or job.size >= bound
    for one in ran:
        for site, size in enumerate(sites):
            together = [job for job in ran if job.start <= one.start < job.end]
            assert sum(dict(job.fragments).get(site, 0) for job in together) <= size


@given(rows_of)
def test_one_site_is_easy(rows: list[Row]) -> None:
    """Runs are cut at the estimate, as a batch system does."""
    jobs = [job._replace(run_time=min(job.run_time, job.estimate)) for job in grid_jobs(rows)]
    drawn = [DrawnJob(job.submit, job.size, job.run_time, job.estimate) for job in jobs]
    easy = starts(run(workload(drawn, 7), Easy()))
    for scenario in ("local", "sharing", "multi_site"):
        twin = schedule(jobs, [7], replace(Options(), scenario=scenario))
        assert [at and at.start for at in (twin[job.id] for job in jobs)] == easy


@given(rows_of)
def test_without_overhead_sites_do_not_matter(rows: list[Row]) -> None:
    """Spread for nothing and without a reservation, jobs start as on one machine of all nodes."""
    one_site = begins(rows, [9], reservation="none")
    assert begins(rows, [4, 3, 2], reservation="none") == one_site
    assert begins(rows, [6, 3], reservation="none") == one_site
