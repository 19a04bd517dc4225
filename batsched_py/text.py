"""Small things that messages and files need."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_EXACT = 2**53  # beyond, floats have no odd numbers, and an integer would claim digits


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ``" (did you mean 'easy'?)"`` if something like ``name`` is known, else nothing."""
    close = get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f" (did you mean {close[0]!r}?)" if close else ""


def whole(number: float) -> float | int:
    """Return an integral number as an integer, so that JSON has no ``.0``; others as they are."""
    return int(number) if abs(number) < _EXACT and number == int(number) else number
