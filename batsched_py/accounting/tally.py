"""What an import left out, and what it took in a way that a reader should know: counted."""

from __future__ import annotations

from collections import Counter

from batsched_py.accounting.records import JobRecord, MalformedRecordError
from batsched_py.errors import InputError, parameter
from batsched_py.workload.swf import SHOWN_LINES


class Tally:
    """Counts by reason, each a clause that a number follows: ``steps of jobs (3)``."""

    def __init__(self, *, skip_bad_lines: bool = False, show_values: bool = True) -> None:
        self.dropped: Counter[str] = Counter()
        """Records that are no job of the log."""
        self.noted: Counter[str] = Counter()
        """Jobs, or times of them, that are in the log."""
        self.lines = 0
        self._skip, self._show_values = skip_bad_lines, show_values
        self._bad = 0
        self._bad_places: list[str] = []

    def malformed(self, path: str, line: int, place: str, error: MalformedRecordError) -> None:
        """Leave a line out, or raise :class:`InputError` for it.

        ``place`` names it without the path, which may tell somebody's name.
        """
        if not self._skip:
            text = error.text(with_value=self._show_values)
            raise InputError(
                f"{path}:{line}: {text}; {parameter('skip_bad_lines')} leaves such lines out"
            )
        self._bad += 1
        if len(self._bad_places) < SHOWN_LINES:
            self._bad_places.append(place)

    def started(self, job: JobRecord, start: int, end: int) -> int:
        """Set the start of a job; returns for how long it had its processors.

        Raises :class:`MalformedRecordError` for an end before the start.
        """
        if end < start:
            raise MalformedRecordError("the end is before the start")
        if start < job.submit:
            self.noted["jobs started before they were submitted: submitted at their start"] += 1
            job.submit = start
        job.start = start
        return end - start

    def notes(self) -> list[str]:
        """Return a sentence for each reason, without any name."""
        texts = [f"left out: {reason} ({count})" for reason, count in sorted(self.dropped.items())]
        if self._bad:
            some = ", ".join(self._bad_places) + (", ..." if self._bad > SHOWN_LINES else "")
            texts.append(f"left out: bad lines ({self._bad}): {some}")
        return texts + [f"{reason} ({count})" for reason, count in sorted(self.noted.items())]
