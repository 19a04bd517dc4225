"""The names that were ever given, kept small."""

from __future__ import annotations

from collections.abc import Iterator

MOST_LATEST = 1 << 16
"""Names that are kept as they are: a set is the fastest there is."""
_DIGITS = 3
"""Earlier names that differ in this many last digits share one entry."""


class UsedNames:
    """A set of names that only grows: ``name in used``, ``used.add(name)``.

    When there are many, those that end with running numbers (``dyn!1``, ``dyn!2``, ...) take
    about a bit each, in whatever order they come: what stands before the last three digits is the
    key of a bit mask over those digits. All others take as much as in a set.
    """

    __slots__ = ("_latest", "_masks", "_most_latest", "_others")

    def __init__(self, most_latest: int = MOST_LATEST) -> None:
        self._most_latest = most_latest
        self._latest: set[str] = set()
        self._masks: dict[str, int] = {}
        self._others: set[str] = set()

    def __contains__(self, name: str) -> bool:
        if name in self._latest:
            return True
        return bool(self._masks or self._others) and self._is_earlier(name)

    def add(self, name: str) -> bool:
        """Add a name; return whether it is new."""
        latest = self._latest
        if name in latest or ((self._masks or self._others) and self._is_earlier(name)):
            return False
        latest.add(name)
        if len(latest) > self._most_latest:
            self._pack()
        return True

    def entries(self) -> Iterator[int]:
        """Yield how many entries each part has: what the memory is proportional to."""
        yield from map(len, (self._latest, self._masks, self._others))

    def _is_earlier(self, name: str) -> bool:
        mask = self._masks.get(name[:-_DIGITS])
        if mask is None:
            return name in self._others
        number = _number(name)
        return name in self._others if number is None else bool(mask >> number & 1)

    def _pack(self) -> None:
        masks = self._masks
        for name in self._latest:
            number = _number(name)
            if number is None:
                self._others.add(name)
            else:
                head = name[:-_DIGITS]
                masks[head] = masks.get(head, 0) | 1 << number
        self._latest.clear()


def _number(name: str) -> int | None:
    """Return the last digits of a name as a number, None unless there are so many."""
    tail = name[-_DIGITS:]
    return int(tail) if len(tail) == _DIGITS and tail.isascii() and tail.isdigit() else None
