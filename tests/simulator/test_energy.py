"""What hosts consume, SimGrid's numbers; pstates: when they are switched, and what is refused."""

from __future__ import annotations

import csv

import pytest
from msgspec import structs

from batsched_py.errors import PlatformError, ProtocolError
from batsched_py.processors.sets import to_text
from batsched_py.protocol import messages as m
from batsched_py.simulator.energy import (
    SleepState,
    Watts,
    read_power_states,
)
from batsched_py.simulator.engine import Options, Outcome
from batsched_py.simulator.files.output_files import format_schedule_csv
from batsched_py.simulator.platform.hosts import Host, Platform
from helpers.processors import processors
from helpers.scripted_schedulers import (
    GIGA,
    QUERY,
    Make,
    Timetable,
    composed,
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
        10: [QUERY, execute("w0!a", "0")],
        15: [QUERY, switch("0", "1")],
        25: [QUERY, execute("w0!b", "0")],
        27: [QUERY, execute("w0!c", "0-1")],
        29: [QUERY],
    }
    scheduler = Timetable(plan)
    outcome = simulate(scheduler, load, ENERGY, ref_cluster)
    idle = [7 * 100 * time for time in (10, 15, 25, 27)]
    others = [*idle, 6 * 100 * 29 + 2700 + 2 * (120 + 80 / 2)]
    energies = [total - rest for total, rest in zip(answers(scheduler), others, strict=True)]
    assert energies == pytest.approx([1000, 2000, 2800, 3100, 3400], abs=1e-6)
    assert [job.consumed_energy for job in outcome.jobs] == pytest.approx([1000, 300, 620])


def test_latency_is_charged_at_full_load(ref_cluster: Platform) -> None:
    """0.6 ms until the first byte is there, then 1 s at full load: 400.24 J in Batsim 4.2.0."""
    profile = {"type": "parallel_homogeneous", "cpu": GIGA, "com": 1}
    load = workload({"p": profile}, job("j", "p", size=2))
    outcome = simulate(Timetable({0: [execute("w0!j", "0-1")]}), load, ENERGY, ref_cluster)
    assert outcome.jobs[0].finish_time == pytest.approx(1.0006)
    assert outcome.jobs[0].consumed_energy == pytest.approx(2 * 1.0006 * 200)


# Four hosts of 95 W idle, 105 W at the least and 190 W at full load, and the joules of the job and
# of the run in Batsim 4.2.0. SimGrid accounts for a host when a task or a sleep ends on it, or when
# somebody asks, with the load that it has just then for all of the time before.
FOUR_HOSTS = Platform(
    [Host(f"h{at}", (GIGA,), {"wattage_per_state": "95:105:190"}) for at in range(4)]
)
PARTS = {
    "d": delay(20),
    "c": compute(10),
    "dc": composed("d", "c"),
    "cd": composed("c", "d"),
    "dcd": composed("d", "c", "d"),
    "second": {"type": "parallel", "cpu": [0, 10 * GIGA], "com": [0] * 4},
    "ds": composed("d", "second"),
}
STOP = kill("w0!j")


@pytest.mark.parametrize(
    ("profile", "size", "walltime", "plan", "joules", "of_all"),
    [
        ("dc", 4, None, {}, 20_900, 20_900),
        ("cd", 4, None, {}, 15_200, 15_200),
        ("dcd", 4, None, {}, 28_500, 28_500),
        ("ds", 2, None, {}, 8_550, 14_250),
        ("dc", 4, 24, {}, 16_340, 16_340),
        ("dc", 4, None, {15: [STOP]}, 5_700, 5_700),
        ("dc", 4, None, {25: [STOP]}, 17_100, 17_100),
        ("dc", 4, None, {15: [QUERY]}, 16_625, 16_625),
    ],
)
def test_composed_jobs(
    profile: str,
    size: int,
    walltime: float | None,
    plan: dict[float, list[Make]],
    joules: float,
    of_all: float,
) -> None:
    load = workload(PARTS, job("j", profile, walltime, size))
    scheduler = Timetable({0: [execute("w0!j", f"0-{size - 1}")], **plan})
    outcome = simulate(scheduler, load, ENERGY, FOUR_HOSTS)
    assert outcome.power is not None
    assert outcome.jobs[0].consumed_energy == pytest.approx(joules)
    assert outcome.power.energy.summed_up == pytest.approx(of_all)


@pytest.mark.parametrize(
    ("submitted", "plan", "joules"),
    [
        (0, {0: [execute("w0!j", "0-1")]}, 5_700),
        (50, {50: [execute("w0!j", "0-1")]}, 5_700),
        (50, {70: [execute("w0!j", "0-1")], 200: [QUERY]}, 13_300),
        (50, {50: [say(m.RejectJob, job_id="w0!j")]}, -19_001),
    ],
)
def test_the_sum_is_from_the_first_submission_to_the_last_end(
    submitted: float, plan: dict[float, list[Make]], joules: float
) -> None:
    """Batsim 4.2.0 takes -1 J for an end that there was not."""
    load = workload(PARTS, structs.replace(job("j", "c", size=2), submit_time=submitted))
    outcome = simulate(Timetable(plan), load, ENERGY, FOUR_HOSTS)
    (row,) = csv.DictReader(format_schedule_csv(outcome).splitlines())
    assert row["consumed_joules"] == f"{joules:.6f}"


