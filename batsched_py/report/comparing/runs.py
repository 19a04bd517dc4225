"""Compares two runs: shifts of jobs, differences of metrics, and effects on users."""

from __future__ import annotations

from functools import cached_property
from math import isnan, nan
from pathlib import Path

import msgspec
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batsched_py.errors import UsageError
from batsched_py.metrics import COUNTS, METRICS
from batsched_py.report.answers import Change
from batsched_py.report.comparing import figures, run_tables
from batsched_py.report.comparing.compared_sources import (
    RunData,
    Source,
    find_pair,
    make_run,
    read_run,
)
from batsched_py.report.comparing.job_differences import ROUNDING, TOLERANCE
from batsched_py.report.comparing.setting_differences import (
    find_differing,
    flatten_settings,
    make_settings_table,
)
from batsched_py.report.document import Part, Report, Table, Text
from batsched_py.report.forms.notebook_report import NotebookReport
from batsched_py.report.kit.tables import sections
from batsched_py.report.less_work import NO_GAIN, compare_work
from batsched_py.report.metric_words import (
    LEAVING,
    MAIN,
    OF_REACTING_USERS,
    OF_WITHDRAWALS,
    ShownMetric,
    choose_metrics,
)
from batsched_py.run.result import Result
from batsched_py.support.statistics import Interval

ONE_PAIR = (
    "One pair of runs does not show the effect of chance; two campaigns with repeated runs do."
)
MATCHED = 0.5
"""Share of the smaller run's jobs that must have a counterpart."""
ALIKE = 0.9
"""Share of the matched pairs that must be the same jobs."""

Rows = NDArray[np.int64]


class Match(msgspec.Struct, frozen=True):
    """The pairs of jobs of two runs, as row numbers, and the jobs without a counterpart."""

    rows_a: Rows
    rows_b: Rows
    """Of the counterparts of ``rows_a``, in the same order."""
    only_a: Rows
    only_b: Rows
    same_jobs: bool
    """Whether the pairs are the same jobs, so that they can be compared one by one."""
    note: str
    """How jobs were matched, or why they cannot be."""


def match_jobs(a: pd.DataFrame, b: pd.DataFrame) -> Match:
    """Match the jobs of two runs by workload and id, and check that they are the same jobs.

    Replay of a log names the workload w0 if it is rigid and dyn if users react: if the workloads
    have little in common, jobs are matched by their ids alone, as long as these are unique.

    Populations that are drawn by chance number their jobs 1, 2, ...: with another seed, id 7 is
    another job. A pair is the same job if its recorded submission time is the same, or if user,
    profile (what it computes) and processors are. Where these are not :data:`ALIKE` of the
    pairs, or the pairs not :data:`MATCHED` of the jobs, only distributions can be compared.
    """
    rows_a, rows_b = _joined(a, b, ["workload", "job"])
    fewest = min(len(a), len(b))
    note = "Jobs are matched by workload and id."
    if len(rows_a) < MATCHED * fewest and a["job"].is_unique and b["job"].is_unique:
        by_id = _joined(a, b, ["job"])
        if len(by_id[0]) > len(rows_a):
            rows_a, rows_b = by_id
            workloads = [", ".join(sorted(frame["workload"].unique())[:3]) for frame in (a, b)]
            note = (
                "Jobs are matched by id alone, since their workloads have different names: "
                f"{workloads[0]} in A, {workloads[1]} in B."
            )
    alike = _share_alike(a.iloc[rows_a], b.iloc[rows_b])
    few = len(rows_a) < MATCHED * fewest
    if few:
        note = (
            f"Only {len(rows_a)} ids are in both runs, of {len(a)} jobs in A and {len(b)} in B. "
            "These are not the same jobs, so distributions and metrics are compared."
        )
    elif alike < ALIKE:
        note = (
            f"{len(rows_a)} ids are in both runs, but only {alike:.0%} of them are the same job "
            "(recorded submission, or user, profile and processors). The logs or the drawn users "
            "differ, so distributions and metrics are compared."
        )
    only_a, only_b = (
        np.setdiff1d(np.arange(len(run)), rows) for run, rows in ((a, rows_a), (b, rows_b))
    )
    return Match(rows_a, rows_b, only_a, only_b, not few and alike >= ALIKE, note)


def _joined(a: pd.DataFrame, b: pd.DataFrame, keys: list[str]) -> tuple[Rows, Rows]:
    both = (
        a[keys]
        .assign(row_a=np.arange(len(a)))
        .merge(b[keys].assign(row_b=np.arange(len(b))), on=keys, how="inner", validate="1:1")
    )
    return both["row_a"].to_numpy(np.int64), both["row_b"].to_numpy(np.int64)


