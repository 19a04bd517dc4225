"""Sharing among sites, and users who react: a study of our own, beside no publication."""

from pathlib import Path

from batsched_py.report.kit import Texts

TEXTS = Texts(Path(__file__).parent)
