"""Our columns of ``_jobs.csv``, and a check that tables can hold the fields of a job.

It checks every job of files, users and messages.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from batsched_py.errors import JobError
from batsched_py.protocol.batsim_jobs_columns import SECONDS, TEXT
from batsched_py.support.json_values import quote
from batsched_py.workload.workload import ORIGINAL_SUBMISSION

ADDED_COLUMNS = {
    "user": TEXT,
    "session": TEXT,
    ORIGINAL_SUBMISSION: SECONDS,
    "lateness": SECONDS,
}
"""Our columns of ``_jobs.csv``, which come after Batsim's, with their units."""
WITHDRAWAL = "withdrawal_time"
"""The column of the times at which users withdrew their jobs."""
WAKING = "waking"
"""The column of the seconds that jobs waited for processors to wake, a part of their wait."""
FURTHER_COLUMNS = {
    "batch": TEXT,
    "think_time": SECONDS,
    "behaviour": TEXT,
    "estimate": SECONDS,
    "home": TEXT,
    "dilation": "a ratio",
    "transfer": SECONDS,
    "lever": TEXT,
    "wished_submission_time": SECONDS,
    "partition": TEXT,
    "group": TEXT,
    "queue": TEXT,
    "deadline": SECONDS,
    WAKING: SECONDS,
    WITHDRAWAL: SECONDS,
}
"""Columns after those, each only if a job of the run has it."""
_AS_THEY_COME = {
    name: unit
    for name, unit in (ADDED_COLUMNS | FURTHER_COLUMNS).items()
    if name not in ("user", "lateness", "estimate", WITHDRAWAL)
}
_TEXTS = frozenset(name for name, unit in _AS_THEY_COME.items() if unit == TEXT)
_NUMBERS = {name: unit for name, unit in _AS_THEY_COME.items() if unit != TEXT}
_UNREADABLE = re.compile("[\0\r\n\ud800-\udfff]")


def check_fields(job_id: str, texts: Sequence[Any], extra: Mapping[str, Any]) -> None:
    """Raise :class:`JobError` for a field of a job that no table of a run can hold.

    ``texts`` are its profile and its user, which may be None. Of ``extra``, its further fields,
    those of our columns are checked. The codec, and
    :func:`~batsched_py.workload.workload.with_plain_values`, check its numbers.
    """
    if not f"{job_id}{texts[0]}{texts[1]}".isprintable():  # which is quick to find out
        for name, value in zip(("id", "profile", "user"), (job_id, *texts), strict=True):
            _check_text(job_id, name, value)
    for name, value in extra.items():
        if name in _NUMBERS:
            if value is not None and not (type(value) is float and isfinite(value)):
                _check_number(job_id, name, value)
        elif isinstance(value, str) and name in _TEXTS and not value.isprintable():
            _check_text(job_id, name, value)


def _check_number(job_id: str, name: str, value: Any) -> None:
    try:
        number = None if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = None
    if number is None or (name == ORIGINAL_SUBMISSION and not isfinite(number)):
        raise JobError(f"job {job_id!r}: {name} is {_shown(value)}, expected {_NUMBERS[name]}")


def _check_text(job_id: str, name: str, value: Any) -> None:
    if isinstance(value, str) and _UNREADABLE.search(value):
        raise JobError(
            f"job {job_id!r}: {name} is {_shown(value)}, expected a text without line breaks, zero "
            "bytes and halves of surrogates"
        )


def _shown(value: Any) -> str:
    text = ascii(value) if isinstance(value, str) else quote(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
