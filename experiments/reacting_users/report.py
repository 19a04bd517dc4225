"""The report of the study: each claim, its numbers, and whether it holds; tables of the thesis.

A campaign calls :func:`report` of this file; it is loaded from its path, hence the modules beside
it are as well. Any of the study's campaign files will do: what was not run is left out.
"""

from __future__ import annotations

import csv
import io
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, fields
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

from batsched_py.campaign.modules import study_module
from batsched_py.data import data_folder
from batsched_py.files import write_whole

if TYPE_CHECKING:
    import pandas as pd
    from claims import Effect, Level, Spread, Wait
    from rich.console import Console

DAY = 86_400.0
Table = tuple[str, list[str], list[list[str]]]
"""Title, header and lines."""


class Results(Protocol):
    """What a campaign hands over."""

    out: Path
    """Where tables go."""

    @property
    def runs(self) -> pd.DataFrame:
        """A row per finished run: ``log``, ``replay``, ``system``, ``seed`` and the metrics."""


def report(results: Results, console: Console | None = None) -> list[Path]:
    """Write tables (CSV, Markdown) to ``results.out``; return the files.

    With a ``console`` the tables are also printed.
    """
    claims, shared = _sibling("claims"), _shared()
    published = tomllib.loads(Path(__file__).with_name("published.toml").read_text())
    runs = claims.read(results.runs.to_dict("records"), shared.log_name)
    rows = {
        "levels": claims.levels(runs),
        "effects": claims.effects(runs),
        "spreads": claims.spreads(runs, published),
        "waits": claims.waits(runs, published),
    }
    lines = list(_verdict_lines(claims.verdicts(rows["effects"], rows["spreads"]), claims.TITLES))
    tables = list(_tables(rows, claims.TITLES))
    if console is not None:
        for title, header, body in tables:
            shared.print_whole(shared.rich_table(title, header, body), console)
        for line in lines:
            console.print(line, markup=False, highlight=False)
    results.out.mkdir(parents=True, exist_ok=True)
    contents = {f"{name}.csv": _csv(own) for name, own in rows.items() if own}
    contents["tables.md"] = "# Reacting users\n\n" + "".join(f"- {line}\n" for line in lines)
    for title, header, body in tables:
        contents["tables.md"] += f"\n## {title}\n\n{shared.markdown(header, body)}"
    for name, content in contents.items():
        write_whole(results.out / name, content.encode())
    return [results.out / name for name in contents]


def _verdict_lines(verdicts: dict[tuple[str, str], bool], titles: dict[str, str]) -> Iterator[str]:
    for number, title in titles.items():
        for (claim, log), holds in verdicts.items():
            if claim == number:
                yield f"({number}) {title}. {log}: {'holds' if holds else 'DOES NOT HOLD'}."


def _tables(rows: dict[str, list[Any]], titles: dict[str, str]) -> Iterator[Table]:
    yield _level_table(rows["levels"])
    for number, title in titles.items():
        own = [effect for effect in rows["effects"] if effect.claim == number]
        if own:
            yield _effect_table(f"({number}) {title}", own)
        if number == "iv" and rows["spreads"]:
            yield _spread_table(f"({number}) {title}", rows["spreads"])
    # With one seed of open replay beside them they are those of the thesis.
    if any(wait.replay == "rigid" for wait in rows["waits"]):
        yield _wait_table(rows["waits"])


def _level_table(levels: Iterable[Level]) -> Table:
    header = ["log", "replay", "system", "seeds", "saturated", "jobs", "jobs/h", "from", "to"]
    header += ["wait (s)", "activity (d)", "utilisation"]
    return (
        "What the systems do",
        header,
        [
            [
                *(x.log, x.replay, x.system, str(x.seeds), str(x.saturated), f"{x.jobs:.0f}"),
                *(f"{x.throughput:.3f}", f"{x.throughput_least:.3f}", f"{x.throughput_most:.3f}"),
                *(f"{x.wait:.0f}", f"{x.activity / DAY:.1f}", f"{x.utilisation:.3f}"),
            ]
            for x in levels
        ],
    )


def _effect_table(title: str, effects: Iterable[Effect]) -> Table:
    header = ["log", "replay", "ratio", "of", "runs", "seeds", "above 1"]
    header += ["least", "mean", "± s.e.", "most", "expected", "holds"]
    return (
        title,
        header,
        [
            [
                *(x.log, x.replay, x.ratio, _METRICS[x.metric], _which(x), str(x.seeds)),
                *(str(x.above), f"{x.least:.3f}", f"{x.mean:.3f}", _number(x.error, 3)),
                *(f"{x.most:.3f}", x.expected, "yes" if x.holds else "no"),
            ]
            for x in effects
        ],
    )


_METRICS = {
    "throughput_to_last_submission": "throughput",
    "mean_activity_length": "activity",
    "nb_jobs": "jobs",
}


def _which(effect: Effect) -> str:
    return f"{effect.which} ({effect.saturated} sat.)" if effect.saturated else effect.which


def _spread_table(title: str, spreads: Iterable[Spread]) -> Table:
    header = ["log", "replay", "system", "runs", "seeds", "least (s)", "mean (s)", "most (s)"]
    header += ["most/least", "thesis"]
    return (
        title,
        header,
        [
            [
                *(x.log, x.replay, x.system, x.which, str(x.seeds)),
                *(f"{x.least:.0f}", f"{x.mean:.0f}", f"{x.most:.0f}", f"{x.ratio:.2f}"),
                _number(x.thesis, 2),
            ]
            for x in spreads
        ],
    )


def _wait_table(waits: Iterable[Wait]) -> Table:
    header = ["log", "replay", "system", "wait (s)", "thesis (s)", "to rigid", "thesis to rigid"]
    return (
        "Average wait with EASY",
        header,
        [
            [
                *(x.log, x.replay, x.system, f"{x.ours:.0f}", _number(x.thesis, 0)),
                *(_number(x.ours_to_rigid, 2), _number(x.thesis_to_rigid, 2)),
            ]
            for x in waits
        ],
    )


def _number(value: float | None, decimals: int) -> str:
    return "" if value is None or value != value else f"{value:.{decimals}f}"


def _csv(rows: Sequence[Any]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(field.name for field in fields(rows[0]))
    writer.writerows(map(astuple, rows))
    return text.getvalue()


def _sibling(name: str) -> ModuleType:
    """Return the module ``name.py`` of this folder."""
    return study_module(Path(__file__).with_name(f"{name}.py"))


def _shared() -> ModuleType:
    """Return the module of tables of the study of replay with feedback."""
    return study_module(data_folder("experiments") / "replay_feedback" / "tables.py")
