"""Synthetic job sets of any size and load that resemble a log.

Source: A. Streit, "Self-Tuning Job Scheduling Strategies for the Resource Management of HPC
Systems and Computational Grids", PhD thesis, Paderborn 2003, section 3.7.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from math import inf, isnan

from batsched_py.errors import InputError, UsageError
from batsched_py.model.user_model import EndedJob
from batsched_py.options.option_values import number, one_of, whole_number
from batsched_py.workload import Workload, WorkloadJob
from batsched_py.workload.grid_site_rules import split_jobs
from batsched_users.behaviour.arrivals import ARCHIVE, PUBLISHED, Weibull, find_published
from batsched_users.behaviour.job_attributes import COMMON, PER_DECADE, Joint, Shape
from batsched_users.behaviour.job_profiles import RunTimeProfiles, name_profile, run_time_of
from batsched_users.behaviour.random_streams import Chance, Seed


class Synthetic:
    """Jobs drawn from the distributions of a log, submitted at random times; users do not react.

    Gaps between submissions are Weibull distributed, independent of each other and of the jobs.
    Width, estimate and run time are drawn jointly. Times are whole seconds; the first submission is
    at 0. A job runs at most as long as its estimate, which is its walltime. Jobs of the log without
    estimate or known run time are left out; run times below 1 s count as 1 s.

    The k-th job of a seed is the same under every policy, at every ``shrink``, for all numbers of
    ``jobs``, and except for its times at every ``extension``.

    Args:
        jobs: Number of jobs. Allowed: a whole number, at least 0.
        shrink: Factor of all submission times: 0.8 is a load of 1 / 0.8, 0 submits all jobs at
            once. Allowed: a number from 0 to 1e9.
        extension: Factor of run times and estimates: 1.1 is a tenth more load. Allowed: a number
            from 0 to 1e9.
        split: Most processors of a job; wider jobs are split, each into parts of its own user
            (null: not split). Allowed: a whole number, at least 1.
        arrivals: Distribution of the gaps: fitted to the log, or with the parameters of Streit's
            ``thesis`` for this log, or for the trace of that name. Allowed: one of fit, thesis,
            CTC, KTH, SDSC, LANL, PC2-2001, PC2-2002, CHPC, MHPCC.
        alpha: Shape of the distribution of the gaps; needs ``beta`` (null: by ``arrivals``).
            Allowed: a number from 0.01 to 100.
        beta: Scale of the distribution of the gaps, in seconds; needs ``alpha`` (null: by
            ``arrivals``). Allowed: a number from 1e-6 to 1e12.
        common: Number of jobs with the same estimate from which that estimate is kept exactly.
            Allowed: a whole number from 1 to 1e9.
        per_decade: Number of bins of other estimates and of run times, for each factor of ten.
            Allowed: a whole number from 1 to 1e6.
    """

    makes_up_jobs = True
    reacts = False

    def __init__(
        self,
        workload: Workload,
        *,
        jobs: int = 10_000,
        shrink: float = 1.0,
        extension: float = 1.0,
        split: int | None = None,
        arrivals: str = "fit",
        alpha: float | None = None,
        beta: float | None = None,
        common: int = COMMON,
        per_decade: int = PER_DECADE,
        seed: Seed = 0,
    ) -> None:
        """Learn the distributions of ``workload``; raises :class:`UsageError` and InputError."""
        self.profiles = RunTimeProfiles(workload.rules)
        self._nb_jobs = whole_number("jobs", jobs, 0)
        self._shrink = number("shrink", shrink, 0, 1e9)
        self._extension = number("extension", extension, 0, 1e9)
        self._split = None if split is None else whole_number("split", split, 1)
        self.gaps = _gaps(workload, arrivals, alpha, beta)
        """The distribution of the gaps between submissions, before they are shrunk."""
        shapes = list(_shapes(workload))
        if not shapes:
            raise InputError(f"{workload.name}: no job has an estimate and a known run time")
        self._joint = Joint(
            shapes,
            common=whole_number("common", common, 1, 10**9),
            per_decade=whole_number("per_decade", per_decade, 1, 10**6),
        )
        chance = Chance(seed)
        self._arrivals, self._jobs = chance.stream("arrivals"), chance.stream("jobs")
        self._made = 0
        self._time = 0.0
        """Submission of the next job, before times are shrunk."""

    def next_submission(self) -> float:
        """Return the time of the next submission, inf after the last one."""
        return float(round(self._time * self._shrink)) if self._made < self._nb_jobs else inf

    def jobs_to_submit(self, now: float) -> Iterable[WorkloadJob]:
        """Yield the jobs due by ``now``, in the order in which they are drawn."""
        while self.next_submission() <= now:
            job = self._job()
            self._time += self.gaps.quantile(self._arrivals.random())
            yield from [job] if self._split is None else split_jobs([job], self._split, (), [])

    def job_ended(self, now: float, job: EndedJob, state: str) -> None:
        """Do nothing: these users do not react to the end of a job."""

    def _job(self) -> WorkloadJob:
        time = self.next_submission()
        self._made += 1
        random = self._jobs.random
        shape = self._joint.draw(random(), random(), random())
        return WorkloadJob(
            id=str(self._made),
            submit_time=time,
            size=shape.width,
            profile=name_profile(self._extended(shape.run_time)),
            walltime=self._extended(shape.estimate),
            user=None if self._split is None else str(self._made),
        )

    def _extended(self, seconds: int) -> float:
        return float(max(1, round(seconds * self._extension)))


def _gaps(workload: Workload, arrivals: str, alpha: float | None, beta: float | None) -> Weibull:
    one_of("arrivals", arrivals, ("fit", "thesis", *PUBLISHED))
    if (alpha is None) != (beta is None):
        raise UsageError(f"alpha={alpha}, beta={beta}: give both, or none of them")
    if alpha is not None and beta is not None:
        return Weibull(number("alpha", alpha, 0.01, 100), number("beta", beta, 1e-6, 1e12))
    if arrivals == "fit":
        times = (job.submit_time for job in workload.jobs)
        return Weibull.fit([end - begin for begin, end in pairwise(times)], workload.name)
    gaps = find_published(workload.name) if arrivals == "thesis" else PUBLISHED[arrivals]
    if gaps is None:
        raise UsageError(
            f"arrivals=thesis: the thesis has no parameters for {workload.name}; expected a log of "
            f"{', '.join(ARCHIVE)}; else say fit, or the name of one of its traces"
        )
    return gaps


def _shapes(workload: Workload) -> Iterator[Shape]:
    """Yield width, estimate and run time of the jobs that have all of them."""
    run_times = {name: run_time_of(profile) for name, profile in workload.profiles.items()}
    for job in workload.jobs:
        estimate = job.estimate if job.walltime is None else job.walltime
        run_time = run_times[job.profile]
        if estimate is None or isnan(run_time):
            continue
        whole_estimate = max(1, round(estimate))
        yield Shape(job.size, whole_estimate, min(max(1, round(run_time)), whole_estimate))
