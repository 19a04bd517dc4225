"""Read and write logs in the Standard Workload Format.

Source of the format: Chapin et al., JSSPP 1999, and the header of D. Feitelson's archive of
parallel workloads. Times are in seconds from the start of the log; -1 means unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from gzip import GzipFile
from io import BytesIO, TextIOWrapper
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from batsched_py.errors import LogError, parameter
from batsched_py.files.readers import read_bytes, unpack
from batsched_py.files.writers import encode_lines, whole_file
from batsched_py.options.option_values import finite
from batsched_py.processors.sets import MOST_PROCESSORS
from batsched_py.units import LATEST_TIME, UP_TO_LATEST_TIME

FIELDS = (
    "job_number",
    "submit_time",
    "wait_time",
    "run_time",
    "allocated_processors",
    "average_cpu_time",
    "used_memory",
    "requested_processors",
    "requested_time",
    "requested_memory",
    "status",
    "user",
    "group",
    "executable",
    "queue",
    "partition",
    "preceding_job",
    "think_time",
)
"""The 18 fields of a line, in order."""
NAMED = ("user", "group", "executable", "queue", "partition")
"""The fields that number names, in their order."""
UNKNOWN = -1
FAILED, COMPLETED, CANCELLED = 0, 1, 5
"""The status of a job that failed, that completed, and that was cancelled."""

_HEADER = re.compile(r";\s*([A-Za-z][\w ]*?)\s*:(?!//)\s*(.*)")
FRACTIONAL = frozenset((1, 2, 3, 5, 6, 8, 9, 17))
"""Indices of times and memory; all other fields are integers."""
LARGEST_INTEGER = 2.0**53
"""Above this, floats do not hold every integer."""
_PARTIAL = (2, 3, 4)
"""Status of a burst: to be continued, the last one and completed, the last one and failed."""
SHOWN_LINES = 5
"""Line numbers that are named in a note."""

Column = NDArray[np.float64]
Mask = NDArray[np.bool_]


class LeftOut(msgspec.Struct, frozen=True):
    """The bad lines of a log that were left out."""

    what: str
    """``lines``, or the ``rows`` of a data frame."""
    lines: list[int]
    """Their numbers, as in :attr:`SwfLog.lines`."""
    names: list[str]
    """Their line numbers, or their labels in the data frame, for messages."""

    def note(self, last_line: float) -> list[str]:
        """Return a note on the bad lines up to ``last_line``; no note if there are none."""
        names = [
            name for line, name in zip(self.lines, self.names, strict=True) if line <= last_line
        ]
        if not names:
            return []
        some = ", ".join(names[:SHOWN_LINES]) + (", ..." if len(names) > SHOWN_LINES else "")
        return [f"{len(names)} bad {self.what} were left out: {some}"]


class SwfLog(msgspec.Struct, eq=False):
    """A log: its header and its jobs in submission order, as columns.

    ``data`` has shape (n, 18); :meth:`column` gives a field of it, shape (n,). ``lines`` has the
    line number of each job in the file.
    """

    path: Path
    header_lines: list[str]
    data: Column
    lines: NDArray[np.int64]
    about: list[str]
    """Sentences on what was found and changed: times sorted, ..."""
    left_out: LeftOut | None = None
    further: dict[str, list[Any]] = {}
    """Kept columns of a data frame that SWF does not have, by name; None is unknown."""

    def __len__(self) -> int:
        """Return the number of jobs."""
        return len(self.data)

    @property
    def notes(self) -> list[str]:
        """Sentences on the reading of the log, such as left-out lines."""
        return self.notes_until(np.inf)

    def notes_until(self, last_line: float) -> list[str]:
        """Return the notes, with the left-out lines up to ``last_line``."""
        return [*(self.left_out.note(last_line) if self.left_out else []), *self.about]

    def column(self, field: str) -> Column:
        """Return the column of one of :data:`FIELDS`, shape (n,)."""
        return self.data[:, FIELDS.index(field)]

    @property
    def sizes(self) -> Column:
        """The processors that jobs request, or got where the request is unknown; shape (n,)."""
        requested = self.column("requested_processors")
        return np.where(requested > 0, requested, self.column("allocated_processors"))

    @property
    def withdrawn(self) -> NDArray[np.bool_]:
        """Mask of the jobs that were cancelled before they started: status 5, no run time; (n,).

        Their wait, if it is known, is the time until they left the queue. In a log that has unknown
        run times (-1) for them, a job of 0 s that got processors did start.
        """
        cancelled, run = self.column("status") == CANCELLED, self.column("run_time")
        withdrawn: Mask = cancelled & (run <= 0)
        if (cancelled & (run < 0)).any():
            withdrawn &= (run < 0) | (self.column("allocated_processors") <= 0)
        return withdrawn

    @property
    def known_waits(self) -> Column:
        """The recorded waits of jobs for their start, seconds, without withdrawn jobs."""
        wait = self.column("wait_time")
        return wait[(wait >= 0) & ~self.withdrawn]

    @property
    def header(self) -> list[tuple[str, str]]:
        """The header's fields in order; a key such as Note may come several times."""
        matches = filter(None, (_HEADER.fullmatch(line.strip()) for line in self.header_lines))
        return [(match[1], match[2].strip()) for match in matches]

    def header_field(self, key: str) -> str | None:
        """Return the first value of a header field, None if it is absent."""
        return next((value for name, value in self.header if name == key), None)

    @property
    def max_processors(self) -> int:
        """Processors of the machine: MaxProcs, else MaxNodes, else the largest job's size."""
        announced = self._machine("MaxProcs") or self._machine("MaxNodes")
        if announced:
            return announced
        sizes = np.maximum(self.column("requested_processors"), self.column("allocated_processors"))
        return max(1, int(sizes.max()))

    @property
    def says_size(self) -> bool:
        """Whether the header has the number of processors of the machine."""
        return self._machine("MaxProcs") > 0

    def _machine(self, key: str) -> int:
        """Return the number in the header, 0 if no machine can have it."""
        match = re.match(r"0*(\d{1,8})(?!\d)", self.header_field(key) or "")
        size = int(match[1]) if match else 0
        return size if size <= MOST_PROCESSORS else 0


