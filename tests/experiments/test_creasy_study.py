"""The study of CREASY: arithmetic on the published numbers, measures, tables, and verdicts.

The runs are made up: metrics by formulas, so that one knows what the report must say. At the end,
the options of site-level users that the study varies.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.errors import UsageError
from batsched_py.metrics import JobTable
from batsched_py.units import WEEK
from batsched_py.workload import Workload
from batsched_studies.creasy import PUBLISHED, checks, measures, room, tables
from batsched_studies.creasy.report import report
from batsched_users.learning.ideal_machine import PlayedJob, play_model
from batsched_users.models.site import SHIPPED, SiteDistributions, SiteUsers
from helpers.made_up_campaign import MadeUpCampaign, table_of

results = partial(MadeUpCampaign, study="creasy")
COLUMNS = {quantity.name: quantity for quantity in tables.QUANTITIES}
MONDAY = 1_704_067_200.0  # 2024-01-01, 0:00 UTC
ALPHAS = (0, 1500, 3000, 4500, 6000)
USERS = (50, 100, 150, 200, 250)


def row(alpha: int, users: int, seed: int, **labels: Any) -> dict[str, Any]:
    """A run in which all comes out as in the paper, but for some noise of the seed."""
    load = (users - 50) / 200
    noise = 1 + 0.01 * seed
    found = {
        "throughput": 47 * users / 250 * (1 + 0.5 * load * alpha / 6000),
        "utilisation": 57 * users / 250 * (1 + 0.49 * load * alpha / 6000),
        "response": 30 + load * (48 + 21 * alpha / 6000),
        "slowdown": 5 + load * (66 - 47 * alpha / 6000),
        "bounded_slowdown": 3.0,
        "session_length": 2.69 - load * 0.96 * (1 - alpha / 6000),
        "to_1_min": 20 * (1 - 0.83 * load * alpha / 6000),
        "1_to_10_min": 30 * (1 - 0.44 * load * alpha / 6000),
        "over_10_min": 100 * (1 + 0.81 * load * alpha / 6000),
        "run_time": 30.0,
        "area": 14.0,
        "batch_width": 1.0,
        "jobs": 61.0,
    }
    metrics = {
        COLUMNS[name].column: noise * value / COLUMNS[name].scale for name, value in found.items()
    }
    given = {"alpha": alpha, "nb_users": users, "replication": seed, "weeks": 26, "nodes": 1152}
    return {**given, **metrics, **labels}


def full(seeds: int = 5) -> list[dict[str, Any]]:
    return [row(alpha, users, k) for alpha in ALPHAS for users in USERS for k in range(seeds)]


# The paper's numbers -----------------------------------------------------------------------------


def test_arithmetic_by_hand() -> None:
    """47 jobs/h x 78 min; 1,000 processors that are half busy run 10 jobs of 50 h an hour.

    Long jobs: (99 - 0.17 x 78) / 1.64 and (99 - 0.56 x 78) / 1.25. Room: users would submit 90
    instead of 60 jobs/h, but a machine that is 80 % busy takes 75 at most.
    """
    assert checks.compute_jobs_in_system(47, 78) == pytest.approx(61.1)
    assert checks.compute_machine_size(10, 50, 50) == 1000
    low, high = checks.bound_long_jobs_share(PUBLISHED)
    assert (low, high) == (pytest.approx(44.256), pytest.approx(52.280, abs=1e-3))
    assert room.compute_room(60, 80, 90) == pytest.approx(25)
    assert room.compute_room(60, 20, 90) == pytest.approx(50)


@given(st.lists(st.floats(0.1, 50), min_size=3, max_size=3))
def test_the_bounds_hold_whatever_the_classes_contribute(parts: list[float]) -> None:
    """From contributions and changes one has both means; the bounds enclose the long one's."""
    changes = {"to_1_min": -83, "1_to_10_min": -44, "over_10_min": 81}
    after = sum(p * (1 + c / 100) for p, c in zip(parts, changes.values(), strict=True))
    response = {"0": sum(parts), "6000": after}
    low, high = checks.bound_long_jobs_share(
        {"at_250": {"response": response}, "response_change": changes}
    )
    assert low - 1e-9 <= parts[2] <= high + 1e-9


