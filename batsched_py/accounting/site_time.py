"""Converts the times of a site's clocks to Unix times, also if an hour occurs twice.

Where clocks are put back, an hour comes twice, and what they showed in it was two instants; where
they are put forward, an hour does not exist. Zones are those of the IANA time zone database.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from itertools import product

from batsched_py.accounting.records import NO_VALUES, refuse
from batsched_py.accounting.tally import Tally
from batsched_py.workload.logs.clock import LATEST, parse_time_zone
from batsched_py.workload.logs.swf import UNKNOWN

Instants = tuple[int, ...]
"""Unix times that a text may mean, ascending: none if nothing is known, two in an hour that comes
twice."""
EARLIEST = 631_152_000
"""Unix time of 1990: an earlier one is a date without its marks, or a length of time."""
EXPECTED = "a time such as 2024-03-01T12:00:00, or seconds since 1970"
_FORM = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?", re.ASCII)


class SiteClock:
    """Reads the times of records that were written in a ``time_zone``.

    Raises :class:`InputError` for a zone that there is not.
    """

    def __init__(self, time_zone: str, tally: Tally) -> None:
        self._zone = parse_time_zone(time_zone)
        self._noted = tally.noted

    def read_instants(self, column: str, text: str) -> Instants:
        """Return the Unix times that a text may mean; raises :class:`MalformedRecordError`."""
        if text in NO_VALUES:
            return ()
        if text.isascii() and text.isdigit() and len(text) < 12:
            return (_checked(column, text, int(text)),)
        if not _FORM.fullmatch(text):
            refuse(column, text, EXPECTED)
        try:
            shown = datetime.fromisoformat(text)
        except ValueError:
            refuse(column, text, EXPECTED)
        if shown.tzinfo is not None:
            return (_checked(column, text, int(shown.timestamp())),)
        second = int(shown.replace(tzinfo=UTC).timestamp())
        first, later = self._offsets(shown)
        instant = _checked(column, text, second - first)
        if first < later:  # the clock never showed it: as if it had not been put forward
            self._noted["times are in an hour that the clock skipped: taken as an hour later"] += 1
        return (instant,) if first <= later else (instant, second - later)

    def _offsets(self, shown: datetime) -> tuple[int, int]:
        """Return the offsets from UTC when a clock showed a time first and last: mostly equal."""
        first, later = (
            shown.replace(tzinfo=self._zone, fold=fold).utcoffset() or timedelta()
            for fold in (0, 1)
        )
        return int(first.total_seconds()), int(later.total_seconds())

    def put_in_order(
        self, submit: Instants, start: Instants, end: Instants, lengths: tuple[int, ...] = ()
    ) -> tuple[int, int, int]:
        """Choose submission, start and end among the possible times; -1 where there is none.

        For times in an hour that comes twice it is the first for which ``submit <= start <= end``
        and the end is one of ``lengths`` (seconds, if they are known) after the start.
        """
        none = (UNKNOWN,)
        every = list(product(submit or none, start or none, end or none))
        if len(every) == 1:
            return every[0]
        known = ([time for time in times if time != UNKNOWN] for times in every)
        orders = [
            times for times, there in zip(every, known, strict=True) if there == sorted(there)
        ]
        exact = [times for times in orders if times[1] >= 0 and times[2] - times[1] in lengths]
        possible = exact or orders or every
        rule = "taken as the first" if len(possible) > 1 else "decided by their order and length"
        self._noted[f"jobs have times in an hour that the clock repeated: {rule}"] += 1
        return possible[0]


def _checked(column: str, text: str, instant: int) -> int:
    if not EARLIEST <= instant <= LATEST:
        refuse(column, text, f"{EXPECTED}, from 1990 on")
    return instant
