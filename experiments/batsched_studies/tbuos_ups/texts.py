"""The texts of the report."""

from pathlib import Path

from batsched_py.report.kit.texts import Texts

TEXTS = Texts(Path(__file__).parent)
