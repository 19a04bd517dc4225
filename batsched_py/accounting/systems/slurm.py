"""Records of Slurm, as ``sacct --parsable2`` writes them.

Source: the manual page sacct(1), "Job Accounting Fields" and "Job State Codes".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from math import ceil

from batsched_py.accounting.records import (
    NO_VALUES,
    Extras,
    JobRecord,
    clean_name,
    divide_among,
    parse_count,
    parse_length,
    parse_memory,
    refuse,
    set_names,
)
from batsched_py.accounting.systems.accounting_system import AccountingSystem
from batsched_py.accounting.systems.slurm_columns import (
    DELIMITER,
    SlurmColumns,
    is_header,
    read_columns,
)
from batsched_py.accounting.systems.slurm_resources import parse_gres, parse_tres
from batsched_py.errors import InputError, parameter
from batsched_py.support.json_values import did_you_mean, quote
from batsched_py.units import MINUTE
from batsched_py.workload.logs.swf import CANCELLED, COMPLETED, FAILED, UNKNOWN

_ENDED = {"COMPLETED": COMPLETED, "CANCELLED": CANCELLED} | dict.fromkeys(
    ("FAILED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "BOOT_FAIL", "DEADLINE", "PREEMPTED",
     "REQUEUED", "REQUEUE_FED", "LAUNCH_FAILED", "RECONFIG_FAIL", "STOPPED", "SPECIAL_EXIT",
     "EXPEDITING", "POWER_UP_NODE", "RESIZING"),
    FAILED,
)  # fmt: skip
_REVOKED = "REVOKED"
_NOT_ENDED = (
    *("PENDING", "RUNNING", "SUSPENDED", "CONFIGURING", "COMPLETING", "SIGNALING", "STAGE_OUT"),
    *("REQUEUE_HOLD", "RESV_DEL_HOLD", "UPDATE_DB"),
)
_STATES = (*_ENDED, *_NOT_ENDED, _REVOKED)
_ENDED_BY = {"PREEMPTED": "preempted", "REQUEUED": "requeued", "NODE_FAIL": "node"}
_EXCLUSIVE = ("1", "YES", "TRUE", "NODE", "EXCLUSIVE")
"""Values of the column Exclusive; others share nodes, with jobs of their user at least."""
_ID = re.compile(r"(\d{1,15})(?:_(\d{1,15})|\+(\d{1,9})|(_\[.*))?", re.ASCII)
_NO_LIMIT = ("unlimited", "partition_limit", "invalid", "4294967294", "4294967295")
"""The numbers are Slurm's own for no value and for infinity."""
_NO_NODES = "None assigned"
_PER_CPU = (2**31, 2**63)
_OF_NODE = re.compile(r"(\d{1,20})([MGTP])n", re.ASCII)
_SHIFTS = {"M": 0, "G": 10, "T": 20, "P": 30}


