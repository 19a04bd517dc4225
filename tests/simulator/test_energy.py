"""What the hosts consume: SimGrid's numbers, refusals, and the integral of a slow twin."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.errors import PlatformError, ProtocolError
from batsched_py.protocol import messages as m
from batsched_py.simulator.energy.consumption import (
    Energy,
    SleepState,
    Watts,
    power_states,
)
from batsched_py.simulator.engine import Options, Outcome
from batsched_py.simulator.platform.hosts import Host, Platform
from batsched_py.support.processor_sets import numbers
from helpers.scripted_schedulers import (
    GIGA,
    QUERY,
    Make,
    Timetable,
    composed,
    compute,
    delay,
    execute,
    job,
    say,
    simulate,
    switch,
    workload,
)

ENERGY = Options(energy=True)


def answers(scheduler: Timetable) -> list[float]:
    return [answer.answers["consumed_energy"] for answer in scheduler.events(m.Answer)]


# Measured -----------------------------------------------------------------------------------------


def test_one_host_as_simgrid(ref_cluster: Platform) -> None:
    """Idle, computing, slower and idle, computing slowly, and slowing a task of two hosts."""
    load = workload(
        {"five": compute(5), "one": compute(1)},
        job("a", "five"),
        job("b", "one"),
        job("c", "one", size=2),
    )
    plan: dict[float, list[Make]] = {
        10: [QUERY, execute("w0!a", 1)],
        15: [QUERY, switch(1, "1")],
        25: [QUERY, execute("w0!b", 1)],
        27: [QUERY, execute("w0!c", 3)],
        29: [QUERY],
    }
    scheduler = Timetable(plan)
    outcome = simulate(scheduler, load, ENERGY, ref_cluster)
    idle = [7 * 100 * time for time in (10, 15, 25, 27)]
    others = [*idle, 6 * 100 * 29 + 2700 + 2 * (120 + 80 / 2)]
    own = [total - rest for total, rest in zip(answers(scheduler), others, strict=True)]
    assert own == pytest.approx([1000, 2000, 2800, 3100, 3400], abs=1e-6)
    assert [job.consumed_energy for job in outcome.jobs] == pytest.approx([1000, 300, 620])


def test_idle_then_a_task_of_two_hosts(ref_cluster: Platform) -> None:
    """100 s idle, then 10 s: 12,000 J for each of them, 2,000 of those for the job."""
    load = workload({"ten": compute(10)}, job("j", "ten", size=2))
    outcome = simulate(Timetable({100: [execute("w0!j", 3)]}), load, ENERGY, ref_cluster)
    assert outcome.power is not None
    energy = outcome.power.energy
    assert [energy.consumed(1 << host, 110) for host in range(3)] == pytest.approx(
        [12_000, 12_000, 11_000]
    )
    assert outcome.jobs[0].consumed_energy == pytest.approx(4000)
    assert list(energy.events()) == [
        (100, 80_000, "s", 800, 800),
        (110, pytest.approx(90_000), "e", 800, pytest.approx(1000)),
    ]


def test_latency_is_idle(ref_cluster: Platform) -> None:
    """0.6 ms until the first byte is there, then 1 s at full load."""
    profile = {"type": "parallel_homogeneous", "cpu": GIGA, "com": 1}
    load = workload({"p": profile}, job("j", "p", size=2))
    outcome = simulate(Timetable({0: [execute("w0!j", 3)]}), load, ENERGY, ref_cluster)
    assert outcome.jobs[0].finish_time == pytest.approx(1.0006)
    assert outcome.jobs[0].consumed_energy == pytest.approx(2 * (0.0006 * 100 + 200))


def test_power_at_a_load() -> None:
    """The least power from the first flop on, then evenly up to full power."""
    powers = [Watts(100, 120, 200).at(load) for load in (0.0, 1e-12, 0.5, 1.0)]
    assert powers == pytest.approx([100, 120, 160, 200])


def test_hosts_that_are_shared_are_loaded_once(ref_cluster: Platform) -> None:
    """Two jobs on one host have half of it each, and both are charged all that it consumes."""
    load = workload({"p": compute(1)}, job("a", "p"), job("b", "p"))
    scheduler = Timetable({0: [execute("w0!a", 1), execute("w0!b", 1)]})
    options = Options(energy=True, compute_sharing=True)
    outcome = simulate(scheduler, load, options, ref_cluster)
    assert [job.consumed_energy for job in outcome.jobs] == pytest.approx([400, 400])


def test_no_query_without_energy() -> None:
    with pytest.raises(ProtocolError, match="QUERY: energy is not accounted for"):
        simulate(Timetable({0: [QUERY]}), workload({"p": delay(1)}, job("j", "p")))


def test_other_queries() -> None:
    ask = say(m.Query, requests={"waiting_time": {}})
    with pytest.raises(ProtocolError, match=r"QUERY: \['waiting_time'\] is not known"):
        simulate(Timetable({0: [ask]}), platform=THREE, options=ENERGY)


# Properties of hosts ------------------------------------------------------------------------------


def power_of(watts: str | None, sleep: str | None = None, nb: int = 4, pstate: int = 0) -> Host:
    properties = {"wattage_per_state": watts, "sleep_pstates": sleep}
    given = {name: text for name, text in properties.items() if text is not None}
    return Host("h", (1e9,) * nb, given, pstate=pstate)


FOUR = "1:2,1:2,1:2,1:2"
MALFORMED: dict[str, tuple[Host, str]] = {
    "none at all": (power_of(None), "'h' has no property wattage_per_state"),
    "empty": (power_of(""), "wattage_per_state '', expected IDLE:FULL"),
    "too few": (power_of("1:2,1:2"), "4 speeds and 2 values of wattage_per_state"),
    "too many": (power_of("1:2,1:2", nb=1), "1 speeds and 2 values"),
    "a comma too many": (power_of("1:2,", nb=1), "wattage_per_state ''"),
    "one number": (power_of("100", nb=1), "wattage_per_state '100', expected"),
    "four numbers": (power_of("1:2:3:4", nb=1), "wattage_per_state '1:2:3:4', expected"),
    "words": (power_of("much:more", nb=1), "wattage_per_state 'much:more', expected"),
    "a hole": (power_of("1::2", nb=1), "wattage_per_state '1::2', expected"),
    "negative": (power_of("-1:2", nb=1), "wattage_per_state '-1:2', expected"),
    "endless": (power_of("1:inf", nb=1), "wattage_per_state '1:inf', expected"),
    "no number": (power_of("nan:1", nb=1), "wattage_per_state 'nan:1', expected"),
    "sleep with two numbers": (power_of(FOUR, "1:2"), "sleep_pstates '1:2', expected SLEEP:OFF:ON"),
    "sleep with four": (power_of(FOUR, "0:1:2:3"), "sleep_pstates '0:1:2:3', expected"),
    "sleep in words": (power_of(FOUR, "a:b:c"), "sleep_pstates 'a:b:c', expected"),
    "negative sleep": (power_of(FOUR, "-1:2:3"), "sleep_pstates '-1:2:3', expected"),
    "pstates that there are not": (power_of(FOUR, "1:2:4"), "'1:2:4', expected.*from 0 to 3"),
    "endless digits": (power_of(FOUR, "1:2:" + "9" * 5000), "sleep_pstates '1:2:999"),
    "sleep that is passed": (power_of(FOUR, "1:1:2"), "'1:1:2', expected a pstate to sleep in"),
    "sleep that is there twice": (power_of(FOUR, "1:2:3, 1:3:2"), "'1:3:2', expected a pstate"),
    "a pstate that is only passed in the beginning": (
        power_of(FOUR, "1:2:3", pstate=2),
        "'h' begins in pstate 2, which",
    ),
}


@pytest.mark.parametrize("sentence", MALFORMED)
def test_malformed(sentence: str) -> None:
    wrong, said = MALFORMED[sentence]
    with pytest.raises(PlatformError, match=said):
        power_states(wrong)
    with pytest.raises(PlatformError, match=said):
        simulate(Timetable({}), platform=Platform([wrong]), options=ENERGY)


def test_well_formed() -> None:
    """Of two values the first is the least power too; blanks do not matter."""
    states = power_states(power_of(" 100:200, 80:90:150 ,10:10, 1:2 ", " 2:1:3 ,"))
    assert states.watts[:2] == (Watts(100, 100, 200), Watts(80, 90, 150))
    assert states.sleep == {2: SleepState(1, 3)}
    assert states.passing == {1, 3}


def test_energy_of_hosts_that_change() -> None:
    """Loads and pstates in small steps: 10 s idle, 5 s half, 5 s half of the slow one, idle."""
    hosts = [Host("a", (1e9, 5e8), {"wattage_per_state": "100:120:200,80:90:150"}, pstate=0)]
    energy = Energy(hosts)
    energy.set_load(0, 0.5, 10)
    assert energy.consumed(1, 10) == 1000
    energy.set_pstate(0, 1, 15)
    assert energy.consumed(1, 15) == 1000 + 5 * 160
    energy.set_load(0, 0.0, 20)
    assert energy.consumed(1, 30) == 1800 + 5 * 120 + 10 * 80
    assert energy.total(30) == energy.consumed(1, 30)
    assert energy.consumed(0, 30) == 0


# Random runs --------------------------------------------------------------------------------------

WATTS = "100:120:200,80:90:150,10:10,20:30,40:45:50"
PROPERTIES = {"wattage_per_state": WATTS, "sleep_pstates": "2:3:4"}
THREE = Platform(
    [
        Host("a", (1e9, 5e8, 1.0, 1 / 2, 1 / 4), PROPERTIES),
        Host("b", (2e9, 8e8, 1.0, 1 / 3, 1 / 1.5), PROPERTIES),
        Host("c", (1e9, 4e8, 1.0, 1 / 0.5, 1 / 5), PROPERTIES, pstate=1),
    ]
)
POWER = [(100, 120, 200), (80, 90, 150), (10, 10, 10), (20, 20, 30), (40, 45, 50)]
SLEEP, OFF, ON = 2, 3, 4
KINDS = {
    "compute": compute(3),
    "total": {"type": "parallel_homogeneous_total", "cpu": 5 * GIGA, "com": 0},
    "wait": delay(2.25),
    "both": composed("wait", "compute"),
}
BEFORE = {"compute": 0.0, "total": 0.0, "wait": float("inf"), "both": 2.25}
"""Seconds without work in the beginning of each."""
FLOPS = {"compute": 3e9, "total": 5e9, "wait": 0.0, "both": 3e9}
"""Of each executor, but for ``total`` of all."""


class Action(NamedTuple):
    """What a random scheduler tries at a second of its own."""

    what: str
    machines: int
    pstate: int
    profile: str
    walltime: float | None


ACTIONS = st.lists(
    st.builds(
        Action,
        st.sampled_from(["start", "start", "speed", "sleep", "wake", "kill"]),
        st.integers(1, 7),
        st.integers(0, 1),
        st.sampled_from(sorted(KINDS)),
        st.sampled_from([None, 2.5, 6.0]),
    ),
    min_size=1,
    max_size=14,
)


class Player:
    """Carries out what can be carried out, and notes the pstates that hosts get."""

    def __init__(self, actions: list[Action]) -> None:
        self.actions = actions
        self.running: dict[str, int] = {}
        self.killed: set[str] = set()
        self.asleep = self.switched = 0
        self.pstates = [[(0.0, host.pstate)] for host in THREE.hosts]
        """Of each host, by time."""
        self.queries: list[tuple[float, float]] = []

    def __call__(self, message: m.Message) -> m.Message:
        now, decisions = message.now, []
        for event in sorted(message.events, key=lambda event: isinstance(event, m.RequestedCall)):
            if isinstance(event, m.SimulationBegins):
                times = range(1, len(self.actions) + 1)
                decisions += [m.CallMeLater(timestamp=now, time=time + 0.0) for time in times]
            elif isinstance(event, m.JobCompleted):
                del self.running[event.job_id]
            elif isinstance(event, m.ResourceStateChanged):
                self.switched &= ~event.resources
            elif isinstance(event, m.Answer):
                self.queries.append((now, event.answers["consumed_energy"]))
            elif isinstance(event, m.RequestedCall):
                decisions += [self.act(int(now) - 1, now), QUERY(now)]
        return m.Message(now, [decision for decision in decisions if decision is not None])

    def act(self, at: int, now: float) -> m.Event | None:
        action, job_id = self.actions[at], f"w0!{at:02d}"
        busy = sum(self.running.values())
        on = action.machines & ~self.switched
        if action.what == "start":
            if alloc := on & ~busy & ~self.asleep:
                self.running[job_id] = alloc
                size, width = action.machines.bit_count(), alloc.bit_count()
                mapping = {str(number): str(number % width) for number in range(size)}
                return m.ExecuteJob(
                    timestamp=now,
                    job_id=job_id,
                    alloc=alloc,
                    mapping=None if action.profile == "total" else mapping,
                )
            return m.RejectJob(timestamp=now, job_id=job_id)
        if action.what == "kill":
            alive = sorted(self.running.keys() - self.killed)
            self.killed.update(alive)
            return m.KillJob(timestamp=now, job_ids=alive) if alive else None
        pstate = SLEEP if action.what == "sleep" else action.pstate
        on &= ~(busy | self.asleep) if pstate == SLEEP else -1
        on &= ~self.asleep if action.what == "speed" else -1
        for host in numbers(on):
            self.switch(host, pstate, now)
        if not on:
            return None
        return m.SetResourceState(timestamp=now, resources=on, state=str(pstate))

    def switch(self, host: int, pstate: int, now: float) -> None:
        log, speeds = self.pstates[host], THREE.hosts[host].speeds
        if pstate == SLEEP or self.asleep >> host & 1:
            passed = OFF if pstate == SLEEP else ON
            log.append((now, passed))
            now += 1 / speeds[passed]
            self.asleep ^= 1 << host
        self.switched |= 1 << host  # until all of the request are told of
        log.append((now, pstate))


class Span(NamedTuple):
    """Where and when a job ran, and when it computed."""

    alloc: int
    start: float
    work: float
    end: float
    shares: dict[int, int]
    """Executors on each host."""
    flops: float | None
    """Of each executor, if the job did all of them."""


class Twin:
    """Adds power up over all instants between which nothing changes."""

    def __init__(self, player: Player, spans: list[Span]) -> None:
        self.pstates, self.spans = player.pstates, spans
        times = {time for log in self.pstates for time, _ in log}
        times.update(time for span in spans for time in (span.start, span.work, span.end))
        self.times = sorted(times)

    def pstate(self, host: int, time: float) -> int:
        return next(pstate for since, pstate in reversed(self.pstates[host]) if since <= time)

    def least(self, time: float) -> set[int]:
        """What all hosts consume at least, with the pstates before, in or after an instant."""
        sums = {0}
        for log in self.pstates:
            before = [pstate for since, pstate in log if since < time]
            at = [pstate for since, pstate in log if since == time]
            sums = {total + POWER[pstate][0] for total in sums for pstate in [*before[-1:], *at]}
        return sums

    def power(self, host: int, time: float) -> float:
        pstate = self.pstate(host, time)
        idle, epsilon, full = POWER[pstate]
        if pstate in (OFF, ON):  # as if one flop were computed
            return full
        for span in self.spans:
            if span.alloc >> host & 1 and span.work <= time < span.end:
                each = self.speeds(span, time)
                if host not in each:
                    return idle
                return epsilon + min(each.values()) / each[host] * (full - epsilon)
        return idle

    def speeds(self, span: Span, time: float) -> dict[int, float]:
        """What an executor has on each host; all are as fast as where that is least."""
        return {
            host: THREE.hosts[host].speeds[self.pstate(host, time)] / count
            for host, count in span.shares.items()
        }

    def work(self, span: Span) -> float:
        """Add up the flops of each executor of a job."""
        edges = [span.work, *(time for time in self.times if span.work < time < span.end), span.end]
        return sum(
            min(self.speeds(span, left).values()) * (right - left)
            for left, right in pairwise(edges)
        )

    def energy(self, hosts: int, begin: float, end: float) -> float:
        inner = [time for time in self.times if begin < time < end]
        edges = [begin, *inner, end]
        return sum(
            self.power(host, left) * (right - left)
            for left, right in pairwise(edges)
            for host in numbers(hosts)
        )


def spans(outcome: Outcome, actions: list[Action]) -> Iterator[tuple[Span, float]]:
    """Yield each job that ran with its joules."""
    for done in outcome.jobs:
        if done.alloc:
            action = actions[int(done.description.id[3:])]
            hosts = list(numbers(done.alloc))
            size = action.machines.bit_count()
            if action.profile == "total":
                size = len(hosts)
            places = [hosts[number % len(hosts)] for number in range(size)]
            shares = {host: places.count(host) for host in set(places)}
            begin, end = done.start_time, done.finish_time
            work = min(begin + BEFORE[action.profile], end)
            flops = FLOPS[action.profile] / (size if action.profile == "total" else 1)
            succeeded = done.final_state == "COMPLETED_SUCCESSFULLY" and flops > 0
            span = Span(done.alloc, begin, work, end, shares, flops if succeeded else None)
            yield span, done.consumed_energy


@given(ACTIONS)
def test_energy_is_the_integral_of_power(actions: list[Action]) -> None:
    """Of all hosts at each query and event, of a job's hosts from its start to its end.

    In that time the job did its work, at the speeds that its hosts had.
    """
    jobs = [
        job(f"{at:02d}", action.profile, action.walltime, size=action.machines.bit_count())
        for at, action in enumerate(actions)
        if action.what == "start"
    ]
    player = Player(actions)
    outcome = simulate(player, workload(KINDS, *jobs), ENERGY, THREE)
    ran = list(spans(outcome, actions))
    twin = Twin(player, [span for span, _ in ran])
    for span, joules in ran:
        assert joules == pytest.approx(twin.energy(span.alloc, span.start, span.end), abs=1e-6)
        if span.flops is not None:
            assert twin.work(span) == pytest.approx(span.flops)
    for time, joules in player.queries:
        assert joules == pytest.approx(twin.energy(7, 0.0, time))
    assert len(player.queries) == len(actions)
    assert outcome.power is not None
    last = (0.0, 0.0)
    for time, joules, _, least, mean in outcome.power.energy.events():
        assert joules == pytest.approx(twin.energy(7, 0.0, time))
        if mean is not None:
            assert mean == pytest.approx((joules - last[1]) / (time - last[0]))
        last = (time, joules)
        assert least in twin.least(time)
