"""A. Streit, PhD thesis, 2003: self-tuning planning."""

from pathlib import Path

from batsched_py.report.kit import Texts

TEXTS = Texts(Path(__file__).parent)
PUBLISHED = TEXTS.published
