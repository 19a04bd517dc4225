"""What a job holds of its nodes: cores, GPUs and memory, by the fields of a workload."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import ceil
from typing import Any, NamedTuple

from batsched_py.errors import WorkloadError
from batsched_py.support.json_values import is_integer, quote
from batsched_py.units import parse_mebibytes

NODES, GPUS, MEMORY, CHUNKS, EXCLUSIVE = "nodes", "gpus", "memory_mib", "chunks", "exclusive"
"""Fields of a job: numbers of nodes, GPUs and MiB in total, parts of nodes, whether whole nodes."""


class NodeSize(NamedTuple):
    """The cores, GPUs and memory (MiB, 0 if unknown) of a node, or of a job's part of it."""

    cores: int
    gpus: int = 0
    memory: int = 0


class Share(NamedTuple):
    """What a job holds of each of some nodes."""

    nodes: int
    cores: int
    gpus: int = 0
    memory_mib: int = 0


class Demand(NamedTuple):
    """What a job needs: shares of nodes, or the same of nodes that it has for itself."""

    shares: tuple[Share, ...]
    """The largest first."""
    exclusive: bool = False


def read_shares(size: int, extra: Mapping[str, Any], biggest: Sequence[int], where: str) -> Demand:
    """Return what a job of ``size`` cores needs, by its fields.

    ``biggest`` are the most cores, GPUs and MiB of a node, for a job without a number of nodes: it
    gets the fewest that can hold it. Cores and GPUs are divided as evenly as possible. Raises
    :class:`WorkloadError`, which begins with ``where``.

    >>> read_shares(8, {"nodes": 2, "gpus": 2}, (64, 4, 512), "job 1")
    Demand(shares=(Share(nodes=2, cores=4, gpus=1, memory_mib=0),), exclusive=False)
    """
    exclusive = extra.get(EXCLUSIVE, False)
    if not isinstance(exclusive, bool):
        raise WorkloadError(f"{where}: {EXCLUSIVE} = {quote(exclusive)}: expected true or false")
    if CHUNKS in extra:
        shares = parse_chunks(extra[CHUNKS], where)
        total = sum(share.nodes * share.cores for share in shares)
        if total != size:
            raise WorkloadError(f"{where}: its chunks have {total} cores, but its size is {size}")
        return Demand(shares, exclusive)
    gpus, memory = (read_amount(extra, name, 0, where) for name in (GPUS, MEMORY))
    least = max(
        ceil(wanted / most) if most else 1
        for wanted, most in zip((size, gpus, memory), biggest, strict=True)
    )
    nodes = min(read_amount(extra, NODES, 1, where) if NODES in extra else max(least, 1), size)
    cores, wider = divmod(size, nodes)
    of_node, more = divmod(gpus, nodes)
    shares = tuple(
        Share(end - at, cores + (at < wider), of_node + (at < more), ceil(memory / nodes))
        for at, end in pairwise(sorted({0, wider, more, nodes}))
    )
    return Demand(shares, exclusive)


def read_held(extra: Mapping[str, Any], name: str, where: str) -> int | None:
    """Return the GPUs or MiB that a job holds in total, by its fields; None if they are unknown.

    Raises :class:`WorkloadError`, which begins with ``where``.
    """
    if CHUNKS in extra:
        shares = parse_chunks(extra[CHUNKS], where)
        return sum(of.nodes * (of.gpus if name == GPUS else of.memory_mib) for of in shares)
    return None if extra.get(name) is None else read_amount(extra, name, 0, where)


def read_amount(extra: Mapping[str, Any], name: str, least: int, where: str) -> int:
    """Return a whole number among the fields of a job; raises :class:`WorkloadError`."""
    value = extra.get(name, least)
    if not is_integer(value) or not least <= value < 2**53:
        raise WorkloadError(
            f"{where}: {name} = {quote(value)}: expected a whole number, at least {least}"
        )
    return int(value)


def parse_chunks(text: Any, where: str) -> tuple[Share, ...]:
    """Return the shares in a text such as ``2:ncpus=8:ngpus=1:mem=64gb+1:ncpus=4``.

    The largest come first. Raises :class:`WorkloadError`, which begins with ``where``.
    """
    try:
        shares = [_chunk(part) for part in text.split("+")]
    except (AttributeError, ValueError):
        raise WorkloadError(
            f"{where}: {CHUNKS} = {quote(text)}: expected such as "
            "'2:ncpus=8:ngpus=1:mem=64gb+1:ncpus=4'"
        ) from None
    return tuple(sorted(shares, key=lambda share: share[1:], reverse=True))


def _chunk(text: str) -> Share:
    count, *amounts = text.split(":")
    found = {"ncpus": 1, "ngpus": 0, "mem": 0}
    for amount in amounts:
        name, _, value = amount.partition("=")
        found[name] = ceil(parse_mebibytes(value)) if name == "mem" else int(value)
    share = Share(int(count), found.pop("ncpus"), found.pop("ngpus"), found.pop("mem"))
    if found or share.nodes < 1 or share.cores < 1 or share.gpus < 0:
        raise ValueError
    return share


def make_chunks(parts: Mapping[str, NodeSize]) -> tuple[str, str]:
    """Return the nodes of a job, and its parts of them as chunks.

    The nodes of which it has most come first. There are no chunks if it has no cores of a node.

    >>> make_chunks({"a": NodeSize(4, 1, 2048), "b": NodeSize(8), "c": NodeSize(4, 1, 2048)})
    ('b,a,c', '2:ncpus=4:ngpus=1:mem=2gb+1:ncpus=8')
    """
    nodes: dict[NodeSize, list[str]] = defaultdict(list)
    for name, part in parts.items():
        nodes[part].append(name)
    chunks = []
    for (cores, gpus, memory), names in nodes.items():
        unit = f"{memory}mb" if memory % 1024 else f"{memory // 1024}gb"
        chunk = f"{len(names)}:ncpus={cores}" + f":ngpus={gpus}" * (gpus > 0)
        chunks.append(chunk + f":mem={unit}" * (memory > 0))
    ordered = ",".join(name for part in sorted(nodes, reverse=True) for name in nodes[part])
    return ordered, "+".join(chunks) if all(part.cores > 0 for part in nodes) else ""
