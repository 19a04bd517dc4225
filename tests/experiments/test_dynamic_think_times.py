"""The study of dynamic think times: equal work by hand, claims on made-up runs, the argument."""

from __future__ import annotations

from itertools import product
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py import simulate
from batsched_py.campaign.campaign_file import find_campaign, read_campaign
from batsched_py.report.kit import Runs
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import workload
from batsched_py.units import WEEK
from batsched_py.workload.logs.log_archive import find_log
from batsched_studies.dynamic_think_times import cases, claims
from batsched_studies.dynamic_think_times.measures import NAMES, measure
from batsched_studies.dynamic_think_times.report import find_warm_up, report
from batsched_studies.dynamic_think_times.tables import make_reading_table
from helpers.made_up_campaign import MadeUpCampaign, changed

COLUMNS = {metric.name: metric for metric in (*cases.METRICS, *cases.FURTHER)}


def made(
    scheduler: str, nodes: int, think: str, replication: int = 0, **values: float
) -> dict[str, Any]:
    """Return a run as a campaign has it; ``values`` are in the units of the paper."""
    known = {"work": 1.0, "awrt": 20_000.0, "art": 5_000.0, "awt": 3_000.0, "asd": 20.0}
    known |= {"awrt_printed": 130.0, "bsld": 18.0} | values
    row = {COLUMNS[name].column: value / COLUMNS[name].scale for name, value in known.items()}
    row["nb_ran"] = 1_000
    inner = {f"{name}_weeks_2_to_9": value for name, value in row.items()}
    case = {"scheduler": scheduler, "nodes": nodes, "think": think, "replication": replication}
    return case | row | inner | {"seed": replication}


def as_claimed(scheduler: str, nodes: int, think: str, replication: int = 0) -> dict[str, Any]:
    """Return a run of a world in which all claims hold."""
    work = {"c20": 1.5, "lin": 1.2, "c120": 1.0, "c240": 0.5}[think] + 0.01 * replication
    level = {"c20": 1.3, "lin": 1.07, "c120": 1.05, "c240": 0.7}[think] + 0.01 * replication
    better = 0.8 if scheduler == "easy" else 1.0
    values = dict.fromkeys(("art", "awt", "asd"), 1_000 * level * better)
    values["asd"] *= 0.7 if (scheduler, nodes, think) == ("easy", 1024, "c20") else 1.0
    awrt = 20_000 * level / better
    return made(scheduler, nodes, think, replication, work=work, awrt=awrt, **values)


def world(replications: int = 8) -> list[dict[str, Any]]:
    axes = (("fcfs", "easy"), (1024, 128), ("c20", "c120", "c240", "lin"), range(replications))
    return [as_claimed(*place) for place in product(*axes)]


def verdicts(rows: list[dict[str, Any]]) -> dict[str, bool | None]:
    found = claims.judge_claims(cases.read(pd.DataFrame(rows)), cases.DAILY)
    return {said.claim: said.holds for said in found}


def inner(rows: list[dict[str, Any]]) -> Runs:
    return cases.read(pd.DataFrame(rows)).where(measured=cases.INNER)


def multiplied(rows: Any, factor: float, metric: str, **place: Any) -> Any:
    """Return the runs with a metric multiplied in those with these labels, however measured."""
    column = COLUMNS[metric].column
    inner = changed(rows, factor, f"{column}_weeks_2_to_9", **place)
    return changed(inner, factor, column, **place)


# Units and the time of users -------------------------------------------------------------------


def test_runs_are_read_in_the_units_of_the_paper() -> None:
    """Once as all ten weeks were measured, once as weeks 2 to 9 were."""
    run = made("fcfs", 128, "c120", work=0.24) | {"squashed_area": 2.5e8, "nb_ran": 1_250}
    inner, whole = cases.read(pd.DataFrame([run])).frame.to_dict("records")
    assert (inner["measured"], whole["measured"]) == (cases.INNER, cases.WHOLE)
    assert (inner["reading"], inner["jobs"], inner["work"]) == (cases.DAILY, 1_000, 0.24)
    assert (whole["jobs"], whole["work"]) == (1_250, 0.25)
    assert (inner["awrt"], inner["awrt_printed"], inner["bsld"]) == (20_000, 130, 18)
    assert inner["busy"] == 1_000 * (5_000 + 7_200) / WEEK


def test_mean_area_by_hand() -> None:
    """On four cores each job takes all of them, for the mean run time of the paper's table."""
    run_times = 0.05 * (38 + 75 + 7_200 + 14_400) + 0.1 * (150 + 3_600)
    run_times += 0.15 * (300 + 1_200) + 0.3 * 600
    assert cases.compute_mean_area(4) == pytest.approx(4 * run_times)
    assert cases.compute_mean_area(8) > cases.compute_mean_area(4)
    assert cases.compute_mean_area(4_096) == cases.compute_mean_area(1_024)  # no job is wider