class Slurm(AccountingSystem):
    """Iterates over the jobs in the lines of ``sacct``."""

    name = "slurm"
    rules = (
        "made from records of Slurm (sacct): group is the account, queue the QOS",
        "status: 1 COMPLETED, 5 CANCELLED, 0 all other ends (FAILED, TIMEOUT, NODE_FAIL, ...)",
        "run time is End - Start without the time for which a job was suspended",
    )
    partitions = "partition"

    _columns: SlurmColumns | None = None
    _knows_gpus = False
    """Whether a column has GPUs: jobs without any then have none."""
    _cluster = ""
    """The cluster of the jobs so far, if their records have it."""
    _other = ""
    """The first cluster that was not chosen."""

    def __iter__(self) -> Iterator[JobRecord]:
        yield from super().__iter__()
        if self._other and not self._cluster:
            raise InputError(
                f"{self._lines.path}: no job ran on the cluster {quote(self._options.cluster)}: "
                f"expected a cluster in the records, such as {quote(self._other)}"
            )

    def _columns_of(self, line: str) -> SlurmColumns | None:
        """Return the columns of a line; None for a header line, from which on its columns are."""
        columns, options = self._columns, self._options
        if columns is not None and not self._lines.is_first:
            return None if line == columns.line else columns
        if columns is not None and not is_header(line, options.delimiter or DELIMITER):
            return columns  # a file that goes on where the last one ended
        self._columns = read_columns(line, self._lines.path, options)
        places = self._columns.places
        self._knows_gpus = any(places[name] >= 0 for name in places if name.endswith("res"))
        return None

    def _record(self, text: str) -> JobRecord | None:
        if (columns := self._columns_of(text)) is None:
            return None
        fields = columns.split(text)
        job_id = fields["job_id"]
        if "." in job_id:
            self._dropped["steps of jobs"] += 1
            return None
        cluster = fields["cluster"]
        if not self._is_of_cluster(cluster):
            self._dropped["jobs of other clusters"] += 1
            return None
        state = _state(fields["state"])
        if state in _NOT_ENDED or state == _REVOKED:
            reason = "jobs that ran on another cluster" if state == _REVOKED else _UNFINISHED
            self._dropped[reason] += 1
            return None
        number, index = self._identify(job_id, fields["raw_id"])
        record = JobRecord(number, index, 0, status=_ENDED[state], cluster=cluster)
        if not self._set_times(record, fields):
            return None
        self._set_sizes(record, fields)
        if record.start < 0 and state == "CANCELLED":
            self._count_canceller(fields)
        set_names(record, fields)
        if "," in record.partition:  # it might have run in any of these, and did not
            self._noted["jobs of several partitions never started: their partition is unknown"] += 1
            record.partition = ""
        record.requested_time = self._time_limit(record, fields)
        self._set_extras(record, fields, state)
        if state == "RESIZING":  # its record ends where that of its next size begins
            self._noted["runs of jobs that were resized: each size is a job"] += 1
        return record

    def _is_of_cluster(self, cluster: str) -> bool:
        """Return whether a job is of the cluster that is imported.

        Raises :class:`InputError` for a second one if none was chosen: its jobs have the same
        numbers, and it is another machine.
        """
        chosen = self._options.cluster
        if chosen is not None and cluster != chosen:
            self._other = self._other or cluster
            return False
        if cluster and self._cluster and cluster != self._cluster:
            raise InputError(
                f"{self._lines.path}:{self._lines.number}: a job of the cluster {quote(cluster)} "
                f"after jobs of {quote(self._cluster)}: expected the records of one machine; "
                f"import each cluster alone, with {parameter('cluster')} NAME"
            )
        self._cluster = self._cluster or cluster
        return True

    def _identify(self, job_id: str, raw_id: str) -> tuple[int, int]:
        match = _ID.fullmatch(job_id)
        if not match:
            refuse("JobID", job_id, "a number such as 123, 123_4 or 123+0")
        number, element, component, elements = match.groups()
        if elements:
            self._noted["records of array elements that never started: each element is a job"] += 1
        self._noted["components of heterogeneous jobs: each is a job"] += bool(component)
        if raw_id.isascii() and raw_id.isdigit() and len(raw_id) < 16:
            return int(raw_id), 0
        return int(number), int(element or component or 0)

    def _set_times(self, record: JobRecord, fields: dict[str, str]) -> bool:
        """Set when a job was submitted and ran, -1 if it never started; False without an end."""
        clock, elapsed = self._clock, self._length("Elapsed", fields["elapsed"])
        suspended = self._length("Suspended", fields["suspended"])
        submits = clock.read_instants("Submit", fields["submit"])
        starts = clock.read_instants("Start", fields["start"])
        ends = clock.read_instants("End", fields["end"])
        if not submits:
            refuse("Submit", fields["submit"], "a time")
        lengths = () if elapsed < 0 else (elapsed + max(suspended, 0), elapsed)
        record.submit, start, end = clock.put_in_order(submits, starts, ends, lengths)
        if start == UNKNOWN or self._never_ran(end - start, fields):
            self._tally.set_withdrawn(record, end)
        elif end == UNKNOWN:
            self._dropped[_UNFINISHED] += 1
            return False
        else:
            held = self._tally.set_start(record, start, end)
            record.run_time = self._run_time(held, elapsed, suspended)
        if fields["eligible"] != fields["submit"]:
            eligible = clock.read_instants("Eligible", fields["eligible"])
            self._tally.set_eligible(record, eligible, is_submission=self._options.from_eligible)
        return True

    def _count_canceller(self, fields: dict[str, str]) -> None:
        """Count a withdrawn job by who cancelled it, as in ``CANCELLED by 1234``."""
        canceller, uid, user = fields["state"].partition(" by ")[2], fields["uid"], fields["user"]
        if not canceller:
            who = "do not name who cancelled them"
        elif canceller in (uid, user):
            who = "were cancelled by their own users"
        elif canceller == "0" or uid or canceller.isdigit() == user.isdigit():
            who = "were cancelled by others, such as administrators"
        else:
            who = (
                "name who cancelled them by a number: the column UID shows whether it was the user"
            )
        self._noted[f"withdrawn jobs {who}"] += 1

    def _length(self, column: str, text: str) -> int:
        """Return seconds; what a clock that was put back made negative is unknown."""
        if text[:1] == "-" or text == "INVALID":
            self._noted[f"{column} is negative: taken as unknown"] += 1
            return UNKNOWN
        return parse_length(column, text)

    def _never_ran(self, held: int, fields: dict[str, str]) -> bool:
        """Return whether a job that has a start got no processors."""
        sizes = fields["allocated_cpus"], fields["nodes"]
        return held <= 0 and ("0" in sizes or fields["node_list"] == _NO_NODES)

    def _run_time(self, held: int, elapsed: int, suspended: int) -> int:
        """Return how long a job ran: its processors are others' while it is suspended."""
        if suspended < 0 and 0 <= elapsed < held:
            suspended = held - elapsed
        run_time = held - max(suspended, 0)
        differs = run_time < 0 or elapsed not in (UNKNOWN, run_time)
        self._noted["jobs were suspended: their run time does not include it"] += suspended > 0
        self._noted["jobs have an Elapsed that is not End - Start - Suspended"] += differs
        return max(run_time, 0)

    def _set_sizes(self, record: JobRecord, fields: dict[str, str]) -> None:
        cpus = parse_count("AllocCPUS", fields["allocated_cpus"])
        requested = parse_count("ReqCPUS", fields["requested_cpus"]) or UNKNOWN
        nodes = parse_count("NNodes", fields["nodes"])
        wanted_nodes = parse_count("ReqNodes", fields["requested_nodes"]) or UNKNOWN
        per_node = self._options.cores_per_node
        if self._options.in_nodes and wanted_nodes < 0:
            if per_node and requested > 0:
                wanted_nodes = ceil(requested / per_node)
            elif record.start < 0:  # of one that never started, NNodes is that
                wanted_nodes = parse_count("NNodes", fields["shown_nodes"]) or UNKNOWN
        allocated = self._count(cpus, nodes)
        record.requested = requested = self._count(requested, wanted_nodes)
        memory = parse_memory_of_job(fields["requested_memory"], max(requested, cpus), nodes)
        record.requested_memory = memory
        if record.start < 0:
            return
        record.allocated, record.nodes = allocated or UNKNOWN, nodes or UNKNOWN
        used = self._length("TotalCPU", fields["total_cpu"])
        record.cpu_time = divide_among(used or UNKNOWN, allocated)  # 0 where it was not measured
        names = fields["node_list"]
        record.node_names = "" if names in NO_VALUES or names == _NO_NODES else names

    def _set_extras(self, record: JobRecord, fields: dict[str, str], state: str) -> None:
        """Set what a job held, or of one that never ran what it requested, and why it waited.

        In versions of Slurm without TRES, ReqGRES is of a node, and AllocGRES of all nodes.
        """
        ran = record.start >= 0
        allocated = parse_tres("AllocTRES", fields["allocated_tres"])
        requested = parse_tres("ReqTRES", fields["requested_tres"])
        wanted = max(requested.cores, parse_count("ReqCPUS", fields["requested_cpus"])) or UNKNOWN
        nodes = parse_count("NNodes", fields["nodes" if ran else "shown_nodes"]) or UNKNOWN
        gres = parse_gres("AllocGRES", fields["allocated_gres"])
        wanted_gres = parse_gres("ReqGRES", fields["requested_gres"], max(nodes, 1))
        of_gres = gres.has_shards or wanted_gres.has_shards
        has_shards = allocated.has_shards or requested.has_shards or of_gres
        has_licences = allocated.has_licences or requested.has_licences
        held = allocated if ran and fields["allocated_tres"] not in NO_VALUES else requested
        cpus = parse_count("AllocCPUS", fields["allocated_cpus"]) or UNKNOWN
        cpus = wanted if not ran else cpus if self._options.in_nodes else record.allocated
        if held.gpus >= 0 or not ran or gres.gpus <= 0:
            gres = held if held.gpus >= 0 else wanted_gres
        memory = UNKNOWN
        if held.memory < 0 or requested.memory < 0:
            of_job = max(cpus, wanted)
            each = parse_memory_of_job(fields["requested_memory"], of_job, nodes)
            memory = max(round(each * of_job / 1024), 1) if each > 0 and of_job > 0 else UNKNOWN
        self._noted["jobs asked for shards of GPUs: they count as no GPU"] += has_shards
        self._noted["jobs asked for licences: simulations have none"] += has_licences
        is_alone = fields["exclusive"].upper() in _EXCLUSIVE or fields["oversubscribe"] == "NO"
        least_gpus = 0 if self._knows_gpus else UNKNOWN
        record.extras = Extras(
            id=fields["job_id"],
            cores=cpus,
            nodes=nodes if nodes > 0 else requested.nodes,
            memory_mib=held.memory if held.memory > 0 else memory,
            gpus=max(gres.gpus, least_gpus),
            gpu_type=gres.gpu_type,
            exclusive="1" if is_alone else "",
            requested_cores=wanted,
            requested_memory_mib=requested.memory if requested.memory > 0 else memory,
            requested_gpus=max(requested.gpus, wanted_gres.gpus, least_gpus),
            billing=held.billing,
            reason=clean_name(fields["reason"]),
            reservation=clean_name(fields["reservation"]),
            eligible_s=record.extras.eligible_s,
            ended_by=_ENDED_BY.get(state, "") if ran else "",
            restarts=max(parse_count("Restarts", fields["restarts"]), 0),
            is_special=has_shards or has_licences or "+" in fields["job_id"],
        )

    def _time_limit(self, record: JobRecord, fields: dict[str, str]) -> int:
        """Return the requested time: that of the partition where a job has none, if it is given."""
        text = fields["time_limit_minutes"] or fields["time_limit"]
        if text.lower() in _NO_LIMIT:
            limit = int(self._options.partition_limits.get(record.partition, UNKNOWN))
            known = "the limit that was given for its partition" if limit > 0 else "unknown"
            self._noted[f"jobs without a time limit ({text}): the request is {known}"] += 1
            return limit
        if text.isascii() and text.isdigit() and len(text) < 12:
            return int(int(text) * MINUTE)
        return parse_length("Timelimit", text)