def test_storages_consume_too() -> None:
    """Two idle hosts and a storage: 285 W for 5 s before the job, 475 W in it."""
    storage = FOUR_HOSTS.hosts[3]
    platform = Platform(FOUR_HOSTS.hosts[:2], [storage])
    load = workload(PARTS, job("j", "c", size=2))
    outcome = simulate(Timetable({5: [execute("w0!j", "0-1")]}), load, ENERGY, platform)
    assert outcome.power is not None
    assert outcome.power.energy.summed_up == 285 * 5 + 475 * 10
    assert list(outcome.power.changes()) == [(0.0, "0-2", 0)]


@pytest.mark.parametrize(
    ("asks", "message", "options"),
    [
        (QUERY, "QUERY: energy", Options()),
        (QUERY, "QUERY: energy", Options(switching=True)),
        (switch("0", "1"), "STATE: energy", Options()),
    ],
)
def test_without_energy_nothing_is_asked_for(asks: Make, message: str, options: Options) -> None:
    load = workload({"p": delay(1)}, job("j", "p"))
    with pytest.raises(ProtocolError, match=message):
        simulate(Timetable({0: [asks]}), load, options)


# Properties of hosts ------------------------------------------------------------------------------


def power_of(watts: str | None, sleep: str | None = None, nb: int = 4, pstate: int = 0) -> Host:
    properties = {"wattage_per_state": watts, "sleep_pstates": sleep}
    given = {name: text for name, text in properties.items() if text is not None}
    return Host("h", (1e9,) * nb, given, pstate=pstate)


FOUR = "1:2,1:2,1:2,1:2"
MALFORMED: dict[str, tuple[Host, str]] = {
    "none at all": (power_of(None), "'h' has no property wattage_per_state"),
    "too few": (power_of("1:2,1:2"), "4 speeds and 2 values of wattage_per_state"),
    "a comma too many": (power_of("1:2,", nb=1), "wattage_per_state ''"),
    "endless": (power_of("1:inf", nb=1), "wattage_per_state '1:inf', expected"),
    "sleep with two numbers": (power_of(FOUR, "1:2"), "sleep_pstates '1:2', expected SLEEP:OFF:ON"),
    "pstates that there are not": (power_of(FOUR, "1:2:4"), "'1:2:4', expected.*from 0 to 3"),
    "sleep that is passed": (power_of(FOUR, "1:1:2"), "'1:1:2', expected a pstate to sleep in"),
    "sleep that is there twice": (power_of(FOUR, "1:2:3, 1:3:2"), "'1:3:2', expected a pstate"),
    "a pstate that is only passed in the beginning": (
        power_of(FOUR, "1:2:3", pstate=2),
        "'h' begins in pstate 2, in which",
    ),
}


@pytest.mark.parametrize("sentence", MALFORMED)
def test_malformed(sentence: str) -> None:
    wrong, message = MALFORMED[sentence]
    with pytest.raises(PlatformError, match=message):
        read_power_states(wrong)


def test_well_formed() -> None:
    """Of two values the first is the least power too; blanks do not matter."""
    states = read_power_states(power_of(" 100:200, 80:90:150 ,10:10, 1:2 ", " 2:1:3 ,"))
    assert states.watts[:2] == (Watts(100, 100, 200), Watts(80, 90, 150))
    assert states.sleep == {2: SleepState(1, 3)}
    assert states.passing == {1, 3}


# Pstates -----------------------------------------------------------------------------------------


WATTS = "100:120:200,80:90:150,10:10,20:30,40:45:50"
TRACED = Options(energy=True, trace_machines=True)


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
    return simulate(scheduler, load, TRACED, platform)


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
    """Each host takes its own time; the scheduler learns of it when the last one is there."""
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


def test_a_killed_job_frees_its_host_at_once() -> None:
    """As in Batsim 4.2.0, the reply that kills a job may use its host: for a job, or to sleep."""
    plan: dict[float, list[Make]] = {
        0: [execute("w0!four1", "0")],
        2: [kill("w0!four1"), execute("w0!wait1", "0")],
        3: [kill("w0!wait1"), switch("0", "2")],
        9: [switch("0", "0")],
        13: [execute("w0!four2", "0")],
    }
    scheduler = Timetable(plan)
    assert ends(run(scheduler, "four1", "wait1", "four2")) == {
        "four1": ("KILLED", 2),
        "wait1": ("KILLED", 3),
        "four2": ("SUCCESSFULLY", 17),
    }
    assert changes_told(scheduler) == [(5, "0", "2"), (13, "0", "0")]


@pytest.mark.parametrize("options", [ENERGY, Options()], ids=["energy", "no energy"])
def test_nothing_is_left_to_kill_of_a_job_without_work(
    options: Options, ref_cluster: Platform
) -> None:
    """As in Batsim 4.2.0, it has ended by itself, even if the reply that starts it kills it."""
    load = workload({"none": compute(0)}, job("a", "none"))
    scheduler = Timetable({1: [execute("w0!a", "0"), kill("w0!a")]})
    outcome = simulate(scheduler, load, options, ref_cluster)
    assert ends(outcome) == {"a": ("SUCCESSFULLY", 1)}


# Refused ------------------------------------------------------------------------------------------

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
    "to sleep before the decision that kills its job": (
        {0: [execute("w0!four", "0")], 2: [switch("0", "2"), kill("w0!four")]},
        "runs jobs",
    ),
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
