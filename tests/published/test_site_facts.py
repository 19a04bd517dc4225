"""What Shmueli and Feitelson (2009) say of their five logs, on the versions at hand.

Theirs are SDSC-Par-1995-2.1-cln, CTC-SP2-1996-2.1-cln, KTH-SP2-1996-2, SDSC-SP2-1998-3.1-cln and
SDSC-BLUE-2000-3.1-cln; ours are later cleanings, and another year of SDSC-Par.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest

from batsched_py.workload import Workload
from batsched_py.workload.conversion_rules import make_rules
from batsched_py.workload.load import load_workload
from batsched_studies.user_models.thinking import FOLLOWS, SITE_LOGS
from batsched_users.learning.learn_site import (
    SiteFacts,
    compare_continuation,
    learn_site,
    measure_facts,
)
from batsched_users.models.site import SHIPPED, SiteDistributions

LOGS = list(SITE_LOGS.values())


@pytest.fixture(scope="module")
def workloads(shared: Path) -> list[Workload]:
    paths = [shared / f"swf/{name}.swf.gz" for name in LOGS]
    for path in paths:
        if not path.exists():
            pytest.skip(f"no log {path}")
    return [
        load_workload(path, make_rules("replay-feedback", walltime="requested")) for path in paths
    ]


@pytest.fixture(scope="module")
def facts(workloads: Sequence[Workload]) -> dict[str, SiteFacts]:
    return {name: measure_facts(workload) for name, workload in zip(LOGS, workloads, strict=True)}


def test_the_shipped_set_is_what_these_logs_teach(workloads: Sequence[Workload]) -> None:
    shipped = SiteDistributions.read(SHIPPED)
    learnt = learn_site(workloads)
    assert "1996 instead of 1995" in shipped.sizes.about.remarks
    for name in SiteDistributions.__struct_fields__:
        ours, theirs = getattr(learnt, name), getattr(shipped, name)
        assert msgspec.structs.replace(theirs.about, remarks="") == ours.about
        assert theirs.pairs == ours.pairs


def test_what_is_learnt_has_the_means_of_the_logs(workloads: Sequence[Workload]) -> None:
    """Run times with their heavy tail, and sizes, computed here without the code that learns."""
    shipped = SiteDistributions.read(SHIPPED)
    jobs = [(job.size, float(job.profile[1:])) for workload in workloads for job in workload.jobs]
    sizes, run_times = np.array(jobs).T
    assert shipped.sizes.mean == pytest.approx(sizes.mean(), rel=1e-4)
    assert shipped.run_times.mean == pytest.approx(run_times.mean(), rel=2e-3)
    assert shipped.run_times.quantile(0.5) == np.median(run_times)
    assert shipped.run_times.quantile(1) == run_times.max()


# Fact, what the paper says of it, and our five logs.
FACTS = {
    "negative_think_times": ("more than half in some logs", [0.496, 0.599, 0.483, 0.455, 0.425]),
    "by_day": ("about 70 %; by chance 42 %", [0.546, 0.609, 0.721, 0.615, 0.634]),
    "on_weekdays": ("80 %", [0.799, 0.807, 0.860, 0.799, 0.849]),
    "power_of_two": ("sizes are mostly powers of two", [0.925, 0.827, 0.742, 0.846, 0.926]),
    "at_most_a_minute": ('"about a minute or less"', [0.409, 0.104, 0.296, 0.243, 0.223]),
    "median_run_time": ('"about a minute or less"', [209, 1113.5, 847, 358, 219]),
}


@pytest.mark.parametrize("name", FACTS)
def test_facts(facts: dict[str, SiteFacts], name: str) -> None:
    """Weekdays are within 6 % of the paper's; run times are not mostly a minute."""
    _, expected = FACTS[name]
    assert [getattr(facts[log], name) for log in LOGS] == pytest.approx(expected, abs=0.001)


def test_sessions_go_on_as_the_formula_says_after_short_responses(
    workloads: Sequence[Workload],
) -> None:
    """Within 0.06 up to 10 minutes; later, sessions go on more often than 0.8 / (0.05 R + 1)."""
    bins = compare_continuation(workloads)
    observed = [continuation.observed for continuation in bins]
    assert observed[:-1] == sorted(observed[:-1], reverse=True)
    for continuation in bins:
        if continuation.below <= 10:
            assert continuation.observed == pytest.approx(continuation.expected, abs=0.06)
        else:
            assert 0.02 < continuation.observed - continuation.expected < 0.15
    expected = [0.814, 0.759, 0.711, 0.644, 0.596, 0.476, 0.347, 0.261, 0.171, 0.095, 0.052, 0.059]
    assert observed == pytest.approx(expected, abs=0.001)


def test_sessions_go_on_as_the_formula_says_at_ctc(workloads: Sequence[Workload]) -> None:
    """One log follows it within 0.06 all the way."""
    for continuation in compare_continuation([workloads[LOGS.index(SITE_LOGS[FOLLOWS])]]):
        assert continuation.observed == pytest.approx(continuation.expected, abs=0.06)
