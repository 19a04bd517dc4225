"""The study of dynamic think times: equal work by hand, claims on made-up runs, the argument."""

from __future__ import annotations

from itertools import product
from math import hypot, isnan, log
from statistics import NormalDist, mean, stdev
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batsched_py import simulate
from batsched_py.campaign.campaign_file import find_campaign, read_campaign
from batsched_py.report import Verdict
from batsched_py.report.kit import Interval, Runs
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import workload
from batsched_py.units import WEEK
from batsched_py.workload.logs.log_archive import find_log
from batsched_studies.dynamic_think_times import PUBLISHED, cases, claims, tables
from batsched_studies.dynamic_think_times.measures import NAMES, measure
from batsched_studies.dynamic_think_times.report import find_warm_up, report
from helpers.made_up_campaign import MadeUpCampaign, changed, having

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


def test_runs_of_which_only_all_weeks_were_measured() -> None:
    run = made("fcfs", 128, "c120")
    known = {name: value for name, value in run.items() if "weeks_2_to_9" not in name}
    assert cases.read(pd.DataFrame([known])).labels("measured") == [cases.WHOLE]


@pytest.mark.parametrize(
    ("response", "think", "cycle"),
    [(3_000, "c20", 4_200), (10_000, "lin", 10_000 + 4_826 + 1_779), (0, "c240", 14_400)],
)
def test_users_are_busy_from_a_submission_to_the_end_of_the_think_time(
    response: float, think: str, cycle: float
) -> None:
    assert cases.compute_busy_weeks(7, response, think) == pytest.approx(7 * cycle / WEEK)


def test_mean_area_by_hand() -> None:
    """On four cores each job takes all of them, for the mean run time of the paper's table."""
    run_times = 0.05 * (38 + 75 + 7_200 + 14_400) + 0.1 * (150 + 3_600)
    run_times += 0.15 * (300 + 1_200) + 0.3 * 600
    assert cases.compute_mean_area(4) == pytest.approx(4 * run_times)
    assert cases.compute_mean_area(8) > cases.compute_mean_area(4)
    assert cases.compute_mean_area(4_096) == cases.compute_mean_area(1_024)  # no job is wider


def test_the_published_numbers_need_more_time_than_users_have() -> None:
    """By hand for FCFS, 1024 cores, lin: 1.515 G core-s of 1.05 M each, 13,190 + 8,144 s."""
    needed = cases.compute_needed_time(1024, "lin", PUBLISHED["cases"]["fcfs"]["1024"]["lin"])
    assert needed["jobs"] == pytest.approx(1_443, abs=1)
    assert needed["cycle"] == pytest.approx(21_334, abs=1)
    assert needed["needed"] == pytest.approx(1_443 * 21_334 / 604_800, rel=1e-3)
    assert needed["share"] > 100  # of 50 weeks, day and night
    shares = [
        cases.compute_needed_time(case["nodes"], case["think"], own)["share"]
        for case, own in cases.list_published_cases()
    ]
    assert min(shares) > 100 * (4 * 24 + 8) / (7 * 24)  # Monday 9:00 to Friday 17:00


# Medians -----------------------------------------------------------------------------------------


def test_the_error_of_a_median_is_that_of_normal_numbers() -> None:
    """400 medians of 100 normal numbers of deviation 10, simulated: 1.25, as by the quantiles."""
    draws = NormalDist(50, 10).samples(40_000, seed=1)
    medians = [sorted(draws[at : at + 100])[50] for at in range(0, 40_000, 100)]
    assert cases.compute_median_error(50 - 19.6, 50 + 19.6, 100) == pytest.approx(1.2533, abs=1e-3)
    assert stdev(medians) == pytest.approx(1.2533, rel=0.1)
    known = cases.estimate_printed_median([50 - 19.6, 50, 50 + 19.6])
    assert (known.value, known.high - known.low) == (50, pytest.approx(2 * 1.96 * 1.2533, rel=1e-3))


