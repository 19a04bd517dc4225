"""Makes the report of a campaign, by the code of its study or a plain one."""

from __future__ import annotations

import shlex
import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
import pandas as pd

from batsched_py.campaign.campaign_folder import REPORTS, CampaignResults
from batsched_py.errors import PluginError
from batsched_py.plugins.plugin_files import load_file
from batsched_py.report.answers import describe_changes, describe_levels
from batsched_py.report.campaign_axes import (
    CampaignAxes,
    classify_axes,
    fill_labels,
    format_axis,
    format_labels,
    shorten_names,
)
from batsched_py.report.document import Figure, Part, Report, Table
from batsched_py.report.formatting import to_italics
from batsched_py.report.kit.selection import Runs, slug
from batsched_py.report.kit.tables import sections
from batsched_py.report.less_work import NO_GAIN
from batsched_py.report.metric_figures import draw_metric
from batsched_py.report.metric_matrix import (
    has_intervals,
    list_changes,
    make_metric_matrix,
    make_site_tables,
)
from batsched_py.report.metric_words import (
    FURTHER,
    LEAVING,
    OF_REACTING_USERS,
    OF_WITHDRAWALS,
    REACTING,
    ShownMetric,
    choose_main_metrics,
    choose_metrics,
    find_reaction,
    has_withdrawals,
    list_reactions,
    make_glossary,
)
from batsched_py.report.simulated_setup import describe_setup, make_names_table
from batsched_py.support.installation import find_entry_points
from batsched_py.support.statistics import FEWEST

_PART = "Only a part of the study's runs is here, so no claim is confirmed."


def make_campaign_report(results: CampaignResults, named: str | None = None) -> Report:
    """Return the report of a campaign, by the code of its study or a plain one.

    Its title is that of the campaign file, if the file has one.

    ``named`` is a ``path/to/file.py:function`` that makes the report. Without it, only installed
    studies make their reports: if the campaign file names code in a file, the report is a plain
    one with a caution. Raises :class:`PluginError` for a study whose code fails.
    """
    left_out = None if named else explain_left_out_code(results)
    place = None if left_out else named or results.report_name
    report = make_plain_report(results) if place is None else _report_of_study(results, place)
    if place is not None and results.is_part:
        report = _of_part(report)
    caution = _caution(results) if named or results.report_name else ""
    cautions = tuple(filter(None, (_failed_runs(results), left_out, caution, *report.cautions)))
    return msgspec.structs.replace(report, title=results.title or report.title, cautions=cautions)


def _of_part(report: Report) -> Report:
    """Return the report of a study on a part of its runs, which can only refute claims."""
    if not report.verdicts:
        return report
    judged = [
        msgspec.structs.replace(of, holds=None, evidence=f"{_PART} {of.evidence}")
        if of.holds
        else of
        for of in report.verdicts
    ]
    cautions = (_PART, *report.cautions)
    return msgspec.structs.replace(report, verdicts=tuple(judged), cautions=cautions)


def explain_left_out_code(results: CampaignResults) -> str | None:
    """Return why the code of a study's report is not run, as Markdown; None if it is."""
    name = results.report_name
    if name is None or name in find_entry_points(REPORTS):
        return None
    place, command = (text.replace("`", "'") for text in (name, _command(name, results.out)))
    return (
        f"This is the plain report. The study's report is code in a file, `{place}`. If you trust "
        f"that code, run `{command}`."
    )


def _report_of_study(results: CampaignResults, place: str) -> Report:
    registered = find_entry_points(REPORTS).get(place)
    function = load_file(place) if registered is None else registered.load()
    if not callable(function):
        raise PluginError(f"{place} is not a function: expected report(results) -> Report")
    try:
        report = function(results)
    except (Exception, SystemExit) as error:  # of the study's code
        file = str(sys.modules[registered.module].__file__) if registered else place
        raise PluginError(_report_failed(file, _command(place, results.out), error)) from error
    if not isinstance(report, Report):
        raise PluginError(f"{place} gave {type(report).__name__}: expected a Report")
    return report


