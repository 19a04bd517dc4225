"""Reads amounts of memory."""

from __future__ import annotations

import re

_MEMORY = re.compile(r"(\d{1,15}(?:\.\d{1,9})?) ?([KMGTP])(?:i?B)?", re.IGNORECASE | re.ASCII)
_MEBIBYTES = {"K": 2.0**-10, "M": 1, "G": 2.0**10, "T": 2.0**20, "P": 2.0**30}


def parse_mebibytes(text: str) -> float:
    """Return the MiB in a text such as ``512 GiB`` or ``64gb``, whose units are powers of 1024.

    Raises :class:`ValueError` for another text.

    >>> parse_mebibytes("1.5 GiB")
    1536.0
    """
    match = _MEMORY.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r:.60} is no memory such as '512 GiB'")
    return float(match[1]) * _MEBIBYTES[match[2].upper()]
