"""The page docs/user-models.md is what its command writes now; the quick parts, on KTH-SP2."""

from __future__ import annotations

from pathlib import Path

from batsched_studies.user_models import locality, page, sessions, thinking

PAGE = page.PAGE.read_text(encoding="utf-8")
KTH = "KTH-SP2"


def section(heading: str) -> list[str]:
    """Lines of the page below a heading."""
    return PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0].splitlines()


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