def read_swf(path: str | Path, *, skip_bad_lines: bool = False) -> SwfLog:
    """Read a log, plain or gzipped (by content, not by name).

    A malformed line, a negative submit time, a time beyond :data:`~batsched_py.units.LATEST_TIME`
    and a job number that was there before are errors with file and line; with ``skip_bad_lines``
    such lines are left out and counted in the notes.
    Unsorted submit times are sorted, which is noted. The rows of :func:`find_bursts` are left out
    and counted in the notes. Raises :class:`LogError`.
    """
    path = Path(path)
    content = _content(path)
    left_out = None
    header, start = _split_header(content)
    data = _parse_all(content, start)
    if data is not None:
        first = content.count(b"\n", 0, start) + 1
        lines = np.arange(first, first + len(data), dtype=np.int64)
    else:
        header, rows, numbers = _split(content.decode("latin-1"))
        if not rows:
            raise LogError(f"{path}: there are no jobs in it: expected an SWF log")
        lines = np.asarray(numbers, dtype=np.int64)
        data = _parse_all("\n".join(rows).encode("latin-1"), 0)  # only comments in between?
    if data is None:
        data, lines, parts, left_out = _parse(path, rows, numbers, skip_bad_lines)
    else:
        parts = find_bursts(data)
    return log_from_rows(path, header, data, lines, [], parts, left_out)


def find_bursts(data: Column) -> Mask:
    """Return the rows of a log that are bursts: parts of a job that has a row for the whole too.

    A job that was checkpointed or swapped out has a row with status 0 or 1 for the whole, and then
    one with status 2, 3 or 4 for each burst. ``data`` has shape (n, 18), the mask (n,).
    Source: the archive's definition of the format, field 11.
    """
    number, is_part = data[:, 0], np.isin(data[:, FIELDS.index("status")], _PARTIAL)
    if not is_part.any():
        return is_part
    return is_part & np.isin(number, number[~is_part])


