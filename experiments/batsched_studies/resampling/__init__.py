"""Experiments with workloads resampled from a log by users: N. Zakay, PhD thesis, chapter 3."""

from pathlib import Path

from batsched_py.report.kit import Texts

TEXTS = Texts(Path(__file__).parent)
PUBLISHED = TEXTS.published
