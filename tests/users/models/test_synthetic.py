"""Synthetic job sets: arrivals, the joint distribution of jobs, and load."""

from __future__ import annotations

from collections import Counter
from math import inf
from random import Random
from typing import Any

import msgspec
import numpy as np
import pytest
from scipy import stats

from batsched_py import Workload, WorkloadJob, load_workload
from batsched_py.errors import InputError
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import workload
from batsched_py.workload.conversion_rules import make_rules
from batsched_py.workload.logs.sample_log import SAMPLE_LOG
from batsched_users.behaviour.arrivals import PUBLISHED, Weibull, find_published
from batsched_users.behaviour.job_attributes import Joint, Shape
from batsched_users.models.synthetic import Synthetic

KTH = Weibull(0.35, 200)


def log_of(*jobs: tuple[float, int, float | None, float], name: str = "made up") -> Workload:
    """Jobs of (submission, size, estimate, run time)."""
    rows = [J(submit, size, run, estimate) for submit, size, estimate, run in jobs]
    return msgspec.structs.replace(workload(rows, 8), name=name)


SMALL = log_of((0, 1, 60, 50), (7, 2, 3600, 3600), (9, 4, 600, 1), (60, 4, 600, 300))


@pytest.fixture(scope="module")
def sample() -> Workload:
    return load_workload(SAMPLE_LOG, make_rules("dynp"))


def drawn(log: Workload, **options: Any) -> list[WorkloadJob]:
    model = Synthetic(log, **{"alpha": 0.35, "beta": 200, **options})
    jobs: list[WorkloadJob] = []
    while (now := model.next_submission()) < inf:
        jobs += model.jobs_to_submit(now)
    return jobs


def shape(job: WorkloadJob) -> tuple[int, float | None, str]:
    return job.size, job.walltime, job.profile


def run_time(job: WorkloadJob) -> int:
    return int(job.profile.removeprefix("r"))


def test_mean_gaps_of_the_published_parameters() -> None:
    """The synthetic sets of the thesis are denser than its logs of CTC (369 s) and LANL (509 s)."""
    means = {trace: parameters.mean for trace, parameters in PUBLISHED.items()}
    printed = {"CTC": 302, "KTH": 1006, "SDSC": 964, "LANL": 446, "CHPC": 1509, "MHPCC": 604}
    assert means == pytest.approx(printed | {"PC2-2001": 960, "PC2-2002": 960}, abs=0.6)


@pytest.mark.parametrize(("alpha", "beta"), [(0.4, 30.0), (1.0, 100.0), (2.0, 5.0)])
def test_a_fit_is_that_of_scipy_for_intervals(alpha: float, beta: float) -> None:
    random = Random(3).random
    gaps = [float(round(Weibull(alpha, beta).quantile(random()))) for _ in range(300)]
    intervals = [(max(0.0, gap - 0.5), gap + 0.5) for gap in gaps]
    data = stats.CensoredData(interval=intervals)
    with np.errstate(divide="ignore"):  # of its own search
        shape_, _, scale = stats.weibull_min.fit(data, floc=0)
    fitted = Weibull.fit(gaps, "made up")
    assert (fitted.alpha, fitted.beta) == pytest.approx((shape_, scale), rel=1e-3)


def test_options_say_whose_gaps_they_are() -> None:
    """Logs of the thesis are known by name; the last one is of another machine of SDSC."""
    assert find_published("LANL-CM5-1994-4.1-cln.swf") == PUBLISHED["LANL"]
    assert find_published("SDSC-Par-1995-3.1-cln.swf.gz") is None
    named = log_of((0, 1, 60, 50), (7, 2, 60, 3), name="KTH-SP2-1996-2.swf.gz")
    assert Synthetic(named, arrivals="thesis").gaps == KTH
    assert Synthetic(SMALL, arrivals="LANL").gaps == PUBLISHED["LANL"]
    assert Synthetic(SMALL, alpha=0.5, beta=9).gaps == Weibull(0.5, 9)
    assert Synthetic(SMALL).gaps == Weibull.fit([7, 2, 51], "")


