"""S. Schlagkamp, JSSPP 2015: think times that grow with response times."""

from pathlib import Path

from batsched_py.report.kit import Texts

TEXTS = Texts(Path(__file__).parent)
PUBLISHED = TEXTS.published
