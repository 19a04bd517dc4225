"""What the hosts consume: SimGrid's numbers, and refusals."""

from __future__ import annotations

import pytest

from batsched_py.errors import PlatformError, ProtocolError
from batsched_py.protocol import messages as m
from batsched_py.simulator.energy.consumption import (
    SleepState,
    Watts,
    power_states,
)
from batsched_py.simulator.engine import Options
from batsched_py.simulator.platform.hosts import Host, Platform
from helpers.scripted_schedulers import (
    GIGA,
    QUERY,
    Make,
    Timetable,
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
    energies = [total - rest for total, rest in zip(answers(scheduler), others, strict=True)]
    assert energies == pytest.approx([1000, 2000, 2800, 3100, 3400], abs=1e-6)
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
        (100, 80_000, "s", 960, 800),
        (110, pytest.approx(90_000), "e", 960, pytest.approx(1000)),
    ]


def test_latency_is_charged_at_full_load(ref_cluster: Platform) -> None:
    """0.6 ms until the first byte is there, then 1 s at full load: 400.24 J in Batsim 4.2.0."""
    profile = {"type": "parallel_homogeneous", "cpu": GIGA, "com": 1}
    load = workload({"p": profile}, job("j", "p", size=2))
    outcome = simulate(Timetable({0: [execute("w0!j", 3)]}), load, ENERGY, ref_cluster)
    assert outcome.jobs[0].finish_time == pytest.approx(1.0006)
    assert outcome.jobs[0].consumed_energy == pytest.approx(2 * 1.0006 * 200)


def test_no_query_without_energy() -> None:
    with pytest.raises(ProtocolError, match="QUERY: energy is not accounted for"):
        simulate(Timetable({0: [QUERY]}), workload({"p": delay(1)}, job("j", "p")))


def test_other_queries() -> None:
    ask = say(m.Query, requests={"waiting_time": {}})
    with pytest.raises(ProtocolError, match=r"QUERY: \['waiting_time'\] is not known"):
        simulate(Timetable({0: [ask]}), platform=Platform([power_of("1:2", nb=1)]), options=ENERGY)


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
    wrong, message = MALFORMED[sentence]
    with pytest.raises(PlatformError, match=message):
        power_states(wrong)
    with pytest.raises(PlatformError, match=message):
        simulate(Timetable({}), platform=Platform([wrong]), options=ENERGY)


def test_well_formed() -> None:
    """Of two values the first is the least power too; blanks do not matter."""
    states = power_states(power_of(" 100:200, 80:90:150 ,10:10, 1:2 ", " 2:1:3 ,"))
    assert states.watts[:2] == (Watts(100, 100, 200), Watts(80, 90, 150))
    assert states.sleep == {2: SleepState(1, 3)}
    assert states.passing == {1, 3}