@given(st.floats(0, 1))
def test_class_means_give_the_printed_means(place: float) -> None:
    """Whatever is left open: their means are 78 and 99 min, and each changes as printed."""
    means = checks.compute_class_means(PUBLISHED, place)
    easy, creasy = np.array(means["easy"]), np.array(means["creasy"])
    assert (easy.mean(), creasy.mean()) == pytest.approx((78, 99))
    assert easy.min() >= -1e-9
    assert creasy - easy == pytest.approx(np.array([-0.83, -0.44, 0.81]) * easy, abs=1e-9)


# Measures ----------------------------------------------------------------------------------------


def test_measures_of_three_jobs() -> None:
    """A batch of two jobs of user a, 60 s and 1200 s, and a job of b that ends after all."""
    columns = {
        "submit": np.array([0.0, 0.0, 100.0]),
        "start": np.array([0.0, 60.0, 100.0]),
        "finish": np.array([60.0, 1260.0, 700.0]),
        "execution": np.array([60.0, 1200.0, 600.0]),
        "size": np.array([1.0, 2.0, 4.0]),
        "original_submit": np.array([np.nan, np.nan, np.nan]),
    }
    found = measures.compute_numbers(JobTable(**columns, user=["a", "a", "b"], nb_processors=4))
    whole = {name: value for name, value in found.items() if not name.endswith("min")}
    assert whole == {
        "mean_run_time": 620,
        "mean_area": pytest.approx((60 + 2400 + 2400) / 3),
        "mean_batch_width": 1.5,
        "mean_jobs_in_system": pytest.approx((60 + 100 + 0) / 100),
        # 0.8 / 1.05 after a minute, 0.8 / 2.05 after 21, 0.8 / 1.5 after 10
        "mean_continuation": pytest.approx(0.8 * (1 / 1.05 + 1 / 2.05 + 1 / 1.5) / 3),
    }
    assert found["share_to_1_min"] == found["share_over_10_min"] == pytest.approx(1 / 3)
    slowdowns = [found[f"mean_slowdown_{name}"] for name in measures.CLASSES]
    assert slowdowns == pytest.approx([1, 1, 1260 / 1200])  # 600 s is in the second class
    assert found["mean_continuation_over_10_min"] == pytest.approx(0.8 / 2.05)


def test_late_jobs() -> None:
    """Jobs of 0 s, 5 weeks and 6 weeks: the first is no late one, and the last ends too late."""
    submit = np.array([0, 5, 6]) * WEEK
    run = np.array([60.0, 60.0, 60.0])
    start = submit + np.array([0, 60, 120])
    table = JobTable(
        submit=submit,
        start=start,
        finish=start + run,
        execution=run,
        size=np.ones(3),
        original_submit=np.full(3, np.nan),
        user=["a"] * 3,
    )
    found = measures.measure_late_jobs(table)
    assert found["late_throughput"] == pytest.approx(1 / (2 * 168))
    assert found["late_turnaround_time"] == pytest.approx((120 + 180) / 2)
    assert found["late_slowdown"] == pytest.approx((2 + 3) / 2)
    assert measures.measure_late_jobs(table.select(slice(0, 1))) == {}


# Tables and verdicts -----------------------------------------------------------------------------


def test_runs_as_in_the_paper_confirm_all_claims() -> None:
    made = report(results(full()))
    assert len(made.verdicts) == 8
    assert [verdict.claim for verdict in made.verdicts if not verdict.holds] == []
    own = table_of(made, "at_250_users").frame
    change = own[
        (own.what == "throughput (jobs/h)") & (own.system == "change, CREASY 6000 (%)")
    ].iloc[0]
    assert change.ours == pytest.approx(50)
    assert change.published == pytest.approx(51.06, abs=0.01)
    assert (change.low, change.high) == (pytest.approx(50), pytest.approx(50))  # noise cancels


def test_a_scan_of_alpha() -> None:
    """As in the paper up to 6000; with 90,000 the gain is 40 points higher, so not marginal."""
    rows = [
        row(min(alpha, 6000), 250, seed, reading="r") | {"alpha": alpha}
        for alpha in (*ALPHAS, 30_000, 90_000)
        for seed in range(5)
    ]
    told = {verdict.claim: verdict for verdict in report(results(rows)).verdicts}
    marginal = told["Beyond an alpha of 6000, the throughput gained is marginal"]
    assert marginal.holds
    assert marginal.reading == "r"
    assert "n = 5" in marginal.effect
    by_class = [v.holds for claim, v in told.items() if claim.startswith("By class of run time")]
    assert by_class == [True, True]
    more = [
        {**one, "throughput_to_last_submission": 1.4 * one["throughput_to_last_submission"]}
        if one["alpha"] == 90_000
        else one
        for one in rows
    ]
    holds = {verdict.claim: verdict.holds for verdict in report(results(more)).verdicts}
    assert holds[marginal.claim] is False


