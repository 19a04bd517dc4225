"""Sharing jobs among grid sites when users react: a study of this project."""

from pathlib import Path

from batsched_py.report.kit import Texts

TEXTS = Texts(Path(__file__).parent)
