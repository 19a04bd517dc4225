"""Joules of processors that sleep: by hand, as a sum over processors, and as simulated."""

from __future__ import annotations

from math import isnan, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batsched_py.decision_process import DecisionProcess
from batsched_py.errors import UsageError
from batsched_py.metrics import METRICS, JobTable, MachineEnergy, overall, per_user
from batsched_py.processors.sets import NO_PROCESSORS, ProcessorSet, from_text
from batsched_py.results.embedded_output import EmbeddedOutput
from batsched_py.results.machine_power import STATES, Change, MachinePower, list_watts
from batsched_py.schedulers.fcfs import Fcfs
from batsched_py.schedulers.shutdown.rules import make_rule
from batsched_py.schedulers.shutdown.settings import Shutdown
from batsched_py.simulator.engine import Options, Simulator
from batsched_py.simulator.platform.platform_reader import read_platform
from batsched_py.testing import DrawnJob, workload
from batsched_py.workload.processor_power import PowerGroup, PowerGroups, ProcessorPower
from helpers.powers import BY_HAND, TAURUS
from helpers.schedules_by_hand import table_of_runs

PLATFORM = Path(__file__).parents[2] / "platforms" / "energy_16.xml"
POWERS = (BY_HAND, TAURUS, ProcessorPower(idle_watts=30, computing_watts=50.5))
JobRow = tuple[float, float, ProcessorSet]


def make_table(
    jobs: list[JobRow], nb_processors: int | None, groups: PowerGroups, changes: list[Change]
) -> JobTable:
    """A table of jobs by start, finish and processors; those without processors were rejected."""
    sets = [job[2] for job in jobs]
    table = table_of_runs([(start, end, len(of)) for start, end, of in jobs], nb_processors)
    return table.with_power(MachinePower(groups, changes), lambda: sets)


NEXT = {
    "idle": ("computing", "switching_off"),
    "computing": ("idle",),
    "switching_off": ("asleep",),
    "asleep": ("switching_on",),
    "switching_on": ("idle",),
}


@st.composite
def lives(draw: st.DrawFn) -> Any:
    """Sets of processors, each with a power and with the states that it is in: (until, state)."""
    numbers = draw(st.permutations(range(draw(st.integers(1, 12)))))
    powers = draw(st.sampled_from([POWERS[:1], POWERS[1:2], POWERS]))
    made = []
    while numbers:
        size = draw(st.integers(1, len(numbers)))
        taken, numbers = numbers[:size], numbers[size:]
        power, time, state, life = draw(st.sampled_from(powers)), 0.0, "idle", []
        for _ in range(draw(st.integers(1, 9))):
            time += draw(st.integers(0, 30) | st.floats(0.001, 30))
            life.append((time, state))
            nexts = NEXT[state] if power.can_sleep else NEXT[state][:1]
            state = draw(st.sampled_from(nexts))
        made.append((ProcessorSet.of(taken), power, life))
    return made


@given(lives(), st.lists(st.tuples(st.integers(0, 200), st.floats(0, 99)), min_size=1))
def test_as_a_sum_over_processors(
    drawn: list[tuple[ProcessorSet, ProcessorPower, list[tuple[float, str]]]],
    windows: list[tuple[int, float]],
) -> None:
    """Each processor's own life, cut by each of some windows, which may overlap."""
    end = max(life[-1][0] for *_, life in drawn)
    jobs: list[JobRow] = [(nan, nan, NO_PROCESSORS), (end, end + 1e-5, drawn[0][0])]
    changes: list[Change] = []
    spans = [(float(begin), begin + length) for begin, length in windows]
    seconds = {state: np.zeros(len(spans)) for state in STATES}
    joules = {state: np.zeros(len(spans)) for state in STATES}
    for processors, power, life in drawn:
        watts = dict(zip(STATES, list_watts(power).tolist(), strict=True))
        begin = 0.0
        for before, (until, state) in zip(["", *(each[1] for each in life)], life, strict=False):
            if state == "computing":
                jobs.append((begin, until, processors))
            elif state != "idle" or before == "switching_on":
                changes.append((begin, processors, "awake" if state == "idle" else state))
            last = until == life[-1][0] and state == life[-1][1]
            for number, (first, final) in enumerate(spans):
                # The last state goes on, but a job is over at its end.
                ongoing = final if last and state != "computing" else min(until, final)
                share = max(0.0, ongoing - max(begin, first)) * len(processors)
                after = max(0.0, final - max(until, first)) * len(processors)
                seconds[state][number] += share
                joules[state][number] += share * watts[state]
                if last and state == "computing":
                    seconds["idle"][number] += after
                    joules["idle"][number] += after * watts["idle"]
            begin = until
            if last:
                break
    nb = sum(len(processors) for processors, *_ in drawn)
    groups = tuple(PowerGroup(processors, power) for processors, power, _ in drawn)
    changes.sort(key=lambda change: change[0])
    energy = MachineEnergy(make_table(jobs, nb, groups, changes))
    most = 200 * max(end, 300.0) * nb
    for slow, fast in ((seconds, energy.processor_seconds(spans)), (joules, energy.joules(spans))):
        for state in STATES:
            assert fast[state] == pytest.approx(slow[state], rel=1e-9, abs=1e-10 * most)
    total = sum(energy.processor_seconds(spans).values())
    assert total == pytest.approx(nb * np.diff(np.array(spans)).ravel(), abs=1e-10 * most)


