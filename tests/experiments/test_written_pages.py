"""Pages that commands write: conformance, user models, semi-open systems, on recorded numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from batsched_studies.conformance import page, published_schedules, recorded_runs
from batsched_studies.filled_page import Row, format_lines, read_data
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
from batsched_studies.user_models.logs import HERE, read_printed_locality
from batsched_users.analytic import Reopen, reopen
from batsched_users.analytic.reopen_queue import exponential

CONFORMANCE = page.PAGE.read_text(encoding="utf-8")
INSTANT = {"extra_nodes": "instant"}
LONG = pytest.mark.long
SJBF = INSTANT | {"backfill_order": "sjf"}


def texts(rows: Iterable[Row]) -> list[list[str]]:
    """Return rows as their CSV file has them."""
    return [[*map(str, row)] for row in rows]


def test_the_recorded_runs_of_the_page(shared: Path) -> None:
    rows, parts = page.make_recorded_parts(shared)
    assert texts(rows) == read_data("conformance-recorded")
    for part in parts.values():
        assert part in CONFORMANCE


@pytest.mark.parametrize(
    ("name", "summarise"),
    [("published", page.summarise_published), ("planning", page.summarise_planning)],
)
def test_the_page_sums_up_its_data(
    name: str, summarise: Callable[[Sequence[Row]], Iterable[Row]]
) -> None:
    assert format_lines(summarise(read_data(f"conformance-{name}"))) in CONFORMANCE


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
    """The counts, and that the data have this row."""
    wanted = next(
        variant
        for variant in published_schedules.VARIANTS[name]
        if (variant.options, variant.passes) == (options, passes)
    )
    theirs = published_schedules.read_published_schedule(shared, site, name)
    ours = published_schedules.simulate_variant(shared, site, name, wanted)
    assert len(published_schedules.find_different_starts(theirs, ours)) == others
    row = (site, name, *published_schedules.make_row(theirs, ours, wanted))
    assert [*map(str, row)] in read_data("conformance-published")


@pytest.mark.long
def test_planning_on_kth(shared: Path) -> None:
    rows = texts(page.make_planning_rows(shared, "KTH-SP2-1996-2"))
    assert rows == [row for row in read_data("conformance-planning") if row[0] == "KTH-SP2-1996-2"]


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


# The data of user-models.md are what its command writes; the quick parts ------------------------


KTH = "KTH-SP2"


@pytest.mark.parametrize(
    "make",
    [
        sessions.make_session_rows,
        sessions.make_pool_rows,
        locality.make_similarity_rows,
        thinking.make_fact_rows,
    ],
)
def test_measures_of_kth(shared: Path, make: Callable[[Path, str], dict[str, list[Row]]]) -> None:
    for name, rows in make(shared, KTH).items():
        data = read_data(f"user-models-{name}")
        assert all(row in data for row in texts(rows))


def test_each_log_has_published_numbers() -> None:
    printed = read_printed_locality()
    similarity = (printed["similarity"][attribute] for attribute in locality.MEASURES)
    assert all(of.keys() >= {*HERE} for of in (printed["stack"], printed["hurst"], *similarity))


def test_sessions_and_pools_of_kth_are_those_of_the_thesis() -> None:
    (counts,) = (row for row in read_data("user-models-sessions") if row[0] == "KTH-SP2-1996-2")
    assert counts[2:5] == counts[5:8] == ["28489", "16488", "10303"]
    (pools,) = (row for row in read_data("user-models-pools") if row[0] == "KTH-SP2-1996-2")
    assert pools[2:4] == pools[4:6] == ["102", "25202"]
    assert pools[6:8] == pools[10:12] == ["66", "2349"]


def test_locality_of_kth(shared: Path) -> None:
    """What is measured on the log; resampled workloads take too long for a test."""
    rows = locality.make_locality_rows(KTH, locality.measure_log(shared, KTH), [])
    data = [row[:7] for row in read_data("user-models-locality")]
    assert all(row[:7] in data for row in texts(rows))


def test_think_times_of_kth(shared: Path) -> None:
    row = thinking.make_think_time_rows(shared, {KTH: thinking.PAPER_LOGS[KTH]})[0]
    assert [*map(str, row)] in read_data("user-models-think-times")


def test_the_page_of_user_models_sums_up_its_data() -> None:
    text = user_models_page.PAGE.read_text(encoding="utf-8")
    tables = {name: read_data(f"user-models-{name}") for name in user_models_page.HEADERS}
    for part in user_models_page.summarise(tables).values():
        assert part in text


# The data of semi-open.md are what its command writes; its verdicts on small samples -------------


RESPONSE = "Constant p: the think rate does not affect the turnaround time"


@cache
def few() -> Measured:
    """All cases with five seeds of 300 users."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reopening, "USERS", 300)
        return {case: [reopening.simulate_case(case, seed) for seed in range(5)] for case in CASES}


CASES = dict.fromkeys(reopening.CASES)


def test_the_mixed_model_of_the_page() -> None:
    """It is exact: the data have these rows to the digit, all as by the other program."""
    rows = texts(tables.make_mixed_rows())
    assert len(rows) == 8
    assert rows == read_data("semi-open-mixed")
    assert all(row[1::2] == row[2::2] for row in rows)


def test_a_simulation_of_the_page() -> None:
    """The first seed of a case is part of the page's mean, and close to the other program's."""
    result = reopening.simulate_case(Case(EXPONENTIAL, open_rate=0.3), 0)
    assert result == reopen(0.3, exponential(), nb_users=10_000, seed=0)
    (row,) = (row for row in read_data("semi-open-adaptive") if row[:2] == [EXPONENTIAL, "0.3"])
    mean = float(row[2].split("(")[0])
    assert mean == pytest.approx(result.throughput, rel=0.03)
    assert mean == pytest.approx(float(row[3]), rel=0.01)
    assert float(row[3]) == reopening.PRINTED["adaptive"][EXPONENTIAL]["0.3"][0]


def test_the_page_has_the_verdicts_of_its_data() -> None:
    text = semi_open_page.PAGE.read_text(encoding="utf-8")
    for part in semi_open_page.summarise_claims(read_data("semi-open-claims")).values():
        assert part in text


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
