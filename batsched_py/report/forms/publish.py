"""Writes the report of a campaign as a page, and as files next to the page."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from batsched_py.campaign.workers.worker_processes import LocalWorkers, WorkerLost
from batsched_py.errors import PluginError, SimulationError
from batsched_py.files.writers import write_whole
from batsched_py.report.campaign_report import make_campaign_report
from batsched_py.report.document import Report
from batsched_py.report.forms.export_files import find_files_folder, render_figure, write_files
from batsched_py.report.forms.html_page import render_page
from batsched_py.report.forms.schedule_view import Call, draw_schedules

if TYPE_CHECKING:
    from batsched_py.campaign.campaign_folder import CampaignResults


EVERY = 10
"""Seconds after which the page of a campaign that runs is looked at, and made, again."""


def write_page(
    make: Callable[[], Report],
    place: Path,
    results: CampaignResults | None = None,
    jobs: int | None = None,
) -> tuple[Report, list[Path]]:
    """Make a report and write it as a page, with a table of ``results`` if given, and files.

    While it is made, ``jobs`` processes draw the schedules of the page, then its figures (None: as
    many as there are cores; 1: all is drawn in this process). Returns the report and the paths, the
    page first. Raises :class:`OutputError`, and :class:`SimulationError` if a process is lost.
    """
    jobs = jobs or os.cpu_count() or 1
    with LocalWorkers(jobs) as workers:
        call: Call = map if jobs == 1 else workers.map
        views = None if results is None else draw_schedules(results, call)
        report = make()
        figures = call(render_figure, [figure.spec for figure in report.figures])
        try:
            write_whole(place, render_page(report, results, views=views))
            return report, [place, *write_files(report, find_files_folder(place), figures)]
        except WorkerLost as lost:
            raise SimulationError(f"{place} and its files are not all written: {lost}") from None


def write_page_so_far(results: CampaignResults, place: Path, named: str | None = None) -> None:
    """Write the page of a campaign that still runs; the page reloads itself every ten seconds.

    ``named`` is the code that makes the report, as :func:`make_campaign_report` takes it. If that
    code fails with the runs that are there, the page says so and has the table of runs.
    """
    nb_ended = results.nb_planned - len(results.unfinished)
    summary = f"**{nb_ended} of {results.nb_planned} runs have ended.** The page shows them.\n\n"
    report = Report(results.title, "", ())
    if nb_ended:
        try:
            report = make_campaign_report(results, named)
        except PluginError as error:
            summary += f"The report cannot be made from these runs: {error}"
    report = msgspec.structs.replace(report, summary=summary + report.summary)
    write_whole(place, render_page(report, results if nb_ended else None, refresh=EVERY))
