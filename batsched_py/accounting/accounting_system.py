"""What an import needs to know of an accounting system."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from batsched_py.accounting.import_options import ImportOptions
from batsched_py.accounting.record_lines import RecordLines
from batsched_py.accounting.records import JobRecord
from batsched_py.accounting.site_time import SiteClock


class AccountingSystem(NamedTuple):
    """A system, by the name of its subcommand."""

    name: str
    read: Callable[[RecordLines, SiteClock, ImportOptions], Iterable[JobRecord]]
    rules: tuple[str, ...]
    """Sentences for the header: what the fields of the log are made of."""
    partitions: str
    """The field of the log that numbers what a machine has as partitions: queue or partition."""
