"""Streit's thesis (2003), chapter 7: several sites, on one of its workloads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from batsched_py import simulate
from batsched_py.report.kit import in_column
from batsched_studies.grid import PUBLISHED

pytestmark = pytest.mark.slow
WORKLOAD = "10_20k_org"


def overall(shared: Path, scenario: str, sites: str = "m128", p: int = 0, **rules: Any) -> Any:
    """The metrics of the jobs 10,000 to 19,999 of CTC; ``p``: overhead in per cent."""
    result = simulate(
        shared / "swf/CTC-SP2-1996-3.1-cln.swf.gz",
        job_numbers="10000-19999",
        sites=sites,
        scheduler="grid",
        scheduler_options={"scenario": scenario, "overhead": p / 100},
        **rules,
    )
    return result.measured["overall"]


@pytest.mark.parametrize(
    ("p", "count", "share", "awrt"),
    [(0, 564, 22.50, 16_030), (30, 563, 28.26, 20_054), (60, 701, 37.08, 25_419)],
)
def test_multi_site_jobs(shared: Path, p: int, count: int, share: float, awrt: float) -> None:
    """Ours are those of an independent simulator, within 10 % and 5 points of the thesis's."""
    metrics = overall(shared, "multi_site", p=p)
    assert metrics["nb_multi_site_jobs"] == count
    assert 100 * metrics["multi_site_area_share"] == pytest.approx(share, abs=5e-3)
    assert metrics["mean_turnaround_time_by_width"] == pytest.approx(awrt, abs=0.5)
    thesis = in_column(PUBLISHED, ("table_count", p), WORKLOAD)
    assert count == pytest.approx(thesis, rel=0.1)
    thesis = in_column(PUBLISHED, ("table_share", p), WORKLOAD)
    assert share == pytest.approx(thesis, abs=5)


def test_job_sharing_halves_the_response_time(shared: Path) -> None:
    """AWRT by width: sharing is more than 50 % better than local processing (section 7.3.2)."""
    local = overall(shared, "local", homes="round-robin", split="local")
    shared_jobs = overall(shared, "sharing", split="largest")
    assert local["nb_ran"] == shared_jobs["nb_ran"] == 10_129
    name = "mean_turnaround_time_by_width"
    assert shared_jobs[name] < 0.5 * local[name]
