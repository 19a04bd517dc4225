"""The study of dynamic think times: equal work by hand, claims on made-up runs, the argument."""

from __future__ import annotations

from itertools import product
from statistics import mean
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batsched_py import simulate
from batsched_py.campaign.campaign_file import find_campaign, read_campaign
from batsched_py.units import WEEK
from batsched_py.workload.log_archive import find_log
from batsched_studies.dynamic_think_times import PUBLISHED, cases, claims, tables
from batsched_studies.dynamic_think_times.report import report
from helpers.made_up_campaign import MadeUpCampaign, changed, having

COLUMNS = {metric.name: metric for metric in (*cases.METRICS, *cases.FURTHER)}


def made(
    scheduler: str, nodes: int, think: str, replication: int = 0, **values: float
) -> dict[str, Any]:
    """Return a run as a campaign has it; ``values`` are in the units of the paper."""
    known = {"work": 1.0, "awrt": 20_000.0, "art": 5_000.0, "awt": 3_000.0, "asd": 20.0}
    known |= {"awrt_printed": 130.0, "bsld": 18.0} | values
    row = {COLUMNS[name].column: value / COLUMNS[name].scale for name, value in known.items()}
    case = {"scheduler": scheduler, "nodes": nodes, "think": think, "replication": replication}
    return case | row | {"nb_ran": 1_000, "seed": replication}


def as_claimed(scheduler: str, nodes: int, think: str, replication: int = 0) -> dict[str, Any]:
    """Return a run of a world in which all claims hold."""
    work = {"c20": 1.5, "lin": 1.2, "c120": 1.0, "c240": 0.5}[think] + 0.01 * replication
    level = {"c20": 1.3, "lin": 1.07, "c120": 1.05, "c240": 0.7}[think] + 0.01 * replication
    better = 0.8 if scheduler == "easy" else 1.0
    values = dict.fromkeys(("art", "awt", "asd"), 1_000 * level * better)
    awrt = 20_000 * level / better
    return made(scheduler, nodes, think, replication, work=work, awrt=awrt, **values)


def world(replications: int = 4) -> list[dict[str, Any]]:
    axes = (("fcfs", "easy"), (1024, 128), ("c20", "c120", "c240", "lin"), range(replications))
    return [as_claimed(*place) for place in product(*axes)]


def verdicts(rows: list[dict[str, Any]]) -> dict[str, bool | None]:
    found = claims.verdicts(cases.read(pd.DataFrame(rows)), cases.STATED)
    return {said.claim: said.holds for said in found}


# Units and the time of users -------------------------------------------------------------------


def test_runs_are_read_in_the_units_of_the_paper() -> None:
    (row,) = cases.read(pd.DataFrame([made("fcfs", 128, "c120", work=0.24)])).frame.to_dict(
        "records"
    )
    assert (row["reading"], row["jobs"], row["work"]) == ("as stated", 1_000, 0.24)
    assert (row["awrt"], row["awrt_printed"], row["bsld"]) == (20_000, 130, 18)
    assert row["busy"] == 1_000 * (5_000 + 7_200) / WEEK


@pytest.mark.parametrize(
    ("response", "think", "cycle"),
    [(3_000, "c20", 4_200), (10_000, "lin", 10_000 + 4_826 + 1_779), (0, "c240", 14_400)],
)
def test_users_are_busy_from_a_submission_to_the_end_of_the_think_time(
    response: float, think: str, cycle: float
) -> None:
    assert cases.busy_weeks(7, response, think) == pytest.approx(7 * cycle / WEEK)


def test_mean_area_by_hand() -> None:
    """On four cores each job takes all of them, for the mean run time of the paper's table."""
    run_times = 0.05 * (38 + 75 + 7_200 + 14_400) + 0.1 * (150 + 3_600)
    run_times += 0.15 * (300 + 1_200) + 0.3 * 600
    assert cases.mean_area(4) == pytest.approx(4 * run_times)
    assert cases.mean_area(8) > cases.mean_area(4)
    assert cases.mean_area(4_096) == cases.mean_area(1_024)  # no job is wider


def test_the_published_numbers_need_more_time_than_users_have() -> None:
    """By hand for FCFS, 1024 cores, lin: 1.515 G core-s of 1.05 M each, 13,190 + 8,144 s."""
    needed = cases.needed(1024, "lin", PUBLISHED["cases"]["fcfs"]["1024"]["lin"])
    assert needed["jobs"] == pytest.approx(1_443, abs=1)
    assert needed["cycle"] == pytest.approx(21_334, abs=1)
    assert needed["needed"] == pytest.approx(1_443 * 21_334 / 604_800, rel=1e-3)
    assert needed["share"] > 100  # of 50 weeks, day and night
    shares = [
        cases.needed(case["nodes"], case["think"], own)["share"] for case, own in cases.printed()
    ]
    assert min(shares) > 100 * (4 * 24 + 8) / (7 * 24)  # Monday 9:00 to Friday 17:00


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
    found = cases.at_equal_work(cases.read(pd.DataFrame(rows))).frame
    pairs = [] if found.empty else [(found["art"].item(), found["art_constant"].item())]
    assert pairs == ([] if expected is None else [pytest.approx(expected)])