def _failed_runs(results: CampaignResults) -> str:
    """Return how many runs failed, which labels are lost, and the first error, as Markdown."""
    failures, runs = results.failures, results.runs
    if not failures:
        return ""
    folder, message = failures[0]
    labels = {axis: [of.get(axis) for _, of in results.planned] for axis in results.axes}
    names = {axis: shorten_names(values) for axis, values in labels.items()}
    missing = [
        f"{format_axis(axis)} {to_italics(name)}"
        for axis, of_axis in names.items()
        for value, name in of_axis.items()
        if axis in runs and value is not None and value not in set(runs[axis])
    ]
    of_first = dict(results.planned).get(folder, {})
    which = ", ".join(
        f"{format_axis(axis)} {to_italics(names[axis][of_first[axis]])}"
        for axis in names
        if axis in of_first
    )
    lost = f"; all runs of {', '.join(missing)} failed" if missing else ""
    why = (message.splitlines() or ["no message"])[0].replace("`", "'")
    return (
        f"**{len(failures)} of {results.nb_planned} runs failed and are missing here{lost}.** "
        f"The first{f' ({which})' if which else ''}: `{why}`"
    )


def _caution(results: CampaignResults) -> str:
    """Return a warning about the verdicts of a small or synthetic study, as Markdown."""
    cautions = ["the quick size of the study is too small for conclusions"] * results.is_quick
    cautions += ["the sample log is synthetic"] * results.is_synthetic
    return f"**Caution: {', and '.join(cautions)}.**" if cautions else ""


def _report_failed(file: str, command: str, error: BaseException) -> str:
    """Return where the code of a report failed, and what to do."""
    lines = traceback.extract_tb(error.__traceback__)
    folder = Path(file).resolve().parent
    of_study = [
        line for line in lines if Path(line.filename).resolve().is_relative_to(folder)
    ] or lines
    where = f"{of_study[-1].filename}:{of_study[-1].lineno}"
    return (
        f"{where}: {type(error).__name__}: {error}; the runs are kept: fix it, then run `{command}`"
    )


def _command(place: str, out: Path) -> str:
    """Return the command that makes a report by the code at a place."""
    return shlex.join(["batsched-py", "report", str(out), "--report", place])


_DRAWN = 4
"""Number of metrics with a figure."""
_SHAKE = (
    "`shake = [0, 1, 2, 3, 4]` in `[run]` repeats each run with simultaneous events in another "
    "order"
)
UNKNOWN_CHANCE = (
    f"**Each combination ran once, so the effect of chance is unknown.** {_SHAKE}. "
    "`replications = 5` repeats it with other seeds, for users who are drawn by chance "
    "(such as `feedback` with `resampled = true`)."
)
EQUAL_RUNS = (
    "**The repeated runs are equal, so the effect of chance is unknown.** Nothing in them depends "
    f"on the seed. {_SHAKE}; drawn users (such as `feedback` with `resampled = true`) differ by "
    "seed."
)
ONLY_ORDER = (
    "**The intervals cover only the order of simultaneous events.** Other weeks or other users may "
    "change the numbers by more."
)
_OTHER_JOBS = 1.1
"""Ratio of numbers of jobs from which user models are said to submit other jobs."""
FEW_RUNS = (
    f"**Fewer than {FEWEST} repetitions, so the effect of chance is unknown.** Set `replications` "
    "or `shake` in the campaign file."
)


