"""The report of the study: the answer first, then how far to trust it, then its numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from batsched_py.report import CampaignResults, Report, Text
from batsched_py.report.document import Part
from batsched_py.report.kit import Runs, listed
from batsched_studies.site import TEXTS, fidelity
from batsched_studies.site import cases as c
from batsched_studies.site.answers import headline, submitting, utilisation, waits_as_it_is
from batsched_studies.site.changes import read
from batsched_studies.site.figures import answer
from batsched_studies.site.other_answers import changed, other_answers
from batsched_studies.site.tables import tables


def report(results: CampaignResults) -> Report:
    """Return the report of the runs; the study has no claims."""
    logs = read(results)
    parts = (part for log, runs in logs for part in _parts(log, runs, results))
    return TEXTS.report(parts, (), _summary(logs), results.title)


def _summary(logs: Sequence[tuple[str, Runs]]) -> str:
    """Return how far to trust the answer, and the answer in a sentence."""
    if not logs:
        return TEXTS["nothing"]
    told = (text for log, runs in logs for text in _summary_texts(log, runs, len(logs) > 1))
    return "\n\n".join(text for text in told if text)


def _summary_texts(log: str, runs: Runs, several: bool) -> Iterator[str]:
    if several:
        yield f"### {log}"
    yield " ".join(filter(None, (fidelity.describe(runs), waits_as_it_is(runs))))
    yield headline(runs)
    yield changed(runs)


def _parts(
    log: str, runs: Runs, results: CampaignResults
) -> Iterator[tuple[str, Iterator[Part | None]]]:
    yield f"The answer: {log}", _answer(log, runs)
    yield f"How far to trust it: {log}", _fidelity(log, runs)
    yield f"Its numbers: {log}", tables(log, runs, results)


def _answer(log: str, runs: Runs) -> Iterator[Part | None]:
    yield answer(log, runs)
    yield _text(cautions(runs))
    yield _text(_words(runs))
    yield _text(" ".join(filter(None, (utilisation(runs), submitting(runs)))))
    yield other_answers(log, runs)


def _fidelity(log: str, runs: Runs) -> Iterator[Part | None]:
    yield _text(fidelity.describe(runs))
    yield fidelity.table(log, runs)


def _text(markdown: str) -> Text | None:
    return Text(markdown) if markdown else None


def _words(runs: Runs) -> str:
    """Return what the site, the kinds of users and the changes are, a line each."""
    there = list(c.cases(runs))
    said = {c.AS_IT_IS: _shown(c.site(runs))} if there else {}
    said |= {case.people: _terms(c.of_users(case.base)) for case in there}
    for case in there:
        parts = _shown(case.settings), _terms(case.settings)
        said[case.change] = "; ".join(filter(None, parts))
    return "\n".join(f"- *{name}*: {text}." for name, text in said.items() if text)


def _terms(settings: Mapping[str, Any]) -> str:
    """Return what settings mean, of those that have a text: by name and value, or by name."""
    terms: Mapping[str, str] = TEXTS.published["terms"]
    found = (terms.get(f"{name} = {value}", terms.get(name)) for name, value in settings.items())
    return "; ".join(filter(None, found))


def _shown(settings: Mapping[str, Any]) -> str:
    """Return settings as a campaign file has them; floats as one writes them."""
    values = ((n, f"{v:g}" if isinstance(v, float) else v) for n, v in settings.items())
    return ", ".join(f"`{name} = {value}`" for name, value in values)


_GROWING = 0.01
"""Share of the jobs of a week by which the queue grows each week, from which on it is said."""
_HALF = 0.5
_FEWEST = 3
"""Of fewer crowds one has half of the waits as a matter of course."""
_ASSUMED = "multifactor"
"""The policy of the study; a site's own one has options, or is another."""


def cautions(runs: Runs) -> str:
    """Return all cautions about the runs of a log; empty if there are none."""
    found = {"growing": _where(runs, _grows), "one_crowd": _where(runs, _one_decides)}
    told = [TEXTS[key].format(who="; ".join(who)) for key, who in found.items() if who]
    site = c.site(runs)
    if site.get("scheduler") == _ASSUMED and "scheduler_options" not in site:
        told.append(TEXTS["assumed"].format(policy=_ASSUMED))
    return " ".join(told)


def _where(runs: Runs, holds: Callable[[Runs], bool]) -> list[str]:
    """Return of which kinds of users something holds: always, or as it is, or with which change."""
    found = []
    for kind in c.people(runs):
        of_kind = runs.where(people=kind)
        changes = [c.AS_IT_IS, *c.changes(of_kind)]
        there = [change for change in changes if holds(of_kind.where(change=change))]
        if there:
            found.append(kind if there == changes else f"{kind} ({listed(there)})")
    return found


def _grows(runs: Runs) -> bool:
    growth = runs.mean(c.GROWTH).value
    return bool(growth > _GROWING * runs.mean("jobs_weekly").value)


def _one_decides(runs: Runs) -> bool:
    waits = runs.values(c.WAIT).dropna()
    return len(waits) >= _FEWEST and bool(waits.max() > _HALF * waits.sum())
