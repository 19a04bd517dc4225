"""Effects of a larger machine or another policy on the users of a site: a study of this project."""

from pathlib import Path

from batsched_py.report.kit import Texts

TEXTS = Texts(Path(__file__).parent)