@pytest.mark.parametrize("common", [1, 2])
def test_a_job_is_near_one_of_the_log(common: int) -> None:
    """In the bin of its run time, and of its estimate unless that is common, which kills it."""
    shapes = [Shape(2, 1000, 900), Shape(2, 8000, 3000), Shape(2, 9000, 2000)]
    joint = Joint(shapes, common=common, per_decade=1)
    steps = [(k + 0.5) / 24 for k in range(24)]
    made = [joint.draw(u, v, w) for u in steps for v in steps for w in steps]
    assert {job.width for job in made} == {2}
    estimates = {job.estimate for job in made}
    assert (len(estimates) == 3) == (common == 1)
    assert (min(estimates), max(estimates)) == pytest.approx((1000, 9000), rel=0.05)
    assert all(job.run_time <= job.estimate for job in made)
    longer = {job.run_time for job in made if job.run_time not in (900, job.estimate)}
    assert (min(longer), max(longer)) == pytest.approx((2000, 3000), rel=0.05)
    assert any(job.run_time == job.estimate < 2000 for job in made) == (common == 2)


def test_equal_steps_draw_every_cell_as_often_as_it_is_in_the_log() -> None:
    """Width 1 has a quarter of the jobs, its two estimates one job and two."""
    shapes = [Shape(1, 60, 60), Shape(1, 600, 599), Shape(1, 600, 600), *[Shape(2, 60, 7)] * 9]
    joint = Joint(shapes, common=1)
    steps = [(k + 0.5) / 24 for k in range(24)]
    counts = Counter(joint.draw(u, v, w) for u in steps for v in steps for w in steps)
    shares = {cell: count / 24**3 for cell, count in counts.items()}
    assert shares == pytest.approx({cell: count / 12 for cell, count in Counter(shapes).items()})


def test_shrinking_scales_times_and_nothing_else(sample: Workload) -> None:
    """Times are whole seconds: each is rounded, by at most half a second."""
    whole, shrunk = drawn(sample, jobs=500), drawn(sample, jobs=500, shrink=0.8)
    assert list(map(shape, whole)) == list(map(shape, shrunk))
    for job, shrunk_job in zip(whole, shrunk, strict=True):
        assert abs(shrunk_job.submit_time - 0.8 * job.submit_time) <= 0.9
        assert shrunk_job.submit_time == round(shrunk_job.submit_time)


def test_extension_scales_run_times_and_estimates_and_nothing_else(sample: Workload) -> None:
    """Whole seconds too, of which there is one at least."""
    plain, longer = drawn(sample, jobs=500), drawn(sample, jobs=500, extension=0.5)
    for job, more in zip(plain, longer, strict=True):
        assert (more.submit_time, more.size) == (job.submit_time, job.size)
        assert run_time(more) == max(1, round(0.5 * run_time(job)))
        assert more.walltime == max(1, round(0.5 * (job.walltime or 0)))


def test_wide_jobs_in_parts_are_the_same_work(sample: Workload) -> None:
    """The parts of a job have its user, so that they are at home at one site, and its times."""
    whole, split = drawn(sample, jobs=200), drawn(sample, jobs=200, split=8)
    assert max(job.size for job in whole) > max(job.size for job in split) == 8
    parts: dict[str, list[WorkloadJob]] = {}
    for job in split:
        parts.setdefault(job.id.partition(".")[0], []).append(job)
    assert list(parts) == [job.id for job in whole]
    for job in whole:
        of_job = parts[job.id]
        assert sum(part.size for part in of_job) == job.size
        assert {(part.submit_time, part.profile, part.user) for part in of_job} == {
            (job.submit_time, job.profile, job.id)
        }


@pytest.mark.parametrize(
    ("log", "message"),
    [
        (log_of((0, 1, None, 5), (5, 1, None, 7), (12, 1, None, 7)), "estimate"),
        (log_of((0, 1, 60, 5), (5, 1, 60, 5), (10, 1, 60, 5)), "1 different gaps"),
    ],
)
def test_logs_that_are_not_enough(log: Workload, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Synthetic(log)
