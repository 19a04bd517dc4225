"""Writes claims.md: how many claims of each study hold, from campaign results.

All campaigns take some 40 hours, and need not run on one machine. The metrics of the runs are
packed in ``experiments/packed_results``, to which new results are joined; the verdicts on them are
in ``judged.json``.

python -m batsched_studies.claims --results FOLDER
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from batsched_py.campaign.campaign_file import STORED, Campaign, find_campaign, read_campaign
from batsched_py.campaign.campaign_folder import CampaignResults, open_results
from batsched_py.campaign.collection import Member, read_collection
from batsched_py.campaign.run_identity import find_version
from batsched_py.errors import BatschedError, UsageError
from batsched_py.files.readers import is_file, read_json, read_toml
from batsched_py.files.writers import write_whole
from batsched_py.report import Verdict
from batsched_py.report.campaign_report import make_campaign_report
from batsched_py.report.collected_claims import Judged, collect_claims, judge_campaign
from batsched_py.report.forms.publish import write_page
from batsched_py.support.terminal_text import say
from batsched_studies.claims.packed_results import (
    SUFFIX,
    PackedResults,
    encode,
    join,
    pack,
    read,
)
from batsched_studies.filled_page import DOCS, fill_template, format_lines

AT_SIZE = "claims/at_size"
"""The campaign file that lists the campaigns of the page."""
LONG_TABLE = DOCS.parent / "build" / "claims.html"
PAGE = DOCS / "validation" / "claims.md"
KEPT = Path(__file__).with_name("judged.json")
PACKED = Path(__file__).parents[2] / "packed_results"
"""The folder of the packed runs of each campaign."""
STUDIES = "experiments/batsched_studies"
FAILURES = Path(__file__).with_name("failures.toml")
TEXT = Path(__file__).with_name("template.md")


def read_kept(path: Path = KEPT) -> dict[str, Judged]:
    """Read the stored verdicts of each campaign, by the label of the campaign."""
    return {of.name: of for of in read_json(path, list[Judged])}


def encode_verdicts(judged: Mapping[str, Judged]) -> bytes:
    """Return the verdicts as the JSON that :func:`read_kept` reads, one value a line."""
    return msgspec.json.format(msgspec.json.encode(list(judged.values())), indent=1) + b"\n"


def judge_results(results: Path, file: str = AT_SIZE, packed: Path = PACKED) -> dict[str, Judged]:
    """Return new verdicts for the campaigns of ``file`` whose results are in the folder.

    Their runs are packed into the folder ``packed``, together with those that are there already,
    unless verdicts need more than metrics of runs.
    Raises :class:`UsageError` if none of the campaigns is in the folder.
    """
    members = _campaigns(file)
    there = [of for of in members if is_file(results / of.folder / STORED)]
    if not there:
        raise UsageError(f"{results}: no campaign of {file} is there, such as CREASY's in creasy")
    judged = {of.label: _pack(of, members[of], results / of.folder, packed) for of in there}
    return {**judged, **judge_packed(file, packed, there)}


def judge_packed(
    file: str = AT_SIZE, packed: Path = PACKED, which: Iterable[Member] | None = None
) -> dict[str, Judged]:
    """Return verdicts for the campaigns of ``file`` whose packed runs are in the folder."""
    members = _campaigns(file)
    chosen = members if which is None else which
    paths = {of: packed / f"{of.folder}{SUFFIX}" for of in chosen}
    return {
        of.label: _judged(of, members[of], PackedResults(read(path), path))
        for of, path in paths.items()
        if is_file(path)
    }


def _pack(member: Member, path: Path, folder: Path, packed: Path) -> Judged:
    """Join the finished runs in a folder to the packed ones; return the verdicts on the folder.

    A campaign whose verdicts need the tables of jobs is not packed.
    """
    results, place = open_results(folder), packed / f"{member.folder}{SUFFIX}"
    judged = _judged(member, path, results)
    new = pack(results, path.parent)
    try:
        is_enough = _judged(member, path, PackedResults(new, place)) == judged
    except BatschedError:
        is_enough = False
    if is_enough:
        write_whole(place, encode(join(new, read(place)) if is_file(place) else new))
    else:
        say(f"note: {member.label} is not packed: its verdicts need the tables of jobs")
    return judged


def merge_verdicts(before: Mapping[str, Judged], anew: Mapping[str, Judged]) -> dict[str, Judged]:
    """Return for each campaign its new verdicts, or the stored ones if they come from more runs."""
    better = {
        name: of
        for name, of in anew.items()
        if name not in before or of.nb_runs >= before[name].nb_runs
    }
    return {**before, **better}


def list_campaigns(judged: Mapping[str, Judged], file: str = AT_SIZE) -> dict[str, Judged | None]:
    """Return the verdicts by campaign in the order of the campaign file, None if not judged yet.

    The number of planned runs is that of the present campaign files.
    """
    planned = {of.label: len(_planned(of, path).runs) for of, path in _campaigns(file).items()}
    return {
        label: msgspec.structs.replace(judged[label], nb_planned=runs) if label in judged else None
        for label, runs in planned.items()
    }


def make_page(campaigns: Mapping[str, Judged | None]) -> str:
    """Return the page, which sums up the verdicts on all claims."""
    shown = [of for of in campaigns.values() if of]
    states = {label: "not judged yet" for label, of in campaigns.items() if of is None}
    states |= {
        of.name: f"{of.nb_runs:,} of {of.nb_planned:,} runs"
        for of in shown
        if of.nb_runs < of.nb_planned
    }
    studies = {study: count_claims(verdicts) for study, verdicts in _by_study(shown).items()}
    studies["all"] = tuple(map(sum, zip(*studies.values(), strict=True)))
    return fill_template(
        TEXT,
        {
            "studies": format_lines((study, *counts) for study, counts in studies.items()),
            "failures": "\n".join(describe_failures(shown)),
            "missing": format_lines(states.items()),
            "campaigns": len(shown),
            "clean": sum(map(_is_clean, shown)),
            "verdicts": sum(len(of.verdicts) for of in shown),
        },
    )


def _is_clean(judged: Judged) -> bool:
    """Return whether the revision of the code that ran a campaign can be checked out."""
    return bool(judged.revision) and "dirty" not in judged.revision


def _by_study(judged: Iterable[Judged]) -> dict[str, list[Verdict]]:
    """Return the verdicts of all campaigns of each study, by a link to its page."""
    studies: dict[str, list[Verdict]] = {}
    for of in judged:
        if of.verdicts:
            folder = of.name.partition(",")[0].partition("/")[0]
            study = f"[{of.title.partition(':')[0]}](../../{STUDIES}/{folder}/README.md)"
            studies.setdefault(study, []).extend(of.verdicts)
    return studies


def count_claims(verdicts: Iterable[Verdict]) -> tuple[int, ...]:
    """Return how many claims there are, hold, do not hold, are inconclusive, and differ.

    >>> count_claims([Verdict("one", True, ""), Verdict("one", False, "")])
    (1, 0, 0, 0, 1)
    """
    answers: dict[str, set[bool | None]] = {}
    for verdict in verdicts:
        answers.setdefault(verdict.claim, set()).add(verdict.holds)
    alike = [list(answers.values()).count({answer}) for answer in (True, False, None)]
    return len(answers), *alike, len(answers) - sum(alike)


def describe_failures(judged: Sequence[Judged]) -> Iterator[str]:
    """Yield the most important claims that hold nowhere, as lines of a list.

    Raises :class:`ValueError` if a claim of ``failures.toml`` holds somewhere.
    """
    verdicts = [verdict for of in judged for verdict in of.verdicts]
    for failure in read_toml(FAILURES)["failure"]:
        holds = [verdict.holds for verdict in verdicts if verdict.claim == failure["claim"]]
        if True in holds:
            raise ValueError(f"{FAILURES}: this claim holds somewhere: {failure['claim']}")
        if False in holds:
            yield f"- **{failure['study']}.** {failure['text']}"


def write_long_table(campaigns: Mapping[str, Judged | None], path: Path) -> None:
    """Write each claim with its verdict, effect and command as an HTML page and CSV files."""
    shown = [of for of in campaigns.values() if of]
    write_page(lambda: collect_claims("Claims", shown), path, jobs=1)


def _campaigns(file: str) -> Mapping[Member, Path]:
    collection = read_collection(find_campaign(file))
    return {} if collection is None else collection.campaigns


def _planned(member: Member, path: Path) -> Campaign:
    return read_campaign(path, list(member.logs) or None, replications=member.replications)


def _judged(member: Member, path: Path, results: CampaignResults) -> Judged:
    """Return the verdicts of the study's report on results, which may be incomplete."""
    campaign = _planned(member, path)
    code = campaign.report
    revisions = sorted({str(of) for of in results.runs.get("git_revision", ()) if of})
    return judge_campaign(
        make_campaign_report(results, None if code is None else f"{path.parent / code}"),
        name=member.label,
        command=member.command(),
        nb_runs=len(results.runs),
        nb_planned=len(campaign.runs),  # results may be of a smaller size
        revision=", ".join(revisions),
        judged_by=find_version().get("git_revision") or "",
    )