def _share_alike(a: pd.DataFrame, b: pd.DataFrame) -> float:
    if not len(a):
        return 0.0

    def equal(name: str) -> NDArray[np.bool_]:
        return np.asarray(a[name].to_numpy() == b[name].to_numpy())

    unknown = (a["user"].to_numpy() == "") | (b["user"].to_numpy() == "")
    shift = np.abs(a["original"].to_numpy() - b["original"].to_numpy())
    # A rejected job has no processors.
    size = equal("size") | (a["size"].to_numpy() == 0) | (b["size"].to_numpy() == 0)
    of_user = equal("user") | unknown
    same = of_user & ((shift <= TOLERANCE) | (equal("profile") & size))
    return float(same.mean())


_Titled = tuple[str, list[Part | None]]
"""The title and the parts of a section."""
_COMPARED = ("submit", "start", "finish")
_CHANGES = ("state", "processors", "size", "user", "execution", "original")
_OF_SCHEDULE = ("state", "size", "user", "original")
"""Changes of the schedule other than start and end."""
_MEASURES = ("wait", "turnaround", "slowdown", "lateness")


def compare_runs(a: str | Path | Result, b: str | Path | Result) -> NotebookReport:
    """Return a report on the differences between two runs: files, or results of ``simulate``.

    A notebook shows its texts and tables; ``write("report.html")`` writes the report with figures.
    A run is named by its prefix, its ``PREFIX_jobs.csv`` (also of Batsim itself) or its folder.
    Raises :class:`UsageError` and :class:`InputError` if there is no such run.
    """
    return NotebookReport.from_report(RunComparison.of(a, b).report())


