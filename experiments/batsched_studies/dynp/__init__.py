"""The study of dynP, a policy that selects its own queue order: A. Streit, PhD thesis, 2003."""

from pathlib import Path

from batsched_py.report.kit import Texts

TEXTS = Texts(Path(__file__).parent)
PUBLISHED = TEXTS.published
