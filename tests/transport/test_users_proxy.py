"""Users who meet a scheduler of others: schedules by hand, and the messages that it sees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf
from typing import Any

import pytest

from batsched_py import EndedJob, Withdraw, WorkloadJob, simulate
from batsched_py.decision_process import DecisionProcess
from batsched_py.errors import BudgetError, DeadlockError, InvariantError, ProtocolError
from batsched_py.options.budgets import Budgets
from batsched_py.processors.sets import from_text
from batsched_py.protocol import messages as m
from batsched_py.results.embedded_output import EmbeddedOutput
from batsched_py.run.make_process import make_driver, make_process
from batsched_py.run.resolved_run import resolve
from batsched_py.run.settings import Settings
from batsched_py.schedulers.easy import Easy
from batsched_py.schedulers.fcfs import Fcfs
from batsched_py.simulator.batsim5.simulator import Batsim5Simulator
from batsched_py.simulator.engine import Options, Outcome, Simulator
from batsched_py.simulator.platform.hosts import make_homogeneous
from batsched_py.testing import DrawnJob, workload
from batsched_py.transport.users_proxy import UsersProxy
from helpers.scripted_users import Scripted, job

Decide = Callable[[m.Message], list[m.Event]]
"""Returns decisions for a message of one kind or another."""


class Watched:
    """A scheduler, and all messages that it saw."""

    def __init__(self, answer: Callable[[m.Message], m.Message]) -> None:
        self._answer = answer
        self.seen: list[m.Message] = []

    def __call__(self, message: m.Message) -> m.Message:
        self.seen.append(message)
        return self._answer(message)

    def events(self, *kinds: type[m.Event]) -> list[Any]:
        return [each for message in self.seen for each in message.events if type(each) in kinds]

    def at(self, now: float) -> list[list[str]]:
        """Return the events of each message at a time, by tag and job."""
        return [
            [f"{each.tag} {getattr(each, 'job_id', '')}".strip() for each in message.events]
            for message in self.seen
            if message.now == now
        ]


class Greedy:
    """Starts each job at once on the first free of its processors, in order of submission.

    ``decide`` adds decisions to the reply to each message.
    """

    def __init__(self, nb: int = 4, decide: Decide = lambda message: []) -> None:
        self.free, self.queue = set(range(nb)), list[m.JobDescription]()
        self.used: dict[str, set[int]] = {}
        self.decide = decide

    def __call__(self, message: m.Message) -> m.Message:
        now, decisions = message.now, self.decide(message)
        gone = {each.job_id for each in decisions if isinstance(each, m.RejectJob)}
        for event in message.events:
            if isinstance(event, m.JobSubmitted) and event.job_id not in gone:
                self.queue.append(event.job)
            elif isinstance(event, m.JobCompleted):
                self.free |= self.used.pop(event.job_id)
        while self.queue and self.queue[0].size <= len(self.free):
            started = self.queue.pop(0)
            self.used[started.id] = hosts = set(sorted(self.free)[: started.size])
            self.free -= hosts
            alloc = from_text(" ".join(map(str, sorted(hosts))))
            decisions.append(m.ExecuteJob(timestamp=now, job_id=started.id, alloc=alloc))
        return m.Message(now, decisions)


def meet(
    users: Any,
    scheduler: Callable[[m.Message], m.Message],
    nodes: int = 4,
    protocol: int = 4,
    acknowledge: bool = False,
    **options: Any,
) -> tuple[Outcome, Watched, UsersProxy]:
    """Simulate with users before a scheduler of others."""
    watched = Watched(scheduler)
    proxy = UsersProxy(watched, users, **options)
    kind = Batsim5Simulator if protocol == 5 else Simulator
    settings = Options(
        dynamic_jobs=True,
        profile_reuse=True,
        protocol=protocol,
        exact_times=protocol == 5,
        acknowledge_dynamic_jobs=acknowledge,
    )
    outcome = kind(make_homogeneous(nodes), [], settings).run(proxy.answer)
    return outcome, watched, proxy


def policy(made: Any) -> Callable[[m.Message], m.Message]:
    """Return one of our policies as a scheduler that knows of no users."""
    return DecisionProcess(made).answer


@pytest.fixture(params=[4, 5])
def protocol(request: pytest.FixtureRequest) -> int:
    return request.param  # type: ignore[no-any-return]


# The same policy inside and outside --------------------------------------------------------------


@pytest.mark.parametrize("scheduler", ["fcfs", "easy", "conservative"])
@pytest.mark.parametrize("sessions", ["arrival:60", "max:20"])
def test_a_policy_outside_gives_the_same_schedule(
    scheduler: str, sessions: str, protocol: int
) -> None:
    inside = Settings(
        log="sample", first=400, scheduler=scheduler, users="feedback", sessions=sessions
    )
    run = resolve(inside)
    alone = resolve(Settings(log="sample", scheduler=scheduler))
    outside = make_process(alone.run, None, alone.machine)

    def choose(users: Any) -> Callable[..., UsersProxy]:
        return lambda policy, users, **options: UsersProxy(outside.answer, users)

    proxy = make_driver(choose, run.run, run.workload, run.machine)
    kind = Batsim5Simulator if protocol == 5 else Simulator
    options = Options(
        dynamic_jobs=True, profile_reuse=True, protocol=protocol, exact_times=protocol == 5
    )
    nodes = run.workload.nb_res
    outcome = kind(make_homogeneous(nodes), [], options).run(proxy.answer)
    expected = simulate(
        "sample", first=400, scheduler=scheduler, users="feedback", sessions=sessions
    )
    everything = expected.table.measured
    assert list(EmbeddedOutput(outcome).jobs_lines(everything)) == list(
        expected.output.jobs_lines(everything)
    )


# What the scheduler sees -------------------------------------------------------------------------


def test_jobs_of_users_are_shown_as_static_jobs(protocol: int) -> None:
    users = Scripted((0, job("A", 3)), (1.5, job("B", 2)))
    _, seen, _ = meet(users, Greedy(), protocol=protocol)
    assert seen.at(0) == [["SIMULATION_BEGINS"], ["JOB_SUBMITTED dyn!A"]]
    assert seen.at(1.5) == [["JOB_SUBMITTED dyn!B"]]
    assert seen.at(20) == [["JOB_COMPLETED dyn!B", "NOTIFY"], ["SIMULATION_ENDS"]]
    (begins,) = seen.events(m.SimulationBegins)
    assert not begins.config["dynamic-jobs-enabled"]
    assert begins.workloads == {"dyn": "Scripted"}
    assert begins.profiles == {"dyn": users.profiles}
    first, second = seen.events(m.JobSubmitted)
    assert (first.job.size, first.job.profile, first.job.submit_time) == (3, "10", 0)
    assert (second.job.submit_time, second.profile) == (1.5, None)
    assert not seen.events(m.RequestedCall)


def test_a_repeated_registration_is_not_shown() -> None:
    _, seen, _ = meet(Scripted((0, job("A"))), Greedy(), acknowledge=True)
    assert len(seen.events(m.JobSubmitted)) == 1


def test_users_and_a_static_workload_go_together() -> None:
    """The simulator's jobs pass unchanged; the last submission is announced after both."""
    static = [DrawnJob(0, 2, 3, 5), DrawnJob(4, 2, 3, 5)]
    watched = Watched(Greedy())
    users = Scripted((1, job("A", 2)))
    proxy = UsersProxy(watched, users)
    settings = Options(dynamic_jobs=True, profile_reuse=True)
    Simulator(make_homogeneous(4), [workload(static, 4)], settings).run(proxy.answer)
    assert [each.job_id for each in watched.events(m.JobSubmitted)] == [
        *("w0!0000", "dyn!A", "w0!0001")
    ]
    (notice,) = watched.events(m.Notify)
    assert (notice.type, notice.timestamp) == ("no_more_static_job_to_submit", 11)


