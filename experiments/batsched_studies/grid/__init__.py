"""The study of several grid sites under one policy: A. Streit, PhD thesis, 2003, chapters 6, 7."""

from pathlib import Path

from batsched_py.report.kit import Texts

TEXTS = Texts(Path(__file__).parent)
PUBLISHED = TEXTS.published