def test_distances_of_medians_by_hand() -> None:
    """101 runs from 0 to 100: the median is 50 (40.2 to 59.8); 50 is printed, or 60."""
    ours = pd.Series(range(101), dtype=float)
    assert cases.compute_distance(ours, [2.5, 50, 97.5]) == 0
    error = hypot(9.8 / 1.96, 1.2533 * 95 / 3.92 / 10)
    assert cases.compute_distance(ours, [12.5, 60, 107.5]) == pytest.approx(-10 / error, rel=1e-2)
    assert isnan(cases.compute_distance(ours[:5], [2.5, 50, 97.5]))  # five have no interval


def test_distances_of_ratios_by_hand() -> None:
    """Ours 1.1 with an error of 3 %; the medians of the paper are known to 4 % each, or wholly."""
    ours = Interval(1.1, 1.1 / 1.0605, 1.1 * 1.0605, 100)  # exp(1.96 x 0.03)
    sure, wide = [100, 100, 100], [100 - 62.55, 100, 100 + 62.55]
    assert cases.compute_ratio_distance(ours, sure, sure) == pytest.approx(
        log(1.1) / 0.03, rel=1e-2
    )
    total = (0.03**2 + 2 * 0.04**2) ** 0.5
    assert cases.compute_ratio_distance(ours, wide, wide) == pytest.approx(
        log(1.1) / total, rel=1e-2
    )


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


def test_replications_are_not_mixed_at_equal_work() -> None:
    rows = [
        made("fcfs", 128, think, replication, work=work, art=100 * work * (1 + replication))
        for replication in range(2)
        for think, work in (("c20", 2), ("c120", 1), ("lin", 1.5))
    ]
    found = cases.interpolate_at_equal_work(inner(rows)).frame
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
    found = cases.interpolate_at_equal_work(inner(rows)).frame
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


EQUAL = (claims.EQUAL_FCFS, claims.EQUAL_EASY)
ALL_CASES = (claims.FALLS, claims.BEATS, claims.NOT_AWRT)
"""Claims on all of the paper's cases: of some of them they cannot be told."""


@pytest.mark.parametrize(
    ("kept", "unknown"),
    [
        ({"think": ("lin", "c120")}, {*ALL_CASES, claims.BETTER, claims.ODD}),
        ({"scheduler": ("easy",)}, {*ALL_CASES, claims.MORE, claims.BETTER, claims.EQUAL_FCFS}),
        ({"nodes": (128,)}, {*ALL_CASES, claims.MORE, claims.ODD, *EQUAL}),
        ({"think": ("lin",)}, {*ALL_CASES, claims.MORE, claims.BETTER, claims.ODD, *EQUAL}),
        ({"replication": range(5)}, set(claims.TITLES)),  # five have no interval of the median
        ({"replication": ()}, set(claims.TITLES)),
    ],
)
def test_nothing_is_said_without_runs(kept: dict[str, Any], unknown: set[str]) -> None:
    found = verdicts(having(world(), **kept))
    assert {claim for claim, holds in found.items() if holds is None} == unknown


def test_an_interval_that_holds_1_says_nothing() -> None:
    """EASY has less ASD in six replications of one case, and more in two."""
    case = {"scheduler": "easy", "nodes": 128, "think": "lin"}
    rows = multiplied(world(), 2.0, "asd", **case, replication=0)
    rows = multiplied(rows, 2.0, "asd", **case, replication=1)
    (said,) = [v for v in claims.judge_claims(inner(rows), cases.DAILY) if not v.holds]
    assert (said.claim, said.holds, said.reading) == (
        claims.BEATS,
        None,
        "daily chains, weeks 2 to 9",
    )
    assert said.effect.startswith("ASD, 128 lin 0.80 [0.80, 1.")  # what it hangs on
    assert said.effect.endswith("n = 8")


@pytest.mark.parametrize(
    ("low", "high", "holds"),
    [
        (0.9, 1.1, True),
        (0.9, 1.13, None),
        (0.85, 1.0, None),
        (1.13, 1.2, False),
        (0.8, 0.85, False),
    ],
)
def test_about_equal_is_asked_of_the_whole_interval(
    low: float, high: float, holds: bool | None
) -> None:
    assert claims._about_equal(Interval((low + high) / 2, low, high, 9)) is holds


