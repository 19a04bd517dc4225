"""Pstates: what is switched when, what is refused, and who may run where meanwhile."""

from __future__ import annotations

import pytest

from batsched_py.errors import ProtocolError
from batsched_py.processors.sets import to_text
from batsched_py.protocol import messages as m
from batsched_py.simulator.engine import Options, Outcome
from batsched_py.simulator.platform.hosts import Host, Platform
from helpers.processors import processors
from helpers.scripted_schedulers import (
    Make,
    Timetable,
    compute,
    delay,
    ends,
    execute,
    job,
    kill,
    say,
    simulate,
    switch,
    workload,
)

WATTS = "100:120:200,80:90:150,10:10,20:30,40:45:50"
ENERGY = Options(energy=True, trace_machines=True)


def host(name: str, off: float = 2, on: float = 4, pstate: int = 0) -> Host:
    """1 Gflop/s or half of that, asleep in pstate 2; seconds to be switched off and on."""
    properties = {"wattage_per_state": WATTS, "sleep_pstates": "2:3:4"}
    return Host(name, (1e9, 5e8, 1.0, 1 / off, 1 / on), properties, pstate=pstate)


AWAKE = Host("h3", (1e9, 5e8), {"wattage_per_state": "100:200,80:150"})
HOSTS = Platform([host("h0"), host("h1"), host("h2", off=5, on=8), AWAKE])
PROFILES = {"four": compute(4), "wait": delay(4)}


def run(scheduler: Timetable, *names: str, platform: Platform = HOSTS) -> Outcome:
    """Simulate jobs of one host called after their profiles."""
    load = workload(PROFILES, *(job(name, name.rstrip("0123")) for name in names))
    return simulate(scheduler, load, ENERGY, platform)


def changes_told(scheduler: Timetable) -> list[tuple[float, str, str]]:
    changes = scheduler.events(m.ResourceStateChanged)
    return [(event.timestamp, to_text(event.resources), event.state) for event in changes]


def test_a_woken_host_has_the_speed_of_the_pstate_that_was_asked_for() -> None:
    """A job that runs meanwhile on a host that is slowed is slowed too."""
    plan: dict[float, list[Make]] = {
        0: [switch("0", "2"), execute("w0!four1", "1")],
        2: [switch("1", "1")],
        3: [switch("0", "1")],
        7: [execute("w0!four2", "0")],
    }
    assert ends(run(Timetable(plan), "four1", "four2")) == {
        "four1": ("SUCCESSFULLY", 6),
        "four2": ("SUCCESSFULLY", 15),
    }


# Sleep --------------------------------------------------------------------------------------------


def test_sleep_and_wake() -> None:
    """Each host takes its own time; the scheduler is told when the last one is there."""
    scheduler = Timetable({1: [switch("0 2", "2")], 10: [switch("0 2", "1")]})
    outcome = run(scheduler)
    assert changes_told(scheduler) == [(6, "0 2", "2"), (18, "0 2", "1")]
    power = outcome.power
    assert power is not None
    assert (power.nb_requests, power.nb_switches) == (2, 4)
    assert list(power.changes()) == [
        (0.0, "0-3", 0),
        (1.0, "0 2", -2),
        (6.0, "0 2", 2),
        (10.0, "0 2", -1),
        (18.0, "0 2", 1),
    ]
    # of all hosts at least if at work: two asleep until both are awake, those two slower
    assert [least for _, _, _, least, _ in power.energy.events()] == [460, 240, 240, 400]
    # idle, switched off, asleep, switched on, and idle in pstate 1
    assert power.energy.consumed(processors("0"), 20) == pytest.approx(
        100 + 2 * 30 + 7 * 10 + 4 * 50 + 6 * 80
    )
    assert power.energy.consumed(processors("2"), 20) == pytest.approx(
        100 + 5 * 30 + 4 * 10 + 8 * 50 + 2 * 80
    )
    assert outcome.machines is not None
    assert list(outcome.machines.rows()) == [
        (1.0, 0, 0, 2, 2, 0),  # sleeping, switching on, switching off, idle, computing
        (6.0, 2, 0, 0, 2, 0),
        (10.0, 0, 2, 0, 2, 0),
        (18.0, 0, 0, 0, 4, 0),
    ]


# Refused ------------------------------------------------------------------------------------------

# A killed job's machine is free only in the next message, when the scheduler knows of the end.
KILLED_NOW = {0: [execute("w0!four", "0")], 2: [kill("w0!four"), switch("0", "2")]}
REFUSED: dict[str, tuple[dict[float, list[Make]], str]] = {
    "no machines": ({1: [switch("", "1")]}, "'' to '1', expected machines from 0 to 3"),
    "a pstate that there is not": (
        {1: [switch("0", "5")]},
        r"\(h0\) has no such pstate to be in, expected one of \[0, 1, 2\]; it passes \[3, 4\]",
    ),
    "to sleep while it runs a job": (
        {0: [execute("w0!wait", "0")], 1: [switch("0-1", "2")]},
        "of '0-1' to 2: '0' runs jobs: only idle machines may sleep",
    ),
    "to sleep at the instant at which its job is killed": (KILLED_NOW, "runs jobs"),
    "to sleep while it sleeps": (
        {0: [switch("0", "2")], 3: [switch("0-1", "2")]},
        "of '0-1' to 2: '0' sleeps already",
    ),
    "while it is switched off": (
        {0: [switch("0", "2")], 1: [switch("0-1", "0")]},
        "of '0-1' to 0: '0' is being switched",
    ),
    "a job on one that sleeps, though others of the request are still switched off": (
        {0: [switch("0 2", "2")], 3: [execute("w0!four", "0")]},
        "was given '0': machine 0 is sleeping",
    ),
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_refused(sentence: str) -> None:
    plan, message = REFUSED[sentence]
    with pytest.raises(ProtocolError, match=message):
        run(Timetable(plan), "four", "wait")


def test_without_energy_there_is_no_switching() -> None:
    with pytest.raises(ProtocolError, match="STATE: energy"):
        simulate(Timetable({0: [switch("0", "1")]}), workload(PROFILES, job("four", "four")))


def test_some_would_sleep_and_others_not() -> None:
    """One number may mean sleep on one machine, and a speed on another."""
    fast = Host("x", (1e9, 5e8, 2e9), {"wattage_per_state": "1:2,1:2,1:2"})
    with pytest.raises(ProtocolError, match="sleep pstate"):
        run(Timetable({1: [switch("0-1", "2")]}), platform=Platform([host("h0"), fast]))


def test_a_job_that_only_is_said_to_run_consumes_nothing() -> None:
    """It has no machines."""
    runs = say(m.ChangeJobState, job_id="w0!wait", job_state="RUNNING")
    outcome = run(Timetable({0: [runs], 3: [kill("w0!wait")]}), "wait")
    assert ends(outcome) == {"wait": ("KILLED", 3)}
    assert [done.consumed_energy for done in outcome.jobs] == [0.0]
