"""The direct simulation is held against its twin: the same plug-ins, with messages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from math import inf
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batsched_py import Job, StartedJob, Withdraw, simulate
from batsched_py.decision_process import DecisionProcess
from batsched_py.errors import BatschedError, InvariantError
from batsched_py.model.decisions import CallMeLater, Decision, Kill, Reject, Start
from batsched_py.model.machine import Machine
from batsched_py.model.queue import WaitingQueue
from batsched_py.model.system import System
from batsched_py.model.user_model import EndedJob
from batsched_py.options.budgets import Budgets
from batsched_py.processors.sets import ProcessorSet
from batsched_py.schedulers.fcfs import Fcfs
from batsched_py.simulator.agenda import FEW_ENTRIES
from batsched_py.simulator.direct import DirectSimulation
from batsched_py.simulator.ended_jobs import EndedJobs
from batsched_py.simulator.engine import Options, Simulator
from batsched_py.simulator.outcome import Outcome
from batsched_py.simulator.platform.hosts import Platform, make_grid, make_homogeneous
from batsched_py.simulator.profiles import has_known_length
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import workload
from batsched_py.units import LATEST_TIME
from batsched_py.workload import Workload, WorkloadJob
from batsched_py.workload.grid_sites import GridSites, parse_sites

SECONDS = [1.0, 1.0, 2.0, 2.0, 3.0, 0.5, 1 / 3]
"""Lengths and gaps: few, so that events meet."""
HABITS = ["call", "choose", "dilate", "kill", "reject", "wait"]
PROFILES = {
    **{f"d{number}": {"type": "delay", "delay": delay} for number, delay in enumerate(SECONDS)},
    "nothing": {"type": "parallel_homogeneous", "cpu": 0, "com": 0},
    "flops": {"type": "parallel_homogeneous", "cpu": 2e9, "com": 0, "ret": 3},
    "total": {"type": "parallel_homogeneous_total", "cpu": 3e9, "com": 0},
}


class Anything:
    """Does anything that a policy may do, the same for the same seed."""

    def __init__(self, seed: int, habits: frozenset[str]) -> None:
        self._random, self._habits = Random(seed), habits
        self.learned: list[tuple[float, str, str]] = []

    def dilates(self, sites: GridSites) -> bool:
        return "dilate" in self._habits

    def job_started(self, now: float, job: Job) -> None:
        self.learned.append((now, job.id, "started"))

    def job_ended(self, now: float, job: Job) -> None:
        self.learned.append((now, job.id, "ended"))

    def job_withdrawn(self, now: float, job: Job) -> None:
        self.learned.append((now, job.id, "withdrawn"))

    def _does(self, habit: str, chance: float = 0.3) -> bool:
        return habit in self._habits and self._random.random() < chance

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        for job in list(machine.releases()):
            if self._does("kill"):
                yield Kill(job)
                if self._does("kill"):
                    yield Kill(job)  # which changes nothing
        for job in queue:
            if self._does("reject", 0.1):
                yield Reject(job)
            elif job.size <= machine.free and not self._does("wait"):
                chosen = None
                if self._does("choose"):
                    free = list(machine.free_processors)
                    chosen = ProcessorSet.of(self._random.sample(free, job.size))
                if self._does("dilate"):
                    placed = chosen or machine.free_processors.lowest(job.size)
                    yield Start(job, placed, self._random.choice([0.5, 1.0, 2.0]), 1.0)
                else:
                    yield Start(job, chosen)
        if self._does("call"):
            yield CallMeLater(now + self._random.choice(SECONDS))
            yield CallMeLater(now + self._random.choice(SECONDS))


class Returning:
    """Users who submit each job of a list, and some of those that end once more, after a while.

    With ``acts``, they withdraw jobs, let some depend on others, and react to starts.
    """

    def __init__(self, jobs: list[WorkloadJob], seed: int, *, acts: bool = False) -> None:
        self.profiles = PROFILES
        self._random, self._acts = Random(seed), acts
        self._due: list[tuple[float, int, WorkloadJob | Withdraw]] = []
        self._nb = 0
        self._submitted: list[str] = []
        for job in jobs:
            self._plan(job.submit_time, job)
        self.learned: list[Any] = []

    def _plan(self, time: float, act: WorkloadJob | Withdraw) -> None:
        self._nb += 1
        heappush(self._due, (time, self._nb, act))

    def next_submission(self) -> float:
        return self._due[0][0] if self._due else inf

    def jobs_to_submit(self, now: float) -> Iterator[WorkloadJob | Withdraw]:
        while self._due and self._due[0][0] <= now:
            act = heappop(self._due)[2]
            if self._acts and isinstance(act, WorkloadJob):
                act = self._with_acts(now, act)
            yield act

    def _with_acts(self, now: float, job: WorkloadJob) -> WorkloadJob:
        """Return the job, which may depend on others, and perhaps plan its withdrawal."""
        random, befores = self._random, self._submitted[-3:]
        if befores and random.random() < 0.4:
            after = random.sample(befores, random.randint(1, len(befores)))
            job = msgspec.structs.replace(job, after=tuple(after))
        if random.random() < 0.4:
            kill = random.random() < 0.5
            self._plan(now + random.choice([0.0, *SECONDS]), Withdraw(job.id, kill=kill))
        self._submitted.append(job.id)
        return job

    def job_started(self, now: float, job: StartedJob) -> None:
        self.learned.append((now, job.id, job.submit_time, job.start_time))
        if self._acts and self._random.random() < 0.2:
            kill = self._random.random() < 0.5
            self._plan(now, Withdraw(self._random.choice(self._submitted), kill=kill))

    def job_ended(self, now: float, job: EndedJob, state: str) -> None:
        times = (job.submit_time, job.start_time, job.finish_time, job.waited)
        self.learned.append((now, job.id, *times, state))
        if self._random.random() < 0.4:
            again = msgspec.structs.replace(job.submitted, id=f"j{self._nb + 1}", after=())
            self._plan(now + self._random.choice([0.0, *SECONDS]), again)


@dataclass(frozen=True)
class World:
    """What is simulated twice."""

    jobs: list[WorkloadJob]
    habits: frozenset[str]
    seed: int
    react: bool
    acts: bool
    sites: str | None
    budgets: Budgets

    def outcome(self, *, direct: bool) -> Any:
        """Return all that is known of one simulation, or the error that ended it."""
        sites = () if self.sites is None else parse_sites(self.sites)
        platform = make_grid(sites) if sites else make_homogeneous(5)
        jobs = [msgspec.structs.replace(job) for job in self.jobs]
        users = Returning(jobs, self.seed, acts=self.acts) if self.react else None
        load = None if users else Workload(name="w", nb_res=5, jobs=jobs, profiles=PROFILES)
        policy = Anything(self.seed, self.habits)
        kind: type[System] = DirectSimulation if direct else DecisionProcess
        system = kind(policy, users, sites=sites, budgets=self.budgets)
        try:
            outcome = run(system, platform, load, registers=self.react or "dilate" in self.habits)
        except BatschedError as error:
            return type(error), str(error)
        return (
            EndedJobs.of_jobs(list(outcome.jobs)),
            (outcome.nb_messages, outcome.end, outcome.nb_processors, system.nb_passes),
            (system.nb_withdrawn, system.nb_too_late, policy.learned),
            None if users is None else users.learned,
        )


def run(
    system: System, platform: Platform, load: Workload | None, *, registers: bool = True
) -> Outcome:
    """Simulate with or without messages, as the class of ``system`` is."""
    if isinstance(system, DirectSimulation):
        return system.run(platform, load)
    assert isinstance(system, DecisionProcess)
    options = Options(dynamic_jobs=registers, profile_reuse=registers)
    return Simulator(platform, [] if load is None else [load], options).run(system.answer)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    jobs: list[WorkloadJob] = []
    time = draw(st.sampled_from([-1.0, 0.0, 0.0, 2.0]))
    for number in range(draw(st.integers(0, 12))):
        time += draw(st.sampled_from([0.0, 0.0, 0.0, *SECONDS]))
        walltime = draw(st.sampled_from([None, None, *SECONDS]))
        jobs.append(
            WorkloadJob(
                id=f"{number}",
                submit_time=time,
                size=draw(st.integers(1, 6)),  # the last of them does not fit
                profile=draw(st.sampled_from(sorted(PROFILES))),
                walltime=walltime,
                estimate=draw(st.sampled_from([None, 1.0])),
                user=draw(st.sampled_from([None, "ann"])),
                extra=draw(st.sampled_from([{}, {"user": 7}, {"session": 1, "estimate": 2.0}])),
            )
        )
    return World(
        jobs,
        draw(st.frozensets(st.sampled_from(HABITS))),
        draw(st.integers(0, 99)),
        draw(st.booleans()),
        draw(st.booleans()),
        draw(st.sampled_from([None, None, "2,3@2"])),
        draw(st.sampled_from([Budgets()] * 5 + [Budgets(messages=3), Budgets(decisions=1)])),
    )


@settings(max_examples=10 * settings().max_examples)
@given(worlds())
def test_both_drivers_give_the_same(world: World) -> None:
    assert world.outcome(direct=True) == world.outcome(direct=False)


class Adds(Returning):
    """Users who have a new profile when they submit their second job."""

    def __init__(self, profile: dict[str, Any]) -> None:
        jobs = [
            WorkloadJob(id="1", submit_time=0.0, size=1, profile="d0"),
            WorkloadJob(id="2", submit_time=1.0, size=1, profile="new"),
        ]
        super().__init__(jobs, 0)
        self._new = profile

    def jobs_to_submit(self, now: float) -> Iterator[WorkloadJob | Withdraw]:
        if now > 0:
            self.profiles = {**PROFILES, "new": self._new}
        return super().jobs_to_submit(now)


@pytest.mark.parametrize("profile", [None, 5, "delay", {"type": "composed", "seq": ["d0"]}])
def test_an_odd_profile_that_no_job_has(profile: Any) -> None:
    """It is no fault; messages are exchanged, since the length of such a job is not known."""
    assert not has_known_length(profile)
    users = Returning([WorkloadJob(id="1", submit_time=0.0, size=1, profile="d0")], 0)
    users.profiles = {**PROFILES, "odd": profile}
    result = simulate(workload([J(0, 1, 1)], 1), users=lambda *_, **__: users)
    assert result.table.ran.all()


def test_a_profile_may_be_made_during_the_simulation() -> None:
    users = Adds({"type": "delay", "delay": 5})
    outcome = run(DirectSimulation(Fcfs(), users), make_homogeneous(2), None)
    assert max(job.finish_time - job.start_time for job in outcome.jobs) == 5


@pytest.mark.parametrize(
    "profile",
    [{"type": "parallel_homogeneous", "cpu": 1e9, "com": 1}, {"type": "composed", "seq": ["d0"]}],
)
def test_a_run_time_that_is_not_known_when_the_job_starts(profile: dict[str, Any]) -> None:
    """Where such a profile is there from the beginning, messages are exchanged."""
    with pytest.raises(InvariantError, match=r"Adds .* job 2 .* 'new'"):
        run(DirectSimulation(Fcfs(), Adds(profile)), make_homogeneous(2), None)


@pytest.mark.parametrize(
    "wrong", [{"size": 0}, {"walltime": 0.0}, {"id": "a!b"}, {"profile": "unknown"}]
)
def test_a_job_that_batsim_refuses(wrong: dict[str, Any]) -> None:
    fields: dict[str, Any] = {"id": "a", "submit_time": 0.0, "size": 1, "profile": "d0"}
    users = Returning([WorkloadJob(**fields | wrong)], 0)
    with pytest.raises(InvariantError, match=f"Returning .* job {(fields | wrong)['id']}"):
        run(DirectSimulation(Fcfs(), users), make_homogeneous(2), None)


@pytest.mark.parametrize("kind", [DirectSimulation, DecisionProcess])
def test_users_may_change_their_list_when_a_job_is_refused(kind: type[System]) -> None:
    class Forgets(Returning):
        def __init__(self) -> None:
            sizes = (9, 1, 1)  # the first one is too large for the machine
            super().__init__([], 0)
            self.jobs = [
                WorkloadJob(id=str(number), submit_time=0.0, size=size, profile="d0")
                for number, size in enumerate(sizes)
            ]
            self.due = 0.0

        def next_submission(self) -> float:
            return self.due

        def jobs_to_submit(self, now: float) -> Any:
            self.due = inf
            return self.jobs

        def job_ended(self, now: float, job: EndedJob, state: str) -> None:
            self.jobs.remove(job.submitted)

    outcome = run(kind(Fcfs(), Forgets()), make_homogeneous(4), None)
    assert sorted(job.description.id for job in outcome.jobs) == ["dyn!0", "dyn!1", "dyn!2"]


def test_a_policy_that_changes_the_size_of_a_job() -> None:
    class Shrinks(Fcfs):
        def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Any:
            for job in queue:
                job.size = 1
                yield Start(job)

    with pytest.raises(InvariantError, match="w0!0000 of size 2"):
        run(DirectSimulation(Shrinks()), make_homogeneous(4), workload([J(0, 2, 3)], 4))


def test_ends_of_killed_jobs_take_no_memory() -> None:
    """Of each job that is killed, the end that it would have had is left out."""

    class KillsAll(Fcfs):
        def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Any:
            nonlocal most
            most = max(most, len(direct._ends))
            yield from [Kill(job) for job in machine.releases() if job.number]
            yield from super().schedule(now, queue, machine)

    most = 0
    jobs = [J(0, 1, 10**5), *(J(number, 1, 10**6) for number in range(3 * FEW_ENTRIES))]
    direct = DirectSimulation(KillsAll())
    run(direct, make_homogeneous(2), workload(jobs, 2))
    assert FEW_ENTRIES < most < 2.5 * FEW_ENTRIES


@pytest.mark.parametrize("kind", [DirectSimulation, DecisionProcess])
def test_a_job_that_would_end_too_late(kind: type[System]) -> None:
    load = workload([J(0, 1, 5), J(3, 1, 7)], 4)
    for job in load.jobs:
        job.walltime = None
        load.profiles[job.profile] = {"type": "delay", "delay": LATEST_TIME}
    with pytest.raises(BatschedError, match=r"w0!0001 would end at"):
        run(kind(Fcfs()), make_homogeneous(4), load, registers=False)


@pytest.mark.parametrize("kind", [DirectSimulation, DecisionProcess])
def test_an_error_of_a_plug_in_names_the_time(kind: type[System]) -> None:
    class Fails(Fcfs):
        def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Any:
            if now == 3:
                raise KeyError("x")
            return super().schedule(now, queue, machine)

    with pytest.raises(KeyError) as caught:
        run(kind(Fails()), make_homogeneous(4), workload([J(0, 1, 3)], 4), registers=False)
    assert "at 3.0" in caught.value.__notes__


@pytest.mark.parametrize("kind", [DirectSimulation, DecisionProcess])
def test_few_attributes_are_outside_of_slots(kind: type[System]) -> None:
    """CPython 3.11 is slower at each attribute of an object that has over 30 of them there."""
    system = kind(Fcfs())
    run(system, make_homogeneous(4), workload([J(0, 1, 5)], 4), registers=False)
    assert 0 < len(vars(system)) <= 30
