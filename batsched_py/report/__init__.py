"""Reports of runs and campaigns: their content (:mod:`document`), and their output formats.

A study's ``report(results)`` gets :class:`CampaignResults` and returns a :class:`Report` of tables,
figures and verdicts. The same report is printed to a terminal, written as CSV, Markdown, PNG and
SVG, and as one HTML file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from batsched_py.report.document import Column, Figure, Part, Report, Section, Table, Text, Verdict
from batsched_py.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from batsched_py.campaign.campaign_folder import CampaignResults

__all__ = [
    "CampaignResults",
    "Column",
    "Figure",
    "Part",
    "Report",
    "Section",
    "Table",
    "Text",
    "Verdict",
]

# Imported when asked for: it comes with pandas.
if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(__name__, __file__)
