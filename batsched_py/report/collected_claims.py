"""Collects the claims of several campaigns in one report, with verdicts and commands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pandas as pd

from batsched_py.report.document import Part, Report, Section, Table, Text, Verdict
from batsched_py.report.formatting import count_verdicts, format_verdict
from batsched_py.report.kit.selection import slug
from batsched_py.report.kit.tables import columns


class Judged(msgspec.Struct, frozen=True, omit_defaults=True):
    """The verdicts of a campaign on the claims of its study."""

    name: str
    command: str
    """The command that repeats the campaign."""
    nb_runs: int
    """The number of finished runs."""
    nb_planned: int
    title: str
    source: str
    verdicts: tuple[Verdict, ...]
    """Verdicts on the tested claims, without their evidence."""
    nb_untouched: int = 0
    """Number of claims that the runs do not test."""
    cautions: tuple[str, ...] = ()
    revision: str = ""
    """The revision of the code that ran them, "" if unknown."""
    judged_by: str = ""
    """The revision of the code that judged them, "" if unknown."""


def judge_campaign(report: Report, **about: Any) -> Judged:
    """Return the verdicts in a campaign's report; ``about`` are the other fields."""
    touched = tuple(
        msgspec.structs.replace(of, evidence="")
        for of in report.verdicts
        if of.holds is not None or of.effect
    )
    return Judged(
        title=report.title,
        source=report.source,
        verdicts=touched,
        nb_untouched=len(report.verdicts) - len(touched),
        cautions=tuple(of for of in report.cautions if of.startswith("**Caution")),
        **about,
    )


def collect_claims(title: str, judged: Sequence[Judged]) -> Report:
    """Return a report of all claims: by study, by claim and by campaign.

    The section of a campaign has a table of claims, with source, tally and command, and the number
    of claims that its runs do not test.
    """
    verdicts = tuple(of for each in judged for of in each.verdicts)
    judging = [each for each in judged if each.verdicts or each.nb_untouched]
    sections = (Section(f"{each.title}: {each.name}", _parts(each)) for each in judging)
    overview = Section("All campaigns", (*_claims(judging), _campaigns(judging)) if judging else ())
    return Report(
        title=title,
        source="",
        sections=(overview, *sections) if judging else (),
        summary=f"{len(verdicts)} claims of {len(judging)} campaigns: {count_verdicts(verdicts)}.",
    )


def _claims(judging: Sequence[Judged]) -> Iterator[Table]:
    """Yield what holds by study, and by claim: how often it was judged, and how."""
    by_study: dict[str, dict[str, list[bool | None]]] = {}
    for each in judging:
        answers = by_study.setdefault(each.title.partition(":")[0], {})
        for of in each.verdicts:
            answers.setdefault(of.claim, []).append(of.holds)
    studies, claims = [], []
    for study, answers in by_study.items():
        alike = [of[0] for of in answers.values() if len(set(of)) == 1]
        row = {"study": study, "claims": len(answers)} | _counts(alike)
        studies.append(row | {"differ": len(answers) - len(alike)})
        claims += [{"study": study, "claim": of} | _counts(answers[of]) for of in answers]
    if claims:
        yield _table("studies", "Claims by study", studies, _BY_STUDY)
        yield _table("claims", "Each claim", claims, _EACH_CLAIM)


def _counts(answers: Sequence[bool | None]) -> dict[str, Any]:
    return {name: answers.count(answer) for answer, name in _COUNTS.items()}


def _campaigns(judging: Sequence[Judged]) -> Table:
    rows = []
    for each in judging:
        row: dict[str, Any] = {"campaign": each.name}
        row |= _counts([of.holds for of in each.verdicts]) | {"runs": _of_planned(each)}
        rows.append(row | {"run by": each.revision, "judged by": each.judged_by})
    return _table("campaigns", "Claims by campaign", rows)


def _of_planned(judged: Judged) -> str:
    """Return how many runs there are, and of how many if some are missing."""
    of = f" of {judged.nb_planned:,}" if judged.nb_runs < judged.nb_planned else ""
    return f"{judged.nb_runs:,}{of}"


_COUNTS = {True: "hold", False: "do not", None: "inconclusive"}
_BY_STUDY = """\
How many claims hold in all campaigns, logs and interpretations, hold in none, are inconclusive in \
all, or differ."""
_EACH_CLAIM = "How often each was judged (campaigns, logs, interpretations), with each result."


def _parts(judged: Judged) -> tuple[Part, ...]:
    head = [judged.source, f"{count_verdicts(judged.verdicts)}. Repeat it by `{judged.command}`."]
    if judged.nb_runs < judged.nb_planned:
        head.append(f"**Only {_of_planned(judged)} runs have finished.**")
    if judged.nb_untouched:
        head.append(f"These runs do not test {judged.nb_untouched} further claims.")
    rows = [
        {
            "claim": of.claim,
            "log": of.log,
            "verdict": format_verdict(of),
            "effect": of.effect,
            "interpretation": of.reading,
        }
        for of in judged.verdicts
    ]
    text = Text("\n\n".join(part for part in (*head, *judged.cautions) if part))
    return (text, _table(slug("claims", judged.name), "Claims", rows)) if rows else (text,)


def _table(name: str, title: str, rows: list[dict[str, Any]], note: str = "") -> Table:
    """Return the table of rows, without the columns in which all have nothing."""
    shown = [column for column in rows[0] if any(row[column] != "" for row in rows)]
    return Table(name, title, pd.DataFrame(rows)[shown], columns(*shown), note)
