"""A campaign's report: that of its study, or a plain one."""

from __future__ import annotations

import shlex
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from batsched_py.errors import PluginError
from batsched_py.report.campaign_axes import axis_title, short_names
from batsched_py.report.default_report import plain_report
from batsched_py.report.document import Report
from batsched_py.report.formatting import in_italics
from batsched_py.support.plugin_files import load_file
from batsched_py.support.trusted_code import reason_not_to_run

if TYPE_CHECKING:
    from batsched_py.campaign.campaign_folder import CampaignResults

_PART = "Not all runs of the study are here, so no claim is said to hold."


def report_of(results: CampaignResults, named: str | None = None) -> Report:
    """Return the study's report, or a plain one if its campaign file names none.

    Its title is that of the campaign file, if the file has one.

    ``named`` is the ``path/to/file.py:function`` that somebody asks for. Code that only the results
    name is run if it may be (:mod:`batsched_py.support.trusted_code`); else the report is a plain
    one and says so. Raises :class:`PluginError` for a study whose code does not work.
    """
    place = named or results.report_function
    left_out = None if named else code_left_out(results)
    is_plain = place is None or left_out is not None
    report = (
        plain_report(results) if is_plain else _report_of_study(results, str(place), named is None)
    )
    if not is_plain and named is None and results.is_part:
        report = _of_part(report)
    caution = "" if place is None else _caution(results)
    told = f"**{left_out}**\n\n" if left_out else ""
    summary = f"{_failed_runs(results)}{told}{caution}{report.summary}"
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


def code_left_out(results: CampaignResults) -> str | None:
    """Say that the code of the study's report is not run, and why, as Markdown.

    None if it is run, or there is none.
    """
    place = results.report_function
    reason = None if place is None else reason_not_to_run(place)
    if place is None or reason is None:
        return None
    reason, command = (text.replace("`", "'") for text in (reason, _command(place, results.out)))
    return (
        f"The report of the study was not run, this is a plain one: `{reason}`. If you trust that "
        f"code: `{command}`."
    )


def _report_of_study(results: CampaignResults, place: str, by_results: bool) -> Report:
    function = load_file(place, by_results=by_results)
    if not callable(function):
        raise PluginError(f"{place} is not a function: expected report(results) -> Report")
    try:
        report = function(results)
    except (Exception, SystemExit) as error:  # of the study's code
        raise PluginError(_report_failed(place, results.out, error)) from error
    if not isinstance(report, Report):
        raise PluginError(f"{place} gave {type(report).__name__}: expected a Report")
    return report


def _failed_runs(results: CampaignResults) -> str:
    """Return how many runs failed, what is missing for it and why the first did, as Markdown."""
    failures, runs = results.failures, results.runs
    if not failures:
        return ""
    folder, message = failures[0]
    labels = {axis: [of.get(axis) for _, of in results.planned] for axis in results.axes}
    names = {axis: short_names(values) for axis, values in labels.items()}
    missing = [
        f"{axis_title(axis)} {in_italics(name)}"
        for axis, of_axis in names.items()
        for value, name in of_axis.items()
        if axis in runs and value is not None and value not in set(runs[axis])
    ]
    of_first = dict(results.planned).get(folder, {})
    which = ", ".join(
        f"{axis_title(axis)} {in_italics(names[axis][of_first[axis]])}"
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
    """Return what is to be read before the verdicts of a study, as Markdown."""
    cautions = []
    if results.is_quick:
        cautions.append("the quick size of the study, too small to judge anything by")
    if results.is_synthetic:
        cautions.append("on the sample log, which is synthetic")
    return f"**This is {', and '.join(cautions)}.**\n\n" if cautions else ""


def _report_failed(place: str, out: Path, error: BaseException) -> str:
    """Say where a report went wrong, and what to do."""
    lines = traceback.extract_tb(error.__traceback__)
    folder = Path(place.rpartition(":")[0]).resolve().parent
    of_study = [
        line for line in lines if Path(line.filename).resolve().is_relative_to(folder)
    ] or lines
    where = f"{of_study[-1].filename}:{of_study[-1].lineno}"
    return (
        f"{where}: {type(error).__name__}: {error}; the runs are kept: mend it, then "
        f"`{_command(place, out)}`"
    )


def _command(place: str, out: Path) -> str:
    """Return the command that makes a report by the code at a place."""
    return shlex.join(["batsched-py", "report", str(out), "--report", place])
