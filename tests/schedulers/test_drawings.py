"""Policies on schedules that can be drawn by hand; see batsched_py.testing for the drawings."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

import pytest

from batsched_py.model.policy import Scheduler
from batsched_py.schedulers.conservative import Conservative
from batsched_py.schedulers.conservative_streit import ConservativeOfStreit
from batsched_py.schedulers.easy import Easy
from batsched_py.schedulers.easy_fast import EasyFast
from batsched_py.schedulers.easy_fixed import EasyFixed
from batsched_py.schedulers.fcfs import Fcfs
from batsched_py.schedulers.filler import Filler
from batsched_py.schedulers.list_scheduling import ListScheduling
from batsched_py.schedulers.slack import Slack
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import assert_drawing, run, starts, workload

# Policy, processors, and what it shows
DRAWINGS = """
easy 4: a short job behind a blocked head: EASY lets it end before the head's reservation
A 3 |##########
B 4 | .........#####
C 1 |  ########

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

fewer_extra 4: without extra nodes (what Streit calls conservative) a long job waits for the head
A 3 |##########
B 3 | .........#####
C 1 |  ........####################
D 1 |   #######

fixed 4: the early end at 4 lets the head start, as it would under EASY
A 4 |####------
B 4 | ...#####

fixed 4: the head was promised 30; after the early end at 4 it could start at 10, but the promise
stays, and a job until 25 goes before it
A 2 |####--------------------------
B 1 |##########
C 4 | ........................#####
D 1 |     ####################

slack 4: the head (30 s, promised 10) may be delayed by half of that to 25, once: nothing that
ends later may start, neither at first nor after the delay
A 3 |##########
B 4 | ........................##############################
C 1 |  #######################
D 1 |           ##############
E 1 |           ............................................###############

no_slack 4: the head is never delayed
A 3 |##########
B 4 | .........##############################
C 1 |  ......................................#######################
D 1 |  ########

filler 4: whatever fits, in queue order; the wide job starves
A 3 |##########
B 4 | .......................................#####
C 1 |  ##############################
D 3 |          ##############################

one 5: one backfilled job a pass: D fits at 2 as well, and starts in the pass in which C ends
A 3 |##########
B 5 | .........#####
C 1 |  ####
D 1 |  ....####

at_ends 6: D and E fit at 2, and are backfilled when B ends
A 3 |##########
B 1 |#####
C 6 | .........#####
D 1 |  ...####
E 1 |  ...####

at_ends 5: an end while no job waits counts for its own pass only
A 3 |##########
B 1 |###
C 5 |    ......#####
D 1 |     ..........####

front 4: the shortest does not fit, so nobody starts
A 3 |##########
B 4 | .........#####
C 1 |  .............####################

best_fit 4: it takes what leaves the fewest processors free
A 4 |##########
B 2 | ..............#####
C 3 | .........#####
D 1 | .........#####

next_fit 4: B was taken last, so the places behind it come first, and then the front again: at
10 it is E before C; first fit would take C, which is before it
A 4 |##########
B 1 | .........#####
C 4 | ...................#####
D 2 | .........##########
E 1 | .........#####

next_fit 2: what was taken last has left the queue, and keeps its place: at 5 the search goes on
behind B, at 10 it is through and begins at the front
A 1 |##########
B 1 |#####
C 2 | ..............#####
D 1 |  ...#####
E 1 |   .......#####

nfiw 4: narrow to wide, and on from there: A was taken behind B, so at 9 D, as wide, is before C and
F, which are narrower; then the front comes, and F is behind C
A 3 |#########
B 1 |#########
C 1 | ........#####
D 3 | ........#####
E 4 |  .................#####
F 1 |   ...........#####

ffia 4: the smallest area first
A 4 |##########
B 4 | ..................#####
C 2 | .........#########

wfp3 4: what was waited for the estimate counts cubed, the size once
A 4 |##########
B 4 | .............##########
C 1 |  ........####

wfp3 4: of jobs that waited as long for their estimates, the wider is first
A 4 |##########
B 2 | ..............#####
C 4 | .........#####

unicep 4: one processor first, then the largest of wait / (log2(size) x estimate): C has 1, B 0.9
A 4 |##########
B 4 | ...................#####
C 2 |  ........########
D 1 |   .......##########

