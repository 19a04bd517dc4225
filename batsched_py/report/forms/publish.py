"""Writes the report of a campaign as HTML, and as files next to it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from batsched_py.campaign.campaign_folder import CampaignResults
from batsched_py.campaign.workers.worker_processes import LocalWorkers, WorkerLost
from batsched_py.errors import PluginError, SimulationError
from batsched_py.files.writers import write_whole
from batsched_py.report.campaign_report import make_campaign_report
from batsched_py.report.document import Report
from batsched_py.report.forms.export_files import find_files_folder, render_figure, write_files
from batsched_py.report.forms.html_page import render_page
from batsched_py.report.forms.schedule_view import Call, draw_schedules

EVERY = 10
"""Seconds between two reports of a campaign that still runs."""


def write_page(
    make: Callable[[], Report],
    place: Path,
    results: CampaignResults | None = None,
    jobs: int | None = None,
) -> tuple[Report, list[Path]]:
    """Make a report and write it as HTML, with a table of ``results``, and as files.

    Meanwhile, ``jobs`` processes draw schedules and figures (None: one per core; 1: this process
    draws them). Returns the report and the paths, HTML first. Raises :class:`OutputError`, and
    :class:`SimulationError` if a process is lost.
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
    """Write the report of a campaign that still runs; it reloads itself every ten seconds.

    ``named`` is the code that makes the report, as for :func:`make_campaign_report`. If that code
    fails with the finished runs, the report shows the error and the table of runs.
    """
    nb_ended = results.nb_planned - len(results.unfinished)
    caution = f"**{nb_ended} of {results.nb_planned} runs have ended.**"
    report = Report(results.title, "", ())
    if nb_ended:
        try:
            report = make_campaign_report(results, named)
        except PluginError as error:
            caution += f" The report cannot be made from these runs: {error}"
    report = msgspec.structs.replace(report, cautions=(caution, *report.cautions))
    write_whole(place, render_page(report, results if nb_ended else None, refresh=EVERY))
