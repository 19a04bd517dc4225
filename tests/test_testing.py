"""Drawn schedules: read, run, drawn again, and what is said when they differ."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py import Decision, Machine, Start, WaitingQueue, testing
from batsched_py.errors import UsageError
from batsched_py.schedulers.easy import Easy
from batsched_py.schedulers.fcfs import Fcfs
from batsched_py.schedulers.planning.planning_policy import Planning
from batsched_py.testing import (
    DrawnJob,
    assert_drawing,
    check_machine,
    drawing,
    run,
    starts,
    workload,
)
from batsched_py.workload.grid_sites import GridSites

EASY = """
          |0         10        20
    A   3 |##########
    B   4 | .........#####
    C   1 |  ########
    D   1 |  .............###--
    Eve 9 |   x
"""


def test_all_signs() -> None:
    assert_drawing(Easy(), EASY, processors=4)
    assert_drawing(Easy(), "A 2 |##~\nB 2 |..#~", processors=3)
    assert_drawing(
        Planning(limits=[{"max_size": 1}]),
        "A 2 | x\nB 1 |#",
        processors=4,
        seconds_per_column=1800.5,
    )


class Abroad:
    """Everybody runs on the last site, which takes them half as long again."""

    def dilates(self, sites: GridSites) -> bool:
        return True

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        site = machine.sites[-1]
        while (job := queue.head) and job.size <= site.free:
            yield Start(job, site.free_processors.lowest(job.size), 1.5)


def test_a_machine_of_sites() -> None:
    """Each job is there once, by its own name, as long as it really ran."""
    jobs = workload([DrawnJob(0, 2, 10, home="west"), DrawnJob(1, 2, 4)], 6, names=["A", "B"])
    outcome = run(jobs, Abroad(), sites="west:4,east:2@0.5")
    assert starts(outcome) == [0, 15]
    check_machine(outcome)
    assert drawing(outcome) == "A 2 |###############\nB 2 | ..............######"
    homes = {job.description.extra["home"] for job in outcome.jobs if "A" in job.description.id}
    assert homes == {"west"}
    with pytest.raises(UsageError, match="profile"):
        workload([DrawnJob(0, 1, 1)], 1, "parallel_homogeneous_total")
    with pytest.raises(UsageError, match="4x2: 8"):
        run(jobs, Abroad(), sites="4x2")


def test_what_is_said_of_another_schedule() -> None:
    with pytest.raises(AssertionError) as raised:
        assert_drawing(Fcfs(), EASY, processors=4)
    expected = dedent(EASY).strip("\n").rstrip()
    scale = expected.splitlines()[0]
    assert str(raised.value) == (
        f"Fcfs gives another schedule on 4 processors\nexpected:\n{expected}\ngot:\n{scale}\n"
        "A   3 |##########\n"
        "B   4 | .........#####\n"
        "C   1 |  .............########\n"
        "D   1 |  .............###--\n"
        "Eve 9 |   x\n"
        "C starts at 15 s, expected: starts at 2 s"
    )


def test_a_rejection_that_was_not_drawn() -> None:
    assert_drawing(Fcfs(), "A 1 |###\nB 1 |...#", processors=1)
    with pytest.raises(AssertionError, match="B is rejected"):
        assert_drawing(Fcfs(), "A 1 |###\nB 2 |...#", processors=1)


def test_both_drawings_have_their_rows_in_the_same_order() -> None:
    with pytest.raises(AssertionError) as raised:
        assert_drawing(Fcfs(), "B 1 |##\nA 1 |#", processors=1)
    first_letters = [line[0] for line in str(raised.value).splitlines()[2:7]]
    assert first_letters == ["B", "A", "g", "B", "A"]


LEAVES = """
      |0         10        20
    A 3 |##########
    B 4 | .....w#####
    C 1 |  ....########
    D 1 |   .......##
    E 4 |            w
"""


def test_users_who_withdraw_jobs() -> None:
    """B leaves at 6 s, which lets C start; E leaves at once, before the policy sees it."""
    assert_drawing(Fcfs(), LEAVES, processors=4)
    assert_drawing(Easy(), LEAVES.replace("....########", "########"), processors=4)


def test_a_withdrawal_that_comes_too_late() -> None:
    with pytest.raises(AssertionError, match="B starts at 4 s, expected: is withdrawn at 5 s"):
        assert_drawing(Fcfs(), "A 1 |####\nB 1 |.....w##", processors=1)
    with pytest.raises(AssertionError) as raised:
        assert_drawing(Fcfs(), "A 1 |####\nB 1 |..w\nC 1 |   #", processors=1)
    assert str(raised.value).endswith(
        "A 1 |####\nB 1 |..w\nC 1 |   .#\nC starts at 4 s, expected: starts at 3 s"
    )


SLEEPS = """
    A 1 |####
    B 2 |         ...##
    @0  |    szzzzsss
    @1  |szzzzzzzzsss
    @2  |szzzzzzzzzzzzz
"""


def test_processors_that_sleep() -> None:
    """The drawing of the docstring; one processor is drawn wrong, and one that never sleeps."""
    options = {"power": "off_seconds=1,on_seconds=3", "shutdown": "idle_time=0"}
    assert_drawing(Fcfs(), SLEEPS, processors=3, **options)
    assert SLEEPS in (testing.__doc__ or "")
    with pytest.raises(AssertionError) as raised:
        assert_drawing(
            Fcfs(), SLEEPS.replace("szzzzs", " szzzs") + "@3 |z", processors=3, **options
        )
    shown = dedent(SLEEPS).strip("\n")
    assert str(raised.value).endswith(
        f"got:\n{shown}\n@0 is '    szzzzsss', expected: '     szzzsss'\n@3 is '', expected: 'z'"
    )


@pytest.mark.parametrize(
    "row", ["A |##", "A 1 ##", "A 1 |# #", "A 1 |", "A 1 |#..", "A 1 |x#", "", "|0  5"]
)
def test_texts_that_are_not_drawings(row: str) -> None:
    with pytest.raises(UsageError, match="drawing"):
        assert_drawing(Fcfs(), row, processors=1)


@given(
    st.lists(
        st.builds(
            lambda submit, size, run, more: DrawnJob(submit, size, run, run + more),
            st.integers(0, 30),
            st.integers(1, 5),
            st.integers(1, 9),
            st.integers(0, 5),
        ),
        min_size=1,
        max_size=12,
    )
)
def test_what_is_drawn_can_be_read(jobs: list[DrawnJob]) -> None:
    """A job that is rejected at once is drawn without its run time."""
    drawn = drawing(run(workload(jobs, 4), Easy()))
    assert_drawing(Easy(), drawn, processors=4)
