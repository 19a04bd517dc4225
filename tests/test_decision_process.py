"""The decision process: passes, users, calls, and the invariants that are always on."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from math import inf, nan
from typing import Any

import pytest

from batsched_py.decision_process import DecisionProcess
from batsched_py.errors import InvariantError, ProtocolError
from batsched_py.model.decisions import CallMeLater, Decision, Reject, Start
from batsched_py.model.job import Job
from batsched_py.model.machine import Machine
from batsched_py.model.queue import WaitingQueue
from batsched_py.model.queue.job_arrays import JobArrays
from batsched_py.model.user_model import EndedJob
from batsched_py.protocol import messages as m
from batsched_py.schedulers.easy import Easy, shadow_time_and_extra_nodes
from batsched_py.schedulers.fcfs import Fcfs
from batsched_py.simulator.engine import Options, Simulator
from batsched_py.simulator.platform.hosts import make_homogeneous
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import run, workload
from batsched_py.workload import WorkloadJob
from batsched_users.models.feedback import ThinkTimeFeedback
from helpers.chain import Chain
from helpers.messages import begins, submitted
from helpers.processors import processors


class Policy:
    """A policy made of a function; it counts its passes."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.passes: list[float] = []

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        self.passes.append(now)
        yield from self.function(now, queue, machine)


def simulate_users(users: Chain, policy: Any, **options: Any) -> Any:
    process = DecisionProcess(policy, users)
    simulator = Simulator(make_homogeneous(4), [], Options(dynamic_jobs=True, **options))
    return simulator.run(process.answer)


@pytest.mark.parametrize(
    "options", [{}, {"profile_reuse": True}, {"acknowledge_dynamic_jobs": True}]
)
def test_users_submit_when_their_jobs_ended(options: dict[str, bool]) -> None:
    """With a fresh profile for each job or a reused one, with or without acknowledgement."""
    users = Chain([1] * 3, 10)
    outcome = simulate_users(users, Fcfs(), **options)
    assert [job.start_time for job in outcome.jobs] == [0, 15, 30]
    assert [job.description.submit_time for job in outcome.jobs] == [0, 15, 30]
    profiles = {job.description.profile for job in outcome.jobs}
    assert len(profiles) == (1 if options.get("profile_reuse") else 3)


def test_users_need_dynamic_jobs() -> None:
    process = DecisionProcess(Fcfs(), Chain([1], 0))
    with pytest.raises(ProtocolError, match="--enable-dynamic-jobs"):
        Simulator(make_homogeneous(4)).run(process.answer)


def no_job(now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Any]:
    yield from [Start(job.id) for job in queue]  # type: ignore[arg-type]


def of_another_machine(now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Any]:
    for job in queue:
        yield Start(job, ["a"])  # type: ignore[list-item]


def new_lambdas(now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Any]:
    for _ in range(99):
        queue.ranked(lambda job: job.size)
    yield Start(next(iter(queue)))


IN_A_GENERATOR: dict[Callable[[float, WaitingQueue, Machine], Iterator[Any]], str] = {
    no_job: r"Start\('w0!0000'\)",
    of_another_machine: r"started on \['a'\]",
    new_lambdas: "a new lambda",
}


@pytest.mark.parametrize("schedule", IN_A_GENERATOR, ids=lambda schedule: str(schedule.__name__))
def test_a_mistake_of_a_policy_has_time_and_line(
    schedule: Callable[[float, WaitingQueue, Machine], Iterator[Any]],
) -> None:
    _, first = inspect.getsourcelines(schedule)
    with pytest.raises(InvariantError, match=IN_A_GENERATOR[schedule]) as seen:
        run(workload([J(7, 3, 5), J(7, 3, 5)], 4), Policy(schedule))
    said = re.match(rf"at 7 \({re.escape(__file__)}:(\d+)\): ", str(seen.value))
    assert said is not None
    assert first < int(said[1]) <= first + 3


def test_what_a_policy_raises_itself_is_kept_with_the_time() -> None:
    def divides(now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Any]:
        yield 1 / len(queue)
        yield 1 / 0

    with pytest.raises(ZeroDivisionError) as seen:
        run(workload([J(7, 3, 5)], 4), Policy(lambda now, *rest: [1 / 0] if now else []))
    assert seen.value.__notes__ == ["at 7"]
    with pytest.raises(InvariantError, match=r"Policy yielded 1\.0"):
        run(workload([J(7, 3, 5)], 4), Policy(divides))


def test_a_forgotten_yield() -> None:
    policy = Policy(None)
    policy.schedule = lambda *_: None  # type: ignore[assignment, method-assign]
    with pytest.raises(InvariantError, match=r"schedule returned None"):
        run(workload([J(7, 3, 5)], 4), policy)


