"""What holds in every run of the embedded simulator, whatever its world and its scheduler."""

from __future__ import annotations

import csv
import tempfile
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given

from batsched_py.errors import DeadlockError
from batsched_py.processors.sets import ProcessorSet, from_text
from batsched_py.protocol import messages as m
from batsched_py.protocol.batsim_jobs_columns import REJECTED
from batsched_py.protocol.referee.referee import Referee
from batsched_py.simulator.engine import Outcome, Simulator
from batsched_py.simulator.files.batsim_files import write_batsim4_outputs
from batsched_py.simulator.jobs import SimulatedJob
from batsched_py.transport import Partner
from helpers.worlds import SLEEP, WATTS, Scheduler, World, worlds

CLOSE = 1e-9  # s: the parallel tasks take dates closer than this for one


# What is watched ---------------------------------------------------------------------------------


class Watch:
    """Looks at the machines and the parallel tasks whenever something was settled.

    Between two looks all powers stay, so that sums over the looks are integrals.
    """

    def __init__(self, world: World, simulator: Simulator) -> None:
        self.world, self.simulator = world, simulator
        self.energy = simulator._energy
        self.stepwise = simulator._stepwise
        self.stepwise.in_use = True  # so that it is settled from the beginning on
        self.power = [0.0] * world.machine.nb_hosts
        self.spent = [[(0.0, 0.0)] for _ in self.power]
        """Of each host the times at which it was accounted for, and its joules until then."""
        if self.energy is not None:
            self.power = [WATTS[host.pstate][0] for host in world.platform.hosts]
        if self.energy is not None:
            self._after(self.stepwise, "report_loads", lambda _: self.look_at_powers())
            self._after(self.energy, "account", lambda _, *args: self.account(*args))

    @staticmethod
    def _after(place: Any, name: str, do: Callable[..., None]) -> None:
        method = getattr(place, name)

        def both(*args: Any) -> Any:
            result = method(*args)
            do(result, *args)
            return result

        setattr(place, name, both)

    def look_at_powers(self) -> None:
        self.power = list(map(self.watts, range(self.world.machine.nb_hosts)))

    def account(self, hosts: Sequence[int] | slice, now: float) -> None:
        """SimGrid takes the power of just now for all of the time since it accounted for a host."""
        for host in range(len(self.power))[hosts] if isinstance(hosts, slice) else hosts:
            since, joules = self.spent[host][-1]
            self.spent[host].append((now, joules + self.power[host] * (now - since)))

    def speed(self, host: int) -> float:
        """Return the speed of a host by the platform file."""
        energy = self.energy
        return self.world.machine.speeds(host)[0 if energy is None else energy.pstate(host)]

    def used(self, resource: int) -> float:
        return sum(task.rate * task._uses.get(resource, 0.0) for task in self.stepwise._by_task)

    def watts(self, host: int) -> float:
        """Return the power of a host by what the platform file says."""
        assert self.energy is not None
        pstate = self.energy.pstate(host)
        idle, least, full = WATTS[pstate]
        if pstate > SLEEP:
            return full
        load = self.used(host) / self.speed(host)
        return least + load * (full - least) if load > 0 else idle

    def joules(self, host: int, time: float) -> float:
        """Return what a host had consumed when it was last accounted for."""
        spent = self.spent[host]
        return spent[bisect_right(spent, time, key=lambda at: at[0]) - 1][1]


@dataclass
class Run:
    """A simulation that ended, or came to a standstill with ``waiting`` jobs."""

    world: World
    scheduler: Scheduler
    outcome: Outcome
    messages: list[m.Message]
    watch: Watch
    waiting: list[str] | None

    def told(self, kind: type[m.Event]) -> list[Any]:
        """Return the events of a kind that the scheduler received."""
        return [e for message in self.messages for e in message.events if isinstance(e, kind)]

    @property
    def ran(self) -> list[SimulatedJob]:
        return [job for job in self.outcome.jobs if job.final_state != REJECTED]


def run(world: World) -> Run:
    """Simulate a world; the referee judges what the simulator accepts."""
    scheduler, simulator = Scheduler(world), world.simulator()
    referee = Referee(strict=True, energy=world.options.energy)
    messages: list[m.Message] = []

    def partner(message: m.Message) -> m.Message:
        messages.append(message)
        referee.check_message(message)
        reply = scheduler(message)
        referee.check_reply(reply)
        return reply

    watch = Watch(world, simulator)
    outcome, waiting = finish(simulator, partner)
    return Run(world, scheduler, outcome, messages, watch, waiting)


def finish(simulator: Simulator, partner: Partner) -> tuple[Outcome, list[str] | None]:
    """Return what a simulation came to, and the jobs that wait if it came to a standstill."""
    try:
        return simulator.run(partner), None
    except DeadlockError as error:
        return cast(Outcome, simulator.outcome), list(error.waiting)


def table(outcome: Outcome, name: str) -> list[dict[str, str]]:
    """Return the rows of an output file."""
    with tempfile.TemporaryDirectory() as folder:
        write_batsim4_outputs(outcome, f"{folder}/out")
        return list(csv.DictReader(Path(folder, f"out_{name}.csv").read_text().splitlines()))


# Jobs and messages -------------------------------------------------------------------------------


