"""Writes lists of nodes, and what a job holds of each, as Slurm and PBS do."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import pairwise

from batsched_py.workload.node_shares import Share

_NUMBERED = re.compile(r"([^.]*?)(\d{0,9})([^\d.]*(?:\..*)?)", re.ASCII | re.DOTALL)
"""A name by its last number, but for that of a domain."""


def make_chunks(shares: Mapping[str, tuple[int, int, int]]) -> tuple[str, str]:
    """Return nodes, and what a job has of them as chunks: cores, GPUs and MiB, 0 if unknown.

    The nodes of which it has most come first. There are no chunks if a node has no cores.

    >>> make_chunks({"a": (4, 1, 2048), "b": (8, 0, 0), "c": (4, 1, 2048)})
    ('b,a,c', '2:ncpus=4:ngpus=1:mem=2gb+1:ncpus=8')
    """
    nodes: dict[tuple[int, int, int], list[str]] = defaultdict(list)
    for name, share in shares.items():
        nodes[share].append(name)
    names = ",".join(name for share in sorted(nodes, reverse=True) for name in nodes[share])
    chunks = [_chunk(Share(len(its), *share)) for share, its in nodes.items()]
    return names, "+".join(chunks) if all(cores > 0 for cores, *_ in nodes) else ""


def _chunk(share: Share) -> str:
    gib, odd = divmod(share.memory_mib, 1024)
    memory = f"{share.memory_mib}mb" if odd else f"{gib}gb"
    gpus = f":ngpus={share.gpus}" if share.gpus else ""
    return f"{share.nodes}:ncpus={share.cores}{gpus}" + (f":mem={memory}" if gib or odd else "")


def fold_nodes(names: Iterable[str]) -> str:
    """Return a list of nodes, with consecutive numbers as ranges.

    >>> fold_nodes(["g01", "g02", "g04", "login", "n9.site"])
    'g[01-02,04],login,n9.site'
    """
    numbers: dict[tuple[str, str, int], list[int]] = defaultdict(list)
    for name in names:
        match = _NUMBERED.fullmatch(name)
        before, number, after = match.groups() if match else (name, "", "")
        numbers[before, after, len(number)].append(int(number or 0))
    parts = []
    for (before, after, width), values in numbers.items():
        values.sort()
        breaks = [at for at, (low, high) in enumerate(pairwise(values), 1) if high > low + 1]
        ends = [
            (values[begin], values[end - 1]) for begin, end in pairwise([0, *breaks, len(values)])
        ]
        texts = [f"{low:0{width}d}" + f"-{high:0{width}d}" * (high > low) for low, high in ends]
        listed = ",".join(texts) if width else ""
        parts.append(f"{before}{listed if len(values) < 2 else f'[{listed}]'}{after}")
    return ",".join(parts)
