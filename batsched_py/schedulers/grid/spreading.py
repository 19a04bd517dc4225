"""Rules for spreading jobs over several sites, and for the number of fragments.

Source: A. Streit's thesis, 2003, chapter 7; section 7.3.3 for the lower bound, table 7.5 for the
limits of fragments.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from math import inf
from typing import Any

from batsched_py.errors import UsageError
from batsched_py.model.site import Site
from batsched_py.options.option_values import one_of, whole_number

LIMITED = "1-32:1,33-64:1,65-128:2,129-512:8"
"""Table 7.5, limited: the most fragments of a job by its width."""
_PART = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?:([0-9]{1,9})")

Fragments = list[tuple[Site, int]]
"""The sites of a job, each with the number of its processors there."""


class Spreading:
    """The rule that says which jobs may be spread over sites.

    Jobs wider than ``lower_bound`` may be spread (``bound="above"``), or jobs at least as wide
    (``"from"``; the thesis allows both interpretations). ``fragments`` is ``unlimited``,
    ``limited`` (table 7.5), or a table such as ``1-64:1,65-512:8``: the most fragments by width. A
    job that is wider than each site is spread whatever the bound.
    """

    def __init__(self, lower_bound: int, bound: str, fragments: str) -> None:
        least = whole_number("lower_bound", lower_bound, 0)
        above = one_of("bound", bound, ("above", "from")) == "above"
        self._least = least + 1 if above else least
        self._ends, self._most = _table(LIMITED if fragments == "limited" else fragments)

    @property
    def unlimited(self) -> bool:
        """Whether a job may be in any number of fragments."""
        return not self._ends

    def allows(self, width: int, sites: Sequence[Site]) -> bool:
        """Tell whether a job of ``width`` processors may be spread over ``sites``."""
        return width >= self._least or all(width > site.nb_processors for site in sites)

    def most_fragments(self, width: int) -> float:
        """Return the most fragments of a job of ``width`` processors; inf: any number.

        Raises :class:`UsageError` where the table ends below ``width``.
        """
        if not self._ends:
            return inf
        at = bisect_left(self._ends, width)
        if at == len(self._ends):
            raise UsageError(
                f"fragments: the table ends at {self._ends[-1]} processors, but there is a job of "
                f"{width}"
            )
        return self._most[at]

    def never_fits(self, width: int, sites: Sequence[Site]) -> bool:
        """Tell whether a job of ``width`` processors cannot even run on idle ``sites``."""
        sizes = sorted((site.nb_processors for site in sites), reverse=True)
        if width <= sizes[0]:
            return False
        return sum(sizes[: int(min(self.most_fragments(width), len(sizes)))]) < width


def _table(text: Any) -> tuple[list[int], list[int]]:
    """Read a table of fragments; return the last width and the number of each row."""
    ends: list[int] = []
    most: list[int] = []
    if text == "unlimited":
        return ends, most
    given = f"fragments={text}"
    for part in str(text).split(","):
        match = _PART.fullmatch(part.strip())
        if match is None:
            raise UsageError(
                f"{given}: {part.strip()!r}, expected unlimited, limited, or a table such as "
                "1-64:1,65-512:8 (widths: most fragments)"
            )
        first, last, number = int(match[1]), int(match[2] or match[1]), int(match[3])
        expected = ends[-1] + 1 if ends else 1
        if first != expected or last < first:
            raise UsageError(
                f"{given}: the row {part.strip()} must begin at {expected}, and not end before: "
                "each width is there once, without holes"
            )
        if number < 1:
            raise UsageError(f"{given}: {number} fragments of {part.strip()}, expected at least 1")
        ends.append(last)
        most.append(number)
    return ends, most