def check_every_job_is_told_of_and_ends_once(done: Run) -> None:
    """And is once among the outcome's jobs and once in the table, unless it waits for ever."""
    world, scheduler = done.world, done.scheduler
    waiting = sorted([*scheduler.waiting, *scheduler.running])
    assert sorted(done.waiting or []) == waiting
    assert (done.waiting is not None) == bool(waiting or scheduler.registering)
    static = [f"w{at}!{job.id}" for at, load in enumerate(world.loads) for job in load.jobs]
    echoed = [*scheduler.registered] if world.options.acknowledge_dynamic_jobs else []
    assert sorted(scheduler.told) == sorted(static + echoed)
    completed = [event.job_id for event in scheduler.completed]
    ended = [job.description.id for job in done.outcome.jobs]
    assert sorted(ended) == sorted([*completed, *scheduler.rejected])
    assert sorted(ended + waiting) == sorted([*static, *scheduler.registered])
    rows = [f"{row['workload_name']}!{row['job_id']}" for row in table(done.outcome, "jobs")]
    assert rows == ended
    assert [job.description.id for job in done.ran] == sorted(completed, key=ended.index)


def check_time_never_goes_back(done: Run) -> None:
    """Nor in the messages, nor from one event to the next, nor beyond a message's time."""
    assert all(before.now <= after.now for before, after in pairwise(done.messages))
    for message in done.messages:
        assert all(event.timestamp <= message.now for event in message.events)
    events = [event for message in done.messages for event in message.events]
    times = [event.timestamp for event in events]
    for job in done.ran:
        assert (
            0
            <= job.description.submit_time
            <= job.start_time
            <= job.finish_time
            <= done.outcome.end
        )
    assert times == sorted(times)
    told = {e.job_id: at for at, e in enumerate(events) if isinstance(e, m.JobSubmitted)}
    for at, event in enumerate(events):
        assert not isinstance(event, m.JobCompleted) or told.get(event.job_id, 0) < at


def check_jobs_end_as_they_should(done: Run) -> None:
    """By success or failure before the walltime, at the walltime, or because they were killed."""
    for job in done.ran:
        lasted, walltime = job.finish_time - job.start_time, job.description.walltime or inf
        assert lasted <= walltime + CLOSE
        if job.final_state == "COMPLETED_WALLTIME_REACHED":
            assert lasted == pytest.approx(walltime, abs=CLOSE)
        assert job.final_state != "COMPLETED_KILLED" or job.description.id in done.scheduler.killed
    completions = {event.job_id: event for event in done.scheduler.completed}
    for job in done.ran:
        event = completions[job.description.id]
        assert (event.job_state, event.return_code, event.alloc) == (
            job.final_state,
            job.return_code,
            job.alloc,
        )
        assert event.timestamp == job.finish_time


# Energy ------------------------------------------------------------------------------------------


def check_energy(done: Run) -> None:
    """That of all hosts, at events, answers and in the end, and that of each job's machines."""
    world, watch = done.world, done.watch
    outcome, power = done.outcome, done.outcome.power
    assert power is not None

    def spent(time: float) -> float:
        return sum(watch.joules(host, time) for host in range(world.machine.nb_hosts))

    total = float(power.energy.total(outcome.end))
    whole = spent(outcome.end)
    assert total == pytest.approx(whole, rel=1e-9, abs=1e-6)
    (row,) = table(outcome, "schedule")
    submitted = [max(0.0, job.submit_time) for load in world.loads for job in load.jobs]
    ended = [joules for _, joules, kind, *_ in power.energy.events() if kind == "e"]
    between = (ended[-1] if ended else -1) - (spent(min(submitted)) if submitted else -1)
    assert float(row["consumed_joules"]) == pytest.approx(between, rel=1e-9, abs=1e-5)
    for job in done.ran:
        of_machines = sum(
            watch.joules(host, job.finish_time) - watch.joules(host, job.start_time)
            for host in job.alloc
        )
        assert job.consumed_energy == pytest.approx(of_machines, rel=1e-9, abs=1e-6)
    if not world.options.compute_sharing:
        assert sum(job.consumed_energy for job in done.ran) <= whole * (1 + 1e-9)
    for answer in done.told(m.Answer):
        joules = answer.answers["consumed_energy"]
        assert joules == pytest.approx(spent(answer.timestamp), rel=1e-9, abs=1e-6)
    last = (0.0, 0.0)
    for time, joules, _, _, mean in power.energy.events():
        assert joules == pytest.approx(spent(time), rel=1e-9, abs=1e-6)
        if mean is not None:  # over a time of nearly 0 s, the rounding of joules is most of it
            since = pytest.approx(joules - last[1], rel=1e-6, abs=1e-14 * joules)
            assert mean * (time - last[0]) == since
        last = (time, joules)


def _by_bounds(switch: tuple[float, ProcessorSet, str]) -> tuple[float, tuple[int, ...], str]:
    time, machines, state = switch
    return time, machines.bounds, state


def check_switches_are_answered(done: Run) -> None:
    """Once each, when all machines had the time that they need; the table has all of them."""
    assert done.outcome.power is not None
    wanted = sorted(done.scheduler.switches, key=_by_bounds)
    answers = done.told(m.ResourceStateChanged)
    assert (
        sorted(
            ((answer.timestamp, answer.resources, answer.state) for answer in answers),
            key=_by_bounds,
        )
        == wanted
    )
    assert done.outcome.power.nb_requests == len(wanted)
    reached = [row for row in done.outcome.power.changes() if row[2] >= 0]
    begun = [row for row in reached[:2] if row[0] == 0]
    assert begun
    traced = [(time, from_text(machines), str(pstate)) for time, machines, pstate in reached]
    assert not Counter(wanted) - Counter(traced)
    assert not any(machines.bounds[-1] > done.world.machine.nb_hosts for _, machines, _ in traced)


@given(worlds())
def test_what_holds_in_every_run(world: World) -> None:
    done = run(world)
    check_every_job_is_told_of_and_ends_once(done)
    check_time_never_goes_back(done)
    check_jobs_end_as_they_should(done)


@given(worlds(energy=True))
def test_what_holds_in_every_run_with_energy(world: World) -> None:
    done = run(world)
    check_energy(done)
    check_switches_are_answered(done)