def test_held_jobs_are_shown_when_they_are_released() -> None:
    users = Scripted((0, job("A")), (1, job("B", after=("A",))))
    _, seen, _ = meet(users, Greedy())
    assert seen.at(10) == [["JOB_COMPLETED dyn!A", "JOB_SUBMITTED dyn!B"]]
    assert seen.events(m.JobSubmitted)[1].job.submit_time == 10
    assert users.ended["B"].waited == 9


def test_jobs_wider_than_the_machine_are_rejected_without_the_scheduler() -> None:
    users = Scripted((0, job("A", 5)), (1, job("B", 4)), (2, job("C", after=("A",))))
    outcome, seen, _ = meet(users, Greedy())
    assert [each.job_id for each in seen.events(m.JobSubmitted)] == ["dyn!B"]
    assert (0, "A", "REJECTED") in users.learned
    assert (2, "C", "WITHDRAWN") in users.learned
    assert len(outcome.jobs) == 3


# Withdrawals -------------------------------------------------------------------------------------


@pytest.mark.parametrize("made", [Fcfs, Easy])
def test_a_withdrawn_job_that_is_started_ends_at_once(made: Any, protocol: int) -> None:
    """A runs until 10, B is withdrawn at 4; at 10 the scheduler starts B, and then C."""
    users = Scripted((0, job("A", 4)), (1, job("B", 4)), (2, job("C", 4)), (4, Withdraw("B")))
    outcome, seen, proxy = meet(users, policy(made()), protocol=protocol)
    assert seen.at(4) == []
    assert seen.at(10) == [["JOB_COMPLETED dyn!A"], ["JOB_COMPLETED dyn!B"]]
    killed = seen.events(m.JobCompleted)[1]
    assert (killed.job_state, killed.return_code) == ("COMPLETED_KILLED", -1)
    assert users.ended["C"].start_time == 10
    assert (proxy.nb_withdrawn, proxy.nb_too_late) == (1, 0)
    rows = {done.description.id: done for done in outcome.jobs}
    assert (rows["dyn!B"].final_state, rows["dyn!B"].finish_time) == ("WITHDRAWN", 4)