def test_replications_are_not_mixed_at_equal_work() -> None:
    rows = [
        made("fcfs", 128, think, replication, work=work, art=100 * work * (1 + replication))
        for replication in range(2)
        for think, work in (("c20", 2), ("c120", 1), ("lin", 1.5))
    ]
    found = cases.at_equal_work(cases.read(pd.DataFrame(rows))).frame
    assert list(found["art_constant"]) == pytest.approx([150, 300])


@given(
    st.lists(st.floats(0.1, 10), min_size=2, max_size=6, unique=True),
    st.floats(0, 1),
    st.floats(-50, 50),
)
def test_on_a_straight_line_lin_is_as_good_as_constant_think_times(
    works: list[float], share: float, slope: float
) -> None:
    work = min(works) + share * (max(works) - min(works))
    points = [(f"c{20 + at}", each) for at, each in enumerate(works)]
    rows = [
        made("fcfs", 128, think, work=each, art=1_000 + slope * each)
        for think, each in [*points, ("lin", min(max(work, min(works)), max(works)))]
    ]
    runs = cases.read(pd.DataFrame(rows))
    found = cases.at_equal_work(runs).frame
    if len(found):  # what lies at an end may be beyond it by the last digit
        assert found["art"].item() == pytest.approx(found["art_constant"].item())


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
        (claims.EQUAL, (1.2, "asd", {"think": "lin", "nodes": 1024})),
        (claims.BETTER, (1.15, "art", {"think": "lin", "nodes": 128})),  # no longer better
        (claims.BETTER, (0.8, "awt", {"think": "lin", "nodes": 128})),  # far better than printed
    ],
)
def test_one_case_against_it_and_a_claim_does_not_hold(
    title: str, change: tuple[float, str, dict[str, Any]]
) -> None:
    factor, column, place = change
    found = verdicts(changed(world(), factor, COLUMNS[column].column, **place))
    assert {claim for claim, holds in found.items() if holds is False} == {title}


@pytest.mark.parametrize(
    ("kept", "unknown"),
    [
        ({"think": ("lin", "c120")}, {claims.FALLS, claims.BETTER}),
        ({"scheduler": ("easy",)}, {claims.BEATS, claims.NOT_AWRT, claims.BETTER}),
        ({"nodes": (128,)}, {claims.MORE, claims.EQUAL}),
        ({"think": ("lin",)}, {claims.FALLS, claims.MORE, claims.EQUAL, claims.BETTER}),
        ({"replication": (0,)}, set(claims.TITLES)),  # one replication has no interval
        ({"replication": ()}, set(claims.TITLES)),
    ],
)
def test_nothing_is_said_without_runs(kept: dict[str, Any], unknown: set[str]) -> None:
    found = verdicts(having(world(), **kept))
    assert {claim for claim, holds in found.items() if holds is None} == unknown


def test_an_interval_that_holds_1_says_nothing() -> None:
    """EASY has less ASD in all replications of one case but one."""
    case = {"scheduler": "easy", "nodes": 128, "think": "lin"}
    found = verdicts(changed(world(), 2.0, COLUMNS["asd"].column, **case, replication=0))
    assert {claim for claim, holds in found.items() if not holds} == {claims.BEATS}
    assert found[claims.BEATS] is None


def test_about_equal_is_what_the_paper_calls_so() -> None:
    """The AWRT of EASY, 34,692 beside 30,978 s, are the farthest apart of those that it means."""
    assert claims.equal() == pytest.approx(34_692 / 30_978)


def test_numbers_as_published_would_be_told_so() -> None:
    rows = [
        made(**case, replication=at, **{name: own[at] for name, own in printed.items()})
        for case, printed in cases.printed()
        for at in range(3)
    ]
    said = claims.stated(cases.read(pd.DataFrame(rows)))
    assert said.holds is True
    assert "39 of 39" in said.evidence
    assert claims.stated(cases.read(pd.DataFrame(world()))).holds is False


# The report ------------------------------------------------------------------------------------


def names(rows: list[dict[str, Any]]) -> set[str]:
    made_report = report(MadeUpCampaign(rows))
    for figure in made_report.figures:
        assert figure.spec["datasets"], "the data are in the figure"
        assert sum(map(len, figure.spec["datasets"].values())) < 2_000
    return {part.name for part in (*made_report.tables, *made_report.figures)}


FIGURES = {f"distribution_{metric.name}" for metric in cases.METRICS}


def test_report_of_all_and_of_none() -> None:
    everything = names(world(2))
    assert everything == FIGURES | {
        *("as_published", "schedulers", "think_times", "equal_work", "user_time"),
        *("independent", "cases", "workload", "equal_work_curves"),
    }
    assert names([]) == set()
    readings = [row | {"reading": name} for name in ("as stated", "p_a 1") for row in world(2)]
    new = {"readings", "readings_work", "claims_by_reading"}
    assert names(readings) == everything | new