class RunComparison:
    """The comparison of two runs; differences are B - A."""

    def __init__(self, a: RunData, b: RunData) -> None:
        self.a = a
        self.b = b

    @classmethod
    def of(cls, a: str | Path | Result, b: str | Path | Result) -> RunComparison:
        """Compare two runs: files, or results of ``simulate``; see :func:`compare_runs`."""
        if isinstance(a, str | Path) and isinstance(b, str | Path):
            return cls.from_sources(*find_pair(a, b))
        if isinstance(a, str | Path) or isinstance(b, str | Path):
            raise UsageError("expected two runs of files, or two results of simulate")
        return cls(make_run(a, "A"), make_run(b, "B"))

    @classmethod
    def from_sources(cls, a: Source, b: Source) -> RunComparison:
        """Read two runs, and return their comparison."""
        if (a.kind, b.kind) != ("run", "run"):
            raise UsageError(f"{a.name} and {b.name} are campaigns: expected two runs")
        return cls(read_run(a), read_run(b))

    @cached_property
    def match(self) -> Match:
        """The pairs of corresponding jobs of A and B, or the reason why there are none."""
        return match_jobs(self.a.jobs, self.b.jobs)

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """A row for each job of both runs, in order of submission in A; times in seconds.

        ``submit_a``, ``submit_b``, ``submit_shift`` = b - a, likewise of ``start``, ``finish``,
        ``wait``, ``turnaround``, ``slowdown`` (bounded) and ``lateness``; ``state_changed``,
        ``processors_changed``, ``size_changed``, ``execution_changed``, ``user_changed``,
        ``original_changed`` and ``moved``, whether any of it is. If users withdraw jobs in both
        runs, there is ``withdrawal_changed`` too.
        """
        a = self.a.jobs.iloc[self.match.rows_a].reset_index(drop=True)
        b = self.b.jobs.iloc[self.match.rows_b].reset_index(drop=True)
        rows = a[["workload", "job", "user", "size"]].copy()
        for name in (*_COMPARED, *_MEASURES):
            rows[f"{name}_a"], rows[f"{name}_b"] = a[name], b[name]
            shift = b[name] - a[name]
            rows[f"{name}_shift"] = shift.mask(shift.abs() <= TOLERANCE, 0.0)
        for name in _CHANGES[:3]:
            rows[f"{name}_changed"] = a[name] != b[name]
        rows["user_changed"] = (a["user"] != b["user"]) & (a["user"] != "") & (b["user"] != "")
        for name in self._changes[4:]:
            rows[f"{name}_changed"] = (b[name] - a[name]).abs() > TOLERANCE
        rows["measured"] = a["measured"] & b["measured"]
        shifts = rows[[f"{name}_shift" for name in _COMPARED]].fillna(0.0) != 0
        changes = rows[[f"{name}_changed" for name in self._changes]]
        rows["moved"] = shifts.any(axis=1) | changes.any(axis=1)
        return rows

    @property
    def _leaving(self) -> bool:
        """Whether users withdraw jobs in either run."""
        return any(bool(run.table.withdrawn.any()) for run in (self.a, self.b))

    @property
    def _changes(self) -> tuple[str, ...]:
        """The columns of which :attr:`pairs` says whether they differ."""
        both = all("withdrawal" in run.jobs for run in (self.a, self.b))
        return (*_CHANGES, *["withdrawal"] * both)

    @property
    def moved_jobs(self) -> pd.DataFrame:
        """The rows of :attr:`pairs` that differ; empty if the runs have other jobs."""
        return self.pairs[self.pairs["moved"] & self.match.same_jobs].reset_index(drop=True)

    @property
    def identical(self) -> bool:
        """Whether all jobs and the sizes of the machines are equal, so that all metrics are.

        Equal within :data:`~batsched_py.report.comparing.job_differences.TOLERANCE`; settings do
        not count.
        """
        return self._all_paired and not self.pairs["moved"].any()

    @property
    def same_schedule(self) -> bool:
        """Whether all jobs are submitted, start and end at the same times and with the same result.

        The same within :data:`~batsched_py.report.comparing.job_differences.ROUNDING`; processors
        do not count.
        """
        shifts = self.pairs[[f"{name}_shift" for name in _COMPARED]].fillna(0.0).abs()
        of_schedule = (*_OF_SCHEDULE, *self._changes[len(_CHANGES) :])
        changes = self.pairs[[f"{name}_changed" for name in of_schedule]]
        same = (shifts <= ROUNDING).all(axis=None) and not changes.any(axis=None)
        return self._all_paired and bool(same)

    @property
    def _all_paired(self) -> bool:
        """Whether the machines are as large, and no job is in one run only."""
        sizes = {self.a.nb_processors, self.b.nb_processors} - {None}
        alone = len(self.match.only_a) + len(self.match.only_b)
        return (self.match.same_jobs or not len(self.pairs)) and not alone and len(sizes) < 2

    @cached_property
    def metrics(self) -> pd.DataFrame:
        """All metrics that either run has: unit, a, b, difference, relative to abs(a)."""
        both = {"a": self._metrics_of(self.a), "b": self._metrics_of(self.b)}
        rows = pd.DataFrame(both, index=[*COUNTS, *METRICS], dtype=float).dropna(how="all")
        rows["difference"] = rows["b"] - rows["a"]
        rows["relative"] = rows["difference"] / rows["a"].abs().where(rows["a"] != 0)
        units = [METRICS[name].unit if name in METRICS else "jobs" for name in rows.index]
        rows.insert(0, "unit", units)
        return rows.rename_axis("metric").reset_index()

    def _metrics_of(self, run: RunData) -> dict[str, float | int | None]:
        """Return the metrics of a run, those of withdrawals too if the other run has them."""
        more = {name for other in (self.a, self.b) for name in other.metrics} - {*run.metrics}
        about = [name for name in more if METRICS[name].only_with == "withdrawals"]
        return run.metrics | {name: METRICS[name].value(run.table) for name in about}

    @cached_property
    def users(self) -> pd.DataFrame:
        """A row for each user of both runs, sorted by the change of the user's waits."""
        return run_tables.average_by_user(self.pairs[self.pairs["measured"]])

    @property
    def whole_tables(self) -> dict[str, pd.DataFrame]:
        """The tables with all rows; the report shows the rows with the largest differences."""
        if not self.match.same_jobs:
            return {}
        return {"moved_jobs": self.moved_jobs, "users": self.users}

    @property
    def changed_settings(self) -> list[str]:
        """The names of the settings that differ, if both runs have stored them."""
        if not (self.a.settings and self.b.settings):
            return []
        return find_differing(flatten_settings(self.a.settings), flatten_settings(self.b.settings))

    @property
    def summary(self) -> str:
        """The result in a line or two."""
        if self.identical:
            changed = [name.removeprefix("run.") for name in self.changed_settings]
            but = f"; their options differ in {', '.join(changed)}" if changed else ""
            return f"The runs are identical: all {len(self.pairs)} jobs are equal{but}."
        if self.same_schedule:
            elsewhere = int(self.pairs["processors_changed"].sum())
            rounded = int(self.pairs["moved"].sum()) - elsewhere
            return (
                f"The schedules are the same: all {len(self.pairs)} jobs start and end at the same "
                f"times; {elsewhere} are on other processors, {rounded} differ by rounding."
            )
        return self._less_work + self._difference

    @property
    def _less_work(self) -> str:
        """That one run does less work than the other, as a sentence; "" if neither does."""
        found = compare_work({"A": self.a.as_row, "B": self.b.as_row})
        return f"{found}. {NO_GAIN} " if found else ""

    @property
    def _difference(self) -> str:
        """By how much the main metrics differ, and how many jobs."""
        both = pd.DataFrame([self._metrics_of(run) for run in (self.a, self.b)]).astype(float)
        leaving = OF_WITHDRAWALS * self._leaving
        names = dict.fromkeys((*MAIN[:1], *leaving, *OF_REACTING_USERS[:1], *MAIN[1:3]))
        metrics = choose_metrics(both, names)
        changes = [_change(metric, *both[metric.name]) for metric in metrics]
        words = ", ".join(each.words for each in changes if not isnan(each.change.value))
        text = f"B compared with A: {words}." if words else ""
        for share in (metric for metric in metrics if metric.name in OF_WITHDRAWALS[:1]):
            in_a, in_b = map(share.format, both[share.name])
            text += f" Users withdraw {in_a} of the jobs in A, {in_b} in B."
        if not self.match.same_jobs:
            return f"{text} {self.match.note}"
        moved = int(self.pairs["moved"].sum())
        starts = int((self.pairs["start_shift"].fillna(0.0) != 0).sum())
        alone = [
            f"{len(rows):,} jobs are only in {run}"
            for run, rows in (("A", self.match.only_a), ("B", self.match.only_b))
            if len(rows)
        ]
        counted = f"{moved:,} of {len(self.pairs):,} jobs differ, {starts:,} start at another time"
        return f"{text} {'; '.join([counted, *alone])}."

    def report(self) -> Report:
        """Return the report of the comparison."""
        summary = (
            f"A is {self.a.name}, B is {self.b.name}; differences are B - A. {self.match.note}"
        )
        parts: list[_Titled] = []
        if not self.identical:
            a, b = self._measured
            waits = figures.draw_distribution_of_waits(
                {f"{self.a.name} (A)": a, f"{self.b.name} (B)": b}
            )
            parts.append(("Waits", [waits]))
            if self.match.same_jobs:
                parts += self._by_job()
            else:
                tables = [run_tables.tabulate_means(a, b), run_tables.tabulate_quantiles(a, b)]
                parts.append(("Distributions", [*tables]))
            parts.append(("Metrics", [run_tables.tabulate_metrics(self.metrics)]))
        parts.append(("Options", [self._settings()]))
        title = f"{self.b.name} (B) compared with {self.a.name} (A)"
        cautions = [LEAVING] * self._leaving
        cautions += [] if self.identical else [ONE_PAIR]
        made = tuple(sections(parts))
        return Report(
            title, "", made, summary=summary, answer=self.summary, cautions=tuple(cautions)
        )

    def _settings(self) -> Table | Text:
        a, b = flatten_settings(self.a.settings), flatten_settings(self.b.settings)
        missing = [run for run, settings in (("A", a), ("B", b)) if not settings]
        if len(missing) == 2:
            return Text("Neither run has a PREFIX_run.json, so their options are unknown.")
        note = f"{missing[0]} has no PREFIX_run.json." if missing else ""
        return make_settings_table(a, b, note)

    def _by_job(self) -> list[_Titled]:
        only_a, only_b = self.match.only_a, self.match.only_b
        alone = {"A": self.a.jobs.iloc[only_a], "B": self.b.jobs.iloc[only_b]}
        jobs: list[Part | None] = [
            run_tables.tabulate_shifts(self.pairs),
            run_tables.tabulate_other_changes(self.pairs),
            run_tables.tabulate_only_in_one(alone),
        ]
        if self.pairs["start_shift"].any():
            jobs += [
                run_tables.tabulate_largest_shifts(self.pairs),
                figures.draw_shifts_of_starts(self.pairs),
            ]
        compared = self.pairs[self.pairs["measured"]]
        of_users: list[Part | None] = (
            [run_tables.tabulate_effects(compared)] if len(compared) else []
        )
        if len(self.users):
            of_users.append(run_tables.tabulate_top_movers(self.users, compared))
            of_users.append(figures.draw_waits_of_users(self.users))
        return [("Jobs", jobs), ("Users", of_users)]

    @property
    def _measured(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """The measured jobs of A and of B; rejected ones have no size."""
        both = (run.jobs[run.jobs["measured"]] for run in (self.a, self.b))
        a, b = (jobs.assign(size=jobs["size"].where(jobs["start"].notna())) for jobs in both)
        return a, b


def _change(metric: ShownMetric, a: float, b: float) -> Change:
    """Return the change of a metric from A to B; nan if it has none."""
    change = b - a if metric.is_difference else b / a - 1 if a else nan if b else 0.0
    return Change("B", "", metric, Interval(change, nan, nan, 1))
