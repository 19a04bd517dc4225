"""The study of think times that grow with response times: S. Schlagkamp, JSSPP 2015."""

from pathlib import Path

from batsched_py.report.kit import Texts

TEXTS = Texts(Path(__file__).parent)
PUBLISHED = TEXTS.published
