"""Random machines that sleep, with jobs that collide: few distinct times and durations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Any, NamedTuple

from hypothesis import strategies as st

from batsched_py import Withdraw, Workload, WorkloadJob
from batsched_py.decision_process import DecisionProcess
from batsched_py.model.system import System
from batsched_py.processors.sets import ProcessorSet
from batsched_py.protocol import messages as m
from batsched_py.schedulers.easy import Easy
from batsched_py.schedulers.fcfs import Fcfs
from batsched_py.schedulers.shutdown.rules import make_rule
from batsched_py.schedulers.shutdown.settings import Shutdown
from batsched_py.simulator.batsim5.simulator import Batsim5Simulator
from batsched_py.simulator.direct import DirectSimulation
from batsched_py.simulator.engine import Simulator
from batsched_py.simulator.external_events import ExternalEvent
from batsched_py.simulator.options import Options
from batsched_py.simulator.platform.hosts import Host, Platform
from helpers.powers import groups_of
from helpers.scripted_users import Scripted
from helpers.sleeping_twin import Twin

KINDS = [(10.0, 20.0), (10.0, 20.0), (5.0, 20.0), (10.0, 40.0), (20.0, 5.0), None]
"""Seconds to switch a processor off and on; inverses of them are exact, as their speeds are."""
TIMES = [0.0, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 60.0, 90.0, 120.0, 160.0]
WATTS = {"idle": 100.0, "busy": 200.0, "off": 120.0, "asleep": 10.0, "on": 150.0}


class Seen(NamedTuple):
    """What a simulation came to, in the words of the twin."""

    jobs: dict[str, tuple[float, float, tuple[int, ...]]]
    """Start, end and processors; inf and no processors if it did not run."""
    switches: list[tuple[float, str, tuple[int, ...], float]]
    """When asked, to "off" or "on", for which processors, when done; before the last end."""
    joules: float | None = None
    """Of all processors until the last end, None where nobody accounts for them."""


@dataclass(frozen=True)
class SleepingWorld:
    """A machine, jobs, a policy and the idle rule; all is as the twin takes it."""

    policy: str
    idle_time: float
    keep: int
    seconds: tuple[tuple[float, float] | None, ...]
    jobs: tuple[tuple[str, float, int, float, float], ...]
    outages: tuple[tuple[float, float, int], ...] = ()
    withdrawals: tuple[tuple[float, str], ...] = ()
    has_users: bool = False
    """Whether users submit the jobs, who also withdraw some."""

    def twin(self) -> Twin:
        """Return what should come out."""
        return Twin(
            *(self.jobs, self.seconds, self.policy, self.idle_time, self.keep),
            *(self.outages, self.withdrawals),
        )

    def expected(self) -> Seen:
        """Return it in a form to be compared."""
        twin = self.twin()
        jobs = {
            job.id: (job.start, job.end, job.processors) if job.state == "ended" else (inf, inf, ())
            for job in twin.jobs
        }
        switches = [each for each in twin.switches() if each[0] < twin.last_end]
        return Seen(jobs, switches, sum(twin.joules(WATTS)))

    # What is simulated ---------------------------------------------------------------------------

    def platform(self, watts: Mapping[str, float] = WATTS) -> Platform:
        """Return hosts with the pstates of these groups."""
        hosts, idle = [], watts["idle"]
        awake = f"{idle}:{idle}:{watts['busy']}"
        others = (",{0}:{0}:{0}".format(watts[state]) for state in ("asleep", "off", "on"))
        switched = awake + "".join(others)
        for at, kind in enumerate(self.seconds):
            speeds: tuple[float, ...] = (1e9,)
            properties = {"wattage_per_state": awake}
            if kind is not None:
                speeds = (1e9, 1.0, 1 / kind[0], 1 / kind[1])
                properties = {"wattage_per_state": switched, "sleep_pstates": "1:2:3"}
            hosts.append(Host(f"n{at}", speeds, properties))
        return Platform(hosts)

    def workload(self) -> Workload:
        """Return the jobs, as computations."""
        jobs = [
            WorkloadJob(id=name, submit_time=submit, size=size, profile=str(run), walltime=limit)
            for name, submit, size, run, limit in self.jobs
        ]
        profiles = {
            str(run): {"type": "parallel_homogeneous", "cpu": run * 1e9, "com": 0}
            for _, _, _, run, _ in self.jobs
        }
        return Workload(name="w", nb_res=len(self.seconds), jobs=jobs, profiles=profiles)

    def users(self) -> Scripted | None:
        """Return the users who submit the jobs, if there are any."""
        if not self.has_users:
            return None
        load = self.workload()
        acts: list[tuple[float, WorkloadJob | Withdraw]]
        acts = [(job.submit_time, job) for job in sorted(load.jobs, key=_by_submission)]
        acts += [(time, Withdraw(name, kill=True)) for time, name in sorted(self.withdrawals)]
        users = Scripted(*acts)
        users.profiles = load.profiles
        return users

    def system(self, kind: type[System], **options: Any) -> Any:
        """Return a driver."""
        policy = Fcfs() if self.policy == "fcfs" else Easy(extra_nodes="instant")
        rule = make_rule(Shutdown(idle_time=self.idle_time, keep=self.keep))
        return kind(policy, self.users(), power=groups_of(self.seconds), shutdown=rule, **options)

    def direct(self) -> Seen:
        """Simulate without messages."""
        assert not self.outages
        system = self.system(DirectSimulation)
        outcome = system.run(self.platform(), None if self.has_users else self.workload())
        return self.seen(outcome, system)

    def with_messages(
        self, version: int = 4, watts: Mapping[str, float] = WATTS, **options: Any
    ) -> Seen:
        """Simulate with messages between scheduler and simulator."""
        events = [
            ExternalEvent(time, "", ProcessorSet.interval(at, 1), available)
            for begin, end, at in self.outages
            for time, available in ((begin, False), (end, True))
        ]
        events.sort(key=lambda event: event.time)
        system = self.system(DecisionProcess)
        options = {"dynamic_jobs": self.has_users, "profile_reuse": True} | options
        kind = Batsim5Simulator if version == 5 else Simulator
        simulator = kind(
            self.platform(watts),
            [] if self.has_users else [self.workload()],
            Options(**{"energy": True, "protocol": version} | options),
            events or None,
        )

        def answer(message: m.Message) -> m.Message:
            for event in message.events:
                if version == 5 and isinstance(event, m.SimulationBegins):
                    event.config[m.PROTOCOL_VERSION] = 5  # as what reads messages does
            return system.answer(message)

        return self.seen(simulator.run(answer), system)

    def seen(self, outcome: Any, system: System) -> Seen:
        """Return what came out."""
        jobs = {}
        last = 0.0
        for job in outcome.jobs:
            ran = (inf, inf, ())
            if job.alloc:
                ran = (job.start_time, job.finish_time, tuple(job.alloc))
                last = max(last, job.finish_time)
            jobs[job.description.id.split("!")[-1]] = ran
        switches = [each for each in self._switches(system) if each[0] < last]
        joules = None
        if outcome.power is not None and outcome.power.energy.metered:
            of_ends = [each[1] for each in outcome.power.energy.events() if each[2] == "e"]
            joules = max(of_ends, default=0.0)
        return Seen(jobs, switches, joules)

    def _switches(self, system: System) -> list[tuple[float, str, tuple[int, ...], float]]:
        """Return the requests; those of equal kind and duration in an instant count as one."""
        sleepers = system.machine.sleepers
        merged: dict[tuple[float, str, float], list[int]] = defaultdict(list)
        for time, processors, state in sleepers.changes if sleepers is not None else ():
            if state.startswith("switching"):
                to = state.removeprefix("switching_")
                lasts = {self.seconds[at][to == "on"] for at in processors}  # type: ignore[index]
                assert len(lasts) == 1
                merged[time, to, time + lasts.pop()] += processors
        found = [(time, to, tuple(sorted(all_)), done) for (time, to, done), all_ in merged.items()]
        return sorted(found)


def _by_submission(job: WorkloadJob) -> tuple[float, str]:
    return job.submit_time, job.id


@st.composite
def sleeping_worlds(
    draw: st.DrawFn, *, outages: bool = False, users: bool | None = None
) -> SleepingWorld:
    """Any machine that sleeps, with some processors and some jobs."""
    has_users = draw(st.booleans()) if users is None else users
    nb = draw(st.integers(1, 5))
    kinds = draw(st.sampled_from([KINDS[:1], KINDS[:1], KINDS]))
    seconds = draw(st.lists(st.sampled_from(kinds), min_size=nb - 1, max_size=nb - 1))
    seconds.append(KINDS[0])  # a rule needs a processor that can sleep
    jobs = []
    for at in range(draw(st.integers(1, 8))):
        submit = draw(st.sampled_from(TIMES[1:] if has_users else TIMES))
        run = draw(st.sampled_from([5.0, 10.0, 20.0, 20.0, 40.0, 100.0]))
        limit = run * draw(st.sampled_from([0.5, 1, 1, 1, 2, 4]))
        jobs.append(("abcdefgh"[at], submit, draw(st.integers(1, nb)), run, limit))
    broken = draw(st.lists(st.integers(0, nb - 1), max_size=2, unique=True)) if outages else []
    times = st.sampled_from(TIMES[1:])
    lasts = st.sampled_from([5.0, 10.0, 30.0, 60.0])
    failures = [(begin := draw(times), begin + draw(lasts), at) for at in broken]
    delays = st.sampled_from([0.0, 5.0, 10.0, 20.0, 40.0])
    gone = draw(st.lists(st.sampled_from(jobs), max_size=2, unique=True)) if has_users else []
    withdrawals = [(submit + draw(delays), name) for name, submit, *_ in gone]
    return SleepingWorld(
        policy=draw(st.sampled_from(["fcfs", "easy"])),
        idle_time=draw(st.sampled_from([0.0, 0.0, 5.0, 10.0, 30.0, inf])),
        keep=draw(st.sampled_from([0, 0, 1, 2])),
        seconds=tuple(seconds),
        jobs=tuple(jobs),
        outages=tuple(failures),
        withdrawals=tuple(withdrawals),
        has_users=has_users,
    )


def without_collisions(world: SleepingWorld) -> SleepingWorld:
    """Return a world in which hardly anything happens at the same instant as anything else."""
    jobs = tuple(
        (name, submit + 2.0 ** -(20 + at), size, run + 2.0 ** -(5 + at), limit + 2.0 ** -(5 + at))
        for at, (name, submit, size, run, limit) in enumerate(world.jobs)
    )
    return replace(world, jobs=jobs, idle_time=world.idle_time + 1 / 8)
