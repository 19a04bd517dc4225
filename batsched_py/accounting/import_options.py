"""The options of an import of accounting records."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated

import msgspec

from batsched_py.errors import UsageError, parameter
from batsched_py.options.checked_values import Seconds
from batsched_py.options.option_values import one_of
from batsched_py.options.setting_fields import Setting
from batsched_py.processors.sets import MOST_PROCESSORS

UNITS = ("cores", "nodes")
"""What a processor of the log may be."""
SUBMISSIONS = ("submitted", "eligible")
"""Which time may be the submission of a job."""
RUNS = KEEP, LAST, MERGE = ("keep", "last", "merge")
"""What becomes of jobs that ran more than once: each run is a job, or the last one, or the sum."""
_names = partial(Setting, group="Names")
"""A setting under the heading Names of a help."""


class ImportOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of an import. Raises :class:`UsageError` for values that make no sense."""

    computer: Annotated[str, Setting("Name of the machine, for the header of the log.", "NAME")] = (
        "unknown"
    )
    time_zone: Annotated[
        str | None, Setting("Time zone of the site, such as Europe/Paris.", "ZONE", default="UTC")
    ] = None
    record_zone: Annotated[
        str | None, Setting("Time zone of the records.", "ZONE", default="that of the site")
    ] = None
    processors: Annotated[
        str, Setting("Unit of the log that counts as a processor.", "cores|nodes")
    ] = "cores"
    cores_per_node: Annotated[
        int | None, Setting("Number of cores of a node, if jobs get whole nodes.", "N")
    ] = None
    max_processors: Annotated[
        int | None,
        Setting("Number of processors of the machine.", "N", default="the most in use at once"),
    ] = None
    nodes: Annotated[
        str | None,
        Setting(
            "TOML file with the site's nodes: tables [[nodes]] with names, cores, memory, gpus.",
            "FILE",
            default="the most in use at once",
        ),
    ] = None
    runs: Annotated[
        str,
        Setting(
            "Jobs that ran more than once: each run is a job, the last run is, or their sum.",
            "keep|last|merge",
        ),
    ] = KEEP
    outage_hours: Annotated[
        float,
        Setting(
            "Hours without a job that count as an outage in the draft of the machine file.", "H"
        ),
    ] = 12.0
    skip_bad_lines: Annotated[bool, Setting("Leave malformed lines out, and count them.")] = False
    submission: Annotated[
        str,
        Setting(
            "Time that counts as the submission: the submission, or when the job may start.",
            "submitted|eligible",
        ),
    ] = "submitted"
    delimiter: Annotated[
        str | None, Setting("Text between two columns.", "TEXT", default="a vertical bar")
    ] = None
    cluster: Annotated[
        str | None, Setting("Use only the jobs of this cluster.", "NAME", default="all")
    ] = None
    partition_limits: Annotated[
        Mapping[str, Seconds],
        Setting(
            "Longest walltime of a partition, for jobs without a request; repeatable.",
            "NAME=TIME",
            ("--partition-limit",),
        ),
    ] = {}
    job_names: Annotated[bool, _names("Write the names of jobs as numbers of executables.")] = False
    anonymise: Annotated[
        bool, _names("Replace the names of users, groups and jobs by pseudonyms made with a salt.")
    ] = False
    salt: Annotated[
        str | None,
        _names("Salt, a secret of at least 16 characters; other users may see it in `ps`.", "TEXT"),
    ] = None
    salt_file: Annotated[str | None, _names("File that contains the salt.", "FILE")] = None

    def __post_init__(self) -> None:
        one_of(parameter("processors"), self.processors, UNITS)
        one_of(parameter("submission"), self.submission, SUBMISSIONS)
        one_of(parameter("runs"), self.runs, RUNS)
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
        salts = [given for given in (self.salt, self.salt_file) if given is not None]
        if salts and not self.anonymise:
            raise UsageError(f"a salt is for {parameter('anonymise')}, which was not given")
        if self.anonymise and len(salts) != 1:
            raise UsageError(
                f"{parameter('anonymise')}: expected either {parameter('salt')} or "
                f"{parameter('salt_file')}, a secret that you keep"
            )

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
        return self.time_zone or "UTC"

    @property
    def zone_of_records(self) -> str:
        """The time zone of the times in the records."""
        return self.record_zone or self.zone
