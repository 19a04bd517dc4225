"""A report that a notebook can show."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from batsched_py.report.document import Report


class NotebookReport(Report, frozen=True):
    """A report that a notebook shows, and that writes itself as an HTML page."""

    @classmethod
    def from_report(cls, report: Report) -> Self:
        """Return a report as one for a notebook."""
        return cls(*(getattr(report, name) for name in report.__struct_fields__))

    def _repr_html_(self) -> str:
        """Return texts and tables; figures are on the page only."""
        from batsched_py.report.forms.export_files import format_markdown
        from batsched_py.report.forms.html_page import render_markdown

        return str(render_markdown(format_markdown(self)))

    def write(self, path: str | Path) -> Path:
        """Write the report as an HTML page; return its path.

        It is written whole or not at all, missing folders are made; raises
        :class:`batsched_py.errors.OutputError`.
        """
        from batsched_py.files.writers import write_whole
        from batsched_py.report.forms.html_page import render_page

        write_whole(path, render_page(self))
        return Path(path)