def test_by_hand() -> None:
    """Four processors; two are switched off at 100, asleep at 120, woken at 300, and used at 350.

    They wait idle for nobody; the other two compute from 0 to 100, and are idle then.
    """
    pair = ProcessorSet.interval(2, 2)
    group = PowerGroup(ProcessorSet.interval(0, 4), POWERS[0])
    changes = [(100.0, pair, "switching_off"), (120.0, pair, "asleep")]
    changes += [(300.0, pair, "switching_on"), (350.0, pair, "awake")]
    jobs: list[JobRow] = [(0, 100, ProcessorSet.interval(0, 2)), (350, 400, pair)]
    table = make_table(jobs, 4, (group,), changes)
    table.waking = np.array([0.0, 50.0])
    expected = {
        "energy": 300 * 200 + 800 * 100 + 360 * 10 + 2 * 2400 + 2 * 7500,
        "energy_computing": 300 * 200,
        "energy_idle": 800 * 100,
        "energy_asleep": 360 * 10,
        "energy_switching": 2 * 2400 + 2 * 7500,
        "nb_switches": 4,
        "mean_waking": 25,
    }
    values = overall(table)
    assert {name: values[name] for name in expected} == expected
    awake = 300 * 200 + 1300 * 100
    assert values["energy_saved_share"] == pytest.approx(1 - expected["energy"] / awake)
    cut = MachineEnergy(table).joules([(110, 130)])
    assert cut["switching_off"].tolist() == [2 * 1200]
    assert cut["asleep"].tolist() == [2 * 100]
    of_users = {name: values["energy_computing"] for name, values in per_user(table).items()}
    assert of_users == {"u0": 2 * 100 * 200, "u1": 2 * 50 * 200}
    assert not any(len(of) for of in MachineEnergy(table).joules([]).values())


@pytest.mark.parametrize(
    ("group", "nb"),
    [
        (PowerGroup(ProcessorSet.interval(0, 3), POWERS[2]), 4),
        (PowerGroup(ProcessorSet.interval(0, 4), POWERS[2]), None),
        (PowerGroup(ProcessorSet.interval(0, 4), ProcessorPower(idle_watts=1)), 4),
    ],
    ids=["a processor without power", "a machine of unknown size", "watts of idle ones alone"],
)
def test_joules_are_unknown(group: PowerGroup, nb: int | None) -> None:
    table = make_table([(0, 10, ProcessorSet.interval(0, 2))], nb, (group,), [])
    assert isnan(sum(float(of[0]) for of in MachineEnergy(table).joules([(0, 10)]).values()))
    assert overall(table)["energy"] is overall(table)["energy_saved_share"] is None
    if nb is not None:
        assert MachineEnergy(table).processor_seconds([(0, 10)])["computing"].tolist() == [20]


def test_a_power_that_nobody_knows() -> None:
    table = make_table([(0, 10, from_text("0"))], 1, (), [])
    table.power = None
    assert "energy" not in overall(table)
    assert METRICS["energy"].value(table) is None
    with pytest.raises(UsageError, match="is unknown"):
        MachineEnergy(table)


@settings(max_examples=25)
@given(
    st.lists(
        st.tuples(st.floats(0, 3000), st.integers(1, 16), st.floats(0.1, 900)),
        min_size=1,
        max_size=25,
    )
)
def test_as_the_simulator_accounts_for_it(drawn: list[tuple[float, int, float]]) -> None:
    """At each event, what all hosts have consumed since the beginning."""
    jobs = [DrawnJob(at, size, length, length + 5, "u") for at, size, length in drawn]
    load = workload(jobs, 16, "parallel_homogeneous")
    platform = read_platform(PLATFORM)
    rule = make_rule(Shutdown(idle_time=0, keep=2))
    process = DecisionProcess(Fcfs(), power=platform.find_power(), shutdown=rule)
    outcome = Simulator(platform, [load], Options(energy=True)).run(process.answer)
    assert outcome.power is not None
    assert process.machine.sleepers is not None
    output = EmbeddedOutput(outcome)
    output.power = MachinePower(platform.find_power(), process.machine.sleepers.changes)
    table = output.table
    energy = MachineEnergy(table)
    for time, joules, *_ in outcome.power.energy.events():
        mine = sum(float(of[0]) for of in energy.joules([(0.0, time)]).values())
        assert mine == pytest.approx(joules, rel=1e-9, abs=1e-6)
    assert sum(of[0] for of in energy.joules([(0.0, float(table.finish.max()))]).values()) > 0
    woken = [job.description.extra.get("waking", 0.0) for job in outcome.jobs]
    assert table.waking.tolist() == woken
