"""Joules that a shutdown of idle processors saves, the waiting time it costs, users who react."""

from pathlib import Path

from batsched_py.report.kit import Texts

TEXTS = Texts(Path(__file__).parent)
PUBLISHED = TEXTS.published
