"""What the hosts consume: SimGrid's numbers, and refusals."""

from __future__ import annotations

import csv

import pytest
from msgspec import structs

from batsched_py.errors import PlatformError, ProtocolError
from batsched_py.protocol import messages as m
from batsched_py.simulator.energy import (
    SleepState,
    Watts,
    read_power_states,
)
from batsched_py.simulator.engine import Options
from batsched_py.simulator.files.output_files import format_schedule_csv
from batsched_py.simulator.platform.hosts import Host, Platform
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


def test_no_query_without_energy() -> None:
    with pytest.raises(ProtocolError, match="QUERY: energy"):
        simulate(Timetable({0: [QUERY]}), workload({"p": delay(1)}, job("j", "p")))


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
        "'h' begins in pstate 2, which",
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
