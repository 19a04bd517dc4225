"""Accounting logs of PBS Professional, OpenPBS and Torque: a line for each event of a job.

Sources: PBS Professional Reference Guide, "The Accounting Log" and formats of attributes; Torque
Administrator Guide, "Accounting Records" and "Requesting Resources"; of Crays the manual page
pbs_resources(7B) of PBS Professional.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from math import ceil

from batsched_py.accounting.import_options import ImportOptions
from batsched_py.accounting.records import (
    Extras,
    JobRecord,
    MalformedRecordError,
    clean_name,
    divide_among,
    hash_cluster,
    parse_count,
    parse_length,
    parse_memory,
    refuse,
)
from batsched_py.accounting.site_time import SiteClock
from batsched_py.accounting.sorted_records import SortedRows
from batsched_py.accounting.systems.accounting_system import AccountingSystem, RecordLines
from batsched_py.processors.sets import MOST_PROCESSORS
from batsched_py.support.terminal_text import one_line
from batsched_py.units import MINUTE
from batsched_py.workload.logs.swf import COMPLETED, FAILED, SHOWN_LINES, UNKNOWN
from batsched_py.workload.node_shares import NodeSize, make_chunks

_LINE = re.compile(r"(\d\d)/(\d\d)/(\d{4}) (\d\d:\d\d:\d\d);([A-Za-z]{1,2});([^;]*);(.*)", re.ASCII)
_ID = re.compile(r"(\d{1,15})(?:\[(\d{1,15})\]|(\[\])|-(\d{1,15}))?(?:\.([^.]*).*)?", re.ASCII)
_EXIT = re.compile(r"-?\d{1,9}", re.ASCII)
_KEY = re.compile(r"[A-Za-z_][\w.\-]*", re.ASCII)
_SLOTS = re.compile(r"(\d{1,8})(?:-(\d{1,8})|\*(\d{1,8}))?", re.ASCII)
_CHUNK_CPUS = re.compile(r"(?:^|:)(?:ncpus|ppn)=(\d{1,8})(?=:|$)", re.ASCII)
_CHUNK_GPUS = re.compile(r"(?:^|:)(?:ngpus|naccelerators|gpus)=(\d{1,8})(?=:|$)", re.ASCII)
_OF_PART = {"ncpus": 0, "ngpus": 1, "naccelerators": 1, "mem": 2}
_CHUNKS = re.compile(r"(\d{1,8})(?=:|$)", re.ASCII)
_END, _REQUEUE = "E", "R"
_DELETED, _RAN = ("A", "D"), ("E", "R", "S")


class Pbs(AccountingSystem):
    """Iterates over the jobs in accounting logs; other events are counted."""

    name = "pbs"
    rules = (
        "made from accounting logs of PBS: group is the Unix group, queue the queue",
        "status: 1 for an Exit_status of 0, 0 for others, 5 if the job never started",
        "submission is ctime, run time is end - start",
    )
    partitions = "queue"

    def __init__(self, lines: RecordLines, clock: SiteClock, options: ImportOptions) -> None:
        super().__init__(lines, clock, options)
        self._events = SortedRows()
        """Which jobs were deleted (0), and which ran (1)."""
        self._servers: set[str] = set()

    def __iter__(self) -> Iterator[JobRecord]:
        yield from super().__iter__()
        self._count_deleted()
        if len(self._servers) > 1:
            names = ", ".join(map(one_line, sorted(self._servers)))
            self._noted[
                f"servers whose jobs are imported as jobs of one machine: {names}; import the logs "
                "of each machine alone"
            ] += len(self._servers)

    def _record(self, text: str) -> JobRecord | None:
        match = _LINE.fullmatch(text)
        if not match:
            refuse("the line", text, "a record of PBS: MM/DD/YYYY hh:mm:ss;E;123.host;...")
        month, day, year, time, kind, job_id, message = match.groups()
        if kind not in (*_DELETED, *_RAN):
            self._dropped[f"records of type {kind}"] += 1
            return None
        number, index, server = self._identify(job_id)
        if index is None:
            self._dropped["records of whole job arrays: each element has its own record"] += 1
            return None
        if server and len(self._servers) < SHOWN_LINES:
            self._servers.add(server)
        self._events.add((number, index, hash_cluster(server), int(kind in _RAN)))
        fields = parse_attributes(message) if kind in (_END, _REQUEUE) else {}
        if kind != _END and fields.get("start", "0") == "0":
            self._dropped[f"records of type {kind}"] += 1
            return None
        extras = Extras(id=job_id.partition(".")[0])
        record = JobRecord(number, index, 0, cluster=server, extras=extras)
        self._set_times(record, fields, f"{year}-{month}-{day}T{time}")
        self._set_sizes(record, fields)
        self._set_status(record, fields, kind)
        record.user = clean_name(fields.get("user", ""))
        record.queue = clean_name(fields.get("queue", ""))
        record.group = clean_name(fields.get("group", "")) or clean_name(fields.get("account", ""))
        record.job_name = clean_name(fields.get("jobname", ""))
        return record

    def _identify(self, job_id: str) -> tuple[int, int | None, str]:
        """Return the number of a job, its place in an array, and the host of its server.

        The place of an array itself is None.
        """
        match = _ID.fullmatch(job_id)
        if not match:
            refuse("the job's id", job_id, "such as 123.host or 123[4].host")
        number, element, array, old_element, server = match.groups()
        return int(number), None if array else int(element or old_element or 0), server or ""

    def _set_times(self, job: JobRecord, fields: Mapping[str, str], written: str) -> None:
        """Set when a job was submitted and ran; the end of its record is ``written`` if need be."""
        submitted = next((fields[key] for key in ("ctime", "qtime", "etime") if key in fields), "")
        submit = self._clock.read_instants("ctime", submitted)
        if not submit:
            refuse("ctime", submitted, "seconds since 1970")
        job.submit = submit[0]
        begun = fields.get("start", "")
        start = () if begun == "0" else self._clock.read_instants("start", begun)
        end = self._clock.read_instants("end", fields.get("end", "")) or self._clock.read_instants(
            "the time of the record", written
        )
        _, begin, until = self._clock.put_in_order(submit, start, end)
        had_none = not (fields.get("exec_host") or fields.get("exec_vnode"))
        if begin == UNKNOWN or (had_none and until == begin):
            self._tally.set_withdrawn(job, until)
        else:
            job.run_time = self._tally.set_start(job, begin, until)
            used = parse_length("walltime", fields.get("resources_used.walltime", ""))
            if 0 <= used < job.run_time - MINUTE:
                self._noted[
                    "jobs ran over a minute longer than their walltime, for example because they "
                    "were suspended: their run time includes it"
                ] += 1
        etime = fields.get("etime", "")
        eligible = () if etime == "0" else self._clock.read_instants("etime", etime)
        self._tally.set_eligible(job, eligible, is_submission=self._options.from_eligible)
        job.requested_time = parse_length("walltime", fields.get("Resource_List.walltime", ""))

    def _set_sizes(self, job: JobRecord, fields: Mapping[str, str]) -> None:
        cray = read_cray_size(fields)
        hosts = parse_hosts(fields["exec_host"]) if fields.get("exec_host") and not cray else {}
        wanted, wanted_nodes = cray or (
            find_requested_processors(fields),
            parse_count("nodect", fields.get("Resource_List.nodect", "")) or UNKNOWN,
        )
        parts = {} if cray else find_parts(fields, hosts)
        nodes = len(parts) or wanted_nodes
        cpus, gpus, mebibytes = (sum(part[at] for part in parts.values()) for at in range(3))
        if cpus > MOST_PROCESSORS:
            refuse(
                "exec_host", fields.get("exec_host", ""), f"at most {MOST_PROCESSORS} processors"
            )
        used = cpus or parse_count("ncpus", fields.get("resources_used.ncpus", "")) or UNKNOWN
        allocated = self._count(wanted if cray else used, nodes)
        job.requested = self._count(wanted, wanted_nodes)
        memory = parse_memory("mem", fields.get("Resource_List.mem", ""))
        job.requested_memory = divide_among(memory, max(job.requested, allocated))
        names, chunks = make_chunks(parts)
        wanted_memory = ceil(memory / 1024) if memory > 0 else UNKNOWN
        ran = job.start >= 0
        knows_gpus = parts and "ncpus" in fields.get("exec_vnode", "")
        wanted_gpus = max(find_requested_gpus(fields), 0 if knows_gpus else UNKNOWN)
        held = cpus if self._options.in_nodes else allocated
        job.extras = job.extras._replace(
            cores=(held if ran else wanted) or UNKNOWN,
            nodes=nodes or UNKNOWN,
            memory_mib=mebibytes if ran and mebibytes else wanted_memory,
            gpus=gpus if ran and knows_gpus else wanted_gpus,
            gpu_type=clean_name(fields.get("Resource_List.accelerator_model", "")),
            chunks="" if not ran or self._options.cores_per_node else chunks,
            exclusive="1" if "excl" in fields.get("Resource_List.place", "") else "",
            requested_cores=wanted,
            requested_memory_mib=wanted_memory,
            requested_gpus=wanted_gpus,
            restarts=max(parse_count("run_count", fields.get("run_count", "")) - 1, 0),
        )
        if not ran:
            return
        job.allocated, job.nodes = allocated or UNKNOWN, nodes or UNKNOWN
        job.node_names = names
        if cray:  # what was used is measured on the login node
            return
        cput = parse_length("cput", fields.get("resources_used.cput", ""))
        job.cpu_time = divide_among(cput, allocated)
        used_memory = parse_memory("mem", fields.get("resources_used.mem", ""))
        job.memory = divide_among(used_memory, allocated)

    def _set_status(self, job: JobRecord, fields: Mapping[str, str], kind: str) -> None:
        exit_status = fields.get("Exit_status", "")
        if exit_status and not _EXIT.fullmatch(exit_status):
            refuse("Exit_status", exit_status, "a whole number")
        if kind == _REQUEUE:
            job.status = FAILED
            if job.start >= 0:
                job.extras = job.extras._replace(ended_by="requeued")
        elif exit_status:
            job.status = COMPLETED if int(exit_status) == 0 else FAILED

    def _count_deleted(self) -> None:
        """Count the jobs that were deleted and never ran, whose sizes are not recorded."""
        jobs = groupby(self._events, key=lambda row: row[:3])
        nb = sum({kind for *_, kind in events} == {0} for _, events in jobs)
        self._dropped["jobs deleted before they started: their size is not recorded"] += nb


def parse_attributes(message: str) -> dict[str, str]:
    """Return the values in ``key=value key="a b"``; text without a key belongs to the value before.

    Raises :class:`MalformedRecordError` for a quote without an end.
    """
    found: dict[str, list[str]] = {}
    key = quote = ""
    for part in message.split(" "):
        name, equals, value = part.partition("=")
        if quote or not (equals and _KEY.fullmatch(name)):
            if key and (part or quote):
                found[key].append(part)
            if quote and part.endswith(quote):
                quote = ""
            continue
        key = name
        found[key] = [value]
        if value[:1] in ('"', "'") and (len(value) == 1 or value[-1] != value[0]):
            quote = value[0]
    if quote:
        raise MalformedRecordError("the attribute with an unclosed quote", key)
    return {name: _unquoted(" ".join(parts)) for name, parts in found.items()}


def _unquoted(value: str) -> str:
    quoted = len(value) > 1 and value[0] in "\"'" and value[-1] == value[0]
    return value[1:-1] if quoted else value


def parse_hosts(exec_host: str) -> dict[str, int]:
    """Return the hosts of a job and its processors on each.

    ``n1/0*8+n2/0*8`` has 8 on each (PBS Professional); ``n1/0+n1/1`` and ``n1/0-1,4`` are slots by
    their numbers (Torque).
    """
    hosts: dict[str, int] = {}
    for part in exec_host.split("+"):
        host, _, slots = part.strip("() ").partition("/")
        if not host:
            refuse("exec_host", exec_host, "such as node1/0*8+node2/0*8")
        hosts[host] = hosts.get(host, 0) + _slots(exec_host, slots or "0")
    return hosts


def _slots(exec_host: str, text: str) -> int:
    number = 0
    for part in text.split(","):
        match = _SLOTS.fullmatch(part)
        if not match:
            refuse("exec_host", exec_host, "such as node1/0*8+node2/0*8")
        first, last, times = match.groups()
        number += int(times or 1) if last is None else max(0, int(last) - int(first)) + 1
    return number


def find_parts(fields: Mapping[str, str], hosts: Mapping[str, int]) -> dict[str, NodeSize]:
    """Return what a job had of each node.

    By exec_vnode, where several vnodes in parentheses are a node, with its name in exec_host; else
    the processors of its ``hosts``.
    """
    text = fields.get("exec_vnode", "")
    if "ncpus" not in text:
        return {host: NodeSize(cpus) for host, cpus in hosts.items()}
    groups = text.strip("() ").split(")+(") if "(" in text else text.split("+")
    names = [part.strip("() ").partition("/")[0] for part in fields.get("exec_host", "").split("+")]
    if len(names) != len(groups):
        names = [re.split(r"[:\[]", group)[0] for group in groups]
    parts: dict[str, list[float]] = {}
    for name, group in zip(names, groups, strict=True):
        part = parts.setdefault(name, [0, 0, 0])
        for key, value in re.findall(r":([^:=+]+)=([^:+]*)", group):
            if key in _OF_PART:
                count = parse_memory(key, value) / 1024 if key == "mem" else parse_count(key, value)
                part[_OF_PART[key]] += max(count, 0)
    return {name: NodeSize(*map(ceil, part)) for name, part in parts.items()}


def find_requested_gpus(fields: Mapping[str, str]) -> int:
    """Return the number of GPUs that a job requested, -1 if its record has none.

    The largest of ngpus, naccelerators and the sum of select counts.
    """
    return _find_requested(fields, ("ngpus", "naccelerators"), _CHUNK_GPUS, 0)


def read_cray_size(fields: Mapping[str, str]) -> tuple[int, int] | None:
    """Return processors and compute nodes (-1: unknown) of a job on a Cray, None for other jobs.

    ``mppwidth`` processing elements, each of ``mppdepth`` processors, ``mppnppn`` of them on a
    node. All that such a record has besides is of the login node on which its script ran.
    """
    width, depth, per_node = (
        parse_count(key, fields.get(f"Resource_List.{key}", ""))
        for key in ("mppwidth", "mppdepth", "mppnppn")
    )
    if width <= 0:
        return None
    processors = width * max(depth, 1)
    if processors > MOST_PROCESSORS:
        refuse(
            "mppwidth", fields["Resource_List.mppwidth"], f"at most {MOST_PROCESSORS} processors"
        )
    return processors, (ceil(width / per_node) if per_node > 0 else UNKNOWN)


def find_requested_processors(fields: Mapping[str, str]) -> int:
    """Return the number of processors that a job requested, -1 if it is unknown.

    PBS Professional has the sum of a select in ncpus; Torque has a queue's default there, mostly 1,
    for any nodes: so the largest of them counts.
    """
    return _find_requested(fields, ("ncpus", "procs", "nodect"), _CHUNK_CPUS, 1) or UNKNOWN


def _find_requested(
    fields: Mapping[str, str], keys: Sequence[str], amount: re.Pattern[str], default: int
) -> int:
    counts = [parse_count(key, fields.get(f"Resource_List.{key}", "")) for key in keys]
    chunks = [fields.get(f"Resource_List.{key}", "") for key in ("select", "nodes")]
    return max(counts + [_in_chunks(text, amount, default) or UNKNOWN for text in chunks if text])


def _in_chunks(text: str, amount: re.Pattern[str], default: int) -> int:
    """Return the processors in ``2:ncpus=8+1:ncpus=4`` and ``2:ppn=6+node7#shared``, or GPUs."""
    number = 0
    for chunk in text.partition("#")[0].split("+"):
        chunks, found = _CHUNKS.match(chunk), amount.search(chunk)
        number += (int(chunks[1]) if chunks else 1) * (int(found[1]) if found else default)
    if number > MOST_PROCESSORS:
        refuse("Resource_List", text, f"at most {MOST_PROCESSORS} processors")
    return number
