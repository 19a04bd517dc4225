"""Reads the sizes of a site's nodes: the file of ``--nodes``."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import msgspec

from batsched_py.errors import InputError, UsageError, parameter
from batsched_py.files.readers import is_file, read_toml
from batsched_py.options.checked_values import Memory, convert
from batsched_py.support.host_lists import expand_nodes
from batsched_py.workload.machine_description import Text


class NodeSize(NamedTuple):
    """The cores, GPUs and memory (MiB, 0 if unknown) of a node."""

    cores: int
    gpus: int = 0
    memory: int = 0


class _NodeTable(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A table ``[[nodes]]``: equal nodes."""

    names: Text
    cores: Annotated[int, msgspec.Meta(ge=1, le=100_000)]
    gpus: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 0
    memory: Memory | None = None

    def __post_init__(self) -> None:
        expand_nodes(self.names)


class _NodeFile(msgspec.Struct, forbid_unknown_fields=True):
    nodes: Annotated[
        list[_NodeTable], msgspec.Meta(min_length=1, description="at least one table [[nodes]]")
    ]


def read_nodes(path: str) -> dict[str, NodeSize]:
    """Return the size of each node by its name.

    Raises :class:`UsageError` for a file that does not exist, and :class:`InputError`, naming table
    and key, for a file that makes no sense.
    """
    if not is_file(path):
        raise UsageError(f"{parameter('nodes')} {path}: there is no such file")
    sizes: dict[str, NodeSize] = {}
    for number, table in enumerate(convert(read_toml(path), _NodeFile, path).nodes, 1):
        names = expand_nodes(table.names)
        if twice := sizes.keys() & names:
            raise InputError(
                f"{path}: nodes {number}: the node {min(twice)!r} is in another table too: "
                "expected each node once"
            )
        size = NodeSize(table.cores, table.gpus, table.memory or 0)
        sizes.update(dict.fromkeys(names, size))
    return sizes
