"""The values of the study's tables, here and in the thesis; layout.py formats them.

Source: Streit 2003, chapter 5 and appendix A; the printed numbers are in ``published.toml``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from batsched_py.report.kit import in_column as _printed
from batsched_py.report.kit import rows
from batsched_studies.dynp import PUBLISHED
from batsched_studies.dynp.measures import CASES, MeasuredRun

GAIN = "gain on best static"
UNITS = {"jobs": "1", "SLDwA": "1", "ARTwW": "s", "AWT": "s", "UTIL": "%", GAIN: "%"}


@dataclass(frozen=True)
class Row:
    """A value of a run in a table, and the value in the thesis; None = not known."""

    run: MeasuredRun
    metric: str
    """The name of the metric; ``jobs`` is the number of jobs of a month."""
    ours: float
    thesis: float | None
    reference: float | None = None
    """The value of the independent simulator (``published.toml``)."""
    month: str = ""
    """``YYYY-MM``; empty for the whole log."""

    @property
    def unit(self) -> str:
        """The unit of the metric."""
        return UNITS[self.metric]

    @property
    def difference(self) -> float | None:
        """The value minus the thesis's: points for percentages, else per cent of the thesis."""
        if self.unit == "%":
            return None if self.thesis is None else self.ours - self.thesis
        return 100 * (self.ours / self.thesis - 1) if self.thesis else None


@dataclass(frozen=True)
class Case:
    """How often something happened in a run of dynP, and in the thesis; None = not known."""

    run: MeasuredRun
    what: str
    """``steps``, ``case``, ``switches``, ``no switch`` or ``started``."""
    which: str
    """The case, or the policy switched to or active at the start of a job."""
    count: int
    share: float
    """Per cent of the steps, or of the started jobs."""
    thesis_count: int | None
    thesis_share: float | None


def make_rows(runs: Iterable[MeasuredRun]) -> dict[str, list[Row]]:
    """Return the rows of each table that has any, by the name of the table in ``layout.py``."""
    runs = list(runs)
    dynp = [run for run in runs if not (run.policy.order or run.policy.version)]
    users = [run for run in runs if run.estimates == "user"]
    plain = [run for run in users if run.policy.plain]
    deciding = [run for run in dynp if run in plain and not _preferred(run)]
    whole = [run for run in dynp if not run.policy.subset]
    no_slack = [run for run in whole if not run.policy.slackness]
    usual_metric = [run for run in whole if run.policy.metric == "ARTwW"]
    best = _best_static(runs)
    parts = {
        "static": (_static(run) for run in users if run.policy.order),
        "deciders": (_decider(run, best) for run in deciding),
        "estimates": (_estimate(run, best) for run in _of_table5_7(runs)),
        "metrics": (_metric(run) for run in _if_any(no_slack, "metric", "ARTwW")),
        "slackness": (_slackness(run) for run in _if_any(usual_metric, "slackness", 0)),
        "versions": (_compare_with_static(run, best) for run in _if_any(plain, "version", "")),
        "subset": (_compare_with_static(run, best) for run in _if_any(dynp, "subset", "")),
        "monthly": [_month_jobs(runs), *map(_month, plain)],
    }
    tables = {name: list(chain.from_iterable(rows)) for name, rows in parts.items()}
    return {name: rows for name, rows in tables.items() if rows}


def count_cases(runs: Iterable[MeasuredRun]) -> list[Case]:
    """Return the counters of the runs of dynP: steps, cases of decisions, and switches."""
    return [case for run in runs if run.counts for case in _cases(run)]


_Best = dict[tuple[str, int, str], float]


def _preferred(run: MeasuredRun) -> bool:
    return run.policy.decider.endswith("-preferred")


def _if_any(runs: Iterable[MeasuredRun], option: str, usual: object) -> list[MeasuredRun]:
    """Return the runs if some have an unusual value of the option, else none."""
    runs = list(runs)
    return runs if any(getattr(run.policy, option) != usual for run in runs) else []


def _of_table5_7(runs: Iterable[MeasuredRun]) -> list[MeasuredRun]:
    columns = PUBLISHED["table5_7"]["columns"]
    tabled = [run for run in runs if run.policy.plain and run.policy.key in columns]
    needed = any(_preferred(run) or run.estimates == "perfect" for run in tabled)
    return tabled if needed else []


def _best_static(runs: Iterable[MeasuredRun]) -> _Best:
    """Return the best SLDwA of the static policies by log, nodes and estimates.

    Where FCFS or SJF was not run there is none; LJF is nowhere the best.
    """
    values: dict[tuple[str, int, str], dict[str, float]] = {}
    for run in runs:
        if run.policy.order:
            by_order = values.setdefault((run.log, run.nodes, run.estimates), {})
            by_order[run.policy.order] = run.values["SLDwA"]
    return {
        place: min(by_order.values())
        for place, by_order in values.items()
        if {"fcfs", "sjf"} <= set(by_order)
    }


def _row(
    run: MeasuredRun, metric: str, thesis: float | None, reference: float | None = None
) -> Row:
    return Row(run, metric, run.values[metric], thesis, reference)


def _static(run: MeasuredRun) -> Iterator[Row]:
    key = run.policy.key
    for metric in ("SLDwA", "ARTwW", "AWT", "UTIL"):
        thesis = _printed(PUBLISHED["table5_1"], (run.trace,), key) if metric == "SLDwA" else None
        if metric != "SLDwA" and key == "fcfs":
            thesis = _printed(PUBLISHED["table3_6"], (run.trace,), metric)
        yield _row(run, metric, thesis, _reference(run, metric))


