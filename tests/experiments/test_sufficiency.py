"""The study of users who save energy: what it measures, and what it says of made-up runs."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from batsched_py import simulate
from batsched_py.units import DAY, HOUR, WEEK
from batsched_studies.sufficiency import cases
from batsched_studies.sufficiency.measures import find_following_spans, measure
from batsched_studies.sufficiency.report import report
from helpers.made_up_campaign import MadeUpCampaign, holds, one_row, table_of

RED = {
    # work in red hours of all users who use a lever, where it is 1,000 without
    ("open", "delay"): 800,
    ("open", "renounce"): 900,
    ("a60", "delay"): 900,
    ("a60", "renounce"): 850,
    ("fluid", "delay"): 1100,
    ("fluid", "renounce"): 900,
}
ALL = {("open", "renounce"): 9000, ("a60", "renounce"): 9000, ("fluid", "renounce"): 9800}
"""Of 10,000 over all weeks."""
LESS_RED = "less is saved in red hours than in a replay at recorded times"
A60, FLUID = (cases.NAMES[loop] for loop in cases.REACTING)
TAKE_BACK = "users take back, in more work, part of what they give up in red hours"
LESS_ALL = "less is saved over all hours than in a replay at recorded times"
WORK = {("open", "renounce"): 8500, ("a60", "renounce"): 8500, ("fluid", "renounce"): 9300}
"""Of 10,000 of all jobs, whenever it is done."""


def made_up(replications: int = 6) -> list[dict[str, Any]]:
    """Runs of replications that differ by a little; a share has its part of what all save."""
    runs = []
    for loop in cases.LOOPS:
        for lever in ("rigid", "delay", "renounce"):
            for share in (1.0,) if lever == "rigid" else (1.0, 0.5):
                for seed in range(replications):
                    red = 1000 + share * (RED.get((loop, lever), 1000) - 1000) + seed
                    after = 1000 + (100 * share if lever == "delay" else 0) + seed
                    work = 10_000 + share * (ALL.get((loop, lever), 10_000) - 10_000)
                    of_all = 10_000 + share * (WORK.get((loop, lever), 10_000) - 10_000)
                    of_run = _run(loop, lever, share, seed, red, after, work)
                    runs.append(of_run | {"work_all": of_all})
    return runs


def _run(
    loop: str, lever: str, share: float, seed: int, red: float, after: float, work: float
) -> dict[str, Any]:
    labels = {"log": "sample", "loop": loop, "lever": lever, "share": share, "replication": seed}
    busy = {"busy_red": red, "busy_after": after, "busy_all": work + seed}
    times = {"seconds_red": 10.0, "seconds_all": 4 * WEEK, "processors": 200.0}
    times |= {"work_all": 10_000.0, "work_of_red": 1500.0, "half_of_red": 700.0}
    users = {"mean_waiting_time": 2 * HOUR, "wait_from_wish": 3 * HOUR, "mean_lateness": HOUR}
    jobs: dict[str, float] = {f"jobs_{name}": 10.0 for name in cases.LEVERS[:-1]}
    jobs |= {"nb_jobs": 100.0, "mean_bounded_slowdown": 2.0, "utilisation_to_last_submission": 0.5}
    hours = {f"busy_at_{hour:02d}": 100.0 * HOUR for hour in range(24)}
    return {**labels, **busy, **times, **users, **jobs, **hours, "folder": Path("x")}


def of(runs: list[dict[str, Any]]) -> Any:
    return report(MadeUpCampaign(runs, "sufficiency"))  # type: ignore[arg-type]


@cache
def whole() -> Any:
    return of(made_up())


def test_rebounds_by_hand() -> None:
    """Open users save 20 %; a60 10 %: half is lost; fluid -10 %: one and a half times is."""
    table = table_of(whole(), "rebound_sample").frame
    a60 = one_row(table, users="a60", lever="delay", share=100)
    assert a60[["expected", "actual", "lost"]].tolist() == pytest.approx([20, 10, 10], rel=0.01)
    assert a60["rebound"] == pytest.approx(50, rel=0.01)
    assert a60["rebound_low"] < a60["rebound"] < a60["rebound_high"]
    assert a60["n"] == 6
    fluid = one_row(table, users="fluid", lever="delay", share=100)
    assert fluid["rebound"] == pytest.approx(150, rel=0.01)
    more = one_row(table, users="a60", lever="renounce", share=50, where="red")
    assert more["rebound"] == pytest.approx(-50, rel=0.01)  # 7.5 instead of 5 %
    over_all = one_row(table, users="fluid", lever="renounce", share=100, where="all")
    assert over_all["rebound"] == pytest.approx(80, rel=0.01)


def test_claims_are_judged() -> None:
    judged = whole().verdicts
    assert {verdict.claim: verdict.holds for verdict in judged if not verdict.holds} == {
        f"With each other lever {LESS_RED}: {A60}": False,
        f"With each other lever {LESS_RED}: {FLUID}": False,
        f"With each lever that does less work {LESS_ALL}: {A60}": False,
        f"There is a rebound: {TAKE_BACK}: {A60}": False,
    }
    assert len(judged) == 1 + len(cases.NAMES) + 4 * 2


def test_linear_in_the_effort_beside_the_published_number() -> None:
    runs = [_run("open", "rigid", 1.0, s, 1000 + s, 1000, 9000) for s in range(6)]
    for lever, red in (("25", 950), ("50", 900), ("mixed", 800)):
        runs += [_run("open", lever, 1.0, s, red + s, 1000, 9000) for s in range(6)]
    made = of(runs)
    (verdict,) = [v for v in made.verdicts if "in the effort" in v.claim]
    assert verdict.holds is True
    table = table_of(made, "effort_sample").frame
    row = one_row(table, effort=50.0)
    assert (row["red"], row["published"]) == (pytest.approx(10, rel=0.01), 8.0)


@pytest.mark.parametrize("replications", [0, 1, 4])
def test_too_few_runs_judge_nothing(replications: int) -> None:
    assert set(holds(of(made_up(replications))).values()) <= {None}


# Measured in a simulation -----------------------------------------------------------------------


def test_times_after_others() -> None:
    """As long as each, until the next or the end."""
    assert find_following_spans([(0, 4), (6, 8), (20, 24)], 26) == [(4, 6), (8, 10), (24, 26)]
    assert find_following_spans([], 10) == []


def test_jobs_that_were_delayed_and_changed_count_as_both(tmp_path: Path) -> None:
    """Delayed from yellow into green, where all are degraded; red jobs are not delayed."""
    (tmp_path / "s.csv").write_text("time,state\n0,yellow\n43200,red\n64800,green\n86400,green\n")
    options: dict[str, Any] = {"model": "resampled", "weeks": 1, "long_weeks": 3, "edge_weeks": 1}
    options |= {"signal": str(tmp_path / "s.csv"), "again": True, "red": ""}
    options |= {"yellow": "delay", "green": "time_degradation", "repeats": True}
    numbers = measure(simulate("sample", users="sufficient", user_options=options, seed=1))
    assert 0 < numbers["jobs_delay"] < numbers["jobs_time_degradation"]


def test_the_measures_of_a_run_add_up() -> None:
    """Work by hours is all of it; where all delay, less is done in red hours, more after them."""
    options = {"model": "resampled", "weeks": 2, "long_weeks": 3, "edge_weeks": 1}
    options |= {"signal": "16:00-20:00"}
    numbers = [
        measure(simulate("sample", users="sufficient", user_options=options | {"red": red}, seed=1))
        for red in ("", "delay")
    ]
    for of_run in numbers:
        hours = sum(of_run[f"busy_at_{hour:02d}"] for hour in range(24))
        assert hours == pytest.approx(of_run["busy_all"])
        red = sum(of_run[f"busy_at_{hour:02d}"] for hour in range(16, 20))
        assert red == pytest.approx(of_run["busy_red"])
        after = sum(of_run[f"busy_at_{hour:02d}"] for hour in range(20, 24))
        assert after == pytest.approx(of_run["busy_after"])
        assert of_run["seconds_red"] == 4 * HOUR * 14
        assert of_run["seconds_all"] == 14 * DAY
        assert of_run["processors"] == 64
    without, delayed = numbers
    assert delayed["busy_red"] < without["busy_red"]
    assert delayed["busy_after"] > without["busy_after"]
    assert without["jobs_delay"] == 0 < delayed["jobs_delay"]
    assert 0 < without["half_of_red"] <= without["work_of_red"] / 2 < without["work_all"] / 2
    assert delayed["wait_from_wish"] > without["wait_from_wish"]
