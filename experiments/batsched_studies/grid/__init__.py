"""A. Streit, PhD thesis, Paderborn 2003, chapters 6 and 7: several sites under one scheduler."""

from pathlib import Path

from batsched_py.report.kit import Texts

TEXTS = Texts(Path(__file__).parent)
PUBLISHED = TEXTS.published