# Equal work ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("points", "lin", "expected"),
    [
        ({"c20": (2, 300), "c120": (1, 100)}, (1.5, 200), (200, 200)),  # on the line
        ({"c20": (2, 300), "c120": (1, 100)}, (1.25, 90), (90, 150)),  # better than it
        ({"c20": (2, 300), "c120": (1, 100)}, (1, 90), (90, 100)),  # as much as one of them
        ({"c20": (3, 500), "c120": (2, 300), "c240": (1, 200)}, (1.5, 1), (1, 250)),
        ({"c20": (2, 300), "c120": (1, 100)}, (2.1, 400), None),  # more than any of them
        ({"c20": (2, 300), "c120": (1, 100)}, (0.9, 80), None),
        ({"c20": (2, 300)}, (2, 300), None),  # one point is no line
    ],
)
def test_constant_think_times_at_equal_work(
    points: dict[str, tuple[float, float]],
    lin: tuple[float, float],
    expected: tuple[float, float] | None,
) -> None:
    rows = [
        made("fcfs", 128, think, work=work, art=art)
        for think, (work, art) in {**points, "lin": lin}.items()
    ]
    found = cases.interpolate_at_equal_work(inner(rows)).frame
    pairs = [] if found.empty else [(found["art"].item(), found["art_constant"].item())]
    assert pairs == ([] if expected is None else [pytest.approx(expected)])


@given(
    st.lists(st.floats(0.1, 10), min_size=2, max_size=6, unique=True),
    st.floats(0.1, 0.9),
    st.floats(-50, 50),
)
def test_on_a_straight_line_lin_is_as_good_as_constant_think_times(
    works: list[float], share: float, slope: float
) -> None:
    work = min(works) + share * (max(works) - min(works))
    thinks = [*((f"c{20 + at}", each) for at, each in enumerate(works)), ("lin", work)]
    rows = [made("fcfs", 128, name, work=w, art=1_000 + slope * w) for name, w in thinks]
    found = cases.interpolate_at_equal_work(inner(rows)).frame
    assert found["art"].tolist() == pytest.approx(found["art_constant"].tolist())


# Claims ----------------------------------------------------------------------------------------


def test_all_claims_hold_in_a_world_made_for_them() -> None:
    assert set(verdicts(world()).values()) == {True}


@pytest.mark.parametrize(
    ("title", "change"),
    [
        # Users of one case who think twice as long do more.
        (claims.FALLS, (3.0, "work", {"think": "c240", "nodes": 128, "scheduler": "easy"})),
        (claims.BEATS, (1.3, "asd", {"scheduler": "easy", "nodes": 128, "think": "c20"})),
        (claims.NOT_AWRT, (0.5, "awrt", {"scheduler": "easy", "nodes": 128, "think": "lin"})),
        (claims.MORE, (0.8, "work", {"think": "lin", "nodes": 1024, "scheduler": "fcfs"})),
        # Both systems have it so that this alone changes.
        (claims.EQUAL_FCFS, (1.2, "asd", {"think": "lin", "nodes": 1024, "scheduler": "fcfs"})),
        (claims.EQUAL_EASY, (0.8, "awt", {"think": "lin", "nodes": 1024, "scheduler": "easy"})),
        (claims.BETTER, (1.15, "art", {"think": "lin", "nodes": 128})),  # no longer better
        (claims.BETTER, (0.8, "awt", {"think": "lin", "nodes": 128})),  # far better than printed
        (claims.ODD, (1.6, "asd", {"think": "c20", "nodes": 1024, "scheduler": "easy"})),
    ],
)
def test_one_case_against_it_and_a_claim_does_not_hold(
    title: str, change: tuple[float, str, dict[str, Any]]
) -> None:
    factor, column, place = change
    found = verdicts(multiplied(world(), factor, column, **place))
    assert {claim for claim, holds in found.items() if holds is False} == {title}


def printed(replications: int = 20) -> list[dict[str, Any]]:
    """Return runs with the printed medians, spread a little, of all printed cases."""
    return [
        made(case["scheduler"], case["nodes"], case["think"], at, **of_run)
        for case, medians in cases.list_published_cases()
        for at in range(replications)
        for of_run in [{name: of[1] * (0.99 + at / 950) for name, of in medians.items()}]
    ]


@pytest.mark.parametrize(("factor", "holds"), [(1.0, True), (1.2, False)])
def test_printed_medians_and_their_ratios(factor: float, holds: bool) -> None:
    """With 20 % longer turnaround times in one case, its median and its ratio to c120 differ."""
    place = {"scheduler": "fcfs", "nodes": 128, "think": "lin"}
    runs = cases.read(pd.DataFrame(multiplied(printed(), factor, "art", **place)))
    fcfs = claims.judge_printed_medians(runs, "daily", ["art"], scheduler="fcfs")
    ratios = [claims.judge_printed_ratios(runs, scheduler) for scheduler in cases.SCHEDULERS]
    assert [fcfs.holds, *(of.holds for of in ratios)] == [holds, holds, True]
    (row,) = make_reading_table(runs.where(measured=cases.INNER)).frame.to_dict("records")
    assert (row["of"], row["near"]) == (31, 31 if holds else 30)
    assert (row["case"] == "ART, fcfs 128 lin") is not holds
    assert (row["squares"] > 4) is not holds


