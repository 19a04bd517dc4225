"""Resources in the records of Slurm: trackable resources (TRES) and generic ones (GRES).

Sources: the manual pages sacct(1), AllocTRES and ReqTRES, and slurm.conf(5), AccountingStorageTRES.
"""

from __future__ import annotations

import re
from functools import lru_cache
from math import ceil
from typing import NamedTuple

from batsched_py.accounting.records import NO_VALUES, parse_count, parse_memory, refuse
from batsched_py.workload.logs.swf import UNKNOWN

_IN_PARENTHESES = re.compile(r"\([^()]*\)")


class Tres(NamedTuple):
    """Amounts of resources, -1 if they are not listed; memory in MiB."""

    cores: int = UNKNOWN
    nodes: int = UNKNOWN
    memory: int = UNKNOWN
    gpus: int = UNKNOWN
    gpu_type: str = ""
    billing: int = UNKNOWN
    has_shards: bool = False
    has_licences: bool = False


@lru_cache(4096)
def parse_tres(column: str, text: str) -> Tres:
    """Return the amounts in ``billing=16,cpu=8,gres/gpu:a100=1,gres/gpu=1,mem=64G,node=1``.

    GPUs with a type are a part of those without one: they count only where there are none. Memory
    of 0 is unknown.

    >>> parse_tres("ReqTRES", "cpu=4,gres/gpu:a100=2,mem=1.5G")[:5]
    (4, -1, 1536, 2, 'a100')
    """
    if text in NO_VALUES:
        return Tres()
    listed = {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if not equals:
            refuse(column, text, "such as cpu=8,gres/gpu=1,mem=64G,node=1")
        listed[name] = value
    typed = {name[9:]: value for name, value in listed.items() if name[:9] == "gres/gpu:"}
    gpus = [listed["gres/gpu"]] if "gres/gpu" in listed else list(typed.values())
    memory, billing = listed.get("mem", ""), listed.get("billing", "").partition(".")[0]
    return Tres(
        parse_count(column, listed.get("cpu", "")),
        parse_count(column, listed.get("node", "")),
        ceil(parse_memory(column, memory + "M" * memory[-1:].isdigit()) / 1024) or UNKNOWN,
        sum(parse_count(column, value) for value in gpus) if gpus else UNKNOWN,
        "+".join(sorted(name for name in typed if typed[name] != "0")),
        int(billing) if re.fullmatch(r"\d{1,18}", billing, re.ASCII) else UNKNOWN,
        any(name.startswith("gres/shard") for name in listed),
        any(name.startswith("license/") for name in listed),
    )


@lru_cache(4096)
def parse_gres(column: str, text: str, times: int = 1) -> Tres:
    """Return some ``times`` the GPUs in ``gpu:a100:2(IDX:0-1),craynetwork:1`` or ``gres:gpu:2``.

    >>> parse_gres("ReqGRES", "gres:gpu:a100:4")[3:5]
    (4, 'a100')
    """
    if text in NO_VALUES:
        return Tres()
    gpus, types, has_shards = 0, set(), False
    for part in _IN_PARENTHESES.sub("", text).split(","):
        name, *rest = re.split("[:=]", re.sub("^gres[:/]", "", part))
        has_shards |= name == "shard"
        if name == "gpu":
            count = rest.pop() if rest and re.fullmatch(r"\d+[KM]?", rest[-1], re.ASCII) else "1"
            gpus += parse_count(column, count)
            types.update(rest[:1])
    return Tres(gpus=gpus * times, gpu_type="+".join(sorted(types)), has_shards=has_shards)
