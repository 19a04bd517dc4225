"""Judges the claims of a study under several interpretations of its source, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from batsched_py.report import Column, Table, Verdict
from batsched_py.report.formatting import WORDS
from batsched_py.report.kit import Texts

Choice = Mapping[str, str]
"""An interpretation: the value of each open question, such as ``{"begin": "anywhere"}``."""
Judged = Sequence[tuple[Choice, Sequence[Verdict]]]
"""The verdicts under each choice; all choices are about the same questions."""


def merge_verdicts(judged: Judged) -> list[Verdict]:
    """Return the verdicts under all choices by claim, equal ones once.

    The interpretation of a verdict names the values of the open questions on which it depends.
    """
    found: dict[Verdict, list[Choice]] = {}
    for choice, verdicts in judged:
        for verdict in verdicts:
            found.setdefault(verdict, []).append(choice)
    claims = list(dict.fromkeys(verdict.claim for verdict in found))
    merged = []
    for verdict in sorted(found, key=lambda of: claims.index(of.claim)):
        depends = [
            f"{name} {found[verdict][0][name]}"
            for name in judged[0][0]
            if len({choice[name] for choice, _ in judged}) > 1
            and len({choice[name] for choice in found[verdict]}) == 1
        ]
        reading = "; ".join(filter(None, [verdict.reading, ", ".join(depends)]))
        merged.append(msgspec.structs.replace(verdict, reading=reading))
    return merged


def make_choice_table(texts: Texts, judged: Judged) -> Table | None:
    """Return the study's table ``choices``: each claim on each log, a column for each choice.

    None without a second choice.
    """
    rows: dict[tuple[str, str], dict[str, str]] = {}
    names = [f"choice_{number}" for number in range(len(judged))]
    effects = [f"{name}_effect" for name in names]
    for name, effect, (_, verdicts) in zip(names, effects, judged, strict=True):
        for of in verdicts:
            if of.holds is not None or of.effect:
                empty = {"claim": of.claim, "log": of.log} | dict.fromkeys((*names, *effects), "")
                row = rows.setdefault((of.claim, of.log), empty)
                row |= {name: WORDS[of.holds], effect: of.effect}
    titles = [", ".join(f"{name} {of}" for name, of in choice.items()) for choice, _ in judged]
    shown = [
        Column(name, title, below=effect)
        for name, title, effect in zip(names, titles, effects, strict=True)
    ]
    columns = (Column("claim"), Column("log"), *shown)
    return texts.table("choices", list(rows.values()), columns=columns) if len(judged) > 1 else None