@pytest.mark.parametrize(
    ("low", "high", "holds"),
    [
        (0.9, 0.94, True),
        (0.95, 0.98, True),
        (0.95, 1.01, None),
        (0.97, 0.99, False),
        (0.8, 0.9, True),
    ],
)
def test_better_is_below_1_and_may_be_what_is_printed(
    low: float, high: float, holds: bool | None
) -> None:
    assert claims._better(Interval((low + high) / 2, low, high, 9)) is holds


def test_readings_tell_the_limits_of_vague_words() -> None:
    said = {v.claim: v.reading for v in claims.judge_claims(inner(world()), cases.DAILY)}
    told = "daily chains, weeks 2 to 9"
    assert said[claims.EQUAL_FCFS] == f"{told}; equal: within a factor of 1.12"
    assert said[claims.BETTER] == (
        f"{told}; better: the interval is below 1 and reaches into the paper's 0.88 to 0.96"
    )


def test_about_equal_is_what_the_paper_calls_so() -> None:
    """The AWRT of EASY, 34,692 beside 30,978 s, are the farthest apart of those that it means."""
    assert claims.find_equal_tolerance() == pytest.approx(34_692 / 30_978)


def told(rows: list[dict[str, Any]], *metrics: str, **labels: str) -> Verdict:
    return claims.judge_printed_medians(cases.read(pd.DataFrame(rows)), "daily", metrics, **labels)


def published(factor: float = 1.0) -> list[dict[str, Any]]:
    """Runs with the quantiles of the paper, or a multiple of them."""
    return [
        made(
            **case, replication=at, **{name: factor * own[at % 3] for name, own in printed.items()}
        )
        for case, printed in cases.list_published_cases()
        for at in range(9)
    ]


def test_numbers_as_published_would_be_told_so() -> None:
    said = told(published(), "work", "awrt", "art", "awt", scheduler="fcfs")
    assert said.holds is True
    assert "16 of them are within 1.96" in said.evidence
    assert "1.00 to 1.00 in 16 medians, 0.0 standard errors" in said.effect
    assert told(world(), "art").holds is False
    one_case = told(published()[:9], "asd")
    assert one_case.holds is None
    assert "too few runs" in one_case.evidence
    assert told([], "asd").holds is None
    assert told([], "asd", scheduler="easy").claim.endswith("(easy)")


def test_medians_a_little_off_are_told_apart_by_enough_runs() -> None:
    """A tenth more work: nine runs cannot tell it from the paper's, 900 can."""
    few = published(1.1)
    many = [run | {"replication": 9 * at + run["replication"]} for run in few for at in range(100)]
    assert told(few, "work").holds is True
    assert told(many, "work").holds is False


def test_a_user_with_one_job_at_a_time_has_not_the_time_for_the_published_numbers() -> None:
    said = claims.judge_single_jobs()
    assert said.holds is False
    assert "86 to 108 %" in said.evidence
    assert "62 %" in said.effect


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
        *("readings", "claims_by_reading", "cases", "workload", "equal_work_curves"),
    }
    assert names([]) == set()
    both = (cases.DAILY, "single, redraw")
    readings = [row | {"reading": name} for name in both for row in world(2)]
    assert names(readings) == everything | {"readings_work", "independent"}


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
    reading = st.sampled_from([cases.DAILY, "x"])
    part = [rows[at] | {"reading": data.draw(reading)} for at in chosen]
    runs = cases.read(pd.DataFrame(part))
    own = ("published", "scheduler", "think_time", "equal_work", "user_time", "reading")
    for name in (*own, "independent"):
        table = getattr(tables, f"make_{name}_table")(runs)
        assert table is None or len(table.frame)
    assert tables.make_case_table(runs).frame["replications"].sum() == 2 * len(part)
    assert len(claims.judge_claims(runs, "x")) == len(claims.TITLES)