def test_a_withdrawn_job_that_is_never_started_does_no_harm() -> None:
    class Backwards(Greedy):
        """Starts jobs in the reverse order, and B never."""

        def __call__(self, message: m.Message) -> m.Message:
            reply = super().__call__(message)
            self.queue = [each for each in self.queue if each.id != "dyn!B"]
            return reply

    users = Scripted((0, job("A", 4)), (1, job("B", 4)), (2, job("C", 4)), (4, Withdraw("B")))
    meet(users, Backwards())
    assert users.learned[-1] == (20, "C", "COMPLETED_SUCCESSFULLY")


def test_a_job_withdrawn_at_its_submission_is_never_shown() -> None:
    users = Scripted((0, job("A", 4)), (1, job("B", 4)), (1, Withdraw("B")))
    _, seen, _ = meet(users, Greedy())
    assert [each.job_id for each in seen.events(m.JobSubmitted)] == ["dyn!A"]


def test_the_withdrawal_wins_at_the_instant_of_the_start() -> None:
    """A ends at 10, when the scheduler would start B."""
    users = Scripted((0, job("A", 4)), (1, job("B", 4)), (10, Withdraw("B")))
    meet(users, policy(Fcfs()))
    assert users.learned[-1] == (10, "B", "WITHDRAWN")


@pytest.mark.parametrize("what", ["reject", "metadata", "kill"])
def test_decisions_on_withdrawn_jobs_are_swallowed(what: str) -> None:
    """At 10, B is withdrawn for 6 s: the scheduler rejects it, or starts and kills it."""

    def decide(message: m.Message) -> list[m.Event]:
        if message.now == 5:
            return [m.SetJobMetadata(timestamp=5, job_id="dyn!B", metadata="x")]
        if message.now != 10 or "A" not in str(message.events):
            return []
        if what == "reject":
            del scheduler.queue[0]
            return [m.RejectJob(timestamp=10, job_id="dyn!B")]
        if what == "kill":
            del scheduler.queue[0]
            scheduler.used["dyn!B"] = set()
            start = m.ExecuteJob(timestamp=10, job_id="dyn!B", alloc=from_text("0-3"))
            return [start, m.KillJob(timestamp=10, job_ids=["dyn!B"])]
        return []

    scheduler = Greedy(decide=decide)
    users = Scripted((0, job("A", 4)), (1, job("B", 4)), (4, Withdraw("B")), (5, job("C", 4)))
    _, seen, _ = meet(users, scheduler)
    if what == "kill":
        assert seen.at(10)[1] == ["JOB_COMPLETED dyn!B", "JOB_KILLED"]
    assert (4, "B", "WITHDRAWN") in users.learned


def test_a_job_that_its_user_kills_is_shown_as_killed_and_nothing_else(protocol: int) -> None:
    users = Scripted((0, job("A", 4)), (1, job("B", 4)), (5, Withdraw("A", kill=True)))
    _, seen, _ = meet(users, Greedy(), protocol=protocol)
    assert seen.at(5) == [["JOB_COMPLETED dyn!A"]]
    assert users.ended["B"].start_time == 5


