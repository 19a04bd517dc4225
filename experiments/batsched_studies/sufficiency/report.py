"""The report of the study, of any of its campaign files: what was not run is left out."""

from __future__ import annotations

from batsched_py.report import CampaignResults, Report
from batsched_studies.sufficiency import TEXTS, cases
from batsched_studies.sufficiency.claims import verdicts
from batsched_studies.sufficiency.figures import figures
from batsched_studies.sufficiency.tables import tables


def report(results: CampaignResults) -> Report:
    """Return tables, figures and verdicts of the runs that are there."""
    logs = cases.read(results.runs)
    judged = (verdict for log, runs in logs.items() for verdict in verdicts(log, runs))
    parts = ((log, (*tables(log, runs), *figures(log, runs))) for log, runs in logs.items())
    summary = "No run has finished yet."
    if logs:
        scarce = cases.scarce(next(iter(logs.values())))
        summary = TEXTS["summary"].format(runs=len(results.runs), scarce=scarce)
    return TEXTS.report(parts, judged, summary, results.title)
