"""CSV that programs read back: every text as it is, whatever is in it."""

from __future__ import annotations

import re
from collections.abc import Iterable

_MUST_QUOTE = re.compile('[,"\n\r]').search


def field(text: str) -> str:
    """Quote a field if it needs it (a job may be called anything).

    The ``csv`` of Python before 3.13 does not for a line break that is no end of a line there.
    """
    return '"' + text.replace('"', '""') + '"' if _MUST_QUOTE(text) else text


def csv_line(texts: Iterable[str]) -> str:
    """Return fields as a line."""
    return ",".join(map(field, texts)) + "\n"
