"""The columns in the lines of ``sacct``, found by the names in its header line."""

from __future__ import annotations

import msgspec

from batsched_py.accounting.header_names import (
    Columns,
    find_columns,
    list_known_names,
    name_fields,
    normalise_names,
)
from batsched_py.accounting.import_options import ImportOptions
from batsched_py.accounting.records import CORRECT, MalformedRecordError
from batsched_py.errors import InputError, parameter

COLUMNS: Columns = {
    "job_id": ("JobID", "JobIDRaw"),
    "raw_id": ("JobIDRaw",),
    "cluster": ("Cluster",),
    "state": ("State",),
    "submit": ("Submit",),
    "start": ("Start",),
    "end": ("End",),
    "eligible": ("Eligible",),
    "elapsed": ("ElapsedRaw", "Elapsed"),
    "suspended": ("Suspended",),
    "time_limit_minutes": ("TimelimitRaw",),
    "time_limit": ("Timelimit",),
    "allocated_cpus": ("AllocCPUS", "NCPUS"),
    "requested_cpus": ("ReqCPUS",),
    "nodes": ("AllocNodes", "NNodes"),
    "shown_nodes": ("NNodes",),
    "requested_nodes": ("ReqNodes",),
    "node_list": ("NodeList",),
    "total_cpu": ("TotalCPU",),
    "requested_memory": ("ReqMem",),
    "allocated_tres": ("AllocTRES",),
    "requested_tres": ("ReqTRES",),
    "allocated_gres": ("AllocGRES",),
    "requested_gres": ("ReqGRES",),
    "reason": ("Reason",),
    "reservation": ("Reservation",),
    "exclusive": ("Exclusive",),
    "oversubscribe": ("OverSubscribe",),
    "restarts": ("Restarts",),
    "user": ("User", "UID"),
    "uid": ("UID",),
    "group": ("Account", "Group", "GID"),
    "partition": ("Partition",),
    "queue": ("QOS",),
    "job_name": ("JobName",),
}
_NEEDED = ("job_id", "state", "submit", "start", "end")
_KNOWN = list_known_names(COLUMNS)
DELIMITER = "|"
_FREE_TEXTS = (
    *("JobName", "SubmitLine", "Constraints", "Comment", "AdminComment", "SystemComment"),
    *("Extra", "WorkDir", "StdIn", "StdOut", "StdErr"),
)
"""Columns in which users may have written a delimiter."""


class SlurmColumns(msgspec.Struct, frozen=True):
    """The columns of a file: the separator of a line, and the place of each column that is read."""

    line: str
    """The header line."""
    delimiter: str
    names: tuple[str, ...]
    is_closed: bool
    """Whether a delimiter ends each line (``--parsable``)."""
    places: dict[str, int]
    """-1 for a missing column."""
    free_texts: tuple[str, ...]
    """Columns in which there may be a delimiter."""
    ends_in_text: bool
    """Whether the last column is the only such one."""

    def split(self, line: str) -> dict[str, str]:
        """Return the fields of a line, with an empty text for each column that is missing.

        Delimiters are a part of the last column if only that may have any.
        """
        if self.is_closed:
            if not line.endswith(self.delimiter):
                raise MalformedRecordError(f"the line does not end with {self.delimiter!r}")
            line = line.removesuffix(self.delimiter)
        nb = len(self.names)
        fields = line.split(self.delimiter, nb - 1 if self.ends_in_text else -1)
        if len(fields) != nb:
            expected, cure = f"{nb} as in the header", CORRECT
            if len(fields) > nb and self.free_texts:
                expected += f", so {' or '.join(self.free_texts)} has a {self.delimiter!r} in it"
                cure = (
                    "call sacct with another --delimiter, such as '^|^', and give import the same "
                    f"{parameter('delimiter')}; or leave such columns out of sacct's --format"
                )
            raise MalformedRecordError(f"{len(fields)} fields", None, expected, cure)
        return name_fields(self.places, fields)


def is_header(line: str, delimiter: str) -> bool:
    """Return whether a line is a header, which has names of columns."""
    names = normalise_names(line.split(delimiter))
    return sum(name in _KNOWN for name in names) >= min(2, len(names))


def read_columns(line: str, path: str, options: ImportOptions) -> SlurmColumns:
    """Return the columns of a header line.

    Raises :class:`InputError` if it is not a header, or if a column is not there that the options
    need.
    """
    chosen = options.delimiter or DELIMITER
    if not is_header(line, chosen):
        raise InputError(f"{path}:1: {_no_header(line, chosen)}")
    header = line.split(chosen)
    names = tuple(normalise_names(header))
    is_closed = names[-1] == ""
    if is_closed:
        names = names[:-1]
    needed = [*_NEEDED, *["eligible"] * options.from_eligible]
    needed += ["cluster"] * (options.cluster is not None)
    places = find_columns(COLUMNS, header, path, *needed)
    if options.in_nodes or not (options.cores_per_node and places["nodes"] >= 0):
        size = "nodes" if options.in_nodes else "allocated_cpus"
        find_columns(COLUMNS, header, path, size)
    free_texts = tuple(name for name in _FREE_TEXTS if name.lower() in names)
    ends_in_text = [text.lower() for text in free_texts] == [names[-1]]
    return SlurmColumns(line, chosen, names, is_closed, places, free_texts, ends_in_text)


def _no_header(line: str, delimiter: str) -> str:
    """Return what is wrong with a first line that does not name columns."""
    expected = f"expected names of columns with {delimiter!r} between them"
    if line.startswith("{"):
        return f"this is JSON, as sacct --json writes it: {expected}; call sacct with --parsable2"
    if sum(word.lower() in _KNOWN for word in line.split()) >= 2:
        return f"not the columns of sacct --parsable2: {expected}"
    for other in ("|", ",", ";", "\t"):
        if other != delimiter and is_header(line, other) and other in line:
            return f"{other!r} divides the columns: {expected}; see {parameter('delimiter')}"
    return f"the first line is not a header of sacct: {expected}; call sacct without --noheader"
