"""The study of replay with feedback: M. Madon, G. Da Costa, J.-M. Pierson, FGCS 2024."""

from pathlib import Path

from batsched_py.report.kit import Texts

TEXTS = Texts(Path(__file__).parent)
PUBLISHED = TEXTS.published
