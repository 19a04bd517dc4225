"""A report that a notebook can show."""

from __future__ import annotations

from base64 import b64encode
from html import escape
from pathlib import Path
from typing import Self

from batsched_py.report.document import Report


class NotebookReport(Report, frozen=True):
    """A report that a notebook shows, and that writes itself as an HTML file."""

    @classmethod
    def from_report(cls, report: Report) -> Self:
        """Return a report as one for a notebook."""
        return cls(*(getattr(report, name) for name in report.__struct_fields__))

    def _repr_html_(self) -> str:
        """Return the answer, the main figure, texts and tables; all figures are in the file."""
        from batsched_py.report.forms.export_files import format_markdown, render_figure
        from batsched_py.report.forms.html_page import render_markdown

        head, mark, rest = format_markdown(self).partition("\n\n## ")
        picture = ""
        if self.main_figure is not None:
            svg = b64encode(render_figure(self.main_figure.spec)["svg"]).decode()
            title = escape(self.main_figure.title)
            picture = f'<img alt="{title}" src="data:image/svg+xml;base64,{svg}">'
        return f"{render_markdown(head)}{picture}{render_markdown(mark + rest)}"

    def write(self, path: str | Path) -> Path:
        """Write the report as an HTML file; return its path.

        The file is written whole or not at all. Missing folders are made. Raises
        :class:`batsched_py.errors.OutputError`.
        """
        from batsched_py.files.writers import write_whole
        from batsched_py.report.forms.html_page import render_page

        write_whole(path, render_page(self))
        return Path(path)
