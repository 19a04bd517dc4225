"""The resources of PBS jobs: what they requested, and where they ran.

Sources: PBS Professional Reference Guide, "The Accounting Log" and formats of attributes; Torque
Administrator Guide, "Accounting Records" and "Requesting Resources"; of Crays the manual page
pbs_resources(7B) of PBS Professional.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import ceil
from typing import NamedTuple

from batsched_py.accounting.records import MalformedRecordError, parse_count, refuse
from batsched_py.support.processor_sets import MOST_PROCESSORS
from batsched_py.workload.swf import UNKNOWN

_KEY = re.compile(r"[A-Za-z_][\w.\-]*", re.ASCII)
_CPUS = re.compile(r"[:+(]ncpus=(\d{1,8})", re.ASCII)
_SLOTS = re.compile(r"(\d{1,8})(?:-(\d{1,8})|\*(\d{1,8}))?", re.ASCII)
_CHUNK_CPUS = re.compile(r"(?:^|:)(?:ncpus|ppn)=(\d{1,8})(?=:|$)", re.ASCII)
_CHUNKS = re.compile(r"(\d{1,8})(?=:|$)", re.ASCII)


def attributes(message: str) -> dict[str, str]:
    """Return the values in ``key=value key="a b"``; what has no key belongs to the value before.

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
        raise MalformedRecordError("what has a quote with no end", key)
    return {name: _unquoted(" ".join(parts)) for name, parts in found.items()}


def _unquoted(value: str) -> str:
    quoted = len(value) > 1 and value[0] in "\"'" and value[-1] == value[0]
    return value[1:-1] if quoted else value


def hosts_of(exec_host: str) -> dict[str, int]:
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


class CraySize(NamedTuple):
    """What a job has of a Cray's compute nodes; -1 is unknown."""

    processors: int
    nodes: int


def cray_size(said: Mapping[str, str]) -> CraySize | None:
    """Return the size of a job on a Cray, None for other jobs.

    ``mppwidth`` processing elements, each of ``mppdepth`` processors, ``mppnppn`` of them on a
    node. All that such a record has besides is of the login node on which its script ran.
    """
    width, depth, per_node = (
        parse_count(key, said.get(f"Resource_List.{key}", ""))
        for key in ("mppwidth", "mppdepth", "mppnppn")
    )
    if width <= 0:
        return None
    processors = width * max(depth, 1)
    if processors > MOST_PROCESSORS:
        refuse("mppwidth", said["Resource_List.mppwidth"], f"at most {MOST_PROCESSORS} processors")
    return CraySize(processors, ceil(width / per_node) if per_node > 0 else UNKNOWN)


def allocated_processors(said: Mapping[str, str], hosts: Mapping[str, int]) -> int:
    """Return the processors that a job had, -1 if that is not known."""
    cpus = sum(map(int, _CPUS.findall(said.get("exec_vnode", ""))))
    number = cpus or sum(hosts.values())
    if number > MOST_PROCESSORS:
        refuse("exec_host", said.get("exec_host", ""), f"at most {MOST_PROCESSORS} processors")
    return number or parse_count("ncpus", said.get("resources_used.ncpus", "")) or UNKNOWN


def requested_processors(said: Mapping[str, str]) -> int:
    """Return the processors that a job requested, -1 if that is not known.

    PBS Professional has the sum of a select in ncpus; Torque has a queue's default there, mostly 1,
    whatever the nodes are: so the most that any says counts.
    """
    listed = {key: said.get(f"Resource_List.{key}", "") for key in ("ncpus", "procs", "nodect")}
    chunks = [said.get(f"Resource_List.{key}", "") for key in ("select", "nodes")]
    counts = [_in_chunks(text) for text in chunks if text]
    counts += [parse_count(key, text) for key, text in listed.items()]
    return max(counts) if max(counts) > 0 else UNKNOWN


def _in_chunks(text: str) -> int:
    """Return the processors in ``2:ncpus=8+1:ncpus=4`` and ``2:ppn=6+node7#shared``."""
    number = 0
    for chunk in text.partition("#")[0].split("+"):
        chunks, cpus = _CHUNKS.match(chunk), _CHUNK_CPUS.search(chunk)
        number += (int(chunks[1]) if chunks else 1) * (int(cpus[1]) if cpus else 1)
    if number > MOST_PROCESSORS:
        refuse("Resource_List", text, f"at most {MOST_PROCESSORS} processors")
    return number
