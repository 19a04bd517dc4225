"""The claims of several campaigns on one page: what holds, by how much, and how to see it again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
    nb_runs: int
    """Those that have finished."""
    nb_planned: int
    report: Report
    revision: str = ""
    """That of the code which ran them, "" if it is not known."""

    @property
    def touched(self) -> tuple[Verdict, ...]:
        """The verdicts on claims of which these runs say something."""
        return tuple(of for of in self.report.verdicts if of.holds is not None or of.effect)


def collected(title: str, judged: Sequence[Judged]) -> Report:
    """Return a table of claims for each campaign, with source, tally and command.

    Before them is a table of all campaigns, with how many of the claims hold. Of claims that the
    runs of a campaign do not touch it has the number.
    """
    verdicts = tuple(of for each in judged for of in each.touched)
    told = [each for each in judged if each.report.verdicts]
    sections = (Section(f"{each.report.title}: {each.name}", _parts(each)) for each in told)
    return Report(
        title=title,
        source="",
        sections=(Section("All campaigns", (_overview(told),)), *sections) if told else (),
        summary=f"{len(verdicts)} claims of {len(told)} campaigns: {tally(verdicts)}.",
    )


def _overview(told: Sequence[Judged]) -> Table:
    rows = []
    for each in told:
        answers = [of.holds for of in each.touched]
        row: dict[str, Any] = {"campaign": each.name}
        row |= {name: answers.count(answer) for answer, name in _COUNTS.items()}
        rows.append(row | {"runs": _of_planned(each), "revision": each.revision or "-"})
    shown = [name for name in rows[0] if name != "revision" or any(of.revision for of in told)]
    return Table.of_rows("campaigns", "Claims by campaign", rows, tuple(columns(*shown)))


def _of_planned(judged: Judged) -> str:
    """Return how many runs there are, and of how many if some are missing."""
    of = f" of {judged.nb_planned:,}" if judged.nb_runs < judged.nb_planned else ""
    return f"{judged.nb_runs:,}{of}"


_COUNTS = {True: "hold", False: "do not", None: "cannot be told"}


def _parts(judged: Judged) -> tuple[Part, ...]:
    report, touched = judged.report, judged.touched
    head = [report.source, f"{tally(touched)}. Repeat it by `{judged.command}`."]
    if judged.nb_runs < judged.nb_planned:
        head.append(f"**Only {_of_planned(judged)} runs have finished.**")
    cautions = [line for line in report.summary.split("\n\n") if line.startswith("**This is ")]
    if others := len(report.verdicts) - len(touched):
        head.append(f"Of {others} further claims these runs say nothing.")
    rows = [
        {
            "claim": of.claim,
            "log": of.log,
            "verdict": verdict(of),
            "effect": of.effect,
            "reading": of.reading,
        }
        for of in touched
    ]
    shown = [
        column
        for column in columns("claim", "log", "verdict", "effect", "reading")
        if any(row[column.name] for row in rows)
    ]
    table = Table.of_rows(slug("claims", judged.name), "Claims", rows, tuple(shown))
    text = Text("\n\n".join(part for part in (*head, *cautions) if part))
    return (text, table) if rows else (text,)
