"""Pages that commands write: conformance, user models, semi-open systems, on recorded numbers."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from batsched_studies.conformance import page, published_schedules, recorded_runs
from batsched_studies.semi_open import page as semi_open_page
from batsched_studies.semi_open import reopening, tables, verdicts
from batsched_studies.semi_open.reopening import (
    CONSTANT,
    EXPONENTIAL,
    PROBABILITIES,
    THINK_RATES,
    Case,
    Measured,
)
from batsched_studies.user_models import locality, sessions, thinking
from batsched_studies.user_models import page as user_models_page
from batsched_users.analytic import Reopen, reopen
from batsched_users.analytic.reopen_queue import exponential

CONFORMANCE = page.PAGE.read_text(encoding="utf-8")
INSTANT = {"extra_nodes": "instant"}
LONG = pytest.mark.long
SJBF = INSTANT | {"backfill_order": "sjf"}


def test_the_recorded_runs_of_the_page(shared: Path) -> None:
    for part in page.make_recorded_parts(shared).values():
        assert part
        assert part in CONFORMANCE


@pytest.mark.parametrize(
    ("site", "name", "options", "passes", "others"),
    [
        ("KTH-SP2", "easy_exact", INSTANT, "instant", 0),
        ("KTH-SP2", "easy_requested", INSTANT, "predictsim", 0),
        ("KTH-SP2", "easy_requested", INSTANT, "event", 9),
        ("KTH-SP2", "easy_requested", INSTANT, "instant", 456),
        ("KTH-SP2", "easy_sjbf_exact", SJBF, "predictsim", 0),
        ("KTH-SP2", "easy_sjbf_exact", SJBF, "instant", 28),
        pytest.param(*("SDSC-SP2", "easy_requested", INSTANT, "predictsim", 0), marks=LONG),
    ],
)
def test_published_schedules(
    shared: Path, site: str, name: str, options: dict[str, Any], passes: str, others: int
) -> None:
    """The counts, and that the page has this row below its heading."""
    wanted = next(
        variant
        for variant in published_schedules.VARIANTS[name]
        if (variant.options, variant.passes) == (options, passes)
    )
    theirs = published_schedules.read_published_schedule(shared, site, name)
    ours = published_schedules.simulate_variant(shared, site, name, wanted)
    assert len(published_schedules.find_different_starts(theirs, ours)) == others
    section = CONFORMANCE.partition(f"### {site}, {name}\n")[2].partition("\n#")[0]
    assert published_schedules.make_row(theirs, ours, wanted) in section.splitlines()


@pytest.mark.long
def test_planning_on_kth(shared: Path) -> None:
    rows = page.make_planning_section(shared, ["KTH-SP2-1996-2"])
    assert rows
    assert rows in CONFORMANCE


@pytest.mark.parametrize(
    "run",
    [
        "30_batsched_conservative_bf_small",
        pytest.param("40_random300_batsched_conservative_bf", marks=LONG),
    ],
)
def test_the_twin_of_batsched(shared: Path, run: str) -> None:
    """Processors by number and 5 s are all that sets batsched's conservative apart: the proof."""
    twin = recorded_runs.Comparison(run, "twins.py:ConservativeBySets")
    equal, total = recorded_runs.count_equal_replies(shared, twin)
    assert equal == total


# The page user-models.md is what its command writes now; the quick parts,-----------------------


USER_MODELS = user_models_page.PAGE.read_text(encoding="utf-8")
KTH = "KTH-SP2"


def section(heading: str) -> list[str]:
    """Lines of the page below a heading."""
    return USER_MODELS.partition(f"\n## {heading}\n")[2].partition("\n## ")[0].splitlines()


def test_sessions_of_kth(shared: Path) -> None:
    found = sessions.make_session_rows(shared, KTH)
    assert found["counts"][0].count("28,489 / 16,488 / 10,303 |") == 2
    for rows in (found["counts"], found["think"]):
        assert rows[0] in section("Sessions and batches")


def test_pools_of_kth(shared: Path) -> None:
    (row,) = sessions.make_pool_rows(shared, KTH)["pools"]
    assert row in section("Pools of resampling")
    assert row.endswith(
        "| 102 / 25,202 | **102 / 25,202** | 66 / 2,349 | 84 / 3,087 | **66 / 2,349** |"
    )