conservative 4: not only the first of the queue is protected: EASY would start the last job at 3
A 3 |##########
B 2 | .........#####
C 4 |  .............#####
D 1 |   .................#############

conservative 4: holes between reservations are used
A 4 |##########
B 3 | .........##########
C 4 |  ..................#####
D 1 |   .......##########

conservative 4: an early end: reservations are made anew one by one, in the order of the queue
A 4 |####------
B 4 | ...#####
C 4 |  .......#####

easy 5: B and C end together by their walltimes, and the smaller one counts first, so that both
must end before D fits: E has an extra node
A 5 | #######
B 2 | .......##
C 1 |  ......#-
D 4 |   .......###
E 1 |   .....########

fast 5: of the two, the one that started first counts first, and D fits without C: there is no
extra node until C ends early, which renews the reservation
A 5 | #######
B 2 | .......##
C 1 |  ......#-
D 4 |   .......###
E 1 |   ......########

fixed 5: there is no extra node at any time
A 5 | #######
B 2 | .......##
C 1 |  ......#-
D 4 |   .......###
E 1 |   .......########

conservative 2: a job wider than the machine is rejected, and nothing is reserved twice after it
A 3 |x
B 2 | #####
C 2 |  ....####
D 2 |   .......#
E 1 |    .......#
"""
POLICIES: dict[str, list[Callable[[], Scheduler]]] = {
    "both": [Easy, Fcfs],
    "conservative": [Conservative],
    "fcfs": [Fcfs],
    "fewer_extra": [ConservativeOfStreit],
    "fast": [EasyFast],
    "fixed": [EasyFixed],
    "easy": [Easy],
    "one": [partial(Easy, backfill="one")],
    "at_ends": [partial(Easy, backfill="at_ends")],
    "slack": [Slack],
    "no_slack": [partial(Slack, slack=0)],
    "filler": [Filler],
    "front": [partial(ListScheduling, order="sjf")],
    "best_fit": [partial(ListScheduling, take="best_fit")],
    "next_fit": [partial(ListScheduling, take="next_fit")],
    "nfiw": [partial(ListScheduling, order="narrowest", take="next_fit")],
    "ffia": [partial(ListScheduling, order="ffia")],
    "wfp3": [partial(ListScheduling, order="wfp3")],
    "unicep": [partial(ListScheduling, order="unicep")],
}


@pytest.mark.parametrize("case", DRAWINGS.strip().split("\n\n"), ids=lambda case: case[:60])
def test_by_hand(case: str) -> None:
    title, drawing = re.split(r"\n(?=\w+ \d+ \|)", case, maxsplit=1)
    policies, processors = title.partition(":")[0].split()
    for policy in POLICIES[policies]:
        assert_drawing(policy(), drawing, processors=int(processors))


@pytest.mark.parametrize("policy", [Conservative, Easy, Fcfs])
def test_a_job_of_no_length_ends_at_its_own_instant(policy: Callable[[], Scheduler]) -> None:
    assert starts(run(workload([J(0, 2, 0, 5), J(0, 2, 3)], 2), policy())) == [0, 0]


def test_f1_lets_a_shorter_job_overtake_that_is_not_much_later() -> None:
    """B scores 8.0 from 1000 s; C scores 5.9, and 0.4 more for 1 s or 3.8 for 10 s."""
    for submitted, expected in ((1001, [990, 1070, 1040]), (1010, [990, 1040, 1140])):
        load = workload([J(990, 4, 50), J(1000, 4, 100), J(submitted, 4, 30)], 4)
        assert starts(run(load, ListScheduling(order="f1"))) == expected


def test_extra_nodes_of_the_whole_instant() -> None:
    """The walk stops at the job of size 1; the option counts the job of size 2 as well."""
    load = workload([J(0, 1, 10), J(0, 2, 10), J(1, 4, 5), J(2, 2, 100), J(2, 3, 100)], 6)
    assert starts(run(load, Easy())) == [0, 0, 10, 10, 15]
    assert starts(run(load, Easy(extra_nodes="instant"))) == [0, 0, 10, 2, 15]
