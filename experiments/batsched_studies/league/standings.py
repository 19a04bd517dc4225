"""Scores of the user models by week, and how certain their order is."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import exp, hypot, log, nan
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batsched_py.errors import UsageError
from batsched_py.report import CampaignResults
from batsched_py.report.kit import UNKNOWN, Interval, jackknife, log_name, options_of
from batsched_py.support.statistics import FEWEST, jackknife_error, student
from batsched_py.units import WEEK
from batsched_py.workload import Workload
from batsched_studies.league import RECORDED, RIGID
from batsched_studies.league.change import Change, select_around
from batsched_studies.league.days import WIDTHS, Days, Jobs, read_log_jobs, read_run_jobs
from batsched_studies.league.scores import compute_coverage, crps, crps_of_sample, energy_score
from batsched_studies.league.worlds import make_world

Floats = NDArray[np.float64]
SUBMISSIONS, SAME_POLICY, AS_RECORDED = "submissions", "waits", "recorded_waits"
WAITS = ("wait", "waits_of_jobs", "utilisation")
GROUPS = {
    SUBMISSIONS: ("jobs", "work", "users", "profile"),
    SAME_POLICY: WAITS,
    AS_RECORDED: WAITS,
}
"""The quantities that are scored together: submissions, and waits against either truth."""
_NO_ERROR = 1e-9
OPTIONS = ("change", "settle", "weeks", "spare", "members")


@dataclass(frozen=True)
class ScoredJobs:
    """The jobs after the change, and their scored quantities by day."""

    jobs: Jobs
    days: Days

    @classmethod
    def from_jobs(cls, jobs: Jobs, change: Change) -> ScoredJobs:
        """Return the jobs with the quantities of the scored days."""
        return cls(jobs, Days.from_jobs(jobs, change))


@dataclass
class Case:
    """One change of a site: what really happened, and the forecasts of each model."""

    name: str
    log: str
    world: str
    change: Change
    workload: Workload
    """The log around the change; second 0 is the change."""
    recorded: ScoredJobs
    replayed: ScoredJobs | None
    """The recorded jobs, replayed under EASY; None without such a run."""
    forecasts: dict[str, list[ScoredJobs]]
    _weekly: dict[tuple[str, str, str], Floats] = field(default_factory=dict)
    _left_out: dict[tuple[str, str, str], Floats] = field(default_factory=dict)

    @property
    def models(self) -> list[str]:
        """The models with runs, in the order of the runs."""
        return list(self.forecasts)

    def find_truth(self, group: str) -> ScoredJobs | None:
        """Return the jobs that the forecasts of a group are scored against; None if unknown."""
        return self.replayed if group == SAME_POLICY else self.recorded

    def score(self, group: str, quantity: str, model: str) -> Floats:
        """Return a model's mean score of each week, shape (weeks,); nan where nothing is known."""
        key = group, quantity, model
        if key not in self._weekly:
            self._weekly[key] = self._scores(group, quantity, self.forecasts[model])
        return self._weekly[key]

    def score_left_out(self, group: str, quantity: str, model: str) -> Floats:
        """Return a model's mean score without each member in turn, shape (members,)."""
        key = group, quantity, model
        if key not in self._left_out:
            members = self.forecasts[model]
            rest = [members[:at] + members[at + 1 :] for at in range(len(members))]
            weekly = [self._scores(group, quantity, others) for others in rest]
            self._left_out[key] = _means(np.array(weekly))
        return self._left_out[key]

    def _scores(self, group: str, quantity: str, members: Sequence[ScoredJobs]) -> Floats:
        """Return the mean score of some members in each week, shape (weeks,)."""
        seen = self.find_truth(group)
        if seen is None:
            return np.full(self.change.weeks, nan)
        if quantity == "waits_of_jobs":
            return _waits_of_jobs(members, seen.jobs, self.change)
        drawn = np.array([getattr(member.days, quantity) for member in members])
        score = energy_score if drawn.ndim == 3 else crps
        by_day = score(drawn, getattr(seen.days, quantity))
        return _means(by_day.reshape(self.change.weeks, 7))

    def compute_coverage(self, group: str, quantity: str, model: str) -> float:
        """Return the share of days whose true value is in the range of the members, or nan."""
        seen = self.find_truth(group)
        if seen is None or quantity in ("waits_of_jobs", "profile"):
            return nan
        drawn = [getattr(member.days, quantity) for member in self.forecasts[model]]
        return compute_coverage(drawn, getattr(seen.days, quantity))

    def mean(self, group: str, quantity: str, model: str) -> float:
        """Return a model's mean score over all weeks."""
        return float(_means(self.score(group, quantity, model)))

    def list_telling_quantities(self, group: str) -> list[str]:
        """Return the quantities of a group that rigid replay does not predict exactly."""
        return [name for name in GROUPS[group] if not self.mean(group, name, RIGID) <= _NO_ERROR]

    def ratio(self, group: str, model: str, base: str, quantity: str = "") -> Interval:
        """Return the score of a model divided by that of another model, with its interval.

        For a group it is the geometric mean over its quantities, or one ``quantity`` if named. The
        interval covers other weeks and other members: their variances of the logarithm, each by the
        jackknife, are added. It is rather too wide than too narrow, since Student's t has the fewer
        degrees of freedom. There is none for fewer than :data:`FEWEST` members, or weeks.
        """
        if not {model, base} <= set(self.models) or model == base:
            return UNKNOWN
        names = [name for name in self.list_telling_quantities(group) if quantity in ("", name)]
        if not names:
            return UNKNOWN
        pairs = [[self.score(group, name, which) for which in (model, base)] for name in names]
        rows = np.moveaxis(np.array(pairs), 2, 0)  # (weeks, quantities, 2)
        weeks, members = len(rows), min(len(self.forecasts[which]) for which in (model, base))
        ratio = jackknife(rows, _geometric, is_ratio=True)
        if members < FEWEST or not ratio.is_known:
            return Interval(ratio.value, nan, nan, weeks)
        of_weeks = log(ratio.high / ratio.value) / student(weeks - 1)
        of_members = _error(*(self._log_left_out(group, names, which) for which in (model, base)))
        reach = hypot(of_weeks, of_members) * student(min(weeks, members) - 1)
        return Interval(ratio.value, ratio.value * exp(-reach), ratio.value * exp(reach), weeks)

    def _log_left_out(self, group: str, names: Sequence[str], model: str) -> Floats:
        """Return the mean logarithm of the scores of some quantities without each member."""
        with np.errstate(divide="ignore", invalid="ignore"):
            scores = [np.log(self.score_left_out(group, name, model)) for name in names]
        return np.asarray(np.mean(scores, axis=0))

    def skill(self, group: str, model: str, quantity: str = "") -> Interval:
        """Return by which share a model's score is smaller than that of rigid replay."""
        return convert_to_skill(self.ratio(group, model, RIGID, quantity))

    def find_places(self, group: str) -> dict[str, tuple[int, int]]:
        """Return the first and the last place in the league that each model may have.

        A model is before another if the interval of the ratio of their scores is below 1.
        """
        before: dict[str, int] = dict.fromkeys(self.models, 0)
        behind = dict(before)
        for place, model in enumerate(self.models):
            for other in self.models[place + 1 :]:
                ratio = self.ratio(group, model, other)
                if ratio.below(1):
                    before[other] += 1
                    behind[model] += 1
                elif ratio.above(1):
                    before[model] += 1
                    behind[other] += 1
        number = len(self.models)
        return {model: (1 + before[model], number - behind[model]) for model in self.models}