def make_plain_report(results: CampaignResults) -> Report:
    """Return the report of a campaign without a study: metrics, changes and figures."""
    runs = results.runs
    title = results.title or results.name
    if runs.empty:
        return Report(title, "", ())
    axes = classify_axes(runs, results.axes)
    runs = fill_labels(runs, axes.labels)
    main = choose_metrics(runs, choose_main_metrics(results.metric, runs))
    further = choose_metrics(runs, [name for name in FURTHER if name not in {m.name for m in main}])
    tables = list(_matrices(runs, axes, main))
    figures = [_figure(runs, axes, metric) for metric in main[:_DRAWN]]
    parts: list[tuple[str, Iterable[Part | None]]] = [
        ("Metrics", tables),
        ("Figures", figures),
        ("Grid sites", make_site_tables(results, axes)),
        ("Further metrics", [_further(runs, axes, further)]),
    ]
    words = [("Metrics and names", [make_glossary([*main, *further]), make_names_table(results)])]
    return Report(
        title=title,
        source="",
        sections=(*sections(parts), *sections(words, for_reference=True)),
        summary="\n".join(f"- {line}" for line in describe_setup(results, axes)),
        answer=_answer(runs, tables, axes, main),
        cautions=tuple(_cautions(results, runs, tables, axes, main)),
    )


def _answer(
    runs: pd.DataFrame, matrices: Sequence[Table], axes: CampaignAxes, metrics: list[ShownMetric]
) -> str:
    """Return the changes against the first compared value, or the values of the main metric."""
    changes = [of for matrix in matrices for of in list_changes(matrix, axes, metrics)]
    if found := describe_changes(changes):
        first = shorten_names(runs[axes.compared].unique())[runs[axes.compared].iloc[0]]
        found = f"Compared with {to_italics(first)}:\n\n{found}"
        if not has_withdrawals(runs):
            return found
        levels = [metric for metric in metrics if metric.name in OF_WITHDRAWALS[:2]]
        return f"{found}\n\n{_describe_levels(matrices, axes, levels)}"
    return _describe_levels(matrices, axes, metrics[:3])


def _describe_levels(
    matrices: Sequence[Table], axes: CampaignAxes, metrics: Sequence[ShownMetric]
) -> str:
    """Return the values of metrics in all rows of the matrices, a sentence for each."""
    names = [f"{label}_name" for label in axes.labels]
    rows = [row for matrix in matrices for row in matrix.frame.to_dict("records")]
    return " ".join(
        describe_levels(
            of, [(", ".join(row[name] for name in names), row[of.name]) for row in rows]
        )
        for of in metrics
    )


def _cautions(
    results: CampaignResults,
    runs: pd.DataFrame,
    matrices: Sequence[Table],
    axes: CampaignAxes,
    metrics: Sequence[ShownMetric],
) -> Iterator[str]:
    if results.metric is not None and results.metric not in {metric.name for metric in metrics}:
        yield f"**No run has the metric `{results.metric}`** of the campaign file."
    if has_withdrawals(runs):
        yield LEAVING
    if any(matrix.frame["less_work"].any() for matrix in matrices):
        yield NO_GAIN
    if matrices and not has_intervals(matrices):
        yield _chance(runs, axes, metrics)
    elif axes.repeats == ("shake",):
        yield ONLY_ORDER
    if words := _describe_other_jobs(runs, axes):
        yield words


def _describe_other_jobs(runs: pd.DataFrame, axes: CampaignAxes) -> str:
    """Return that user models submit different numbers of jobs, as Markdown, or ""."""
    parts = [runs[name].any() for name in ("warm_up", "cool_down") if name in runs]
    if axes.users is None or "nb_jobs" not in runs or any(parts):  # then only a part is counted
        return ""
    kept = [label for label in axes.labels if label != axes.users]
    pairs = runs.groupby([*kept, axes.users], sort=False, dropna=False)["nb_jobs"].mean()
    by_model = pairs.groupby(axes.users, sort=False).mean()
    if by_model.max() <= _OTHER_JOBS * by_model.min():
        return ""
    names = shorten_names(by_model.index)
    counts = ", ".join(f"{to_italics(names[name])} {nb:,.0f}" for name, nb in by_model.items())
    return (
        f"**The user models submit different numbers of jobs** ({counts}), so lateness and "
        "makespan cover different jobs. Compare policies within one user model. Across models, "
        "compare `throughput_to_last_submission`."
    )


