"""The report of the study: first the answer, then how far to trust it, then its numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from batsched_py.report import CampaignResults, Report, Text
from batsched_py.report.document import Part
from batsched_py.report.kit import Runs, listed
from batsched_studies.site import TEXTS, answers, fidelity
from batsched_studies.site import cases as c
from batsched_studies.site.changes import read
from batsched_studies.site.figures import draw_answer
from batsched_studies.site.other_answers import describe_differing, make_conclusion_table
from batsched_studies.site.tables import make_tables


def report(results: CampaignResults) -> Report:
    """Return the report of a campaign; the study has no claims."""
    logs = read(results)
    parts = (part for log, runs in logs for part in _parts(log, runs, results))
    return TEXTS.report(parts, (), _summary(logs), results.title, answer=_answer_in_words(logs))


def _summary(logs: Sequence[tuple[str, Runs]]) -> str:
    """Return for each log how well its replay agrees with it, and the answers that differ."""
    return "\n\n".join(
        _join(fidelity.describe_fidelity(runs), describe_differing(runs)) for _, runs in logs
    )


def _answer_in_words(logs: Sequence[tuple[str, Runs]]) -> str:
    """Return the answer for each log as text."""
    if not logs:
        return TEXTS["nothing"]
    found = [(log, _warn(runs) + answers.write_headline(runs)) for log, runs in logs]
    if len(logs) == 1:
        return found[0][1]
    return "\n\n".join(f"**{log}**\n\n{text}" for log, text in found)


def _warn(runs: Runs) -> str:
    warning = fidelity.write_warning(runs)
    return f"{warning}\n\n" if warning else ""


def _parts(
    log: str, runs: Runs, results: CampaignResults
) -> Iterator[tuple[str, Iterable[Part | None]]]:
    yield f"The answer: {log}", _answer(log, runs)
    yield f"How far to trust it: {log}", _fidelity(log, runs)
    for title, tables in make_tables(log, runs, results).items():
        yield f"{title}: {log}", tables


def _answer(log: str, runs: Runs) -> Iterator[Part | None]:
    yield draw_answer(log, runs)
    yield _text(write_cautions(runs))
    yield _text(_words(runs))
    yield _text(_join(answers.describe_utilisation(runs), answers.describe_submissions(runs)))
    yield make_conclusion_table(log, runs)


def _fidelity(log: str, runs: Runs) -> Iterator[Part | None]:
    describe = fidelity.describe_fidelity, answers.describe_present_waits
    yield _text(_join(*(of(runs) for of in describe)))
    yield fidelity.make_table(log, runs)


def _join(*sentences: str) -> str:
    return " ".join(filter(None, sentences))


def _text(markdown: str) -> Text | None:
    return Text(markdown) if markdown else None


def _words(runs: Runs) -> str:
    """Return a line on the site, on each kind of users, and on each change."""
    there = list(c.find_cases(runs))
    texts = {c.AS_IT_IS: _shown(c.find_site_settings(runs))} if there else {}
    texts |= {case.users: _terms(c.find_user_model(case.base)) for case in there}
    for case in there:
        parts = _shown(case.settings), _terms(case.settings)
        texts[case.change] = "; ".join(filter(None, parts))
    return "\n".join(f"- *{name}*: {text}." for name, text in texts.items() if text)


def _terms(settings: Mapping[str, Any]) -> str:
    """Return the explanations of settings that have one, by name and value or by name."""
    terms: Mapping[str, str] = TEXTS.published["terms"]
    found = (terms.get(f"{name} = {value}", terms.get(name)) for name, value in settings.items())
    return "; ".join(filter(None, found))


def _shown(settings: Mapping[str, Any]) -> str:
    """Return settings as in a campaign file, with short floats."""
    values = ((n, f"{v:g}" if isinstance(v, float) else v) for n, v in settings.items())
    return ", ".join(f"`{name} = {value}`" for name, value in values)


_GROWING = 0.01
"""The report warns if the queue grows each week by more than this share of a week's jobs."""
_HALF = 0.5
_FEWEST = 3
"""With fewer sets of drawn users, one set normally has half of the waits."""
_ASSUMED = "multifactor"
"""The study's policy for a site; a real site has options for it, or another policy."""


def write_cautions(runs: Runs) -> str:
    """Return all warnings about the runs of a log; empty if there are none."""
    found = {"growing": _where(runs, _grows), "one_set": _where(runs, _one_decides)}
    texts = [TEXTS[key].format(who="; ".join(who)) for key, who in found.items() if who]
    site = c.find_site_settings(runs)
    if site.get("scheduler") == _ASSUMED and "scheduler_options" not in site:
        texts.append(TEXTS["assumed"].format(policy=_ASSUMED))
    return " ".join(texts)


def _where(runs: Runs, holds: Callable[[Runs], bool]) -> list[str]:
    """Return the kinds of users for which a condition holds, with the changes where it does."""
    found = []
    for kind in c.list_user_kinds(runs):
        of_kind = runs.where(user_kind=kind)
        changes = [c.AS_IT_IS, *c.list_changes(of_kind)]
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
