"""Compares one rigid run of a log with the recorded waits."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np
from numpy.typing import NDArray

from batsched_py.calibration.agreement import Agreement, estimate_agreement, to_log_scale
from batsched_py.calibration.groups import Group, UserShare, count_near_users, make_groups
from batsched_py.calibration.job_classes import classify_jobs, find_size_class
from batsched_py.calibration.matched_jobs import JobCounts, MatchedJobs, match_jobs
from batsched_py.calibration.time_series import (
    Backlog,
    Utilisation,
    measure_backlog,
    measure_utilisation,
)
from batsched_py.calibration.week_bootstrap import Estimate, Weeks
from batsched_py.errors import UsageError
from batsched_py.results.job_table import Column, JobTable
from batsched_py.support.statistics import Interval
from batsched_py.units import MINUTE
from batsched_py.workload.log_partitions import LogPartitions
from batsched_py.workload.logs.swf import SwfLog
from batsched_py.workload.machine_description import MachineDescription


class UsualWaits(msgspec.Struct, frozen=True):
    """The agreement of waits predicted by a table of usual waits, by size and hour.

    It gives the other measures a scale: a simulation that explains less knows less than a table of
    24 hours and some sizes.
    """

    rank_correlation: Interval
    share_explained: Interval
    near: Interval


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """The agreement of a run with its log; times in seconds, 95 % intervals."""

    jobs: JobCounts
    weeks: int
    """In which jobs were submitted that are compared; of fewer than 5 nothing has an interval."""
    agreement: Agreement
    by_size_and_hour: UsualWaits | None
    """None where there is but one week."""
    backlog: Backlog
    utilisation: Utilisation
    groups: list[Group]
    users: UserShare

    def of_kind(self, kind: str) -> list[Group]:
        """Return the groups of a kind: ``hour``, ``size``, ``partition``, ..."""
        return [group for group in self.groups if group.kind == kind]

    @property
    def numbers(self) -> dict[str, float]:
        """The measures by name without intervals, as columns of a campaign's results."""
        usual = self.by_size_and_hour
        return {
            "compared_jobs": float(self.jobs.compared),
            **{name: of.value for name, of in msgspec.structs.asdict(self.agreement).items()},
            **({} if usual is None else {"usual_share_explained": usual.share_explained.value}),
            "backlog_correlation": self.backlog.work.correlation.value,
            "utilisation_recorded": self.utilisation.recorded,
            "utilisation_simulated": self.utilisation.simulated,
            "users_near": self.users.share,
        }


def calibration(
    log: SwfLog, table: JobTable, described: MachineDescription | None = None
) -> Calibration:
    """Return the agreement of a rigid run of a log with the waits that the log recorded.

    ``table`` has the jobs of the run with their ids, as :meth:`~.Result.table_as_written` and
    stored runs have; jobs are matched by these, and those that the table does not measure load the
    machine only. ``described`` is the machine file of the run, whose partitions are then groups.

    Raises :class:`LogError` for a log without waits, and :class:`UsageError` for a table of another
    log or of users who react, and if no job is left to compare.

    >>> log = read_swf("site.swf")  # doctest: +SKIP
    >>> calibration(log, result.table_as_written()).agreement.bias  # doctest: +SKIP
    """
    jobs, counts = match_jobs(log, table)
    machine = None if described is None else LogPartitions(log, described)
    return ComparedRun(log, jobs, counts, table.nb_processors, machine).calibration


