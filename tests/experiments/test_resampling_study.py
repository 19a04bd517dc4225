"""The study of chapter 3 of Zakay's thesis: verdicts on made-up runs, parts, what is measured."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from batsched_py import load_workload, simulate
from batsched_py.campaign.campaign_file import find_campaign, read_campaign
from batsched_py.workload.conversion_rules import make_rules
from batsched_py.workload.logs.log_archive import find_log
from batsched_studies.resampling import claims, loads, measures, parts
from batsched_studies.resampling.report import report
from batsched_users.resampling.user_pools import make_pools
from batsched_users.sessions.delimitation import Delimitation
from batsched_users.sessions.feedback_engine import SESSIONS
from helpers.made_up_campaign import MadeUpCampaign

DS, HPC2N, BLUE, CTC = (
    *("SDSC-DS-2004-2.1-cln", "HPC2N-2002-2.2-cln"),
    *("SDSC-BLUE-2000-4.2-cln", "CTC-SP2-1996-3.1-cln"),
)
OSC, KTH = "OSC-Clust-2000-3.1-cln", "KTH-SP2-1996-2.1-cln"
USED = "utilisation_to_last_submission"
METRICS = {
    "throughput_to_last_submission": 10.0,
    "utilisation_to_last_submission": 0.5,
    "mean_bounded_slowdown": 20.0,
    "mean_waiting_time": 3600.0,
    "wait_99": 7200.0,
    "backlog_growth": 0.0,
    "roughness": 2.0,
    "busiest_week": 2.0,
}
EVEN = {f"share_at_{hour:02d}": 1 / 24 for hour in range(24)}
EVEN |= {f"share_on_{day}": 1 / 7 for day in range(7)}
SPREAD = np.linspace(0.9, 1.1, 401)
"""Of 401 variants, the middle one is as the log."""


def run(workload: str, replication: int = 0, log: str = DS, /, **values: Any) -> dict[str, Any]:
    place: dict[str, Any] = {"log": log, "workload": workload, "replication": replication}
    return place | METRICS | EVEN | values


def variants(factors: Iterable[float] = SPREAD, log: str = DS) -> list[dict[str, Any]]:
    metrics = ("throughput_to_last_submission", "utilisation_to_last_submission")
    metrics += ("mean_bounded_slowdown", "mean_waiting_time")
    return [
        run("variants", n, log, **{metric: factor * METRICS[metric] for metric in metrics})
        for n, factor in enumerate(factors)
    ]


def verdicts(rows: list[dict[str, Any]]) -> dict[tuple[str, str], bool | None]:
    of_claims = report(MadeUpCampaign(rows)).verdicts
    known = {claims.TEXTS.verdict(key, None, tell=False).claim: key for key in KEYS}
    return {(known[verdict.claim], verdict.log): verdict.holds for verdict in of_claims}


KEYS = (
    *("original", "throughput", "utilisation", "slowdown", "wait", "extension", "shape"),
    *("saturation", "reached", "flurries", "visible", "fewer"),
)


# The log among its variants ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "log", "column", "value", "holds"),
    [
        ("throughput", CTC, "throughput_to_last_submission", 10.0, True),
        ("throughput", CTC, "throughput_to_last_submission", 10.96, None),  # above 98 of 100
        ("utilisation", DS, "utilisation_to_last_submission", 0.5, True),
        ("utilisation", DS, "utilisation_to_last_submission", 0.5 * 1.085, None),  # 8 % less
        ("utilisation", DS, "utilisation_to_last_submission", 0.5 * 1.12, False),  # 11 % less
        ("utilisation", DS, "utilisation_to_last_submission", 0.5 * 0.904, None),
        ("slowdown", DS, "mean_bounded_slowdown", 20 * 1.0992, True),  # above nearly all
        ("slowdown", DS, "mean_bounded_slowdown", 20.0, False),
        ("slowdown", HPC2N, "mean_bounded_slowdown", 20 * 0.9008, True),
        ("slowdown", CTC, "mean_bounded_slowdown", 20.0, None),  # not printed
        ("wait", CTC, "mean_waiting_time", 3600 * 0.904, None),  # eight of 401 are below
        ("wait", CTC, "mean_waiting_time", 3600 * 0.9008, False),
        ("wait", BLUE, "mean_waiting_time", 3600 * 0.95, True),  # most variants wait longer
        ("wait", BLUE, "mean_waiting_time", 3600 * 1.05, False),
    ],
)
def test_places_are_those_printed(
    key: str, log: str, column: str, value: float, holds: bool | None
) -> None:
    rows = [*variants(log=log), run("recorded", 0, log, **{column: value})]
    assert verdicts(rows).get((key, log)) is holds


def test_the_log_is_placed_among_variants_of_each_kind() -> None:
    """Users who begin anywhere wait as in the log, the others longer."""
    even = [
        row | {"workload": "even variants", "mean_waiting_time": 3600 * factor}
        for row, factor in zip(variants(log=CTC), SPREAD, strict=True)
    ]
    late = [row | {"mean_waiting_time": 7200.0} for row in variants(log=CTC)]
    of_claims = report(MadeUpCampaign([*late, *even, run("recorded", 0, CTC)])).verdicts
    by_kind = {
        of.reading.rpartition("; ")[2]: of.holds
        for of in of_claims
        if of.claim.startswith("Waits of variants are around")
    }
    assert by_kind == {"begin active": False, "begin anywhere": True}


@pytest.mark.parametrize(
    ("log", "printed"), [("KTH-SP2-1996-2", (66, 2_349)), ("LANL-CM5-1994-4.1-cln", (37, 1_727))]
)
def test_temporary_users_of_the_campaigns_are_those_of_the_thesis(
    shared: Path, log: str, printed: tuple[int, int]
) -> None:
    swf = find_log(log, [shared / "swf"])
    for name in ("resampling/intervals", "tbuos_ups/ratios"):
        runs = [run.settings for run in read_campaign(find_campaign(name)).runs]
        drawing = [run for run in runs if run.log == log and run.users != "rigid"]
        (edge,) = {run.user_options["edge_weeks"] for run in drawing}
        workload = load_workload(swf, make_rules(drawing[0].rules, walltime="requested"))
        pools = make_pools(workload.jobs, Delimitation.parse(SESSIONS), edge_weeks=edge)
        nb_jobs = sum(len(batch.jobs) for trace in pools.temporary for batch in trace.batches)
        assert (len(pools.temporary), nb_jobs) == printed


# More and fewer users ---------------------------------------------------------------------------


def loaded(load: float, growth: Iterable[float], /, **values: Any) -> list[dict[str, Any]]:
    return [
        run("variants", n, OSC, load=load, backlog_growth=g, **values) for n, g in enumerate(growth)
    ]


@pytest.mark.parametrize(
    ("growth", "holds"),
    [
        ([5, 5, 5, 5, 5, 0], True),
        ([0, 0, 0, 0, 0, 0], False),
        ([0, 0, 0, 0, 0, 1.0], False),  # no more than a job a week
        ([0, 0, 0, 0, 0, 5], None),  # one of six is no answer
        ([5, 5, 5, 5], None),  # nor are four
    ],
)
def test_more_users_saturate_the_machine(growth: list[float], holds: bool | None) -> None:
    rows = loaded(0.8, [0] * 6) + loaded(1.0, [0] * 6) + loaded(1.5, growth)
    assert verdicts(rows)["saturation", OSC] is holds
    assert ("saturation", OSC) not in verdicts(loaded(1.5, growth))


@pytest.mark.parametrize(
    ("log", "stable", "none", "holds"),
    [
        (DS, 85, 89, True),
        (DS, 85, 92, None),  # it is somewhere between
        (DS, 91, 92, False),
        (OSC, 96, 98, True),
        (OSC, 96, None, True),  # there is no more than all of a machine
        (OSC, 93, 94, False),
    ],
)
def test_where_a_log_saturates(
    log: str, stable: float, none: float | None, holds: bool | None
) -> None:
    """Of 1.5 times the users a run is stable and one is not, of twice as many none is."""
    drawn = [(1.5, 0, stable), (1.5, 5, 99.9)] + ([(2, 5, none)] if none else [])
    runs = [
        run("variants", n, log, load=load, backlog_growth=growth) | {USED: used / 100}
        for n, (load, growth, used) in enumerate(drawn)
    ]
    assert verdicts(runs)["reached", log] is holds


@pytest.mark.parametrize(
    ("moved", "roughness", "holds"), [(0.05, 1.0, True), (0.2, 1.0, False), (0.05, 3.0, False)]
)
def test_the_shape_of_six_times_the_users(moved: float, roughness: float, holds: bool) -> None:
    """So large a share of the submissions comes at noon instead of in the other hours."""
    shares = {f"share_at_{hour:02d}": (1 - moved) / 24 for hour in range(24)}
    shares["share_at_12"] += moved
    rows = loaded(6.0, [0, 0], roughness=roughness, **shares)
    rows.append(run("recorded", 0, OSC))
    (row,) = pd.DataFrame(loads.list_loads(claims.read(pd.DataFrame(rows)))).itertuples()
    assert row.apart_hours == pytest.approx(moved * 23 / 24)
    assert verdicts(rows)["shape", OSC] is holds


# Flurries ---------------------------------------------------------------------------------------


def with_flurries(*factors: float, pairs: int = 6) -> list[dict[str, Any]]:
    return [
        run(
            "flurries",
            n,
            rare_per_week=rate,
            **{
                metric: METRICS[metric] * factor * (1 + n)
                for metric in (
                    "mean_waiting_time",
                    "mean_bounded_slowdown",
                    "wait_99",
                    "busiest_week",
                )
            },
        )
        for rate, factor in zip((0.0, 0.25, 0.5), (1.0, *factors), strict=False)
        for n in range(pairs)
    ]


@pytest.mark.parametrize(
    ("factors", "pairs", "holds"),
    [
        ((1.1, 1.2), 6, True),
        ((1.2, 1.1), 6, False),  # not the more, the worse
        ((1.0, 1.2), 6, False),
        ((1.1, 1.2), 4, None),  # too few for an interval
    ],
)
def test_flurries_are_compared_by_seed(
    factors: tuple[float, float], pairs: int, holds: bool | None
) -> None:
    """Seeds differ manifold, the same one by the factor only."""
    rows = with_flurries(*factors, pairs=pairs)
    found = verdicts(rows)
    assert found["flurries", DS] is holds
    assert found["visible", DS] is (None if pairs == 4 else factors[0] > 1)  # in the busiest week
    table = pd.DataFrame(loads.list_flurries(claims.read(pd.DataFrame(rows))))
    for row in table[table["metric"] == "wait"].itertuples():
        expected = factors[0] if row.rate == 0.25 else factors[1]
        ends = (expected if pairs > 4 else np.nan,) * 2
        assert (row.ratio, row.low, row.high) == pytest.approx((expected, *ends), nan_ok=True)


# Parts ------------------------------------------------------------------------------------------


def distances(part: int, values: Iterable[float]) -> list[dict[str, Any]]:
    """A run of each value for one marginal; in another all are as the log."""
    return [
        {"log": DS, "part": part, "run": n, "of": of, "distance": distance}
        for n, value in enumerate(values)
        for of, distance in (("jobs", value), ("work", 0.0))
    ]


@pytest.mark.parametrize(
    ("runs", "holds"),
    [
        ((1.5, 2.5, 3.5), True),
        ((8.1, 8.2, 8.3), False),  # all beyond nine variants: one of 220 ways
        ((0.5, 8.2, 8.3), True),  # their median is beyond all, they are not
        ((8.1,), None),  # one of ten ways is the rarest there is
    ],
)
def test_all_runs_of_a_part_are_ranked_among_the_variants(
    runs: tuple[float, ...], holds: bool | None
) -> None:
    """The slow twin: of all ways to choose the runs, those with as large a sum of ranks."""
    variants_ = [float(value) for value in range(9)]
    rows = distances(0, variants_)
    for part in parts.PARTS:
        rows += distances(part, runs if part == 5 else np.arange(len(runs)) + 3.5)
    found = parts.compare_with_variants(pd.DataFrame(rows))
    (last,) = found[found["part"] == 5].itertuples()
    assert last.times == pytest.approx([value / 4 for value in runs])
    ranks = {value: rank for rank, value in enumerate(sorted([*variants_, *runs]))}
    ways = [sum(way) for way in combinations(ranks.values(), len(runs))]
    assert last.p == pytest.approx(
        np.mean([way >= sum(ranks[run] for run in runs) for way in ways])
    )
    assert last.least == 1 / len(ways)
    (verdict,) = claims._extension("extension", pd.DataFrame(rows))
    assert verdict.holds is holds


# Measured ---------------------------------------------------------------------------------------


def test_what_is_measured_of_a_run_of_the_sample_log() -> None:
    result = simulate(find_log("sample", []), users="rigid")
    measured = measures.measure(result)
    hours = [measured[name] for name in loads.HOURS]
    days = [measured[name] for name in loads.DAYS]
    assert (sum(hours), sum(days)) == pytest.approx((1, 1))
    assert sum(days[:5]) > 5 / 7, "people work on weekdays"
    assert sum(hours[8:18]) > 10 / 24
    assert 0 <= measured["wait_50"] <= measured["wait_90"] <= measured["wait_99"]
    assert measured["busiest_week"] >= 1
