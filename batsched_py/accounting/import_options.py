"""What a user says about the records that are imported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from batsched_py.errors import UsageError, parameter
from batsched_py.options.durations import parse_time
from batsched_py.options.option_values import one_of
from batsched_py.processors.sets import MOST_PROCESSORS

UNITS = ("cores", "nodes")
"""What a processor of the log may be."""
SUBMISSIONS = ("submitted", "eligible")
"""What may be the submission of a job."""
_NO_TIME_ZONE = "UTC"


class ImportOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of an import. Raises :class:`UsageError` for those that make no sense."""

    computer: str = "unknown"
    time_zone: str | None = None
    """Of the site."""
    record_zone: str | None = None
    """Of the times in the records, None for that of the site."""
    processors: str = "cores"
    cores_per_node: int | None = None
    """Given if jobs take whole nodes of so many cores."""
    max_processors: int | None = None
    submission: str = "submitted"
    """Of the times of a job."""
    job_names: bool = False
    salt: str | None = None
    """Given if the log is anonymised."""
    skip_bad_lines: bool = False
    outage_hours: float = 12.0
    """Hours in which nothing ran that are drafted as an outage."""
    delimiter: str | None = None
    cluster: str | None = None
    """Whose jobs are imported, where the records are of several."""
    partition_limits: Mapping[str, int] = {}
    """The longest time of each partition, in seconds, for jobs that requested none."""

    def __post_init__(self) -> None:
        one_of(parameter("processors"), self.processors, UNITS)
        one_of(parameter("submission"), self.submission, SUBMISSIONS)
        for name in ("cores_per_node", "max_processors"):
            value = getattr(self, name)
            if value is not None and not 1 <= value <= MOST_PROCESSORS:
                raise UsageError(
                    f"{parameter(name)} {value}: expected a number from 1 to {MOST_PROCESSORS}"
                )
        if not self.outage_hours > 0:
            raise UsageError(f"{parameter('outage_hours')} {self.outage_hours}: expected above 0")
        if self.delimiter == "":
            raise UsageError(f"{parameter('delimiter')}: expected at least one character")

    @property
    def in_nodes(self) -> bool:
        """Whether a processor of the log is a node."""
        return self.processors == "nodes"

    @property
    def from_eligible(self) -> bool:
        """Whether jobs are submitted when they become eligible to start."""
        return self.submission == "eligible"

    @property
    def zone(self) -> str:
        """The time zone of the site."""
        return self.time_zone or _NO_TIME_ZONE

    @property
    def zone_of_records(self) -> str:
        """The time zone in which the records' times are."""
        return self.record_zone or self.zone


def parse_partition_limits(texts: Sequence[str]) -> dict[str, int]:
    """Return the limits of ``NAME=TIME`` in seconds; raises :class:`UsageError`."""
    limits: dict[str, int] = {}
    for text in texts:
        name, equals, time = text.rpartition("=")
        if not (name and equals and time):
            raise UsageError(
                f"{parameter('partition_limit')} {text!r}: expected NAME=TIME, such as "
                "'batch=7 days'"
            )
        if name in limits:
            raise UsageError(f"{parameter('partition_limit')} {name} was given twice")
        limits[name] = int(parse_time(f"{parameter('partition_limit')} {name}", time))
    return limits
