"""Names of users, accounts, jobs, queues and partitions: their numbers in a log, or pseudonyms."""

from __future__ import annotations

import hashlib
import hmac
import re

from batsched_py.errors import UsageError, parameter
from batsched_py.support.terminal_text import one_line
from batsched_py.workload.logs.swf import UNKNOWN

LEAST_SALT = 16
"""The least length of a salt: a shorter one could be found by trying."""
_NUMBER = re.compile(r"0|[1-9]\d{0,14}", re.ASCII)
_SHOWN = 32
"""Hexadecimal digits of a pseudonym: 128 bits, so that no two names share one."""


class Pseudonyms:
    """Makes pseudonyms of names, which cannot be reversed or tested without the salt.

    They are HMAC-SHA256 with the salt as key (RFC 2104), of the field and the name: the same in
    every import with the same salt, and unlike for a user and an account of one name. Raises
    :class:`UsageError` for a salt of less than :data:`LEAST_SALT` characters.
    """

    def __init__(self, salt: str) -> None:
        if len(salt) < LEAST_SALT:
            raise UsageError(
                f"{parameter('salt')}: {len(salt)} characters, expected at least {LEAST_SALT}: "
                "anyone who guesses the salt can find the names"
            )
        self._key = salt.encode(errors="surrogateescape")

    def make(self, field: str, name: str) -> str:
        """Return the pseudonym of a name."""
        text = f"{field}\0{name}".encode(errors="backslashreplace")
        return hmac.new(self._key, text, hashlib.sha256).hexdigest()[:_SHOWN]


class Names:
    """Collects the names in a ``field``, each with a place in order of appearance.

    :meth:`numbers` returns their numbers in the log at the end, which do not depend on that order.
    """

    def __init__(self, field: str, pseudonyms: Pseudonyms | None = None) -> None:
        self.field = field
        self._pseudonyms = pseudonyms
        self._places: dict[str, int] = {}
        self._firsts: list[int] = []
        """When each name first came up."""

    def place(self, name: str, submit: int) -> int:
        """Return the place of the name of a job, -1 if it is unknown."""
        if not name:
            return UNKNOWN
        place = self._places.setdefault(name, len(self._places))
        if place == len(self._firsts):
            self._firsts.append(submit)
        elif submit < self._firsts[place]:
            self._firsts[place] = submit
        return place

    def numbers(self) -> list[int]:
        """Return the number in the log of each place, and -1 at the end, for the place -1.

        Pseudonyms are numbered from 1 in their order, which hides the order of names. Names that
        are all whole numbers are their own; others are numbered by their first submission.
        """
        names = list(self._places)
        if self._pseudonyms is None and all(map(_NUMBER.fullmatch, names)):
            return [*map(int, names), UNKNOWN]
        keys = self._shown() if self._pseudonyms else zip(self._firsts, names, strict=True)
        order = sorted((key, place) for place, key in enumerate(keys))
        numbers = [UNKNOWN] * (len(names) + 1)
        for number, (_, place) in enumerate(order, start=1):
            numbers[place] = number
        return numbers

    def by_number(self) -> list[tuple[int, str]]:
        """Return pairs of number and name (or pseudonym) on one line, by ascending number."""
        return sorted(zip(self.numbers(), self._shown(), strict=False))

    def _shown(self) -> list[str]:
        if self._pseudonyms is None:
            return [one_line(name) for name in self._places]
        return [self._pseudonyms.make(self.field, name) for name in self._places]
