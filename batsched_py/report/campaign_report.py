"""A campaign's report: that of its study, or a plain one."""

from __future__ import annotations

import shlex
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from batsched_py.campaign.campaign_folder import REPORTS
from batsched_py.errors import PluginError
from batsched_py.report.campaign_axes import axis_title, short_names
from batsched_py.report.default_report import plain_report
from batsched_py.report.document import Report
from batsched_py.report.formatting import in_italics
from batsched_py.support.installation import entry_points_of
from batsched_py.support.plugin_files import load_file

if TYPE_CHECKING:
    from batsched_py.campaign.campaign_folder import CampaignResults

_PART = "Not all runs of the study are here, so no claim is said to hold."


def report_of(results: CampaignResults, named: str | None = None) -> Report:
    """Return the study's report, or a plain one if its campaign file names none.

    Its title is that of the campaign file, if the file has one.

    ``named`` is the ``path/to/file.py:function`` that somebody asks for. Results name a report only
    by its entry point; if they name a file, the report is a plain one and says so. Raises
    :class:`PluginError` for a study whose code does not work.
    """
    left_out = None if named else code_left_out(results)
    place = None if left_out else named or results.report_name
    report = plain_report(results) if place is None else _report_of_study(results, place)
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


def code_left_out(results: CampaignResults) -> str | None:
    """Return why the report that the results name is not made, as Markdown; None if it is."""
    name = results.report_name
    if name is None or name in entry_points_of(REPORTS):
        return None
    place, command = (text.replace("`", "'") for text in (name, _command(name, results.out)))
    return (
        f"This is a plain report: the one of the study is code in a file, `{place}`, which is run "
        f"only if you name it. If you trust that code: `{command}`."
    )


def _report_of_study(results: CampaignResults, place: str) -> Report:
    registered = entry_points_of(REPORTS).get(place)
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


def _report_failed(file: str, command: str, error: BaseException) -> str:
    """Say where a report went wrong, and what to do."""
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
