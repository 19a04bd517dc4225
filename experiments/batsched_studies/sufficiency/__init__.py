"""Users who use less while energy is scarce, and react to their jobs: is there a rebound?"""

from pathlib import Path

from batsched_py.report.kit import Texts

TEXTS = Texts(Path(__file__).parent)
PUBLISHED = TEXTS.published
