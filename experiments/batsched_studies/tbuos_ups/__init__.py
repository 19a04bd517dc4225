"""The effects of users who react: N. Zakay, PhD thesis, chapters 4 and 5."""

from pathlib import Path

from batsched_py.report.kit import Texts

TEXTS = Texts(Path(__file__).parent)
PUBLISHED = TEXTS.published