def find_bad(data: Column, parts: Mask) -> dict[str, Mask]:
    """Return the rows with a value that makes no sense, by field.

    ``data`` has shape (n, 18) and nan for a value that is not a number. Of rows that are ``parts``
    of jobs, numbers are enough.
    """
    bad = {}
    for at, field in enumerate(FIELDS):
        column = data[:, at]
        bad[field] = ~np.isfinite(column)
        if at not in FRACTIONAL:
            bad[field] |= (column != np.floor(column)) | (np.abs(column) > LARGEST_INTEGER)
    bad["submit_time"] |= ~parts & (data[:, 1] < 0)
    times = np.abs(data[:, 1:4])  # submit, wait and run time
    with np.errstate(over="ignore"):
        late = ~parts & (times.sum(axis=1) > LATEST_TIME)
    for at, field in enumerate(FIELDS[1:4] if late.any() else ()):
        bad[field] |= late & (times.argmax(axis=1) == at)
    rows = np.flatnonzero(~np.logical_or.reduce([parts, *bad.values()]))
    numbers = data[rows, 0]
    if not (np.diff(numbers) > 0).all():
        is_again = np.ones(len(rows), dtype=np.bool_)
        is_again[np.unique(numbers, return_index=True)[1]] = False
        bad["job_number"][rows[is_again]] = True
    return bad


def describe_expected(field: str) -> str:
    """Return the values that a field of a log may have, as text for messages."""
    if field == "submit_time":
        return f"at least 0, {UP_TO_LATEST_TIME}"
    if field in FIELDS[1:4]:
        return f"a number: {UP_TO_LATEST_TIME}"
    if field == "job_number":
        return "an integer that no other job has"
    return "a number" if FIELDS.index(field) in FRACTIONAL else "an integer"


def log_from_rows(
    path: Path,
    header: list[str],
    data: Column,
    lines: NDArray[np.int64],
    notes: list[str],
    parts: Mask,
    left_out: LeftOut | None,
) -> SwfLog:
    """Return a log of jobs in submission order, without the rows that are ``parts`` of jobs.

    What is noteworthy is added to ``notes``.
    """
    if parts.any():
        notes.append(
            f"{parts.sum()} bursts of {len(np.unique(data[parts, 0]))} jobs were left out (status "
            "2, 3, 4): each of these jobs has a line for the whole"
        )
        data, lines = data[~parts], lines[~parts]
    order = np.argsort(data[:, 1], kind="stable")
    moved = int((order != np.arange(len(order))).sum())
    if moved:
        notes.append(f"submit times were not in order: sorting moved {moved} jobs")
        data, lines = data[order], lines[order]
    log = SwfLog(path, header, data, lines, notes, left_out)
    if not log.says_size:
        source = "MaxNodes" if log._machine("MaxNodes") else "the size of the largest job"
        value = log.header_field("MaxProcs")
        is_number = value is not None and re.match("0*[1-9]", value)
        what = f"MaxProcs {value[:30]} is too large" if value and is_number else "no MaxProcs"
        notes.append(f"{what} in the header: {log.max_processors} processors from {source}")
    return log


def order_fields(fields: Mapping[str, float]) -> list[float]:
    """Return the 18 :data:`FIELDS` of a job from its known fields; unknown ones are -1."""
    return [fields.get(name, UNKNOWN) for name in FIELDS]


def write_swf(
    path: str | Path, header_lines: Iterable[str], rows: Iterable[Sequence[float]]
) -> None:
    """Write a log, gzipped if ``path`` ends with ``.gz``; the same content gives the same bytes.

    ``header_lines`` begin with ``;``; each row has the 18 :data:`FIELDS`. Rows are written as they
    come: there may be more than memory holds.
    """
    with whole_file(path) as part:
        write_swf_to(part, header_lines, rows, packed=Path(path).suffix == ".gz")


def write_swf_to(
    part: Path, header_lines: Iterable[str], rows: Iterable[Sequence[float]], *, packed: bool
) -> None:
    """Write a log as :func:`write_swf` does, to a temporary file that the caller puts in place.

    Headers are Latin-1; other letters become escapes such as ``\\u0142``.
    """
    lines = chain(header_lines, (" ".join(map(_field, row)) for row in rows))
    parts = encode_lines((f"{line}\n" for line in lines), "latin-1", errors="backslashreplace")
    with open(part, "wb") as file:
        if not packed:
            file.writelines(parts)
            return
        with GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as gzip:
            gzip.writelines(parts)


