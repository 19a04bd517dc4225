"""The study of machines that sleep: its bound, what it measures, and the report on made-up runs."""

from __future__ import annotations

from itertools import product
from math import inf
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py import simulate
from batsched_py.processors.sets import ProcessorSet
from batsched_py.report import Report
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import workload
from batsched_py.units import WEEK
from batsched_py.workload.processor_power import ProcessorPower
from batsched_studies.shutdown import cases as c
from batsched_studies.shutdown.claims import judge_claims
from batsched_studies.shutdown.gaps import (
    Gaps,
    compute_break_even,
    compute_possible_saving,
    find_gaps,
)
from batsched_studies.shutdown.measures import measure, measure_spans
from batsched_studies.shutdown.report import report
from helpers.made_up_campaign import MadeUpCampaign, changed, one_row, table_of
from helpers.powers import BY_HAND

# The bound


def test_gaps_by_hand() -> None:
    """Processor 0 runs from 10 to 30 and from 30 to 40, 1 from 10 to 30, 2 never."""
    start, finish = np.array([30.0, 10.0]), np.array([40.0, 30.0])
    gaps = find_gaps(start, finish, [ProcessorSet.of([0]), ProcessorSet.of([0, 1])], 3)
    assert sorted(zip(*gaps, strict=True)) == [(0, 10), (0, 10), (0, inf), (30, inf), (40, inf)]


def test_the_shortest_gap_that_pays() -> None:
    """(2400 + 7500 - 10 x 70) / 90 = 102.2 s; never shorter than both switches."""
    assert compute_break_even(BY_HAND) == pytest.approx(9200 / 90)
    free = ProcessorPower(**{**_fields(BY_HAND), "off_joules": 0, "on_joules": 0})
    assert compute_break_even(free) == pytest.approx(70)


def _fields(power: ProcessorPower) -> dict[str, Any]:
    return {name: getattr(power, name) for name in power.__struct_fields__}


@pytest.mark.parametrize(
    ("gap", "span", "saved"),
    [
        ((0, 100), (0, 1000), 0),  # too short
        ((100, 400), (0, 1000), 300 * 100 - 2400 - 7500 - 230 * 10),
        ((100, 400), (120, 350), 230 * 90),  # asleep all the time
        ((100, 400), (110, 1000), 290 * 100 - 1200 - 7500 - 230 * 10),  # half of the way off
        ((100, 400), (0, 375), 275 * 100 - 2400 - 3750 - 230 * 10),  # half of the way on
        ((100, inf), (0, 1000), 900 * 100 - 2400 - 880 * 10),  # never on again
        ((100, 400), (400, 1000), 0),
    ],
)
def test_the_bound_by_hand(
    gap: tuple[float, float], span: tuple[float, float], saved: float
) -> None:
    gaps = Gaps(*(np.array([float(end)]) for end in gap))
    assert compute_possible_saving(gaps, BY_HAND, span) == pytest.approx(saved)


TIMES = st.lists(st.integers(0, 400), min_size=2, max_size=12, unique=True)


