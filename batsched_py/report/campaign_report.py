"""Makes the report of a campaign, by the code of its study or a plain one."""

from __future__ import annotations

import shlex
import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pandas as pd

from batsched_py.campaign.campaign_folder import REPORTS
from batsched_py.errors import PluginError
from batsched_py.plugins.plugin_files import load_file
from batsched_py.report.campaign_axes import (
    CampaignAxes,
    classify_axes,
    fill_labels,
    format_axis,
    format_labels,
    shorten_names,
)
from batsched_py.report.document import Figure, Part, Report, Table, Text
from batsched_py.report.formatting import to_italics, to_words
from batsched_py.report.kit.selection import Runs, slug
from batsched_py.report.kit.tables import sections
from batsched_py.report.less_work import NO_GAIN
from batsched_py.report.metric_figures import draw_metric
from batsched_py.report.metric_matrix import has_intervals, make_metric_matrix, make_site_tables
from batsched_py.report.metric_words import (
    FURTHER,
    OF_REACTING_USERS,
    REACTING,
    ShownMetric,
    choose_main_metrics,
    choose_metrics,
    find_reaction,
    list_reactions,
    list_user_models,
    make_glossary,
)
from batsched_py.report.simulated_setup import describe_setup, make_names_table
from batsched_py.support.installation import find_entry_points
from batsched_py.support.statistics import FEWEST

if TYPE_CHECKING:
    from batsched_py.campaign.campaign_folder import CampaignResults

_PART = "Not all runs of the study are here, so no claim is said to hold."


def make_campaign_report(results: CampaignResults, named: str | None = None) -> Report:
    """Return the report of a campaign, by the code of its study or a plain one.

    Its title is that of the campaign file, if the file has one.

    ``named`` is the ``path/to/file.py:function`` that somebody asks for. Results name a report only
    by its entry point; if they name a file, the report is a plain one and says so. Raises
    :class:`PluginError` for a study whose code does not work.
    """
    left_out = None if named else explain_left_out_code(results)
    place = None if left_out else named or results.report_name
    report = make_plain_report(results) if place is None else _report_of_study(results, place)
    if place is not None and results.is_part:
        report = _of_part(report)
    caution = _caution(results) if named or results.report_name else ""
    note = f"**{left_out}**\n\n" if left_out else ""
    summary = f"{_failed_runs(results)}{note}{caution}{report.summary}"
    return msgspec.structs.replace(report, title=results.title or report.title, summary=summary)


def _of_part(report: Report) -> Report:
    """Return the report of a study on a part of its runs, which can refute claims only."""
    if not report.verdicts:
        return report
    judged = [
        msgspec.structs.replace(of, holds=None, evidence=f"{_PART} {of.evidence}")
        if of.holds
        else of
        for of in report.verdicts
    ]
    summary = f"**{_PART}**\n\n{report.summary}"
    return msgspec.structs.replace(report, verdicts=tuple(judged), summary=summary)


