"""Reads the texts and published numbers of a study, and makes tables and verdicts with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from math import nan
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from numpy.typing import ArrayLike

from batsched_py.files.readers import read_toml
from batsched_py.report.document import Column, Figure, Part, Report, Table, Verdict
from batsched_py.report.kit.selection import slug
from batsched_py.report.kit.tables import Rows, sections, table
from batsched_py.support.statistics import compare_published

OfLog = TypeVar("OfLog")


def read_published(folder: Path) -> dict[str, Any]:
    """Return the content of ``published.toml`` in the folder of a study."""
    return read_toml(folder / "published.toml")


def find_published(published: Mapping[str, Any], *path: object, otherwise: Any = None) -> Any:
    """Return the published number at a path of keys, or ``otherwise`` if there is none."""
    node: Any = published
    for key in path:
        if not isinstance(node, Mapping) or str(key) not in node:
            return otherwise
        node = node[str(key)]
    return node


def in_column(published: Mapping[str, Any], path: tuple[object, ...], column: Any) -> Any:
    """Return the published number in a column of the row at a path of keys, None without one.

    The names of the columns are the list ``columns`` of the innermost table above the row that has
    one.
    """
    node: Any = published
    names: list[Any] = []
    for key in path:
        if not isinstance(node, Mapping):
            return None
        names = node.get("columns", names)
        node = node.get(str(key), {})
    return dict(zip(names, node, strict=False)).get(column) if isinstance(node, list) else None


def comparison_cells(values: ArrayLike, published: float | None) -> dict[str, Any]:
    """Return the comparison of simulated values with a published number as cells of a row.

    ``published``; ``difference`` in per cent of it; its distance ``z`` from the simulated mean in
    standard deviations of a further replication; ``rank``, the number of smaller values.
    """
    number = nan if published is None else published
    found = compare_published(values, number)
    difference = 100 * found.difference
    return {"published": number, "difference": difference, "z": found.z, "rank": found.rank}


class Texts:
    """The texts of a study: ``texts``, ``tables``, ``figures``, ``verdicts``, ``judged_by``.

    These are tables of its ``published.toml``.

    Names in braces in a text are replaced by values where it is shown.
    """

    def __init__(self, folder: Path) -> None:
        self.published = read_published(folder)
        self._texts: dict[str, str] = self.published.get("texts", {})
        self._tables: dict[str, dict[str, Any]] = self.published.get("tables", {})
        self._figures: dict[str, dict[str, str]] = self.published.get("figures", {})
        self._verdicts: dict[str, dict[str, str]] = self.published.get("verdicts", {})
        self._judged_by: dict[str, list[str]] = self.published.get("judged_by", {})

    def __getitem__(self, name: str) -> str:
        """Return a text of the file, unchanged."""
        return self._texts[name]

    def columns(self, key: str) -> tuple[Column, ...]:
        """Return the columns of a table in the file."""
        return msgspec.convert(self._tables[key]["columns"], tuple[Column, ...])

    def table(
        self,
        key: str,
        rows: Rows,
        /,
        name: str = "",
        marks: Iterable[tuple[int, str]] = (),
        columns: Iterable[Column] | None = None,
        **values: Any,
    ) -> Table | None:
        """Return rows as a table with the title and note in the file, None without rows.

        ``name`` is the key by default, and ``columns`` are those of the file.
        """
        title, note = (
            self._tables[key].get(text, "").format(**values) for text in ("title", "note")
        )
        shown = self.columns(key) if columns is None else columns
        return table(name or key, title, rows, shown, note, marks)

    def tables(
        self, log: str, rows: Mapping[str, Iterable[Mapping[str, Any]]]
    ) -> Iterator[Table | None]:
        """Yield the tables of a log from their rows, by key; ``{log}`` in a text is the log."""
        for key, of_table in rows.items():
            yield self.table(key, list(of_table), slug(key, log), log=log)

    def title(self, figure: str, /, **values: Any) -> str:
        """Return the title of a figure from the file."""
        return self._figures[figure]["title"].format(**values)

    def figure(self, key: str, chart: Any, /, name: str = "", **values: Any) -> Figure:
        """Return a chart as a figure with the title and caption in the file."""
        caption = self._figures[key]["caption"].format(**values)
        return Figure(name or key, self.title(key, **values), chart, caption)

    def verdict(
        self,
        key: str,
        holds: bool | None,
        log: str = "",
        /,
        *,
        tell: bool = True,
        effect: str = "",
        reading: str = "",
        **values: Any,
    ) -> Verdict:
        """Return a verdict on a claim in the file, with its evidence.

        ``effect`` and ``reading`` are those of :class:`batsched_py.report.Verdict`; the file may
        have texts for them, too.

        Raises ``KeyError`` if a text needs a value that is missing.
        """
        texts, values = self._verdicts[key], {"log": log, **values}
        evidence = texts["evidence"].format(**values) if tell else ""
        effect = effect or texts.get("effect", "").format(**values)
        reading = reading or (texts.get("reading", "").format(**values) if tell else "")
        return Verdict(texts["claim"].format(**values), holds, evidence, log, effect, reading)

    def select_judged(self, file: Path, verdicts: Iterable[Verdict]) -> list[Verdict]:
        """Return the verdicts on the claims that the campaign ``file`` judges.

        The table ``judged_by`` names campaign files (without ``.toml``), each with its claims. Such
        a campaign judges these claims only; all others judge the claims that are in no list. So
        each claim has one campaign that judges it, and further campaigns only show numbers.
        """
        own = self._judged_by.get(file.stem)
        if own is not None:
            return [of for of in verdicts if of.claim in own]
        elsewhere = {claim for claims in self._judged_by.values() for claim in claims}
        return [of for of in verdicts if of.claim not in elsewhere]

    def report(
        self,
        parts: Iterable[tuple[str, Iterable[Part | None]]],
        verdicts: Iterable[Verdict],
        summary: str,
        title: str = "",
        terms: Iterable[tuple[str, str]] = (),
        *,
        answer: str = "",
        figure: str = "",
    ) -> Report:
        """Return the report of a study from its sections and verdicts.

        ``source`` is from the texts, and so is ``title`` by default. The report begins with
        ``answer`` (by default the first claim that holds or does not) and ``figure``, the name of
        a figure (by default the first one).
        """
        head = (title or self["title"], self["source"])
        made = Report(*head, tuple(sections(parts)), tuple(verdicts), summary, tuple(terms), answer)
        there = figure in {of.name for of in made.figures}
        return msgspec.structs.replace(made, figure=figure if there else "")

    def report_by_log(
        self,
        logs: Mapping[str, OfLog],
        make_parts: Callable[[str, OfLog], Iterable[Part | None]],
        judge_claims: Callable[[str, OfLog], Iterable[Verdict]],
        summary: str,
        title: str,
    ) -> Report:
        """Return a report with a section and verdicts for each log, from the runs by log.

        Without any log, the summary says that no run has finished yet.
        """
        parts = ((log, make_parts(log, runs)) for log, runs in logs.items())
        judged = (verdict for log, runs in logs.items() for verdict in judge_claims(log, runs))
        return self.report(parts, judged, summary if logs else "No run has finished yet.", title)
