"""Writes docs/claims.md: what each study claims, and what came out, from results.

python -m batsched_studies.claims --results FOLDER
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from batsched_py.campaign.campaign_file import STORED, find_campaign, read_campaign
from batsched_py.campaign.campaign_folder import open_results
from batsched_py.campaign.collection import Member, read_collection
from batsched_py.commands.campaign import command_of
from batsched_py.errors import UsageError
from batsched_py.report.campaign_report import report_of
from batsched_py.report.collected_claims import Judged, collected
from batsched_py.report.forms.export_files import markdown
from batsched_py.support.file_readers import is_file
from batsched_studies.filled_page import DOCS, filled

AT_SIZE = "claims/at_size"
"""The campaigns of the page."""
PAGE = DOCS / "claims.md"
TEXT = Path(__file__).with_name("template.md")


def page(results: Path, file: str = AT_SIZE) -> str:
    """Return the page from the results of those campaigns of the file that are in the folder.

    Raises :class:`UsageError` if none of them is there.
    """
    collection = read_collection(find_campaign(file))
    members: Mapping[Member, Path] = collection.campaigns if collection is not None else {}
    there = {of: path for of, path in members.items() if is_file(results / of.folder / STORED)}
    if not there:
        raise UsageError(f"{results}: no campaign of {file} is there, such as CREASY's in creasy")
    judged = [_judged(member, path, results / member.folder) for member, path in there.items()]
    text = markdown(collected("Claims", judged))
    parts = [of.name for of in judged if of.nb_runs < of.nb_planned]
    lists = {
        "Not run at this size, or not yet": [of.label for of in members if of not in there],
        "Run in part": parts,
        "Without a claim": [of.name for of in judged if not of.report.verdicts],
    }
    told = [f"{what}: {'; '.join(those)}." for what, those in lists.items() if those]
    claims = text.partition("\n## ")[2]
    return filled(TEXT, {"missing": " ".join(told) or "All were run.", "claims": f"## {claims}"})


def _judged(member: Member, path: Path, folder: Path) -> Judged:
    """Return what the study's report says of results; also of some that are not whole."""
    results = open_results(folder)
    logs = list(member.logs) or None
    campaign = read_campaign(path, logs, replications=member.replications)
    code = campaign.report
    report = report_of(results, None if code is None else f"{path.parent / code}")
    numbers = (len(results.runs), len(campaign.runs))  # those may be of a smaller size
    revision = results.provenance.get("git_revision") or ""
    return Judged(member.label, command_of(member), *numbers, report, revision)
