"""What a job holds of each of its nodes, written as PBS writes chunks, and lists of nodes."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import pairwise
from math import ceil
from typing import NamedTuple

from batsched_py.accounting.records import parse_memory
from batsched_py.workload.logs.swf import UNKNOWN

_NUMBERED = re.compile(r"([^.]*\D|)(\d{1,9})([^\d.]*(?:\..*)?)", re.ASCII | re.DOTALL)
"""A name by its last number, not in a domain."""


class Share(NamedTuple):
    """The part of a node that a job holds; memory in MiB, -1 if unknown."""

    cores: float
    gpus: float = 0
    memory: float = UNKNOWN


def make_chunks(shares: Mapping[str, Share]) -> tuple[str, str]:
    """Return the names of nodes, those with equal shares together, and their shares as text.

    >>> make_chunks({"a": Share(4, 1, 2048), "b": Share(8), "c": Share(4, 1, 2048)})
    ('a,c,b', '2:ncpus=4:ngpus=1:mem=2gb+1:ncpus=8')
    """
    nodes: dict[Share, list[str]] = defaultdict(list)
    for name, share in shares.items():
        nodes[share].append(name)
    chunks = [f"{len(names)}:{_chunk(share)}" for share, names in nodes.items()]
    return ",".join(name for names in nodes.values() for name in names), "+".join(chunks)


def _chunk(share: Share) -> str:
    text = f"ncpus={share.cores:g}"
    if share.gpus > 0:
        text += f":ngpus={share.gpus:g}"
    if share.memory >= 0:
        mib = ceil(share.memory)
        text += f":mem={mib}mb" if mib % 1024 else f":mem={mib // 1024}gb"
    return text


@lru_cache(4096)
def parse_chunks(text: str) -> list[tuple[int, Share]]:
    """Return the number of nodes and the share of each chunk of :func:`make_chunks`."""
    chunks = []
    for chunk in text.split("+"):
        count, *pairs = chunk.split(":")
        amounts = dict(pair.split("=", 1) for pair in pairs)
        memory = parse_memory("mem", amounts.get("mem", ""))
        cores, gpus = float(amounts["ncpus"]), float(amounts.get("ngpus", 0))
        chunks.append((int(count), Share(cores, gpus, memory / 1024 if memory >= 0 else UNKNOWN)))
    return chunks


def fold_nodes(names: Iterable[str]) -> str:
    """Return a list of nodes, with consecutive numbers as ranges.

    >>> fold_nodes(["g01", "g02", "g04", "login", "n9.site"])
    'g[01-02,04],login,n9.site'
    """
    numbers: dict[tuple[str, str, int], list[str]] = defaultdict(list)
    for name in names:
        match = _NUMBERED.fullmatch(name)
        before, number, after = match.groups() if match else (name, "", "")
        numbers[before, after, len(number)].append(number)
    return ",".join(
        f"{before}{_ranges(its, width)}{after}" for (before, after, width), its in numbers.items()
    )


def _ranges(numbers: list[str], width: int) -> str:
    if len(numbers) == 1:
        return numbers[0]
    values = sorted(set(map(int, numbers)))
    breaks = [at for at, (low, high) in enumerate(pairwise(values), 1) if high > low + 1]
    texts = []
    for begin, end in pairwise([0, *breaks, len(values)]):
        first, last = (f"{value:0{width}d}" for value in (values[begin], values[end - 1]))
        texts.append(first if first == last else f"{first}-{last}")
    return f"[{','.join(texts)}]"