@given(TIMES, st.lists(st.booleans(), min_size=12, max_size=12))
def test_no_choice_of_gaps_saves_more(times: list[int], chosen: list[bool]) -> None:
    """Jobs on one processor; sleeping in other gaps that have room for it saves no more."""
    ends = np.array(sorted(times[: len(times) // 2 * 2]), dtype=float)
    start, finish = ends[::2], ends[1::2]
    gaps = find_gaps(start, finish, [ProcessorSet.of([0])] * len(start), 1)
    other = 0.0
    for begin, end, sleeps in zip(*gaps, chosen, strict=False):
        length = min(end, 1000) - begin
        if sleeps and length >= 70:
            switches = 9900 if end < inf else 2400
            other += 100 * length - switches - 10 * (length - (70 if end < inf else 20))
    assert other <= compute_possible_saving(gaps, BY_HAND, (0, 1000)) + 1e-6


# The measures


def run(log: Any = "sample", **options: Any) -> Any:
    return simulate(log, power=BY_HAND, progress=False, **options)


def test_measures_by_hand() -> None:
    """Both processors sleep when the second job comes: 0 since 170, 1 since 70. They wake for 50 s.

    Nothing is switched off after the last job, which runs from 450 to 550.
    """
    log = workload([J(0, 1, 100, 100), J(400, 2, 100, 100)], 2)
    result = run(log, scheduler="easy", shutdown="idle_time=50")
    table = result.table
    gaps = find_gaps(table.start, table.finish, [ProcessorSet.of(of) for of in ([0], [0, 1])], 2)
    (of,) = measure_spans(table, gaps, [(0, 1000)])
    joules = 300 * 200 + (50 + 50 + 900) * 100 + 2 * (2400 + 7500) + (330 + 230) * 10
    assert of["joules"] == pytest.approx(joules)
    assert of["joules_awake"] == pytest.approx(300 * 200 + 1700 * 100)
    assert of["joules_above_sleep"] == pytest.approx(1700 * 90)
    assert of["joules_held"] == pytest.approx(1000 * 90)
    possible = 100 * (350 + 450 + 900) - 2 * 9900 - 2 * 2400 - 10 * (280 + 380 + 860)
    assert of["joules_possible"] == pytest.approx(possible)
    assert (of["switches"], of["wait"], of["waking"]) == (4, 25, 25)
    early, late = measure_spans(table, gaps, [(0, 300), (300, 1000)])
    for name in ("joules", "joules_possible", "busy_seconds", "switches"):
        assert early[name] + late[name] == pytest.approx(of[name]), name
    assert (early["wait"], late["wait"]) == (0, 50)


def test_spans_of_drawn_and_of_recorded_users() -> None:
    options = {"weeks": 3, "long_weeks": 3, "edge_weeks": 1}
    drawn = measure(run(users="resampled", user_options=options, shutdown="idle_time=600"))
    assert drawn["host_seconds"] == 64 * 2 * WEEK
    assert 0 < drawn["joules_awake"] - drawn["joules"] < drawn["joules_above_sleep"]
    recorded = measure(run(shutdown="idle_time=inf"))
    assert recorded["joules_0"] == pytest.approx(recorded["joules_awake_0"])
    assert recorded["host_seconds_1"] == 64 * 4 * WEEK
    assert "joules_2" not in recorded


# The report

LOG = "KTH-SP2-1996-2.1-cln"
FACTORS = (1.0, 2.0)
IDLE_TIMES = (0.0, 212.0, 600.0, 7200.0)
IDLE = {1.0: 300.0, 2.0: 1000.0}
"""Joules above sleep by size of the machine, of 2,000 if all is on."""
Runs = list[dict[str, Any]]


def made_up(nb: int = 6, loops: tuple[str, ...] = c.LOOPS[1:]) -> Runs:
    """Runs in which longer idle times save less, and a reserve saves less than any of them.

    Users who react wake longer and save less of the idle energy; their load is that of others.
    """
    runs: Runs = []
    for loop, factor, number in product(loops, FACTORS, range(nb)):
        of_draw, react = 1 + 0.01 * number, loop in c.REACTING
        place = {"log": LOG, "loop": loop, "node_factor": factor, "replication": number}
        idle = IDLE[factor] * of_draw
        for idle_time, kept in (*product(IDLE_TIMES, (False,)), (212.0, True), (inf, False)):
            share = 0.0 if idle_time == inf else 0.4 if kept else 0.9 - idle_time / 20_000
            waking = 0.0 if idle_time == inf else (45 if kept else 60 - idle_time / 200) * of_draw
            row = place | {"shutdown": f"idle_time={idle_time:g}" + ",keep=10%" * kept}
            row |= {"joules_awake": 2000 * of_draw, "joules_above_sleep": idle}
            row |= {"joules": 2000 * of_draw - share * idle * (0.8 if react else 1)}
            row |= {"joules_possible": 0.95 * idle, "joules_held": 0.05 * idle}
            row |= {"busy_seconds": 10 * of_draw, "host_seconds": 20 * factor * 86400}
            row |= {
                "switches": 0 if idle_time == inf else 100 - idle_time / 100,
                "wait": 500 + waking,
            }
            row |= {"waking": waking * (1.5 if react else 1)}
            runs.append(row | {"mean_lateness": 3600 + waking})
    return runs


def of(runs: Runs) -> Report:
    return report(MadeUpCampaign(runs, "shutdown"))  # type: ignore[arg-type]


def answers_of(runs: Runs) -> dict[str, bool | None]:
    """Return whether each claim holds, without tables and figures."""
    (read,) = c.read(pd.DataFrame(runs)).values()
    return {verdict.claim: verdict.holds for verdict in judge_claims(LOG, read)}


LONGER = "Beyond break-even, the longer the idle time, the less is saved: rigid users"
LARGER = "The larger the machine for the same users, the more is saved: rigid users"
AT_ONCE = "An idle time of 0 saves no less than break-even, to half a point: rigid users"
SWITCHES = "An idle time of 0 switches more than break-even: rigid users"
IS_WAKING = (
    "On the largest machine, the added wait is the time for waking, within 20 %: {} users".format
)
RESERVE = "A longer idle time saves more than a reserve of 10 % that wakes as long: rigid users"
LESS = f"Users who react have less than rigid ones, {c.NAMES[c.OF_IDLE]}: tbuos users"
WAKE = f"Users who react have more than rigid ones, {c.NAMES[c.WAKING]}: tbuos users"


def test_all_claims_hold_where_they_are_made_to() -> None:
    answers = answers_of(made_up())
    assert len(answers) == 3 * 6 + 2 * 4
    for claim in (LONGER, LARGER, AT_ONCE, SWITCHES, IS_WAKING("rigid"), RESERVE, LESS, WAKE):
        assert answers[claim] is True, claim
    assert answers[IS_WAKING("tbuos")] is False


def test_each_claim_can_fail() -> None:
    runs = made_up()
    at_once = {"loop": c.RIGID, "shutdown": "idle_time=0"}
    late = {"loop": c.RIGID, "shutdown": "idle_time=7200"}
    kept = {"loop": c.RIGID, "shutdown": "idle_time=212,keep=10%"}
    for claim, factor, column, place in (
        (LONGER, 0.5, "joules", late),
        (LARGER, 0.5, "joules", {"loop": c.RIGID, "node_factor": 1.0}),
        (AT_ONCE, 1.1, "joules", at_once),
        (SWITCHES, 0.5, "switches", at_once),
        (IS_WAKING("rigid"), 1.5, "wait", late),
        (RESERVE, 0.5, "joules", kept),
        (RESERVE, 0.1, "waking", kept),
        (LESS, 0.5, "joules", {"loop": c.TBUOS}),
        (WAKE, 0.5, "waking", {"loop": c.TBUOS}),
    ):
        assert answers_of(changed(runs, factor, column, **place))[claim] is False, claim


def test_too_few_pairs_are_inconclusive() -> None:
    assert set(answers_of(made_up(3)).values()) == {None}


def test_blocks_of_recorded_users_are_replications() -> None:
    wide: dict[tuple[Any, ...], dict[str, Any]] = {}
    labels = ("log", "loop", "node_factor", "shutdown", "mean_lateness")
    for row in made_up(6, (c.RECORDED,)):
        plain = {name: row[name] for name in labels} | {"mean_lateness": 0.0}
        of_run = wide.setdefault(tuple(plain.values()), plain)
        number = row["replication"]
        of_run |= {f"{name}_{number}": row[name] for name in row if name not in labels}
    runs = [{name: of[name] for name in of if "replication" not in name} for of in wide.values()]
    (read,) = c.read(pd.DataFrame(runs)).values()
    of_case = c.select(read, c.RECORDED, 2.0, 212.0)
    assert of_case.mean(c.SAVED).nb == 6
    assert of_case.mean(c.SAVED).value == pytest.approx(100 * (0.9 - 212 / 20_000) / 2)
    table = table_of(of(runs), "pilot_kth_sp2_1996_2_1_cln").frame
    row = one_row(table, node_factor=2.0, idle_time=0.0)
    assert (row["saved"], row["pilot_saved"]) == (pytest.approx(45), 42.4)


def test_savings_and_waits_stand_side_by_side() -> None:
    made = of(made_up())
    savings = table_of(made, "savings_kth_sp2_1996_2_1_cln").frame
    row = one_row(savings, loop=c.RIGID, node_factor=2.0, idle_time=0.0)
    assert row[["saved", "of_idle", "change"]].tolist() == pytest.approx([45, 90, 45])
    assert row["of_possible"] == pytest.approx(90 / 0.95)
    waits = table_of(made, "waits_kth_sp2_1996_2_1_cln").frame
    row = one_row(waits, loop=c.FEEDBACK, node_factor=1.0, idle_time=0.0)
    assert row[["added", "waking"]].tolist() == pytest.approx([61.5, 92.25])
    assert row["rest"] == pytest.approx(-30.75)
    reacting = table_of(made, "reacting_kth_sp2_1996_2_1_cln").frame
    row = one_row(reacting, loop=c.FEEDBACK, node_factor=2.0, idle_time=0.0)
    assert row["of_idle"] == pytest.approx(-18)
    assert len(made.figures) == 1
