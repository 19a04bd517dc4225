"""Texts of a study's report: notes of tables, titles and captions of figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from batsched_py.report.document import Figure
from batsched_py.report.kit.beside_published import read_published


class Texts:
    """The tables ``texts`` and ``figures`` of a study's ``published.toml``.

    What is in braces in a text is filled in where it is shown.
    """

    def __init__(self, folder: Path) -> None:
        published = read_published(folder)
        self._texts: dict[str, str] = published["texts"]
        self._figures: dict[str, dict[str, str]] = published.get("figures", {})

    def __getitem__(self, name: str) -> str:
        """Return a text as it stands in the file."""
        return self._texts[name]

    def title(self, figure: str, **values: Any) -> str:
        """Return the title of a figure."""
        return self._figures[figure]["title"].format(**values)

    def figure(self, key: str, chart: Any, name: str = "", **values: Any) -> Figure:
        """Return a chart as the figure of this key, by which it is called if it has no name."""
        caption = self._figures[key]["caption"].format(**values)
        return Figure(name or key, self.title(key, **values), chart, caption)