class ComparedRun:
    """A run whose jobs were found in the log, with its measures in each resample of the weeks."""

    def __init__(
        self,
        log: SwfLog,
        jobs: MatchedJobs,
        counts: JobCounts,
        nb_processors: int | None,
        machine: LogPartitions | None,
        usual: Mapping[str, Estimate] | None = None,
    ) -> None:
        if not jobs.measured.any():
            raise UsageError(
                f"no job is left to compare with {log.path}: {describe_left_out(counts)}"
            )
        self._jobs, self._nb_processors, self._machine = jobs, nb_processors, machine
        self._log, self._counts = log, counts
        self.compared = jobs.only_measured
        self.weeks = Weeks(self.compared.submit)
        self.estimates = estimate_agreement(
            self.weeks, self.compared.recorded, self.compared.simulated
        )
        self.usual = self._usual() if usual is None else usual
        """The estimates of the usual waits, the same for all policies; none of but one week."""

    def _usual(self) -> Mapping[str, Estimate]:
        jobs = self.compared
        hour = next(classify_jobs(jobs, self._log))
        size = find_size_class(jobs.size)
        waits = compute_usual_waits(jobs.recorded, self.weeks, size, hour.number)
        return {} if waits is None else estimate_agreement(self.weeks, jobs.recorded, waits)

    @property
    def calibration(self) -> Calibration:
        """The result of the comparison."""
        jobs = self.compared
        classes = classify_jobs(jobs, self._log, self._machine)
        measured = {name: self.estimates[name].interval for name in Agreement.__struct_fields__}
        names = UsualWaits.__struct_fields__
        return Calibration(
            jobs=self._counts,
            weeks=self.weeks.nb,
            agreement=Agreement(**measured),
            by_size_and_hour=UsualWaits(*(self.usual[name].interval for name in names))
            if self.usual
            else None,
            backlog=measure_backlog(self._jobs),
            utilisation=measure_utilisation(self._jobs, self._nb_processors),
            groups=make_groups(jobs, self.weeks, classes),
            users=count_near_users(jobs),
        )


def compute_usual_waits(
    recorded: Column, weeks: Weeks, size: NDArray[np.intp], hour: NDArray[np.intp]
) -> Column | None:
    """Return for each job the usual recorded wait of its size and hour in the other weeks.

    It is the mean on the scale of ``log(1 min + wait)``, on which it is judged (a geometric mean,
    below the arithmetic one): over all jobs of the other weeks where these have none of its size
    and hour. None if there is but one week. Columns have shape (n,).
    """
    if weeks.nb < 2:
        return None
    y = to_log_scale(recorded)
    kind = np.unique(size * 24 + hour, return_inverse=True)[1]
    of_kind, of_kind_here = _means_elsewhere(y, kind, weeks)
    of_all, _ = _means_elsewhere(y, np.zeros_like(kind), weeks)
    return MINUTE * np.expm1(np.where(of_kind_here, of_kind, of_all))


def _means_elsewhere(
    y: Column, kind: NDArray[np.intp], weeks: Weeks
) -> tuple[Column, NDArray[np.bool_]]:
    """Return the mean over jobs of the same kind in other weeks, and whether there are any."""
    nb = int(kind.max()) + 1
    both = weeks.number * nb + kind
    number = np.bincount(kind, minlength=nb)[kind]
    number = number - np.bincount(both, minlength=weeks.nb * nb)[both]
    sums = np.bincount(kind, weights=y, minlength=nb)[kind]
    sums = sums - np.bincount(both, weights=y, minlength=weeks.nb * nb)[both]
    return np.maximum(sums, 0) / np.maximum(number, 1), number > 0


_REASONS = {
    "dropped": "left out by the rules",
    "refused": "refused in the simulation",
    "never_began": "cancelled while they waited",
    "unknown_wait": "with an unknown wait",
    "not_measured": "not measured",
}


def describe_left_out(counts: JobCounts) -> str:
    """Return the left-out jobs as text: "of 10 jobs 2 left out by the rules, 8 not measured"."""
    left = [
        f"{getattr(counts, name):,} {words}"
        for name, words in _REASONS.items()
        if getattr(counts, name)
    ]
    jobs = "job" if counts.in_log == 1 else "jobs"
    return f"of {counts.in_log:,} {jobs} {', '.join(left) or 'none is left out'}"
