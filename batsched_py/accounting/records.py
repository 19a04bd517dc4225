"""Defines the record of a job, the same for all accounting systems, and reads its values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from hashlib import blake2b
from math import isnan
from typing import NamedTuple, NoReturn

import msgspec

from batsched_py.files.csv_text import protect_cell
from batsched_py.options.durations import parse_slurm_time
from batsched_py.processors.sets import MOST_PROCESSORS
from batsched_py.support.json_values import quote
from batsched_py.support.terminal_text import one_line
from batsched_py.workload.logs.swf import UNKNOWN

NO_VALUES = frozenset(("", "(null)", "NULL", r"\N", "None", "Unknown", "N/A", "n/a"))
"""What programs write where they know nothing."""


class Extras(NamedTuple):
    """The columns of the table of resources, and more of a record that a log has no field for.

    -1 and "" are unknown. Amounts are of the whole job; of a job that never ran, ``cores``,
    ``nodes``, ``memory_mib`` and ``gpus`` are what it requested.
    """

    id: str = ""
    """At the site."""
    run: int = 1
    first_run: int = UNKNOWN
    cores: int = UNKNOWN
    nodes: int = UNKNOWN
    memory_mib: int = UNKNOWN
    gpus: int = UNKNOWN
    gpu_type: str = ""
    chunks: str = ""
    """Parts of its nodes in their order, as PBS writes them."""
    exclusive: str = ""
    """``1`` if it had whole nodes."""
    requested_cores: int = UNKNOWN
    requested_memory_mib: int = UNKNOWN
    requested_gpus: int = UNKNOWN
    billing: int = UNKNOWN
    reason: str = ""
    reservation: str = ""
    eligible_s: int = UNKNOWN
    ended_by: str = ""
    """``preempted``, ``requeued`` or ``node`` (its failure)."""
    restarts: int = 0
    runs: int = 1
    is_special: bool = False
    """Whether it held shards or licences, or was a component of a job."""

    def cells(self, job: int) -> list[str]:
        """Return its row in the table of resources, of the job with this number in the log.

        Chunks are there only if its nodes held different amounts.
        """
        held = self._replace(chunks="") if self.chunks and "+" not in self.chunks else self
        cells = ["" if cell == UNKNOWN else cell for cell in (job, *held[: len(HEADER) - 1])]
        return [
            cell and protect_cell(one_line(cell)) if isinstance(cell, str) else str(cell)
            for cell in cells
        ]


HEADER = ("job", *Extras._fields[: Extras._fields.index("ended_by") + 1])
"""The columns of the table of resources."""


class JobRecord(msgspec.Struct, gc=False):
    """The record of a job or of one run of it: whole seconds, kB, processors; -1 and "": unknown.

    Times are Unix times. ``requested_memory`` and ``memory`` are of a processor.
    """

    number: int
    """Of the job at the site, which orders jobs that were submitted at the same second."""
    index: int
    """In an array of jobs or among the components of one."""
    submit: int
    start: int = UNKNOWN
    withdrawn: int = UNKNOWN
    """When a job that never started left the queue."""
    run_time: int = UNKNOWN
    allocated: int = UNKNOWN
    requested: int = UNKNOWN
    requested_time: int = UNKNOWN
    cpu_time: int = UNKNOWN
    """Of a processor, on average."""
    memory: int = UNKNOWN
    requested_memory: int = UNKNOWN
    status: int = UNKNOWN
    nodes: int = UNKNOWN
    """That it was on."""
    user: str = ""
    group: str = ""
    job_name: str = ""
    queue: str = ""
    partition: str = ""
    cluster: str = ""
    """Which numbered the job: another may have given the same number."""
    node_names: str = ""
    """As the system writes sets of nodes; equal texts are equal sets."""
    extras: Extras = Extras()


CORRECT = "correct the line, or export the records again"
"""What to do about a line that is not a record."""


class MalformedRecordError(Exception):
    """A line is not a record; the message leaves the value out if the log is anonymised.

    ``cure`` describes how to get a record that loses nothing.
    """

    def __init__(
        self, problem: str, value: str | None = None, expected: str = "", cure: str = CORRECT
    ) -> None:
        self.problem, self.value, self.expected, self.cure = problem, value, expected, cure

    def text(self, *, with_value: bool) -> str:
        """Return the fault of the record as part of a message."""
        value = f" is {quote(self.value)}" if self.value is not None and with_value else ""
        there = f"{self.problem}{value}"
        return f"{there}: expected {self.expected}" if self.expected else there


def refuse(column: str, value: str, expected: str) -> NoReturn:
    """Raise :class:`MalformedRecordError` for a value that makes no sense."""
    raise MalformedRecordError(column, value, expected)


def clean_name(text: str) -> str:
    """Return a name, empty if it is one of the texts that programs write for unknown names."""
    return "" if text in NO_VALUES else text


def set_names(job: JobRecord, fields: Mapping[str, str]) -> None:
    """Set the names of a job, of its user and so on, by the fields that are called alike."""
    for name in ("user", "group", "queue", "job_name", "partition"):
        setattr(job, name, clean_name(fields.get(name, "")))


_COUNT = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)([KM]?)", re.ASCII)
_FACTORS = {"": 1, "K": 1024, "M": 1024**2}
_KILOBYTES = {"b": 2.0**-10, "k": 1, "m": 2.0**10, "g": 2.0**20, "t": 2.0**30, "p": 2.0**40}
_MEMORY = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)\s*([bkmgtp]?)(b?|w)", re.IGNORECASE | re.ASCII)


@lru_cache(4096)
def parse_count(column: str, text: str) -> int:
    """Return a number such as ``128`` or ``4K`` (4 * 1024); -1 if it is unknown."""
    if text in NO_VALUES:
        return UNKNOWN
    match = _COUNT.fullmatch(text)
    if not match or float(match[1]) * _FACTORS[match[2]] > MOST_PROCESSORS:
        refuse(column, text, f"a whole number up to {MOST_PROCESSORS}")
    return int(float(match[1]) * _FACTORS[match[2]])


@lru_cache(65536)
def parse_length(column: str, text: str) -> int:
    """Return a length of time in whole seconds, from a number or a text in Slurm's notation.

    A number alone is seconds; fractions are left out; -1 if nothing is known.
    """
    if text in NO_VALUES:
        return UNKNOWN
    if text.isascii() and text.isdigit() and len(text) < 12:
        return int(text)
    length = parse_slurm_time(text)
    if isnan(length):
        refuse(column, text, "a time such as 1-02:03:04, 02:03:04 or 03:04")
    return int(length)


@lru_cache(4096)
def parse_memory(column: str, text: str) -> float:
    """Return memory in kB of 1024 bytes, from ``4000mb``, ``4G`` or bytes; -1 if unknown."""
    if text in NO_VALUES:
        return UNKNOWN
    match = _MEMORY.fullmatch(text)
    if not match:
        refuse(column, text, "memory such as 4000mb")
    words = 8 if match[3] in ("w", "W") else 1
    return float(match[1]) * _KILOBYTES[match[2].lower() or "b"] * words


@lru_cache(4096)
def hash_cluster(name: str) -> int:
    """Return a number that depends on the name of a cluster alone, not on the order of records."""
    return int.from_bytes(blake2b(name.encode(), digest_size=6).digest())


def divide_among(total: float, processors: int) -> int:
    """Divide a total among processors and round it; -1 if either is unknown."""
    return round(total / processors) if total >= 0 and processors > 0 else UNKNOWN