def test_locality_of_kth(shared: Path) -> None:
    """What is measured on the log; resampled workloads take too long for a test."""
    rows = locality.make_locality_rows(KTH, locality.measure_log(shared, KTH), [])
    page = section("Locality and self-similarity")
    starts = [row.removesuffix("|  |  |") for row in rows]
    assert all(any(line.startswith(start) for line in page) for start in starts)


def test_similarity_of_kth(shared: Path) -> None:
    page = section("Similarity of a user's jobs")
    for (row,) in locality.make_similarity_rows(shared, KTH).values():
        assert row in page


def test_think_times_of_kth(shared: Path) -> None:
    row = thinking.make_think_time_rows(shared, {KTH: thinking.PAPER_LOGS[KTH]})[0]
    assert row in section("Think times against response times")


def test_facts_of_kth(shared: Path) -> None:
    (row,) = thinking.make_fact_rows(shared, KTH)["facts"]
    assert row in section("Facts of site-level simulation")


# The page semi-open.md is what its command writes; its verdicts on small s----------------------


RESPONSE = "Constant p: the think rate has no effect on the response"
SEMI_OPEN = semi_open_page.PAGE.read_text(encoding="utf-8")


@cache
def few() -> Measured:
    """All cases with five seeds of 300 users."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reopening, "USERS", 300)
        return {case: [reopening.simulate_case(case, seed) for seed in range(5)] for case in CASES}


CASES = dict.fromkeys(reopening.CASES)


def lines(heading: str) -> list[str]:
    return SEMI_OPEN.partition(f"\n{heading}\n")[2].partition("\n#")[0].splitlines()


def test_the_mixed_model_of_the_page() -> None:
    """It is exact: the page has these lines to the digit, all as by the other program."""
    rows = list(tables.make_mixed_rows())
    assert len(rows) == 8
    for row in rows:
        assert row in lines("## Mixed: users from outside, and N who always come back")
        pairs = [cell.split(" / ") for cell in row.strip("| ").split(" | ")[1:]]
        assert all(ours == theirs for ours, theirs in pairs)


def test_a_simulation_of_the_page() -> None:
    """The first seed of a case is part of the page's mean, and close to the other program's."""
    result = reopening.simulate_case(Case(EXPONENTIAL, open_rate=0.3), 0)
    assert result == reopen(0.3, exponential(), nb_users=10_000, seed=0)
    (row,) = [
        line
        for line in lines("### A p that hangs on the response")
        if line.startswith("| 0.3 | ") and line.endswith("/ 1.29 |")
    ]
    mean = float(row.split("|")[2].split("(")[0])
    assert mean == pytest.approx(result.throughput, rel=0.03)
    assert mean == pytest.approx(reopening.PRINTED["adaptive"][EXPONENTIAL]["0.3"][0], rel=0.01)


@pytest.mark.parametrize(
    ("ratios", "holds"),
    [
        ([1.0, 1.01, 1.0, 0.99, 1.0], True),
        ([1.1, 1.1, 1.11, 1.1, 1.1], False),
        ([1.0, 1.05, 0.95, 1.0, 1.0], None),
        ([1.0] * 4, None),  # too few seeds
    ],
)
def test_seeds_are_compared_with_themselves(ratios: list[float], holds: bool | None) -> None:
    """The change of the think rate is reported although seeds differ by a factor of sixteen."""
    slow = [Reopen(**dict.fromkeys(Reopen.__struct_fields__, 2.0**seed)) for seed in range(5)]
    fast = [
        replace(result, mean_response=change * result.mean_response)
        for result, change in zip(slow, ratios, strict=False)
    ]
    rates = {THINK_RATES[0]: slow, THINK_RATES[-1]: fast}
    measured = few() | {
        Case(CONSTANT, p, think_time=1 / rate): results[: len(ratios)]
        for p in PROBABILITIES
        for rate, results in rates.items()
    }
    found = {verdict.claim: verdict.holds for verdict in verdicts.judge_claims(measured)}
    assert found[RESPONSE] is holds


def test_how_far_jobs_are_from_a_line() -> None:
    """Of two seeds: one on the line, one 0.5 above it in the middle."""
    jobs = np.array([[2.0, 3.0], [1.5, 2.5], [1.0, 1.0]])
    assert verdicts.measure_bend(jobs) == pytest.approx([0, 0.5])