def test_a_job_that_both_kill_is_shown_as_killed_by_the_scheduler(protocol: int) -> None:
    def decide(message: m.Message) -> list[m.Event]:
        kills = message.now == 5 and isinstance(message.events[0], m.JobSubmitted)
        return [m.KillJob(timestamp=5, job_ids=["dyn!A"])] if kills else []

    acts = [(5, job("B")), (5, Withdraw("A", kill=True)), (5, Withdraw("A", kill=True))]
    users = Scripted((0, job("A")), *acts)
    _, seen, _ = meet(users, Greedy(decide=decide), protocol=protocol)
    assert seen.at(5) == [["JOB_SUBMITTED dyn!B"], ["JOB_COMPLETED dyn!A", "JOB_KILLED"]]


# Users who react ---------------------------------------------------------------------------------


class Persistent(Scripted):
    """Users who submit a smaller job at the instant of a refusal."""

    def job_ended(self, now: float, job_: EndedJob, state: str) -> None:
        super().job_ended(now, job_, state)
        if state == "REJECTED" and job_.size > 1:
            self._acts.append((now, job(f"{job_.id}x", job_.size - 1)))


def test_users_react_to_a_rejection_at_the_same_instant(protocol: int) -> None:
    def decide(message: m.Message) -> list[m.Event]:
        return [
            m.RejectJob(timestamp=message.now, job_id=event.job_id)
            for event in message.events
            if isinstance(event, m.JobSubmitted) and event.job.size > 1
        ]

    users = Persistent((3, job("A", 3)))
    _, seen, _ = meet(users, Greedy(decide=decide), protocol=protocol)
    assert seen.at(3) == [[f"JOB_SUBMITTED dyn!{name}"] for name in ("A", "Ax", "Axx")]
    assert users.ended["Axx"].start_time == 3


def test_users_see_their_jobs_and_the_queue() -> None:
    class Looking(Scripted):
        def jobs_to_submit(self, now: float) -> Iterator[WorkloadJob | Withdraw]:
            yield from super().jobs_to_submit(now)
            if now == 5:
                assert self.site is not None
                own = self.site.own_jobs("ann")
                looked.append([(each.submitted.id, each.start_time) for each in own])
                looked.append(tuple(self.site.waiting()))
                looked.append(self.site.expected_start("B"))

    looked: list[Any] = []
    users = Looking((0, job("A", 3)), (1, job("B", 4)), (2, job("C", user="bob")), (5, job("D")))
    meet(users, policy(Easy()))
    assert looked == [[("A", 0), ("B", None)], (2, 55.0), None]


# Calls and time ----------------------------------------------------------------------------------


def test_each_gets_its_own_calls(protocol: int) -> None:
    """The scheduler asks for 2, 3 and 3; the users act at 2 (a withdrawal without effect) and 4."""

    def decide(message: m.Message) -> list[m.Event]:
        if not isinstance(message.events[0], m.SimulationBegins):
            return []
        return [m.CallMeLater(timestamp=0, time=time, call_id="mine") for time in (2.0, 3.0, 3.0)]

    users = Scripted((0, job("A")), (2, Withdraw("A")), (4, job("B")))
    _, seen, _ = meet(users, Greedy(decide=decide), protocol=protocol)
    called = [
        message.now
        for message in seen.seen
        for event in message.events
        if isinstance(event, m.RequestedCall)
    ]
    assert called == [2, 3, 3]
    assert seen.at(4) == [["JOB_SUBMITTED dyn!B"]]


def test_a_scheduler_that_takes_its_time_sees_new_jobs_afterwards() -> None:
    """Its reply to B's submission at 1 is ready at 3; C, due at 2, comes to it then."""

    class Slow(Greedy):
        def __call__(self, message: m.Message) -> m.Message:
            reply = super().__call__(message)
            if message.now == 1:
                reply.now = 3.0
                for decision in reply.events:
                    decision.timestamp = 2.5
            return reply

    users = Scripted((0, job("A")), (1, job("B")), (2, job("C")))
    _, seen, _ = meet(users, Slow())
    assert users.ended["B"].start_time == 2.5
    assert seen.at(3) == [["JOB_SUBMITTED dyn!C"]]
    assert users.ended["C"].start_time == 3


