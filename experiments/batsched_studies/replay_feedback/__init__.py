"""M. Madon, G. Da Costa, J.-M. Pierson, FGCS 2024: replay with feedback."""

from pathlib import Path
from typing import Any

from batsched_py.report import Verdict
from batsched_py.report.kit import Texts

TEXTS = Texts(Path(__file__).parent)
PUBLISHED = TEXTS.published


def with_reading(key: str, holds: bool | None, where: str, /, **values: Any) -> Verdict:
    """Return the verdict of this key with what its claim is read as, from ``published.toml``."""
    reading = PUBLISHED["readings"][key].format(**values)
    return TEXTS.verdict(key, holds, where, reading=reading, **values)