def test_a_mistake_of_users_is_not_told_as_one_of_the_policy() -> None:
    """They learn of a rejection while the policy waits for its turn."""

    class Fragile(ThinkTimeFeedback):
        def job_ended(self, now: float, job: EndedJob, state: str) -> None:
            raise ValueError("of the users")

    def rejects(now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        for job in queue:
            yield Reject(job)

    jobs = workload([J(0, 3, 5, user="1", finish=5)], 4)
    simulator = Simulator(make_homogeneous(4), [], Options(dynamic_jobs=True))
    with pytest.raises(ValueError, match="of the users"):
        simulator.run(DecisionProcess(Policy(rejects), Fragile(jobs)).answer)


class Careless(Chain):
    """Due at no time, or for ever, with something that is no job, or nothing."""

    def __init__(self, due: Any, *submitted: Any) -> None:
        super().__init__([1], 0)
        self.at, self.submitted = due, submitted

    def next_submission(self) -> Any:
        return self.at

    def jobs_to_submit(self, now: float) -> Iterable[WorkloadJob]:
        return self.submitted


@pytest.mark.parametrize(
    ("users", "error_text"),
    [
        (Careless(None), r"next_submission\(\) is None"),
        (Careless(nan), "is nan"),
        (Careless(0.0, "x"), "submitted 'x'"),
        (Careless(0.0), "still due"),
    ],
)
def test_mistakes_of_a_user_model(users: Careless, error_text: str) -> None:
    with pytest.raises(InvariantError, match=error_text):
        simulate_users(users, Fcfs())


def test_policies_read_users_and_estimates() -> None:
    """Also the queue's columns; who is not named is nobody, and the walltime is an estimate."""
    extra = {"user": 12, "estimate": 7}
    process = DecisionProcess(Policy(lambda now, queue, machine: ()))
    process.answer(m.Message(0.0, [begins()]))
    process.answer(m.Message(0.0, [submitted("a", **extra)]))
    (job,) = process.queue
    assert (job.user, job.estimate, job.extra) == ("12", 7, extra)
    assert process.queue.view(JobArrays).users == ["12"]


def test_a_reservation_counts_no_processors_that_failed() -> None:
    """Of the four processors of the running job, two are out of order when it ends."""
    machine = Machine(4)
    job = Job("a", 0, 4, 10, 10, 0, {})
    machine.start(job, 0)
    machine.set_available(processors("0-1"), False)
    for size, expected in ((2, (10, 0)), (3, (inf, 0))):
        waiting = Job("b", 1, size, 5, 5, 0, {})
        assert shadow_time_and_extra_nodes(waiting, machine) == expected
    machine.end(job)
    assert (machine.free, machine.free_processors) == (2, processors("2-3"))


def test_a_call_that_comes_too_early_is_asked_for_again() -> None:
    """By the last digit of a clock: a policy that waits for a time must not wait for ever."""

    def waits(now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        if now < 100 and queue.head:
            yield CallMeLater(100.0)
            yield CallMeLater(100.0)  # asked for twice, it comes once
        elif queue.head:
            yield Start(queue.head)

    process = DecisionProcess(Policy(waits), six_decimals=True)

    def answer(now: float, event: m.Event) -> list[m.Event]:
        return process.answer(m.Message(now, [event])).events

    answer(0.0, begins())
    asked = answer(1.0, submitted("0", 1, 1.0))
    assert [type(event) for event in asked] == [m.CallMeLater]
    (early,) = answer(99.999999, m.RequestedCall(timestamp=99.999999))
    assert isinstance(early, m.CallMeLater)
    assert early.time == 100
    (started,) = answer(100.0, m.RequestedCall(timestamp=100.0))
    assert isinstance(started, m.ExecuteJob)


def test_easy_that_delays_its_head_is_caught() -> None:
    """Backfilling behind the back of the policy: the reservation moves, and it is noticed."""

    class Forgetful(Easy):
        def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
            yield from super().schedule(now, queue, machine)
            for job in list(queue)[1:]:
                if job.size <= machine.free:
                    yield Start(job)

    jobs = [J(0, 3, 10), J(1, 4, 5), J(2, 1, 100)]
    with pytest.raises(InvariantError, match="Forgetful delayed"):
        run(workload([*jobs, J(3, 1, 1)], 4), Forgetful())


def test_times_with_six_decimals_as_batsim_prints_them() -> None:
    """Think times that six decimals cannot tell: no call is lost, every job is submitted."""
    jobs = [J(1000.0 * i, 1, 100 + i / 3, 10_000, "u", 1000.0 * i + 100 + i / 3) for i in range(40)]
    load = workload(jobs, 4)
    users = ThinkTimeFeedback(load, sessions="arrival:0")
    process = DecisionProcess(Easy(), users, six_decimals=True)

    def printed(message: m.Message) -> m.Message:
        message.now = float(f"{message.now:.6f}")
        reply = process.answer(message)
        for decision in reply.events:  # what Batsim compares with is its own, unrounded time
            decision.timestamp = min(decision.timestamp, simulator.agenda.now)
        reply.now = min(reply.now, simulator.agenda.now)
        return reply

    options = Options(dynamic_jobs=True, profile_reuse=True)
    simulator = Simulator(make_homogeneous(4, 3.0), [], options)
    assert len(simulator.run(printed).jobs) == 40


def test_a_rejection_by_the_policy_gives_users_another_turn() -> None:
    def refuse(now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        for job in list(queue):
            yield Reject(job)

    users = Chain([1] * 3, 0)
    policy = Policy(refuse)
    simulate_users(users, policy)
    assert [(now, state) for now, _, _, state in users.ends] == [(0, "REJECTED")] * 3


WRONG: dict[str, Callable[[float, WaitingQueue, Machine], Iterable[Any]]] = {
    "rejected while running": lambda now, queue, _: [Start(queue.head), Reject(queue.head)],
    "needs 3 processors, 1 are free": lambda now, queue, _: map(Start, list(queue)),
    "started while running": lambda now, queue, _: [Start(queue.head)] * 2,
    "cannot start on processors '0-2'": lambda now, queue, _: [
        Start(j, range(3)) for j in list(queue)
    ],
    "yielded 'start': expected Start": lambda now, queue, _: ["start"],
    "must be later": lambda now, queue, _: [CallMeLater(now)],
}


@pytest.mark.parametrize("error_text", WRONG)
def test_invariants_are_always_on(error_text: str) -> None:
    with pytest.raises(InvariantError, match=error_text):
        run(workload([J(0, 3, 5), J(0, 3, 5)], 4), Policy(WRONG[error_text]))