def compute_skill(cases: Sequence[Case], group: str, model: str) -> Interval:
    """Return a model's skill over all cases; each case has the same weight."""
    ratios = [case.ratio(group, model, RIGID).value for case in cases]
    known = np.array([ratio for ratio in ratios if ratio > 0])

    def geometric(values: Floats) -> float:
        return float(np.exp(np.log(values).mean()))

    return convert_to_skill(jackknife(known, geometric, is_ratio=True))


def convert_to_skill(ratio: Interval) -> Interval:
    """Return the skill 1 - ``ratio``, with the ends of the interval in ascending order."""
    return Interval(1 - ratio.value, 1 - ratio.high, 1 - ratio.low, ratio.nb)


def read(results: CampaignResults) -> list[Case]:
    """Read the cases of a campaign that have runs of rigid replay, in the order of the runs."""
    runs = results.runs
    if runs.empty:
        return []
    by = "case" if "case" in runs else "log"
    found = (_case(results, str(name), of_case) for name, of_case in runs.groupby(by, sort=False))
    return [case for case in found if case.forecasts.get(RIGID)]


def _case(results: CampaignResults, name: str, runs: pd.DataFrame) -> Case:
    first, options = runs.iloc[0], _common_options(name, runs)
    change = Change(**{key: options[key] for key in OPTIONS if key in options})
    world, processors = options.get("world", ""), int(first["nb_res"])
    workload = results.workload(first)
    workload = select_around(make_world(workload, world, change) if world else workload, change)
    seen: dict[str, list[ScoredJobs]] = {}
    for model, of_model in runs.groupby("model", sort=False):
        rows = (row for _, row in of_model.sort_values("member").iterrows())
        seen[str(model)] = [
            ScoredJobs.from_jobs(read_run_jobs(results.jobs(row), processors), change)
            for row in rows
        ]
    replayed = seen.pop(RECORDED, [None])[0]
    recorded = ScoredJobs.from_jobs(read_log_jobs(workload, processors), change)
    log = log_name(str(first["log"]))
    return Case(name, log, world, change, workload, recorded, replayed, seen)


