"""Reports of campaigns: what a study says (:mod:`document`), and the forms in which it is shown.

A study's ``report(results)`` returns a :class:`Report` of tables, figures and verdicts. The same
report is printed to a terminal, written as CSV, Markdown, PNG and SVG, and as one HTML file.
"""

from batsched_py.report.document import Column, Figure, Part, Report, Section, Table, Text, Verdict

__all__ = ["Column", "Figure", "Part", "Report", "Section", "Table", "Text", "Verdict"]
