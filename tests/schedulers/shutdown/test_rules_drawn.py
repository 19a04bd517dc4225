"""Rules that switch processors off, in drawn worlds, against a slow twin of their choice."""

from __future__ import annotations

from math import inf
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from batsched_py.model.decisions import SwitchOff, SwitchOn
from batsched_py.processors.sets import NO_PROCESSORS, ProcessorSet
from batsched_py.schedulers.conservative import Conservative
from batsched_py.schedulers.easy import Easy
from batsched_py.schedulers.fcfs import Fcfs
from batsched_py.schedulers.shutdown.promises import Promise, find_promises
from batsched_py.schedulers.shutdown.settings import count_processors, parse_shutdown
from batsched_py.simulator.direct import DirectSimulation
from batsched_py.testing import DrawnJob, workload
from helpers.partitions import entry, machine_of, partition
from helpers.shutdown_runs import run_with_rule

MACHINES = {
    "one": partition("all"),
    "apart": partition("left", "0-3") + partition("right", "4-7"),
    "over": partition("left", "0-5") + partition("right", "3-6") + partition("same", "3-6"),
    "repaired": partition("all") + entry("outages", begin=60, end=200, nodes="1-4"),
    "breaking": partition("left", "0-5")
    + partition("right", "2-7")
    + entry("outages", begin=60, end=200, nodes="0-3", planned=False),
}
WHOLE = entry("nodes", count=4, cores=2) + partition("whole", whole_nodes=True)
SECONDS = [(20, 50), (4, 9), None]