def _reference(run: MeasuredRun, metric: str) -> float | None:
    if run.trace is None or run.policy.legacy_fcfs_list_order or run.estimates != "user":
        return None
    if PUBLISHED["reference_size"].get(run.log, run.size) != run.size:
        return None
    value: float | None = _printed(PUBLISHED["reference"], (run.log, run.policy.label), metric)
    return value


def _decider(run: MeasuredRun, best: _Best) -> Iterator[Row]:
    thesis = _printed(PUBLISHED["table5_2"], (run.trace,), run.policy.printed)
    static = dict(PUBLISHED["table5_1"]).get(run.trace)
    yield _row(run, "SLDwA", thesis, _reference(run, "SLDwA"))
    yield from _gain(run, thesis, static, best)


def _compare_with_static(run: MeasuredRun, best: _Best) -> Iterator[Row]:
    """Yield rows for a table that the thesis does not have."""
    yield _row(run, "SLDwA", None)
    yield _row(run, "UTIL", None)
    if not run.policy.order:
        yield from _gain(run, None, None, best)


def _estimate(run: MeasuredRun, best: _Best) -> Iterator[Row]:
    thesis = _printed(PUBLISHED["table5_7"], (run.estimates, run.trace), run.policy.key)
    static = PUBLISHED["table5_7"][run.estimates].get(run.trace)
    yield _row(run, "SLDwA", thesis)
    if not run.policy.order:
        yield from _gain(run, thesis, static and static[:2], best)


def _gain(
    run: MeasuredRun, thesis: float | None, static: list[float] | None, best: _Best
) -> Iterator[Row]:
    """Yield by how much a run is better than the best static policy, per cent of the latter."""
    ours = best.get((run.log, run.nodes, run.estimates))
    if ours is not None:
        printed = 100 * (1 - thesis / min(static)) if thesis and static else None
        yield Row(run, GAIN, 100 * (1 - run.values["SLDwA"] / ours), printed)


def _metric(run: MeasuredRun) -> Iterator[Row]:
    policy = run.policy
    for metric, table in (("SLDwA", "table5_5"), ("UTIL", "table5_6")):
        compared = policy.decider == "advanced" and run.estimates == "user"
        path = (run.trace, policy.when) if compared else (None,)
        yield _row(run, metric, _printed(PUBLISHED[table], path, policy.metric))


def _slackness(run: MeasuredRun) -> Iterator[Row]:
    policy = run.policy
    compared = policy.when == "full" and run.estimates == "user"
    path = (run.trace, policy.decider) if compared else (None,)
    yield _row(run, "SLDwA", _printed(PUBLISHED["table5_8"], path, policy.slackness))


def _month(run: MeasuredRun) -> Iterator[Row]:
    for month in rows(run.months):
        thesis = _printed(PUBLISHED["monthly"], (run.trace, month.name), run.policy.printed)
        yield Row(run, "SLDwA", month.sldwa, thesis, month=month.name)


def _month_jobs(runs: Iterable[MeasuredRun]) -> Iterator[Row]:
    """Yield the number of jobs of each month, once per log."""
    first: dict[str, MeasuredRun] = {}
    for run in runs:
        first.setdefault(run.log, run)
    for run in first.values():
        for month in rows(run.months):
            thesis = _printed(PUBLISHED["monthly"], (run.trace, month.name), "jobs")
            yield Row(run, "jobs", month.jobs, thesis, month=month.name)


def _cases(run: MeasuredRun) -> Iterator[Case]:
    steps = run.counts["steps", ""]
    started = sum(count for (what, _), count in run.counts.items() if what == "started")
    thesis = _thesis_counts(run)
    of_steps = sum(thesis[key] for key in thesis if key[0] == "case") or thesis.get(("steps", ""))
    of_started = sum(count for (what, _), count in thesis.items() if what == "started")
    for (what, which), count in run.counts.items():
        whole, printed_whole = (started, of_started) if what == "started" else (steps, of_steps)
        printed = thesis.get((what, which))
        printed_share = None
        if printed is not None and printed_whole:
            printed_share = 100 * (printed / printed_whole)
        share = 100 * count / whole if whole else 0.0
        yield Case(run, what, which, count, share, printed, printed_share)


def _thesis_counts(run: MeasuredRun) -> dict[tuple[str, str], int]:
    """Return the counts of the thesis by what and which; empty if there are none of the run."""
    if run.estimates != "user" or run.policy.metric != "ARTwW" or run.trace is None:
        return {}
    label = run.policy.label.replace("starts", "full")
    table, usage = PUBLISHED["table5_3"], PUBLISHED["usage"]
    printed = {("case", case): _printed(table, (run.trace, case), label) for case in CASES}
    for column in usage["columns"]:
        what, _, which = column.partition(" ")
        place = (column, "") if column == "no switch" else (what, which)
        printed[place] = _printed(usage, (run.trace, label), column)
    counts = {place: value for place, value in printed.items() if value is not None}
    not_started = [n for (what, _), n in counts.items() if what in ("switches", "no switch")]
    half = PUBLISHED["half_steps"].get(run.trace, {}).get(label)
    if not_started or half:
        counts["steps", ""] = half or sum(not_started)
    return counts