def test_a_claim_is_judged_by_the_campaign_made_for_it() -> None:
    campaign = MadeUpCampaign(world(), "dynamic_think_times")
    judged = {}
    for file in ("campaign", "equal_work", "interpretations", "backfilling", "warm_up"):
        campaign.file = campaign.study / f"{file}.toml"
        judged[file] = {verdict.claim for verdict in report(campaign).verdicts}
    assert judged.pop("equal_work") == {claims.BETTER}
    own = judged.pop("campaign")
    assert len(own) == 14
    assert set(claims.TITLES) - own == {claims.BETTER}
    assert not any(judged.values())


# The report ------------------------------------------------------------------------------------


def names(rows: list[dict[str, Any]]) -> set[str]:
    made_report = report(MadeUpCampaign(rows))
    return {part.name for part in (*made_report.tables, *made_report.figures)}


# The files -------------------------------------------------------------------------------------


def test_jobs_that_end_in_weeks_2_to_9() -> None:
    """Jobs of 10 s on 1, 2, ... processors: the second before Monday 0:00 is no longer inside."""
    ends = [WEEK - 1, WEEK, 5 * WEEK, 9 * WEEK - 1, 9 * WEEK]
    drawn = [J(end - 10, size, 10) for size, end in enumerate(ends, 1)]
    measured = measure(simulate(workload(drawn, 16), scheduler="fcfs"))
    assert measured["nb_ran_weeks_2_to_9"] == 3
    assert measured["squashed_area_weeks_2_to_9"] == 10 * (2 + 3 + 4)
    assert measured["mean_turnaround_time_weeks_2_to_9"] == 10
    assert measured.keys() == {f"{name}_weeks_2_to_9" for name in (*NAMES, "nb_ran")}
    assert measure(simulate(workload(drawn[:1], 16), scheduler="fcfs")) == {}


def test_the_report_reads_what_runs_have() -> None:
    """Short runs of the real thing: no metric is missing, and lin does more than two hours."""
    campaign = read_campaign(find_campaign("dynamic_think_times/campaign"), quick=True)
    chosen = [
        run
        for run in campaign.runs
        if run.labels["nodes"] == 1024 and int(run.labels["replication"]) < 2
    ]
    log = find_log("none", [])
    rows = []
    for run in chosen:
        own = run.settings
        result = simulate(
            log,
            scheduler=own.scheduler,
            users=own.users,
            user_options=own.user_options | {"weeks": 3},
            nodes=own.nodes,
            seed=own.seed,
        )
        measured = result.measured["overall"] | measure(result)
        rows.append(run.labels | measured | {"seed": own.seed})
    runs = cases.read(pd.DataFrame(rows))
    assert not runs.frame.isna().any(axis=None)
    whole, late = (runs.where(measured=which).frame for which in (cases.WHOLE, cases.INNER))
    assert (late["jobs"] < whole["jobs"].to_numpy()).all()
    assert {"as_published", "schedulers", "equal_work_curves"} <= names(rows)
    works = whole.groupby("think")["work"].sum()
    assert works["c20"] > works["lin"] > works["c120"] > works["c240"] > 0


# Warm-up -----------------------------------------------------------------------------------------


def jobs_kept(waits: list[float], begin: float = 0.0) -> pd.DataFrame:
    """Jobs a quarter of a week apart, out of order, as a campaign keeps them."""
    submits = [begin + at * WEEK / 4 for at in range(len(waits))]
    rows = {"submission_time": submits, "waiting_time": waits}
    rows["finish_time"] = [at + wait + 60 for at, wait in zip(submits, waits, strict=True)]
    return pd.DataFrame(rows).iloc[::-1]


def test_the_warm_up_of_waits_that_rise_at_first() -> None:
    """Ten jobs that hardly wait, then thirty of 100 s or a little more: week 3.5 is the first."""
    later = [100.0, 101.0, 99.0] * 10
    row = find_warm_up([jobs_kept([0.0] * 10 + later), jobs_kept([2.0] * 10 + later + [500.0])])
    assert (row["runs"], row["jobs"], row["cut"], row["share"]) == (2, 40, 10, 25)
    assert row["week"] == 3.5
    assert row["wait"] == pytest.approx((75 + (20 + 3_000 + 500) / 41) / 2)
    assert row["wait_after"] == pytest.approx((100 + 3_500 / 31) / 2)
    assert row["wait_inner"] == pytest.approx((6 * 0 + 26 * 100) / 32, rel=0.02)
    rising = find_warm_up([jobs_kept([float(at) for at in range(40)])])
    assert pd.isna([rising[name] for name in ("cut", "share", "week", "wait_after")]).all()