@st.composite
def drawn_jobs(draw: Any, names: list[str], unit: int = 1) -> list[tuple[str, DrawnJob]]:
    jobs = []
    for _ in range(draw(st.integers(1, 8))):
        run = draw(st.integers(1, 80))
        walltime = run + draw(st.sampled_from([0, 0, 30]))
        size = unit * draw(st.integers(1, 8 // unit))
        drawn = DrawnJob(draw(st.integers(0, 40)) * 10, size, run, walltime)
        jobs.append((draw(st.sampled_from(names)), drawn))
    return jobs


def simulate(described, jobs, policy, shutdown, seconds=(20, 50), look=None):
    load = workload([job for _, job in jobs], described.nb_processors)
    for made, (name, _) in zip(load.jobs, jobs, strict=True):
        made.extra["partition"] = name
    return run_with_rule(load, policy, shutdown, seconds, described, look)


class Twin:
    """Checks each decision of the rule ``idle``, processor by processor."""

    def __init__(self, shutdown: str, described: Any) -> None:
        self.options = parse_shutdown(shutdown)
        self.planned = [outage for outage in described.outages if outage.planned]

    def __call__(self, system: DirectSimulation, rule: Any, decision: Any) -> None:
        machine = system.machine
        self.system, self.parts = system, list(dict.fromkeys(machine.partitions))
        self.promises = [
            promise
            for promise in find_promises(
                system.now, system.queue, machine, system.scheduler, self.planned
            )
            if promise.time < inf
        ]
        if isinstance(decision, SwitchOn):
            self.check_waking(decision.processors)
        else:
            off = NO_PROCESSORS if decision is None else decision.processors
            assert off == self.choose()

    def comes(self, at: int) -> float:
        """Return when a processor is free without a further decision, inf for never."""
        machine, now = self.system.machine, self.system.now
        sleepers = machine.sleepers
        if at in machine.unavailable:
            return inf
        for job in machine.releases():
            if at in job.processors:
                return max(job.expected_end, now)
        if at not in sleepers.away:
            return now
        for until, some in sleepers.switching_on:
            if at in some:
                return until
        for until, some in sleepers.switching_off:
            if at in some and at in sleepers.to_wake:
                on = next(pair for pair in SECONDS if pair and at in self.able(pair))[1]
                return until + on
        return inf

    def able(self, pair: tuple[float, float]) -> ProcessorSet:
        return next(
            group.processors
            for group in self.system.power
            if (round(group.power.off_seconds), round(group.power.on_seconds)) == pair
        )

    def count_there(self, promise: Promise, without: list[int] = []) -> int:  # noqa: B006
        return sum(
            self.comes(at) <= promise.time and at not in promise.unusable and at not in without
            for at in promise.site.all_processors
        )

    def check_waking(self, processors: ProcessorSet) -> None:
        """Some promise lacks exactly these, and no others could be there sooner."""
        assert processors
        assert not processors - self.system.machine.sleepers.away
        lacks = [p.head.size - self.count_there(p) for p in self.promises]
        assert any(0 < processors.size <= lack for lack in lacks)

    def choose(self) -> ProcessorSet:
        """Return what goes now."""
        machine, now = self.system.machine, self.system.now
        sleepers = machine.sleepers
        since = {at: time for time, some in sleepers.idle_since(machine.idle) for at in some}
        awake = machine.free_processors - sleepers.away
        due = [at for at in awake & sleepers.can_sleep if since[at] + self.options.idle_time <= now]
        gone: list[int] = []
        for at in sorted(due, key=lambda at: (since[at], -at)):
            keeps = any(
                sum(other in part.all_processors for other in awake if other not in gone)
                <= count_processors(self.options.keep, part.nb_processors)
                for part in self.parts
                if at in part.all_processors
            )
            needs = any(
                self.count_there(promise, gone) <= promise.head.size
                for promise in self.promises
                if at in promise.site.all_processors
            )
            if not keeps and not needs:
                gone.append(at)
        return ProcessorSet.of(gone)


@given(st.data())
def test_the_twin_chooses_the_same(data):
    name = data.draw(st.sampled_from([*MACHINES]))
    described = machine_of(entry("nodes", count=8) + MACHINES[name])
    jobs = data.draw(drawn_jobs([part.name for part in described.partitions]))
    keep = data.draw(st.sampled_from(["0", "1", "2", "30%"]))
    shutdown = f"idle_time={data.draw(st.sampled_from([0, 5, 30]))},keep={keep}"
    seconds = data.draw(st.lists(st.sampled_from(SECONDS), min_size=8, max_size=8))
    policy = data.draw(st.sampled_from([Easy, Fcfs, Conservative]))
    simulate(described, jobs, policy, shutdown, seconds, Twin(shutdown, described))


@given(
    drawn_jobs(["whole"], unit=2),
    st.sampled_from(["", ",keep=3"]),
    st.sampled_from([Easy, Fcfs, Conservative]),
)
def test_nodes_go_as_a_whole(jobs, keep, policy):
    ran = simulate(machine_of(WHOLE), jobs, policy, f"idle_time=5{keep}")
    for _, some, _ in ran.changes:
        pairs = {at // 2 for at in some}
        assert sorted(some) == sorted(2 * pair + side for pair in pairs for side in (0, 1))


@given(
    drawn_jobs(["left", "right"]),
    st.sampled_from(["apart", "over", "breaking"]),
    st.sampled_from(
        [
            "idle_time=5,period=50,keep=1",
            "rule=proportional,period=30,awake=20%,keep=1",
            "rule=inertial,period=20,keep=1",
            "rule=inertial,period=20,keep=1,growth=one,load_bound=30,idle_time=10",
        ]
    ),
    st.sampled_from([Easy, Fcfs, Conservative]),
)
def test_each_rule_keeps_its_word(jobs, machine, shutdown, policy):
    """Only idle processors go, at periods, and one stays idle in each partition that loses any."""
    period = parse_shutdown(shutdown).period

    def look(system: DirectSimulation, rule: Any, decision: Any) -> None:
        if not isinstance(decision, SwitchOff):
            return
        idle = system.machine.idle
        assert not decision.processors - idle
        assert system.now % period == 0
        for part in system.machine.partitions:
            if part.all_processors & decision.processors:
                assert (part.all_processors & idle - decision.processors).size >= 1

    simulate(
        machine_of(entry("nodes", count=8) + MACHINES[machine]), jobs, policy, shutdown, look=look
    )


@given(drawn_jobs(["all"]), st.sampled_from([0, 5, 30]))
def test_promises_to_heads_are_kept(jobs, idle_time):
    """The first shadow time that a head is given is when it starts at the latest."""
    described = machine_of(entry("nodes", count=8) + partition("all"))
    promised: dict[str, float] = {}

    class Noting(Easy):
        def schedule(self, now, queue, machine):
            yield from super().schedule(now, queue, machine)
            if self.head is not None:
                promised.setdefault(self.head.id.partition("!")[2], self.shadow_time)

    ran = simulate(described, jobs, Noting, f"idle_time={idle_time}")
    for name, time in promised.items():
        assert ran.jobs[name][0] <= time


@given(drawn_jobs(["all"]), st.sampled_from([Easy, Fcfs, Conservative]))
def test_without_an_idle_time_nothing_changes(jobs, policy):
    described = machine_of(entry("nodes", count=8) + partition("all"))
    ran = simulate(described, jobs, policy, "keep=2")
    assert ran == simulate(described, jobs, policy, None)
    assert (ran.switches, ran.calls) == ([], [])
