"""Counts the records that an import left out, and the values that it had to interpret."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from batsched_py.accounting.records import JobRecord, MalformedRecordError
from batsched_py.errors import InputError, parameter
from batsched_py.workload.logs.swf import SHOWN_LINES, UNKNOWN


class Tally:
    """Counts by reason, each a clause that a number follows: ``steps of jobs (3)``."""

    def __init__(self, *, skip_bad_lines: bool = False, show_values: bool = True) -> None:
        self.dropped: Counter[str] = Counter()
        """Records that are not jobs of the log."""
        self.noted: Counter[str] = Counter()
        """Jobs, or times of them, that are in the log."""
        self.lines = 0
        self._skip, self._show_values = skip_bad_lines, show_values
        self._bad = 0
        self._bad_places: list[str] = []

    def leave_out(self, path: str, line: int, place: str, error: MalformedRecordError) -> None:
        """Leave a line out, or raise :class:`InputError` for it.

        ``place`` names it without the path, which may have the name of a user.
        """
        if not self._skip:
            text = error.text(with_value=self._show_values)
            raise InputError(
                f"{path}:{line}: {text}; {error.cure}; {parameter('skip_bad_lines')} leaves such "
                "lines out, which may bias the log"
            )
        self._bad += 1
        if len(self._bad_places) < SHOWN_LINES:
            self._bad_places.append(place)

    def set_start(self, job: JobRecord, start: int, end: int) -> int:
        """Set the start of a job; returns the seconds for which it had its processors.

        Raises :class:`MalformedRecordError` for an end before the start.
        """
        if end < start:
            raise MalformedRecordError("the end is before the start")
        if start < job.submit:
            self.noted["jobs started before they were submitted: submitted at their start"] += 1
            job.submit = start
        job.start = start
        return end - start

    def set_withdrawn(self, job: JobRecord, end: int) -> None:
        """Set the time at which a job that never started left the queue; -1 if it is unknown."""
        if UNKNOWN < end < job.submit:
            self.noted["jobs left the queue before they were submitted: their wait is unknown"] += 1
            end = UNKNOWN
        job.withdrawn = end

    def set_eligible(self, job: JobRecord, instants: Sequence[int], *, is_submission: bool) -> None:
        """Set the time at which a job became eligible, after dependencies and begin times.

        ``instants`` are what its time may mean. If it ``is_submission`` it takes the place of that,
        but not after the start, or after the job was withdrawn.
        """
        later = [time for time in instants if time > job.submit]
        if is_submission and not instants:
            self.noted["jobs without a time of eligibility: submitted at their submission"] += 1
        if not later:
            return
        if (left := max(job.start, job.withdrawn)) >= 0:
            later = [time for time in later if time <= left] or [left]
        if is_submission and later[0] > job.submit:
            self.noted["jobs became eligible after their submission: submitted when eligible"] += 1
            job.submit = later[0]
        elif job.submit < later[0]:
            job.extras = job.extras._replace(eligible_s=later[0] - job.submit)
            if job.start >= 0:
                self.noted[
                    "jobs could not start when they were submitted (dependencies, begin times, "
                    "limits): their wait includes this time"
                ] += 1

    def notes(self) -> list[str]:
        """Return a sentence for each reason, without any name."""
        texts = [
            f"left out: {reason} ({count})" for reason, count in sorted((+self.dropped).items())
        ]
        if self._bad:
            some = ", ".join(self._bad_places) + (", ..." if self._bad > SHOWN_LINES else "")
            texts.append(f"left out: bad lines ({self._bad}): {some}")
        return texts + [f"{reason} ({count})" for reason, count in sorted((+self.noted).items())]