def explain_left_out_code(results: CampaignResults) -> str | None:
    """Return why the code of a study's report is not run, as Markdown; None if it is."""
    name = results.report_name
    if name is None or name in find_entry_points(REPORTS):
        return None
    place, command = (text.replace("`", "'") for text in (name, _command(name, results.out)))
    return (
        f"This is a plain report: the one of the study is code in a file, `{place}`, which is run "
        f"only if you name it. If you trust that code: `{command}`."
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
    lost = f"; nothing is left of {', '.join(missing)}" if missing else ""
    why = (message.splitlines() or ["no message"])[0].replace("`", "'")
    return (
        f"**{len(failures)} of {results.nb_planned} runs failed and left no numbers here{lost}.** "
        f"The first{f' ({which})' if which else ''}: `{why}`\n\n"
    )


def _caution(results: CampaignResults) -> str:
    """Return a warning about the verdicts of a small or synthetic study, as Markdown."""
    cautions = []
    if results.is_quick:
        cautions.append("the quick size of the study, too small to judge anything by")
    if results.is_synthetic:
        cautions.append("on the sample log, which is synthetic")
    return f"**This is {', and '.join(cautions)}.**\n\n" if cautions else ""


def _report_failed(file: str, command: str, error: BaseException) -> str:
    """Return where the code of a report failed, and what to do."""
    lines = traceback.extract_tb(error.__traceback__)
    folder = Path(file).resolve().parent
    of_study = [
        line for line in lines if Path(line.filename).resolve().is_relative_to(folder)
    ] or lines
    where = f"{of_study[-1].filename}:{of_study[-1].lineno}"
    return f"{where}: {type(error).__name__}: {error}; the runs are kept: mend it, then `{command}`"


def _command(place: str, out: Path) -> str:
    """Return the command that makes a report by the code at a place."""
    return shlex.join(["batsched-py", "report", str(out), "--report", place])


_DRAWN = 4
"""Metrics that have a figure."""
_TOLD = 6
"""Rows that the summary names as doing less work."""
UNKNOWN_CHANCE = (
    "**Nothing was repeated, so nothing is known about chance**: another order of what happens in "
    "the same instant, or other weeks of the same users, might turn a small difference around. "
    "`shake = [0, 1, 2, 3, 4]` in `[run]` repeats each run with another order of simultaneous "
    "events; `replications = 5` at the top of the file with other seeds, where users are drawn by "
    "chance (such as `feedback` with `resampled = true`)."
)
EQUAL_RUNS = (
    "**The repeated runs do not differ from each other, so nothing is known about chance**: "
    "nothing is drawn at random here. `shake = [0, 1, 2, 3, 4]` in `[run]` repeats each run with "
    "another order of simultaneous events; users that are drawn by chance (such as `feedback` with "
    "`resampled = true`) differ by seed."
)
FEW_RUNS = (
    f"**Too few runs were repeated, so nothing is known about chance**: with {FEWEST} or more runs "
    "of a combination, its numbers have an interval. `replications` and `shake` in the campaign "
    "file set how many there are."
)


def make_plain_report(results: CampaignResults) -> Report:
    """Return the report of a campaign without a study: metrics, changes and figures."""
    runs = results.runs
    title = results.title or results.name
    if runs.empty:
        return Report(title, "", ())
    axes = classify_axes(runs, results.axes)
    runs = fill_labels(runs, axes.labels)
    main = choose_metrics(runs, choose_main_metrics(results.metric, find_reaction(runs)))
    further = choose_metrics(runs, [name for name in FURTHER if name not in {m.name for m in main}])
    matrices = list(_matrices(runs, axes, main))
    tables = [matrix for matrix in matrices if isinstance(matrix, Table)]
    figures = [_figure(runs, axes, metric) for metric in main[:_DRAWN]]
    parts: list[tuple[str, Iterable[Part | None]]] = [
        (_question(axes), matrices),
        ("Figures", figures),
        ("Sites", make_site_tables(results, axes)),
        ("Further metrics", [_further(runs, axes, further)]),
    ]
    words = [("What the words mean", [make_glossary([*main, *further]), make_names_table(results)])]
    return Report(
        title=title,
        source="",
        sections=(*sections(parts), *sections(words, for_reference=True)),
        summary=_summary(_lines(results, axes, main), tables, axes, _chance(runs, axes, main)),
    )


def _figure(runs: pd.DataFrame, axes: CampaignAxes, metric: ShownMetric) -> Figure | None:
    """Return the figure of a metric; of lateness without users who do not react, as it is 0."""
    if metric.name == "mean_lateness" and find_reaction(runs) is not False:
        runs = runs[list_reactions(runs).map(lambda of_run: of_run is not False)]
    return draw_metric(runs, axes, metric)


def _question(axes: CampaignAxes) -> str:
    if axes.compared is None:
        return "Metrics"
    what = "policies" if axes.compared == "scheduler" else to_words(axes.compared)
    return f"{what.capitalize()} compared"


def _lines(
    results: CampaignResults, axes: CampaignAxes, metrics: Sequence[ShownMetric]
) -> Iterator[str]:
    """Yield what was simulated; and that the main metric is not there, if so."""
    yield from describe_setup(results, axes)
    if results.metric is not None and results.metric not in {metric.name for metric in metrics}:
        yield f"**No run has the metric `{results.metric}`**, which the campaign file names"


def _summary(
    lines: Iterable[str], matrices: Sequence[Table], axes: CampaignAxes, chance: str
) -> str:
    text = _less_work(matrices, axes) + "\n".join(f"- {line}" for line in lines)
    if has_intervals(matrices) or not matrices:
        return text
    return f"{text}\n\n{chance}"


def _chance(runs: pd.DataFrame, axes: CampaignAxes, metrics: Sequence[ShownMetric]) -> str:
    """Return why no number of a campaign has an interval, as Markdown."""
    names = [metric.name for metric in metrics]
    rows = [group.frame for _, group in Runs(runs).groups(*axes.labels)]
    if not axes.repeats or all(len(of_row) == 1 for of_row in rows):
        return UNKNOWN_CHANCE
    differ = any((of_row[names].nunique() > 1).any() for of_row in rows)
    return FEW_RUNS if differ else EQUAL_RUNS


def _less_work(matrices: Sequence[Table], axes: CampaignAxes) -> str:
    """Return which rows of the matrices do less work than those beside them, as Markdown."""
    names = [f"{label}_name" for label in reversed(axes.labels)]  # the compared one first
    found = [
        f"{to_italics(', '.join(row[name] for name in names))} {row['less_work']}"
        for matrix in matrices
        for _, row in matrix.frame.iterrows()
        if row["less_work"]
    ]
    more = f" (and {len(found) - _TOLD} more rows)" if len(found) > _TOLD else ""
    told = f"{'; '.join(found[:_TOLD])}{more}"
    return f"**Less work is done in some runs**: {told}. {NO_GAIN}\n\n" * bool(found)


def _matrices(
    runs: pd.DataFrame, axes: CampaignAxes, metrics: Sequence[ShownMetric]
) -> Iterator[Part]:
    """Yield a matrix for each user model, with a text on how to read it if users react."""
    base = runs[axes.compared].iloc[0] if axes.compared is not None else None
    told = set()
    for name, group in _facets(runs, axes):
        reacting = find_reaction(group)
        there = choose_metrics(
            group, choose_main_metrics(metrics[0].name, reacting) if metrics else []
        )
        of_group = {metric.name for metric in there}
        if reacting in REACTING and of_group & set(OF_REACTING_USERS) and reacting not in told:
            names = ", ".join(_users_who(reacting, runs, axes))
            yield Text(f"{to_italics(names)}: {REACTING[reacting]}")
            told.add(reacting)
        matrix = make_metric_matrix(
            group,
            axes,
            [metric for metric in metrics if metric.name in of_group],  # in units of the page
            name=slug("matrix", name),
            title=f"Users: {name}" if name else "All runs",
            base=base,
        )
        if matrix is not None:
            yield matrix


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
        yield ", ".join(shorten_names(list_user_models(runs)).values()), runs
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
    return make_metric_matrix(runs, alone, metrics, name="further", title="Means over the runs")