def test_tables_have_the_numbers_of_the_paper_beside_ours() -> None:
    rows = multiplied(world(), 1.5, "work", nodes=256)  # is not there
    beside = tables.make_published_table(cases.read(pd.DataFrame(rows))).frame
    assert len(beside) == 7 * 5 + 4  # the waits of one case are not printed
    row = beside[(beside["scheduler"] == "fcfs") & (beside["nodes"] == 1024)].iloc[0]
    assert (row["think"], row["metric"], row["published"]) == ("lin", "workload", 1.515)
    assert row["median"] == row["whole"] == pytest.approx(1.235)
    assert row["published_from"] < 1.515 < row["published_to"]
    assert row["ratio"] == pytest.approx(1.235 / 1.515)
    assert row["runs"] == 8
    runs = inner(rows)
    schedulers = tables.make_scheduler_table(runs).frame.set_index(["nodes", "think"])
    assert schedulers.loc[(1024, "lin"), "art"] == pytest.approx(0.8)
    assert schedulers.loc[(1024, "lin"), "art_published"] == pytest.approx(10_882 / 13_190)
    assert pd.isna(schedulers.loc[(128, "c120"), "awt_published"])
    thinks = tables.make_think_time_table(runs).frame.set_index(["scheduler", "nodes"])
    assert thinks.loc[("fcfs", 128), "work"] == pytest.approx(1.235 / 1.035, rel=1e-3)
    assert thinks.loc[("fcfs", 128), "work_published"] == pytest.approx(0.240 / 0.239)
    equal = tables.make_equal_work_table(runs).frame.set_index(["scheduler", "nodes"])
    expected = (1.07 + 0.035) / (1.15 + 0.035)  # of c20 and c120, two fifths of the way
    assert equal.loc[("fcfs", 128), "art"] == pytest.approx(expected, rel=1e-3)
    assert pd.isna(equal.loc[("fcfs", 1024), "art_published"])


# The files -------------------------------------------------------------------------------------


def test_published_numbers_are_as_the_text_says() -> None:
    """A check of the transcription: quantiles ascend, and the printed orderings are there."""
    printed_cases = {tuple(case.values()): own for case, own in cases.list_published_cases()}
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


@pytest.mark.parametrize("file", ["campaign", "readings", "equal_work", "warm_up"])
def test_campaign_files_say_what_their_labels_say(file: str) -> None:
    campaign = read_campaign(find_campaign(f"dynamic_think_times/{file}"), quick=True)
    assert campaign.keep == ("jobs" if file == "warm_up" else "metrics")
    for run in campaign.runs:
        options = run.settings.user_options
        assert (run.settings.log, run.settings.users) == ("none", "weekly")
        assert options["think"] == run.labels["think"]
        assert run.settings.nodes == run.labels["nodes"]
        reading = str(run.labels.get("reading", cases.DAILY))
        assert reading.split()[0].strip(",") == options.get("chains", "single")
        assert (options.get("activity") == 1.0) == ("p_a 1" in reading)
        assert (options.get("short") == "clip") == ("redraw" not in reading)
        for option, value in (("first", "spread"), ("days", "draw")):
            assert (options.get(option) == value) == reading.endswith(f", {value}")
        assert str(options.get("nb_users", "")) in reading


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


def test_no_warm_up_is_told_of_waits_that_only_rise() -> None:
    row = find_warm_up([jobs_kept([float(at) for at in range(40)])])
    assert pd.isna([row[name] for name in ("cut", "share", "week", "wait_after")]).all()
    assert row["wait"] == 19.5


def test_the_report_of_runs_whose_jobs_were_kept() -> None:
    class Kept(MadeUpCampaign):
        def kept_jobs(self, run: Any) -> pd.DataFrame | None:
            return jobs_kept([5.0, 6.0] * 20)

    (table,) = [table for table in report(Kept(world(2))).tables if table.name == "warm_up"]
    assert len(table.frame) == len(world(1))
    assert set(table.frame["cut"]) == {0}