_UNFINISHED = "jobs that had not ended when the records were written"


@lru_cache(1024)
def _state(text: str) -> str:
    """Return the state in ``CANCELLED by 1234``; raises :class:`MalformedRecordError`."""
    name = text.split(" ", 1)[0].rstrip("+").upper()
    if name not in _STATES:
        refuse("State", text, f"a state of a job{did_you_mean(name, _STATES)}")
    return name


def parse_memory_of_job(text: str, cpus: int, nodes: int) -> int:
    """Return the kB that a job requested for each processor, -1 if that is unknown.

    ``4Gc`` is for a processor, ``4Gn`` for a node (before Slurm 21.08); ``4G`` is the job's. A
    number of megabytes ``n`` with the bit 2^31 or 2^63 is for a processor: some versions of sacct
    print Slurm's mark for that (MEM_PER_CPU in slurm.h) as a part of the number.
    """
    if text in NO_VALUES or not text.strip("0.KMGTPcn"):
        return UNKNOWN
    if text[-1] == "c":
        return round(parse_memory("ReqMem", text[:-1]))
    if match := _OF_NODE.fullmatch(text):
        megabytes = int(match[1]) << _SHIFTS[match[2]]
        if megabytes >= min(_PER_CPU):
            each = megabytes % max(bit for bit in _PER_CPU if bit <= megabytes)
            return each * 1024 if each < min(_PER_CPU) - 2 else UNKNOWN  # no value, infinity
    if text[-1] == "n":
        total = parse_memory("ReqMem", text[:-1]) * max(nodes, 0)
        return divide_among(total or UNKNOWN, cpus)
    return divide_among(parse_memory("ReqMem", text), cpus)
