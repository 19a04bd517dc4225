"""The report of the study: the answer first, then how far to trust it, then its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from batsched_py.report import CampaignResults, Report, Text
from batsched_py.report.document import Part
from batsched_py.report.kit import Runs
from batsched_studies.site import TEXTS, answers, fidelity
from batsched_studies.site import cases as c
from batsched_studies.site.figures import answer
from batsched_studies.site.tables import other_answers, tables


def report(results: CampaignResults) -> Report:
    """Return what the runs that are there say; there are no claims to be judged."""
    logs = c.read(results)
    parts = (part for log, runs in logs for part in _parts(log, runs, results))
    return TEXTS.report(parts, (), _summary(logs), results.title)


def _summary(logs: Sequence[tuple[str, Runs]]) -> str:
    """Return the answer in a sentence; first that it is not to be trusted, if it is not."""
    if not logs:
        return TEXTS["nothing"]
    told = (text for log, runs in logs for text in _told(log, runs, len(logs) > 1))
    return "\n\n".join(text for text in told if text)


def _told(log: str, runs: Runs, several: bool) -> Iterator[str]:
    if several:
        yield f"### {log}"
    is_poor = fidelity.judged(runs) == fidelity.POOR
    if is_poor:
        yield fidelity.told(runs)
    yield answers.headline(runs)
    yield answers.changed(runs)
    if not is_poor:
        yield fidelity.told(runs)


def _parts(
    log: str, runs: Runs, results: CampaignResults
) -> Iterator[tuple[str, Iterator[Part | None]]]:
    yield f"The answer: {log}", _answer(log, runs)
    yield f"How far to trust it: {log}", _fidelity(log, runs)
    yield f"Its numbers: {log}", tables(log, runs, results)


def _answer(log: str, runs: Runs) -> Iterator[Part | None]:
    yield answer(log, runs)
    yield _text(_words(runs))
    yield _text(answers.submitting(runs))
    yield other_answers(log, runs)


def _fidelity(log: str, runs: Runs) -> Iterator[Part | None]:
    yield _text(fidelity.told(runs))
    yield fidelity.table(log, runs)


def _text(markdown: str) -> Text | None:
    return Text(markdown) if markdown else None


def _words(runs: Runs) -> str:
    """Return what the site, the kinds of users and the changes are, a line each."""
    there, terms = list(c.cases(runs)), TEXTS.published["terms"]
    said = {c.AS_IT_IS: _shown(c.site(runs))} if there else {}
    said |= {case.people: terms.get(case.people, "") for case in there}
    for case in there:
        parts = _shown(case.settings), terms.get(case.change, "")
        said[case.change] = "; ".join(filter(None, parts))
    return "\n".join(f"- *{name}*: {text}." for name, text in said.items() if text)


def _shown(settings: Mapping[str, Any]) -> str:
    """Return settings as a campaign file has them; floats as one writes them."""
    values = ((n, f"{v:g}" if isinstance(v, float) else v) for n, v in settings.items())
    return ", ".join(f"`{name} = {value}`" for name, value in values)
