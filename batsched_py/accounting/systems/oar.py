"""Jobs of OAR, as a query of its database gives them.

Source: the schema of OAR's database (tables jobs, moldable_job_descriptions, assigned_resources,
job_types, resources).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from batsched_py.accounting.header_names import (
    Columns,
    find_columns,
    list_known_names,
    name_fields,
    normalise_names,
)
from batsched_py.accounting.records import (
    NO_VALUES,
    JobRecord,
    MalformedRecordError,
    parse_count,
    parse_length,
    refuse,
    set_names,
)
from batsched_py.accounting.site_time import Instants
from batsched_py.accounting.systems.accounting_system import AccountingSystem
from batsched_py.errors import InputError
from batsched_py.files.readers import csv_rows
from batsched_py.support.json_values import did_you_mean
from batsched_py.workload.logs.swf import COMPLETED, FAILED, UNKNOWN

COLUMNS: Columns = {
    "job_id": ("job_id", "id"),
    "state": ("state",),
    "submit": ("submission_time",),
    "start": ("start_time",),
    "stop": ("stop_time",),
    "resources": ("nb_resources",),
    "nodes": ("nb_nodes",),
    "gpus": ("nb_gpus",),
    "requested": ("nb_requested",),
    "walltime": ("walltime", "moldable_walltime"),
    "exit_code": ("exit_code",),
    "types": ("types",),
    "hosts": ("hosts",),
    "user": ("user", "job_user"),
    "group": ("project",),
    "queue": ("queue_name", "queue"),
    "job_name": ("job_name", "name"),
}
_NEEDED = ("job_id", "state", "submit", "start", "stop")
_ENDED = ("Terminated", "Error")
_STATES = (
    *_ENDED,
    *("Waiting", "Hold", "toLaunch", "toError", "toAckReservation", "Launching", "Running"),
    *("Suspended", "Resuming", "Finishing"),
)
_INNER = re.compile(r"(?:^|[\s,])inner=")
_COUNTED = ("besteffort", "container", "noop", "deploy", "cosystem")


class Oar(AccountingSystem):
    """Iterates over the jobs in rows of OAR's database, as CSV or with tabs (mysql --batch)."""

    name = "oar"
    rules = (
        "made from the database of OAR: group is the project, queue the queue; a processor is a "
        "resource of type default",
        "status: 1 for Terminated with an exit code of 0 or none, 0 for other ends, 5 if the job "
        "never started",
        "run time is stop_time - start_time",
    )
    partitions = "queue"

    _header: Sequence[str] = ()
    _at: dict[str, int]
    """The places of the columns, once there was a header."""
    _is_tabbed = False

    def __iter__(self) -> Iterator[JobRecord]:
        per_gpu: Counter[float] = Counter()
        """Jobs by their cores for each GPU."""
        for job in super().__iter__():
            held = job.extras
            if job.start >= 0 and held.gpus > 0 and held.cores > 0:
                per_gpu[held.cores / held.gpus] += 1
            yield job
        if per_gpu:
            self.cores_of_gpu = most = max(per_gpu)
            self._noted[
                f"jobs had fewer cores for each GPU than the most ({most:g}): they are taken to "
                "have had parts of GPUs"
            ] += per_gpu.total() - per_gpu[most]

    def _texts(self) -> Iterator[str]:
        """Yield the text of each row, a line; a quoted name may go on in further lines.

        It ends where a row begins: without that a lost quote would take all jobs up to the next.
        """
        row: list[str] = []
        nb_quotes = 0
        for line in self._lines:
            if self._lines.is_first:
                self._is_tabbed = "\t" in line
            begins = self._lines.is_first or line.count(",") + 1 >= len(self._header)
            if row and begins:
                yield "\n".join(row)
                row, nb_quotes = [], 0
            row.append(line)
            nb_quotes += line.count('"')
            if self._is_tabbed or nb_quotes % 2 == 0:
                yield "\n".join(row)
                row, nb_quotes = [], 0
        if row:
            yield "\n".join(row)

    def _fields(self, row: str) -> list[str]:
        if self._is_tabbed:
            return row.split("\t")
        if row.count('"') % 2:
            raise MalformedRecordError("this row, or an earlier one, has a quote without an end")
        try:
            (fields,) = csv_rows([row.replace("\r", " ")], "")
        except (InputError, ValueError):
            raise MalformedRecordError("the row is not CSV") from None
        return fields

    def _is_header(self, fields: Sequence[str]) -> bool:
        """Take the columns of a header; raises :class:`InputError` if there is none as yet."""
        path = self._lines.path
        nb_known = len(list_known_names(COLUMNS).intersection(normalise_names(fields)))
        if nb_known < 2:
            if self._header:
                return False  # a file that goes on where the last one ended
            problem = "JSON" if fields[0].startswith("{") else "no names of columns"
            needed = ", ".join(COLUMNS[what][0] for what in _NEEDED)
            raise InputError(f"{path}:1: {problem}: expected the columns {needed}")
        sizes = "nodes" if self._options.in_nodes else "resources"
        self._at = find_columns(COLUMNS, fields, path, *_NEEDED, sizes)
        self._header = fields
        return True

    def _record(self, text: str) -> JobRecord | None:
        row = self._fields(text)
        if self._lines.is_first and self._is_header(row):
            return None
        if len(row) != len(self._header):
            expected = f"{len(self._header)} as in the header"
            raise MalformedRecordError(f"{len(row)} fields", None, expected)
        fields = name_fields(self._at, row)
        state = fields["state"]
        if state not in _STATES:
            refuse("state", state, f"a state of a job{did_you_mean(state, _STATES)}")
        if state not in _ENDED:
            self._dropped["jobs that had not ended when the records were written"] += 1
            return None
        if not self._is_taken(fields["types"]):
            return None
        job_id = fields["job_id"]
        if not (job_id.isascii() and job_id.isdigit() and len(job_id) < 16):
            refuse("job_id", job_id, "a whole number")
        job = JobRecord(int(job_id), 0, 0)
        self._set_times(job, fields)
        self._set_sizes(job, fields)
        self._set_status(job, state, fields["exit_code"])
        if state == "Error" and job.start >= 0 and "besteffort" in fields["types"]:
            self._noted["besteffort jobs ended with Error: taken as preempted, a guess"] += 1
            job.extras = job.extras._replace(ended_by="preempted")
        set_names(job, fields)
        return job

    def _is_taken(self, types: str) -> bool:
        """Count the types of a job; False for a job that uses the processors of a container."""
        if _INNER.search(types):
            self._dropped["jobs inside containers: they use the container's processors"] += 1
            return False
        for kind in re.findall(r"[a-z]+", types) if types else ():
            if kind in _COUNTED:
                self._noted[f"jobs are of type {kind}"] += 1
        return True

    def _set_times(self, job: JobRecord, fields: dict[str, str]) -> None:
        submit, start, stop = (self._instants(what, fields) for what in ("submit", "start", "stop"))
        if not submit:
            refuse("submission_time", fields["submit"], "seconds since 1970")
        job.submit, begin, end = self._clock.put_in_order(submit, start, stop)
        had_none = fields["resources"] == "0" or fields["nodes"] == "0"
        if begin == UNKNOWN or (had_none and end == begin):
            self._tally.set_withdrawn(job, end)
        else:
            if end == UNKNOWN:
                refuse("stop_time", fields["stop"], "when the job ended")
            job.run_time = self._tally.set_start(job, begin, end)
        job.requested_time = parse_length("walltime", fields["walltime"]) or UNKNOWN

    def _instants(self, what: str, fields: dict[str, str]) -> Instants:
        text = fields[what]
        return () if text == "0" else self._clock.read_instants(COLUMNS[what][0], text)

    def _set_sizes(self, job: JobRecord, fields: dict[str, str]) -> None:
        nodes = parse_count("nb_nodes", fields["nodes"])
        allocated = self._count(parse_count("nb_resources", fields["resources"]), nodes)
        requested = allocated  # OAR allocates the requested number
        if self._at["requested"] >= 0:
            requested = parse_count("nb_requested", fields["requested"])
        job.requested = requested or UNKNOWN
        cores, gpus = requested, UNKNOWN
        if job.start >= 0:
            cores, gpus = allocated, parse_count("nb_gpus", fields["gpus"])
            job.allocated, job.nodes = allocated or UNKNOWN, nodes or UNKNOWN
            job.node_names = ",".join(fields["hosts"].split())
        if self._options.in_nodes:
            cores = parse_count("nb_resources", fields["resources"])
        job.extras = job.extras._replace(
            id=fields["job_id"],
            cores=cores or UNKNOWN,
            nodes=nodes or UNKNOWN,
            gpus=gpus,
            requested_cores=UNKNOWN if self._options.in_nodes else job.requested,
            requested_gpus=gpus,
        )

    def _set_status(self, job: JobRecord, state: str, exit_code: str) -> None:
        if exit_code not in NO_VALUES and not re.fullmatch(r"-?\d{1,9}", exit_code, re.ASCII):
            refuse("exit_code", exit_code, "a whole number")
        good = state == "Terminated" and exit_code in (*NO_VALUES, "0")
        job.status = COMPLETED if good else FAILED
