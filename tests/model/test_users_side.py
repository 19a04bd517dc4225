"""Users who withdraw, depend and look: small schedules by hand, under each driver."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from batsched_py import (
    Job,
    Machine,
    Start,
    StartedJob,
    Withdraw,
    WorkloadJob,
)
from batsched_py.decision_process import DecisionProcess
from batsched_py.errors import BudgetError, InvariantError
from batsched_py.model.decisions import Decision, Kill
from batsched_py.model.job import RUNNING
from batsched_py.model.queue import WaitingQueue
from batsched_py.model.system import System
from batsched_py.options.budgets import Budgets
from batsched_py.schedulers.conservative import Conservative
from batsched_py.schedulers.easy import Easy
from batsched_py.schedulers.fcfs import Fcfs
from batsched_py.simulator.direct import DirectSimulation
from batsched_py.simulator.engine import Options, Simulator
from batsched_py.simulator.platform.hosts import make_homogeneous
from helpers.scripted_users import Scripted, job


class Noting:
    """Starts what fits in order of submission, and notes all that it learns."""

    def __init__(self) -> None:
        self.learned: list[tuple[float, str, str]] = []

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        self.learned.append((now, "", "pass"))
        for waiting in queue:
            if waiting.size <= machine.free:
                yield Start(waiting)

    def job_started(self, now: float, job: Job) -> None:
        assert job.state is RUNNING
        self.learned.append((now, job.id, "started"))

    def job_ended(self, now: float, job: Job) -> None:
        self.learned.append((now, job.id, "ended"))

    def job_withdrawn(self, now: float, job: Job) -> None:
        self.learned.append((now, job.id, "withdrawn"))


Run = Callable[..., System]


def directly(users: Scripted, policy: Any, nodes: int = 4, **options: Any) -> System:
    system = DirectSimulation(policy, users, **options)
    system.run(make_homogeneous(nodes), None)
    return system


def by_messages(users: Scripted, policy: Any, nodes: int = 4, **options: Any) -> System:
    system = DecisionProcess(policy, users, **options)
    simulator = Simulator(
        make_homogeneous(nodes), [], Options(dynamic_jobs=True, profile_reuse=True)
    )
    simulator.run(system.answer)
    return system


@pytest.fixture(params=[directly, by_messages])
def run(request: pytest.FixtureRequest) -> Run:
    return request.param  # type: ignore[no-any-return]


def test_a_withdrawn_job_leaves_the_queue(run: Run) -> None:
    """A runs until 10; B needs all processors and is withdrawn at 4: C, behind it, then starts."""
    users = Scripted((0, job("A", 3)), (1, job("B", 4)), (2, job("C", 1)), (4, Withdraw("B")))
    system = run(users, Fcfs())
    assert users.learned == [
        (0, "A", "started"),
        (4, "B", "WITHDRAWN"),
        (4, "C", "started"),
        (10, "A", "COMPLETED_SUCCESSFULLY"),
        (14, "C", "COMPLETED_SUCCESSFULLY"),
    ]
    withdrawn = users.ended["B"]
    assert (withdrawn.start_time, withdrawn.finish_time, withdrawn.waited) == (None, 4, 3)
    assert withdrawn.turnaround_time is None
    assert (system.nb_withdrawn, system.nb_too_late) == (1, 0)


def test_the_withdrawal_wins_at_the_instant_of_the_start(run: Run) -> None:
    """A ends at 10, when B could start: its user withdraws it before the policy decides."""
    users = Scripted((0, job("A", 4)), (1, job("B", 4)), (10, Withdraw("B")))
    run(users, Fcfs())
    assert users.learned[-1] == (10, "B", "WITHDRAWN")


def test_a_job_withdrawn_at_its_submission_never_waits(run: Run) -> None:
    users = Scripted((0, job("A", 4)), (3, job("B", 1)), (3, Withdraw("B")))
    run(users, Fcfs())
    assert (3, "B", "WITHDRAWN") in users.learned
    assert users.ended["B"].waited == 0


def test_a_withdrawal_after_the_start_or_the_end_comes_too_late(run: Run) -> None:
    users = Scripted((0, job("A")), (5, Withdraw("A")), (11, Withdraw("A", kill=True)))
    system = run(users, Fcfs())
    assert users.learned[-1] == (10, "A", "COMPLETED_SUCCESSFULLY")
    assert (system.nb_withdrawn, system.nb_too_late) == (0, 2)


def test_a_job_that_runs_may_be_killed(run: Run) -> None:
    users = Scripted((0, job("A")), (5, Withdraw("A", kill=True)), (5, Withdraw("A", kill=True)))
    system = run(users, Fcfs())
    assert users.learned[-1] == (5, "A", "COMPLETED_KILLED")
    assert system.nb_too_late == 0


def test_withdrawing_a_reserved_head_frees_its_reservation(run: Run) -> None:
    """EASY reserves for B, so that C (20 s) must wait for A; without B it starts at once."""
    users = Scripted((0, job("A", 3)), (1, job("B", 4)), (2, job("C", 1, 20)), (5, Withdraw("B")))
    run(users, Easy())
    assert users.ended["C"].start_time == 5


def test_withdrawing_a_planned_job_lets_the_others_move_up(run: Run) -> None:
    """Conservative plans B at 11 and C behind it at 22: without B, C starts when A ends."""
    users = Scripted((0, job("A", 4)), (1, job("B", 4)), (2, job("C", 4)), (5, Withdraw("B")))
    run(users, Conservative())
    assert users.ended["C"].start_time == 10


def test_a_policy_learns_in_the_order_of_events(run: Run) -> None:
    """At 10: the end, the withdrawal, then the pass."""
    policy = Noting()
    users = Scripted((0, job("A", 4)), (1, job("B", 4)), (1, job("C", 4)), (10, Withdraw("B")))
    run(users, policy)
    assert [each for each in policy.learned if each[0] == 10] == [
        (10, "dyn!A", "ended"),
        (10, "dyn!B", "withdrawn"),
        (10, "", "pass"),
        (10, "dyn!C", "started"),
    ]


def test_users_react_to_starts_at_the_same_instant(run: Run) -> None:
    """Twins: when the first starts, its user withdraws the other."""

    class Twins(Scripted):
        def job_started(self, now: float, job: StartedJob) -> None:
            super().job_started(now, job)
            if job.id == "B1":
                self._acts.append((now, Withdraw("B2")))

    users = Twins((0, job("A", 4)), (1, job("B1", 3)), (1, job("B2", 3)))
    run(users, Fcfs())
    assert (10, "B2", "WITHDRAWN") in users.learned


def test_a_job_waits_until_the_jobs_before_it_end_well(run: Run) -> None:
    """B waits for A though it fits; the policy does not see it before, and its wait counts."""
    policy = Noting()
    users = Scripted((0, job("A", 1)), (2, job("B", 1, after=("A",))), (11, job("C", after=("A",))))
    run(users, policy)
    assert (users.ended["B"].submit_time, users.ended["B"].start_time) == (2, 10)
    assert users.ended["B"].waited == 8
    assert users.ended["C"].start_time == 11


def test_jobs_that_depend_on_a_withdrawn_job_are_withdrawn_too(run: Run) -> None:
    users = Scripted(
        (0, job("A", 4)),
        (1, job("B", 1)),
        (1, job("C", 1, after=("B",))),
        (1, job("D", 1, after=("C", "A"))),
        (4, Withdraw("B")),
        (6, job("E", after=("D",))),
    )
    system = run(users, Fcfs())
    withdrawn = [(now, name) for now, name, state in users.learned if state == "WITHDRAWN"]
    assert withdrawn == [(4, "B"), (4, "C"), (4, "D"), (6, "E")]
    assert system.nb_withdrawn == 4


def test_jobs_that_depend_on_a_killed_job_are_withdrawn(run: Run) -> None:
    users = Scripted((0, job("A", walltime=5.0)), (1, job("B", after=("A",))))
    run(users, Fcfs())
    assert users.learned[-1] == (5, "B", "WITHDRAWN")


def test_a_long_chain_of_dependents_is_withdrawn(run: Run) -> None:
    chain = [job(f"{n}", after=(f"{n - 1}",)) for n in range(1, 2000)]
    users = Scripted(
        (0, job("A", 4)), (1, job("0")), *((1, each) for each in chain), (2, Withdraw("0"))
    )
    assert run(users, Fcfs()).nb_withdrawn == 2000


def test_a_held_job_may_be_withdrawn(run: Run) -> None:
    policy = Noting()
    users = Scripted((0, job("A")), (1, job("B", after=("A",))), (2, Withdraw("B")))
    run(users, policy)
    assert (2, "B", "WITHDRAWN") in users.learned
    assert not [each for each in policy.learned if each[1] == "dyn!B"]


def test_policies_see_deadlines(run: Run) -> None:
    seen = []

    class Looking(Noting):
        def job_started(self, now: float, job: Job) -> None:
            seen.append(job.extra["deadline"])

    run(Scripted((0, job("A", deadline=50.0))), Looking())
    assert seen == [50.0]


def test_users_see_their_jobs_and_the_queue(run: Run) -> None:
    """At 5: A runs, B is the head with a reservation at 11, C of another user is behind it."""

    class Looking(Scripted):
        def jobs_to_submit(self, now: float) -> Iterator[WorkloadJob | Withdraw]:
            yield from super().jobs_to_submit(now)
            if now == 5:
                assert self.site is not None
                assert self.site.now == 5
                own = self.site.own_jobs("ann")
                seen.append([(each.submitted.id, each.start_time) for each in own])
                seen.append(tuple(self.site.waiting()))
                seen.append([self.site.expected_start(name) for name in "ABCDE"])

    seen: list[Any] = []
    users = Looking(
        (0, job("A", 3)),
        (1, job("B", 4)),
        (2, job("C", 2, user="bob")),
        (3, job("D", after=("A",))),
        (5, job("E", 4)),  # which is not submitted yet when they look
    )
    run(users, Easy())
    assert seen == [
        [("A", 0), ("B", None), ("D", None)],
        (3, 4 * 11 + 2 * 11 + 11),
        [None, 11, None, None, None],
    ]


@pytest.mark.parametrize(
    ("acts", "message"),
    [
        ([(0, Withdraw("A"))], "withdrew job 'A' at 0.0: expected the id of a job"),
        ([(0, job("B", after=("A",)))], "submitted job B after job A, which it has not submitted"),
        ([(0, job("B", after=("B",)))], "submitted job B after job B, which it has not submitted"),
        ([(0, job("B", after="A"))], "submitted job B with after = 'A': expected the ids of jobs"),
        ([(0, "A")], "submitted 'A' at 0.0: expected a WorkloadJob"),
    ],
)
def test_mistakes_of_users_are_named(run: Run, acts: list[Any], message: str) -> None:
    users = Scripted()
    users._acts, users.profiles = [*acts], {"10": {"type": "delay", "delay": 10.0}}
    with pytest.raises(InvariantError, match="Scripted " + message.replace("'", ".")):
        run(users, Fcfs())


def test_endless_withdrawals_end(run: Run) -> None:
    class Endless(Scripted):
        def jobs_to_submit(self, now: float) -> Iterable[WorkloadJob | Withdraw]:  # type: ignore[override]
            yield from super().jobs_to_submit(now)
            while True:
                yield Withdraw("A")

    with pytest.raises(BudgetError, match="at this instant"):
        run(Endless((0, job("A"))), Fcfs(), budgets=Budgets(jobs_at_once=100))


def test_endless_withdrawals_one_at_a_time_end(run: Run) -> None:
    class Endless(Scripted):
        def next_submission(self) -> float:
            return 0.0

        def jobs_to_submit(self, now: float) -> Iterable[WorkloadJob | Withdraw]:  # type: ignore[override]
            return list(super().jobs_to_submit(now)) or [Withdraw("A")]

    with pytest.raises(BudgetError, match="submitted or withdrawn 101 jobs at this instant"):
        run(Endless((0, job("A"))), Fcfs(), budgets=Budgets(jobs_at_once=100))


def test_withdrawals_do_not_count_as_submitted_jobs(run: Run) -> None:
    users = Scripted((0, job("A")), *((0, Withdraw("A")) for _ in range(9)))
    assert run(users, Fcfs(), budgets=Budgets(jobs=1)).nb_too_late == 8


def test_jobs_of_one_instant_stay_behind_those_that_they_depend_on_when_shaken(run: Run) -> None:
    chain = [(0, job(f"{n}", after=(f"{n - 1}",) if n else ())) for n in range(9)]
    users = Scripted(*chain)
    run(users, Fcfs(), shake=1)
    assert users.ended["8"].start_time == 80


def test_a_job_that_depends_on_two_withdrawn_jobs_is_withdrawn_once(run: Run) -> None:
    """A diamond: B and C depend on A, D on both and on A."""
    users = Scripted(
        (0, job("Z", 4)),
        (1, job("A")),
        (1, job("B", after=("A",))),
        (1, job("C", after=("A",))),
        (1, job("D", after=("B", "C", "A"))),
        (2, Withdraw("A")),
    )
    assert run(users, Fcfs()).nb_withdrawn == 4
    assert [name for _, name, state in users.learned if state == "WITHDRAWN"] == [*"ABCD"]


def test_a_job_that_depends_on_two_jobs_of_which_one_is_killed(run: Run) -> None:
    """C depends on A, which is killed at 5, and on B, which depends on A too."""
    users = Scripted(
        (0, job("A", walltime=5.0)), (1, job("B", after=("A",))), (1, job("C", after=("A", "B")))
    )
    assert run(users, Fcfs()).nb_withdrawn == 2


def test_dependents_learn_after_all_ends_of_an_instant(run: Run) -> None:
    """A is killed as C ends well: B, which depends on A, is withdrawn after both."""
    users = Scripted((0, job("A", walltime=5.0)), (0, job("C", run=5)), (1, job("B", after=("A",))))
    run(users, Fcfs())
    assert [(now, name) for now, name, state in users.learned if state != "started"] == [
        *((5, "A"), (5, "C"), (5, "B"))
    ]


def test_users_and_a_policy_may_kill_the_same_job(run: Run) -> None:
    class Killing(Noting):
        def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
            yield from super().schedule(now, queue, machine)
            for running in machine.releases():
                if now == 5:
                    yield Kill(running)

    users = Scripted((0, job("A")), (5, Withdraw("A", kill=True)))
    run(users, Killing())
    assert users.learned[-1] == (5, "A", "COMPLETED_KILLED")
