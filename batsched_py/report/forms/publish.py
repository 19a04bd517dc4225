"""Writes a campaign's report in all its forms."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from batsched_py.report.document import Report
from batsched_py.report.forms.export_files import PAGE, files_of, write_files
from batsched_py.report.forms.html_page import page
from batsched_py.support.atomic_files import write_whole

if TYPE_CHECKING:
    from batsched_py.campaign.campaign_folder import CampaignResults


def publish(report: Report, results: CampaignResults, page_file: Path | None = None) -> list[Path]:
    """Write the page (default: ``report.html`` in the campaign's folder), and the files beside it.

    Returns the paths, the page first. Raises :class:`batsched_py.errors.OutputError`.
    """
    return write_page(report, results.out / PAGE if page_file is None else page_file, results)


def write_page(report: Report, place: Path, results: CampaignResults | None = None) -> list[Path]:
    """Write a report as a page, with all runs if there are ``results``, and the files beside it."""
    write_whole(place, page(report, results))
    return [place, *write_files(report, files_of(place))]