# Parts of the user model left out ----------------------------------------------------------------


def played(**options: Any) -> list[PlayedJob]:
    machine = Workload(
        name="none", nb_res=2048, jobs=[], profiles={}, unix_start_time=MONDAY, time_zone="UTC"
    )
    return list(play_model(SiteUsers(machine, nb_users=20, weeks=2, seed=1, **options)))


def pairs(**options: Any) -> list[tuple[PlayedJob, PlayedJob]]:
    """Each job of a user and the next one, in order of submission."""
    jobs = sorted(played(**options), key=lambda job: int(job.job.id))
    users = dict.fromkeys(job.job.user for job in jobs)
    return [pair for user in users for pair in pairwise(j for j in jobs if j.job.user == user)]


def at_night(jobs: list[PlayedJob]) -> float:
    """The share submitted between 1:00 and 5:00, when at most night users work."""
    return float(np.mean([3600 <= job.submit % 86_400 < 5 * 3600 for job in jobs]))


def test_without_batches_users_wait_for_each_job() -> None:
    assert all(after.submit >= job.end for job, after in pairs(batches=False))
    assert any(after.submit == job.submit for job, after in pairs())


@pytest.mark.parametrize(("locality", "least", "most"), [(True, 0.5, 1), (False, 0, 0.1)])
def test_locality_is_that_jobs_are_repeated(locality: bool, least: float, most: float) -> None:
    same = [job.job.profile == after.job.profile for job, after in pairs(locality=locality)]
    assert least < np.mean(same) < most


def test_who_does_not_sleep_works_at_night_as_by_day() -> None:
    assert at_night(played(sleep=False)) == pytest.approx(4 / 24, abs=0.05)
    assert at_night(played(locality=False)) < 0.1


def test_long_run_times_are_drawn_again() -> None:
    """Those below keep their proportions: the median of what is left is that of the logs."""
    limit = 3600.0
    times = [job.end - job.submit for job in played(longest_run_time=limit, locality=False)]
    assert max(times) <= limit
    logs = SiteDistributions.read(SHIPPED).run_times
    assert np.median(times) == pytest.approx(logs.quantile(logs.share_below(limit) / 2), rel=0.1)
    longer_than_all = played(longest_run_time=1e9)
    assert [job.end for job in longer_than_all] == [job.end for job in played()]


@pytest.mark.parametrize("longest", [None, 18_000.0])
def test_run_times_in_thirds(longest: float | None) -> None:
    """A third is up to a minute, a third to ten, a third longer; within, they are as learnt."""
    options = {"longest_run_time": longest, "locality": False}
    drawn = [
        np.array([job.end - job.submit for job in played(**options, run_times=name)])
        for name in ("learnt", "thirds")
    ]
    classes = [(0, 60), (60, 600), (600, longest or np.inf)]
    inside = [[(times > low) & (times <= high) for low, high in classes] for times in drawn]
    assert [rows.mean() for rows in inside[1]] == pytest.approx([1 / 3] * 3, abs=0.02)
    assert inside[0][0].mean() < 0.28
    for learnt, thirds in zip(*inside, strict=True):
        assert np.median(drawn[1][thirds]) == pytest.approx(np.median(drawn[0][learnt]), rel=0.1)


def test_narrow_jobs() -> None:
    """Sizes up to the largest keep their proportions."""
    sizes = [job.job.size for job in played(largest_size=8, locality=False)]
    assert max(sizes) == 8
    logs = SiteDistributions.read(SHIPPED).sizes
    alone = dict(logs.truncate(8).pairs)[1]
    assert np.mean(np.array(sizes) == 1) == pytest.approx(alone, abs=0.04)
    with pytest.raises(UsageError, match="largest_size"):
        played(largest_size=0)
    with pytest.raises(UsageError, match="expected one of learnt, thirds"):
        played(run_times="halves")