def _field(value: float) -> str:
    if type(value) is int:
        return str(value)
    return str(int(value)) if value == int(value) else repr(float(value))


def _content(path: Path) -> bytes:
    content = unpack(read_bytes(path, LogError), path, LogError)
    if b"\0" in content:
        raise LogError(f"{path}: a binary file: expected an SWF log, plain or gzipped")
    return content.replace(b"\r\n", b"\n") if b"\r" in content else content


def _split_header(content: bytes) -> tuple[list[str], int]:
    """Return the comments before the first job, and the offset of that job's line."""
    header: list[str] = []
    start = 0
    for line in BytesIO(content):
        text = line.decode("latin-1").strip()  # names of users: any byte is a letter
        if text and text[0] != ";":
            break
        if text:
            header.append(text)
        start += len(line)
    return header, start


def _split(text: str) -> tuple[list[str], list[str], list[int]]:
    """Return header lines, job lines, and the line numbers of the latter."""
    header, rows, numbers = [], [], []
    for number, line in enumerate(text.split("\n"), start=1):
        stripped = line.strip()
        if not stripped:
            continue
        if stripped[0] == ";":
            header.append(stripped)
        else:
            rows.append(stripped)
            numbers.append(number)
    return header, rows, numbers


def _parse(
    path: Path, rows: list[str], numbers: list[int], skip: bool
) -> tuple[Column, NDArray[np.int64], Mask, LeftOut | None]:
    """Return the columns, line by line to find bad ones; the way for logs that are not tidy."""
    data = np.array([_read_numbers(row) for row in rows])
    lines = np.asarray(numbers, dtype=np.int64)
    parts = find_bursts(data)
    bad = find_bad(data, parts)
    is_bad = np.logical_or.reduce([*bad.values()])
    if is_bad.any() and not skip:
        at = int(is_bad.argmax())
        problem = _describe_fault(rows[at], next(field for field in FIELDS if bad[field][at]))
        raise LogError(
            f"{path}:{numbers[at]}: {problem}: {rows[at][:120]!r}; "
            f"{parameter('skip_bad_lines')} leaves such lines out"
        )
    if (is_bad | parts).all():
        raise LogError(f"{path}: none of its {len(rows)} lines is a job: expected an SWF log")
    left_out = lines[is_bad].tolist()
    good = ~is_bad
    return (
        *(data[good], lines[good], parts[good]),
        LeftOut("lines", left_out, list(map(str, left_out))) if left_out else None,
    )


def _parse_all(content: bytes, start: int) -> Column | None:
    """Return the columns at once; None unless every line from ``start`` on is a good job.

    The bytes are read as a stream: a list of two million lines would take a gigabyte.
    """
    stream = BytesIO(content)
    stream.seek(start)
    if start >= len(content):
        return None
    try:
        data: Any = np.loadtxt(
            TextIOWrapper(stream, encoding="latin-1"), dtype=np.float64, ndmin=2, comments=None
        )
    except ValueError:
        return None
    nb_lines = content.count(b"\n", start) + (not content.endswith(b"\n"))
    if data.shape != (nb_lines, len(FIELDS)):
        return None
    bad = find_bad(data, find_bursts(data))
    return None if any(rows.any() for rows in bad.values()) else data


def _read_numbers(row: str) -> list[float]:
    """Return the 18 numbers of a line, nan where there is none."""
    fields = row.split()
    if len(fields) != len(FIELDS):
        return [np.nan] * len(FIELDS)
    return [np.nan if "_" in text else finite(text) for text in fields]


def _describe_fault(row: str, field: str) -> str:
    """Return what is wrong with a line whose first bad field is ``field``."""
    fields = row.split()
    if len(fields) != len(FIELDS):
        return f"{len(fields)} fields, expected {len(FIELDS)}"
    return f"{field} is {fields[FIELDS.index(field)]!r}, expected {describe_expected(field)}"