@pytest.mark.parametrize(
    "kept",
    [{"think": ("lin",)}, {"scheduler": ("easy",), "nodes": (128,)}, {"replication": (1,)}],
)
def test_report_of_a_part(kept: dict[str, Any]) -> None:
    assert {"cases", "workload", *FIGURES} <= names(having(world(2), **kept))


@settings(max_examples=settings().max_examples // 5)  # each makes eight tables
@given(st.data())
def test_tables_of_any_part_of_the_runs(data: st.DataObject) -> None:
    rows = world(2)
    chosen = data.draw(st.lists(st.sampled_from(range(len(rows))), min_size=1, unique=True))
    part = [rows[at] | {"reading": data.draw(st.sampled_from(["as stated", "x"]))} for at in chosen]
    runs = cases.read(pd.DataFrame(part))
    makers = (tables.as_published, tables.schedulers, tables.think_times, tables.equal_work)
    for maker in (*makers, tables.user_time, tables.readings, tables.independent):
        table = maker(runs)
        assert table is None or len(table.frame)
    assert tables.all_cases(runs).frame["replications"].sum() == len(part)
    assert len(claims.verdicts(runs, "x")) == len(claims.TITLES)


def test_tables_have_the_numbers_of_the_paper_beside_ours() -> None:
    runs = cases.read(pd.DataFrame(world()))
    beside = tables.as_published(runs).frame
    assert len(beside) == 7 * 5 + 4  # the waits of one case are not printed
    row = beside[(beside["scheduler"] == "fcfs") & (beside["nodes"] == 1024)].iloc[0]
    assert (row["think"], row["metric"], row["published_median"]) == ("lin", "workload", 1.515)
    assert row["ours_median"] == pytest.approx(1.215)
    schedulers = tables.schedulers(runs).frame.set_index(["nodes", "think"])
    assert schedulers.loc[(1024, "lin"), "art"] == pytest.approx(0.8)
    assert schedulers.loc[(1024, "lin"), "art_published"] == pytest.approx(10_882 / 13_190)
    assert pd.isna(schedulers.loc[(128, "c120"), "awt_published"])
    thinks = tables.think_times(runs).frame.set_index(["scheduler", "nodes"])
    assert thinks.loc[("fcfs", 128), "work"] == pytest.approx(1.215 / 1.015)
    assert thinks.loc[("fcfs", 128), "work_published"] == pytest.approx(0.240 / 0.239)
    equal = tables.equal_work(runs).frame.set_index(["scheduler", "nodes"])
    expected = (1.07 + 0.015) / (1.15 + 0.015)  # of c20 and c120, two fifths of the way
    assert equal.loc[("fcfs", 128), "art"] == pytest.approx(expected)
    assert pd.isna(equal.loc[("fcfs", 1024), "art_published"])


# The files -------------------------------------------------------------------------------------


def test_published_numbers_are_as_the_text_says() -> None:
    """A check of the transcription: quantiles ascend, and the printed orderings are there."""
    printed_cases = {tuple(case.values()): own for case, own in cases.printed()}
    assert len(printed_cases) == 2 * 2 * 2
    for printed in printed_cases.values():
        assert all(low < middle < high for low, middle, high in printed.values())
    for nodes, think in product((1024, 128), ("lin", "c120")):
        easy, fcfs = (printed_cases[name, nodes, think] for name in ("easy", "fcfs"))
        assert all(easy[name][1] < fcfs[name][1] for name in ("art", "asd"))
        assert easy["awrt"][1] > fcfs["awrt"][1]
    # Responses are waits and run times; the mean run time of the paper's table is 1,866 s.
    run_times = [own["art"][1] - own["awt"][1] for own in printed_cases.values() if "awt" in own]
    assert mean(run_times) == pytest.approx(1_866, rel=0.01)


@pytest.mark.parametrize("file", ["campaign", "readings", "equal_work"])
def test_campaign_files_say_what_their_labels_say(file: str) -> None:
    campaign = read_campaign(find_campaign(f"dynamic_think_times/{file}"), quick=True)
    assert campaign.keep == "metrics"
    for run in campaign.runs:
        options = run.settings.user_options
        assert (run.settings.log, run.settings.users) == ("none", "weekly")
        assert options["think"] == run.labels["think"]
        assert run.settings.nodes == run.labels["nodes"]
        reading = str(run.labels.get("reading", "as stated"))
        assert (options.get("activity") == 1.0) == ("p_a 1" in reading)
        assert (options.get("short") == "clip") == ("clip" in reading)


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
        rows.append(run.labels | result.measured["overall"] | {"seed": own.seed})
    runs = cases.read(pd.DataFrame(rows))
    assert not runs.frame.isna().any(axis=None)
    assert {"as_published", "schedulers", "equal_work_curves"} <= names(rows)
    works = runs.frame.groupby("think")["work"].sum()
    assert works["c20"] > works["lin"] > works["c120"] > works["c240"] > 0
