"""Writes claims.md: the claims of each study and their verdicts, from campaign results.

All campaigns take some 40 hours, and need not run on one machine: verdicts are stored in
``judged.json``, where new results replace the stored verdicts of their campaigns.

python -m batsched_studies.claims --results FOLDER
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from batsched_py.campaign.campaign_file import STORED, Campaign, find_campaign, read_campaign
from batsched_py.campaign.campaign_folder import open_results
from batsched_py.campaign.collection import Member, read_collection
from batsched_py.campaign.run_identity import find_version
from batsched_py.errors import UsageError
from batsched_py.files.readers import is_file, read_json
from batsched_py.report.campaign_report import make_campaign_report
from batsched_py.report.collected_claims import Judged, collect_claims, has_claims, judge_campaign
from batsched_py.report.forms.export_files import format_markdown
from batsched_studies.filled_page import DOCS, fill_template

AT_SIZE = "claims/at_size"
"""The campaign file that lists the campaigns of the page."""
PAGE = DOCS / "validation" / "claims.md"
KEPT = Path(__file__).with_name("judged.json")
TEXT = Path(__file__).with_name("template.md")


def read_kept(path: Path = KEPT) -> dict[str, Judged]:
    """Read the stored verdicts of each campaign, by the label of the campaign."""
    return {of.name: of for of in read_json(path, list[Judged])}


def encode_verdicts(judged: Mapping[str, Judged]) -> bytes:
    """Return the verdicts as the JSON that :func:`read_kept` reads, one value a line."""
    return msgspec.json.format(msgspec.json.encode(list(judged.values())), indent=1) + b"\n"


def judge_results(results: Path, file: str = AT_SIZE) -> dict[str, Judged]:
    """Return new verdicts for the campaigns of ``file`` whose results are in the folder.

    Raises :class:`UsageError` if none of them is there.
    """
    members = _campaigns(file)
    there = [of for of in members if is_file(results / of.folder / STORED)]
    if not there:
        raise UsageError(f"{results}: no campaign of {file} is there, such as CREASY's in creasy")
    return {of.label: _judged(of, members[of], results / of.folder) for of in there}


def merge_verdicts(before: Mapping[str, Judged], anew: Mapping[str, Judged]) -> dict[str, Judged]:
    """Return for each campaign its new verdicts, or the stored ones if they come from more runs."""
    better = {
        name: of
        for name, of in anew.items()
        if name not in before or of.nb_runs >= before[name].nb_runs
    }
    return {**before, **better}


def make_page(judged: Mapping[str, Judged], file: str = AT_SIZE) -> str:
    """Return the page: all campaigns with verdicts, in the order of the campaign file.

    The number of planned runs is that of the present campaign files.
    """
    labels = {of.label: len(_planned(of, path).runs) for of, path in _campaigns(file).items()}
    shown = [
        msgspec.structs.replace(judged[label], nb_planned=planned)
        for label, planned in labels.items()
        if label in judged
    ]
    lists = {
        "Not judged yet": [label for label in labels if label not in judged],
        "Run in part": [of.name for of in shown if of.nb_runs < of.nb_planned],
        "Without a claim": [of.name for of in shown if not has_claims(of)],
    }
    missing = [f"{what}: {'; '.join(those)}." for what, those in lists.items() if those]
    claims = format_markdown(collect_claims("Claims", shown)).partition("\n## ")[2]
    return fill_template(
        TEXT, {"missing": " ".join(missing) or "All were run.", "claims": f"## {claims}"}
    )


def _campaigns(file: str) -> Mapping[Member, Path]:
    collection = read_collection(find_campaign(file))
    return {} if collection is None else collection.campaigns


def _planned(member: Member, path: Path) -> Campaign:
    return read_campaign(path, list(member.logs) or None, replications=member.replications)


def _judged(member: Member, path: Path, folder: Path) -> Judged:
    """Return the verdicts of the study's report on results, which may be incomplete."""
    results = open_results(folder)
    campaign = _planned(member, path)
    code = campaign.report
    return judge_campaign(
        make_campaign_report(results, None if code is None else f"{path.parent / code}"),
        name=member.label,
        command=member.command(),
        nb_runs=len(results.runs),
        nb_planned=len(campaign.runs),  # results may be of a smaller size
        revision=results.provenance.get("git_revision") or "",
        judged_by=find_version().get("git_revision") or "",
    )
