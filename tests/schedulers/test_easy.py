"""FCFS and EASY on schedules that can be drawn by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.model.policy import Scheduler
from batsched_py.schedulers.easy import Easy
from batsched_py.schedulers.fcfs import Fcfs
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import assert_drawing, check_machine, run, starts, workload
from helpers.drawn_cases import DrawnCase, drawn_cases

# Policy, processors, and what it shows; see batsched_py.testing for the drawings.
DRAWINGS = """
both 4: an empty machine starts a job at once
A 4 |   ##########

both 4: jobs that fit together start together
A 2 |##########
B 2 |#####

both 4: the head waits until enough is free
A 3 |##########
B 2 | .........#####

easy 4: a short job behind a blocked head: EASY lets it end before the head's reservation
A 3 |##########
B 4 | .........#####
C 1 |  ########

fcfs 4: nobody overtakes, short as it may be
A 3 |##########
B 4 | .........#####
C 1 |  .............########

easy 4: a job that ends exactly at the shadow time does not delay the head
A 3 |##########
B 4 | .........#####
C 1 |  ########
D 1 |  .............########

both 4: one second too long, it would delay the head and waits
A 3 |##########
B 4 | .........#####
C 1 |  .............#########

easy 4: a long job may use extra nodes, those the head will not need
A 3 |##########
B 3 | .........#####
C 1 |  ####################

easy 5: a second long job finds the extra nodes taken, though a node is free
A 3 |##########
B 4 | .........#####
C 1 |  ####################
D 1 |  .............####################

fcfs 5: nodes stay free for those behind the head until it has started
A 3 |##########
B 4 | .........#####
C 1 |  ........####################
D 1 |  .............####################

easy 6: a backfilled job that ends by the shadow time leaves the extra nodes to others
A 4 |##########
B 5 | .........#####
C 1 |  ########
D 1 |  ####################

both 6: only the walk up to the first sufficient release counts: of two jobs that end together the
smaller comes first, and what the other frees is no extra node
A 1 |##########
B 2 |##########
C 4 | .........#####
D 2 |  ........####################
E 3 |  .............####################

both 4: an early end moves the head forward; the plan was by walltime, the run was shorter
A 4 |###-------
B 4 | ..#####
C 1 | .......#

both 2: a job wider than the machine is rejected
A 3 |x
B 2 | #####

easy 5: without walltimes nothing is known of ends: only extra nodes may be used
A 3 |##########~
B 4 | .........#####~
C 1 |  ####################~
D 1 |  .............###~

fcfs 5: without walltimes, all the same
A 3 |##########~
B 4 | .........#####~
C 1 |  ........####################~
D 1 |  .............###~
"""
POLICIES: dict[str, list[type[Scheduler]]] = {"easy": [Easy], "fcfs": [Fcfs], "both": [Easy, Fcfs]}


@pytest.mark.parametrize("case", drawn_cases(DRAWINGS), ids=str)
def test_by_hand(case: DrawnCase) -> None:
    for policy in POLICIES[case.policy]:
        assert_drawing(policy(), case.drawing, processors=case.processors)


def test_a_job_of_no_length_ends_at_its_own_instant() -> None:
    for policy in (Easy(), Fcfs()):
        assert starts(run(workload([J(0, 2, 0, 5), J(0, 2, 3)], 2), policy)) == [0, 0]


def test_extra_nodes_of_the_whole_instant() -> None:
    """The walk stops at the job of size 1; the option counts the job of size 2 as well."""
    load = workload([J(0, 1, 10), J(0, 2, 10), J(1, 4, 5), J(2, 2, 100), J(2, 3, 100)], 6)
    assert starts(run(load, Easy())) == [0, 0, 10, 10, 15]
    assert starts(run(load, Easy(extra_nodes="instant"))) == [0, 0, 10, 2, 15]


jobs_of = st.lists(
    st.builds(
        lambda submit, size, run, more: J(submit, size, run, run + more),
        st.integers(0, 60),
        st.integers(1, 9),
        st.integers(0, 25),
        st.integers(0, 12),
    ),
    max_size=60,
)


@given(jobs_of, st.sampled_from([Easy, Fcfs]), st.one_of(st.none(), st.integers(0, 3)))
def test_no_processor_twice_and_all_jobs_end(
    jobs: list[J], policy: type[Easy] | type[Fcfs], shake: int | None
) -> None:
    outcome = run(workload(jobs, 8), policy(), shake=shake)
    assert len(outcome.jobs) == len(jobs)
    check_machine(outcome)