def _figure(runs: pd.DataFrame, axes: CampaignAxes, metric: ShownMetric) -> Figure | None:
    """Return the figure of a metric; rigid replay, whose lateness is 0, has no figure of it."""
    if metric.name == "mean_lateness" and find_reaction(runs) is not False:
        runs = runs[list_reactions(runs).map(lambda of_run: of_run is not False)]
    return draw_metric(runs, axes, metric)


def _chance(runs: pd.DataFrame, axes: CampaignAxes, metrics: Sequence[ShownMetric]) -> str:
    """Return why no number of a campaign has an interval, as Markdown."""
    names = [metric.name for metric in metrics]
    rows = [group.frame for _, group in Runs(runs).groups(*axes.labels)]
    if not axes.repeats or all(len(of_row) == 1 for of_row in rows):
        return UNKNOWN_CHANCE
    differ = any((of_row[names].nunique() > 1).any() for of_row in rows)
    return FEW_RUNS if differ else EQUAL_RUNS


def _matrices(
    runs: pd.DataFrame, axes: CampaignAxes, metrics: Sequence[ShownMetric]
) -> Iterator[Table]:
    """Yield a matrix for each user model; notes say how to interpret it if users react."""
    base = runs[axes.compared].iloc[0] if axes.compared is not None else None
    leaving = OF_WITHDRAWALS if has_withdrawals(runs) else ()
    explained = set()
    for name, group in _facets(runs, axes):
        reacting = find_reaction(group)
        wanted = choose_main_metrics(metrics[0].name, group) if metrics else []
        there = choose_metrics(group, [*wanted, *leaving])
        of_group = {metric.name for metric in there}
        explanation = ""
        if reacting in REACTING and of_group & set(OF_REACTING_USERS) and reacting not in explained:
            names = ", ".join(_users_who(reacting, runs, axes))
            explanation = f"\n\n{to_italics(names)}: {REACTING[reacting]}"
            explained.add(reacting)
        matrix = make_metric_matrix(
            group,
            axes,
            [metric for metric in metrics if metric.name in of_group],  # all in the same units
            name=slug("matrix", name),
            title=f"User model {name}" if name else "All runs",
            base=base,
        )
        if matrix is not None:
            note = f"{matrix.note}{explanation}".strip()
            yield msgspec.structs.replace(matrix, note=note)


def _users_who(reacting: bool | None, runs: pd.DataFrame, axes: CampaignAxes) -> list[str]:
    """Return the names of the user models that react, do not, or may (None)."""
    if axes.users is not None:
        return [name for name, group in _facets(runs, axes) if find_reaction(group) is reacting]
    by_model = runs.groupby("users", sort=False)
    models = [str(name) for name, of_model in by_model if find_reaction(of_model) is reacting]
    return list(shorten_names(models).values())


def _facets(runs: pd.DataFrame, axes: CampaignAxes) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the runs of each user model with its name; all if the model is no axis."""
    if axes.users is None:
        models = map(str, runs["users"].unique()) if "users" in runs else []
        yield ", ".join(shorten_names(models).values()), runs
        return
    names = {axes.users: shorten_names(runs[axes.users].unique())}
    for (value,), group in Runs(runs).groups(axes.users):
        yield format_labels({axes.users: value}, names), group.frame


def _further(
    runs: pd.DataFrame, axes: CampaignAxes, metrics: Sequence[ShownMetric]
) -> Table | None:
    """Return the means of further metrics, without changes."""
    compared = () if axes.compared is None else (axes.compared,)
    alone = CampaignAxes(None, axes.users, (*axes.others, *compared), axes.repeats)
    return make_metric_matrix(
        runs, alone, metrics, name="further", title="Means over repeated runs"
    )
