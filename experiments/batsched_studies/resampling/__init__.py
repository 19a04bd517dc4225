"""N. Zakay, PhD thesis, chapter 3: what is done with workloads resampled from a log by users."""

from pathlib import Path

from batsched_py.report.kit import Texts

TEXTS = Texts(Path(__file__).parent)
PUBLISHED = TEXTS.published