def _common_options(name: str, runs: pd.DataFrame) -> dict[str, Any]:
    """Return the user options of all members, without model and member.

    Raises :class:`UsageError` where the runs of a case differ by anything else.
    """
    found = [options_of(run, "user_options") for _, run in runs.iterrows()]
    common = [{key: of[key] for key in of if key not in ("model", "member")} for of in found]
    if runs.duplicated(["model", "member"]).any() or any(of != common[0] for of in common):
        raise UsageError(
            f"{name}: its runs differ by more than model and member; expected a case of its own "
            "for each change, policy, seed or replication"
        )
    return common[0]


def _error(ours: Floats, base: Floats) -> float:
    """Return the jackknife's standard error of the difference of two values.

    Arguments are both values without each member in turn. Members are paired, since replays of a
    pair begin with the same week; with different numbers of members the variances are added.
    """
    sides = [ours - base] if len(ours) == len(base) else [ours, base]
    return hypot(*map(jackknife_error, sides))


def _waits_of_jobs(members: Sequence[ScoredJobs], truth: Jobs, change: Change) -> Floats:
    """Return by week how well the waits of a width class predict the wait of each job (CRPS)."""
    begin = change.settle * WEEK
    week = np.floor((truth.submit - begin) / WEEK).astype(int)
    scored = (week >= 0) & (week < change.weeks) & np.isfinite(truth.wait)
    scores = np.full(len(week), nan)
    for width in range(len(WIDTHS) + 1):
        waits = [
            seen.jobs.log_wait[(seen.jobs.submit >= begin) & (seen.jobs.width == width)]
            for seen in members
        ]
        of_width = scored & (truth.width == width)
        scores[of_width] = crps_of_sample(np.concatenate(waits), truth.log_wait[of_width])
    return np.array([float(_means(scores[scored & (week == at)])) for at in range(change.weeks)])


def _geometric(rows: Floats) -> float:
    """Return the geometric mean, over the quantities, of the ratio of both mean scores."""
    ours, base = _means(np.moveaxis(rows, 0, -1)).T
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.exp(np.mean(np.log(ours / base))))


def _means(values: Floats) -> Floats:
    """Return means of the known values over the last axis; nan without any."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.asarray(np.nanmean(values, axis=-1)) if values.size else np.asarray(nan)
