"""The forms of a report: terminal, files, one page."""