def test_users_react_to_a_slow_rejection_when_it_is_over() -> None:
    class Slow(Greedy):
        def __call__(self, message: m.Message) -> m.Message:
            reply = super().__call__(message)
            if message.now == 3:
                reply.now = 5.0
                reply.events = [m.RejectJob(timestamp=4.0, job_id="dyn!A")]
                self.queue.clear()
            return reply

    users = Persistent((3, job("A", 2)))
    _, seen, _ = meet(users, Slow())
    assert users.learned[-2:] == [(5, "Ax", "started"), (15, "Ax", "COMPLETED_SUCCESSFULLY")]
    assert (4, "A", "REJECTED") in users.learned
    assert seen.at(5) == [["JOB_SUBMITTED dyn!Ax"]]


# Schedulers that register jobs -------------------------------------------------------------------


def register(message: m.Message) -> list[m.Event]:
    """Register and announce a job of the scheduler's own at 5, and then no more."""
    if isinstance(message.events[0], m.SimulationBegins):
        return [m.CallMeLater(timestamp=0, time=5.0, call_id="mine")]
    if not isinstance(message.events[0], m.RequestedCall):
        return []
    description = m.JobDescription("mine!1", 5.0, 1, "p", 10.0)
    return [
        m.RegisterProfile(
            timestamp=5,
            workload_name="mine",
            profile_name="p",
            profile={"type": "delay", "delay": 2},
        ),
        m.RegisterJob(timestamp=5, job_id="mine!1", job=description),
        m.ExecuteJob(timestamp=5, job_id="mine!1", alloc=from_text("3")),
        m.Notify(timestamp=5, type="registration_finished"),
    ]


def test_a_scheduler_may_register_jobs_of_its_own(protocol: int) -> None:
    scheduler = Greedy(decide=register)
    scheduler.used["mine!1"] = set()
    users = Scripted((0, job("A", 2)), (8, job("B", 2)))
    outcome, seen, _ = meet(users, scheduler, registers=True, protocol=protocol)
    assert seen.events(m.SimulationBegins)[0].config["dynamic-jobs-enabled"]
    assert len(outcome.jobs) == 3
    assert seen.at(7) == [["JOB_COMPLETED mine!1"]]


def test_a_scheduler_registers_jobs_only_where_that_is_announced() -> None:
    with pytest.raises(ProtocolError, match="--scheduler-registers"):
        meet(Scripted((0, job("A", 2)), (8, job("B", 2))), Greedy(decide=register))


def test_registration_goes_on_until_the_scheduler_has_finished_too() -> None:
    def never(message: m.Message) -> list[m.Event]:
        return []

    with pytest.raises(DeadlockError, match="registration_finished"):
        meet(Scripted((0, job("A"))), Greedy(decide=never), registers=True)


# Mistakes ----------------------------------------------------------------------------------------


def test_mistakes_of_users_are_named() -> None:
    with pytest.raises(InvariantError, match=r"Scripted withdrew job .A. at 0"):
        meet(Scripted((0, Withdraw("A"))), Greedy())


def test_dynamic_jobs_must_be_enabled() -> None:
    proxy = UsersProxy(Greedy(), Scripted((0, job("A"))))
    with pytest.raises(ProtocolError, match="--enable-dynamic-jobs"):
        Simulator(make_homogeneous(4)).run(proxy.answer)


def test_jobs_that_are_never_started_are_a_deadlock() -> None:
    with pytest.raises(DeadlockError, match="dyn!A"):
        meet(Scripted((0, job("A"))), lambda message: m.Message(message.now, []))


def test_endless_calls_end() -> None:
    def call_again(message: m.Message) -> m.Message:
        return m.Message(message.now, [m.CallMeLater(timestamp=message.now, time=message.now + 1)])

    with pytest.raises(BudgetError, match="have changed nothing"):
        meet(Scripted((0, job("A"))), call_again, budgets=Budgets(messages=50))


def test_a_call_that_nobody_asked_for_is_refused() -> None:
    proxy = UsersProxy(Greedy(), Scripted((inf, job("A"))))
    with pytest.raises(ProtocolError, match="no CALL_ME_LATER"):
        proxy.answer(m.Message(0.0, [m.RequestedCall(timestamp=0.0)]))
