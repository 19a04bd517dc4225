"""The claims of several campaigns on one page: what holds, by how much, and how to see it again."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from batsched_py.report.document import Part, Report, Section, Table, Text, Verdict
from batsched_py.report.formatting import tally, verdict
from batsched_py.report.kit.selection import slug
from batsched_py.report.kit.tables import columns


class Judged(msgspec.Struct, frozen=True):
    """A campaign of which there are results, and its report."""

    name: str
    command: str
    """Repeats it."""
    report: Report


def collected(title: str, judged: Sequence[Judged]) -> Report:
    """Return a table of claims for each campaign, with source, tally and command."""
    verdicts = [of for each in judged for of in each.report.verdicts]
    told = [each for each in judged if each.report.verdicts]
    return Report(
        title=title,
        source="",
        sections=tuple(Section(each.report.title, _parts(each)) for each in told),
        summary=f"{len(verdicts)} claims of {len(told)} campaigns: {tally(tuple(verdicts))}.",
    )


def _parts(judged: Judged) -> tuple[Part, ...]:
    report = judged.report
    head = [report.source, f"{tally(report.verdicts)}. Repeat it by `{judged.command}`."]
    cautions = [line for line in report.summary.split("\n\n") if line.startswith("**This is ")]
    rows = [
        {
            "claim": of.claim,
            "log": of.log,
            "verdict": verdict(of),
            "effect": of.effect or _first_sentence(of),
            "reading": of.reading,
        }
        for of in report.verdicts
    ]
    shown = [
        column
        for column in columns("claim", "log", "verdict", "effect", "reading")
        if any(row[column.name] for row in rows)
    ]
    table = Table.of_rows(slug("claims", judged.name), "Claims", rows, tuple(shown))
    return Text("\n\n".join(part for part in (*head, *cautions) if part)), table


def _first_sentence(of: Verdict) -> str:
    """Return why nothing is said of a claim; of others the effect is to be there."""
    return of.evidence.partition(". ")[0].rstrip(".") if of.holds is None else ""
