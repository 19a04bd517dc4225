"""Reads machine files: nodes, their power, partitions, limits and outages of an HPC site.

A TOML file that ``batsched-py import`` drafts and the user corrects.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec.structs import replace

from batsched_py.errors import InputError, ProtocolError, UsageError, located, parameter
from batsched_py.files.readers import is_file, read_toml
from batsched_py.options.checked_values import Seconds, convert
from batsched_py.processors.sets import MOST_PROCESSORS, ProcessorSet, from_text, join_intervals
from batsched_py.units import LATEST_TIME
from batsched_py.workload.grid_sites import MOST_TIMES
from batsched_py.workload.machine_description import (
    Count,
    MachineDescription,
    Outage,
    Partition,
    PartitionLimits,
    Text,
)
from batsched_py.workload.processor_power import PowerGroup, ProcessorPower

_Time = Annotated[float, msgspec.Meta(ge=0, le=LATEST_TIME)]
_NodeSet = Annotated[str, msgspec.Meta(description="numbers of nodes such as '0-3 7'")]


class _NodeTable(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A table ``[[nodes]]``: a group of equal nodes."""

    name: Text = "node"
    count: Annotated[int, msgspec.Meta(ge=1, le=MOST_PROCESSORS)]
    cores: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 1
    power: ProcessorPower | None = None
    """Of one processor of the simulation."""


class _PartitionTable(PartitionLimits, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table ``[[partitions]]``."""

    name: Text
    nodes: _NodeSet | None = None
    whole_nodes: bool = False
    max_walltime: Seconds | None = None
    default_walltime: Seconds | None = None
    max_nodes: Count | None = None
    max_processors: Count | None = None


class _OutageTable(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A table ``[[outages]]``; times are seconds of the log."""

    begin: _Time
    end: _Time
    nodes: _NodeSet | None = None
    planned: bool = True
    reason: Text = "outage"

    def __post_init__(self) -> None:
        if self.end <= self.begin:
            raise ValueError(
                f"from begin = {self.begin:g} to end = {self.end:g}: expected seconds of the log, "
                "the end after the beginning"
            )


class _MachineFile(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    field: Literal["partition", "queue"] = "partition"
    """The field of a log that numbers partitions."""
    processors: Literal["cores", "nodes"] = "cores"
    """What a processor of the simulation is."""
    nodes: Annotated[
        list[_NodeTable], msgspec.Meta(min_length=1, description="at least one table [[nodes]]")
    ]
    partitions: list[_PartitionTable] = []
    outages: list[_OutageTable] = []


def read_machine(
    path: str | Path, node_factor: float = 1.0, max_walltime: float = inf
) -> MachineDescription:
    """Read a machine file, with ``node_factor`` times as many nodes of each group.

    No partition lets a job ask for more than ``max_walltime`` (seconds). Node j of a group is in
    the partitions and outages of node ``j / node_factor`` of the file. Raises :class:`UsageError`
    for a file that does not exist and a factor that leaves no node, and :class:`InputError`, naming
    table and key, for what makes no sense.
    """
    path = Path(path)
    if not is_file(path):
        raise UsageError(f"{parameter('machine')} {path}: there is no such file")
    if not 0 < node_factor <= MOST_TIMES:
        raise UsageError(
            f"{parameter('node_factor')} {node_factor}: expected a positive number up to "
            f"{MOST_TIMES:g}"
        )
    file = convert(read_toml(path), _MachineFile, str(path))
    nodes = _Nodes(str(path), file, node_factor)
    partitions = [
        replace(part, max_walltime=min(part.max_walltime, max_walltime))
        for part in _partitions(str(path), file.partitions, nodes)
    ]
    outages = [
        Outage(
            begin=table.begin,
            end=table.end,
            processors=nodes.processors(nodes.choose(table.nodes, f"{path}: outages {number}")),
            planned=table.planned,
            reason=table.reason,
        )
        for number, table in enumerate(file.outages, 1)
    ]
    power = [
        PowerGroup(nodes.processors(nodes.of_group(at)), group.power)
        for at, group in enumerate(file.nodes)
        if group.power is not None
    ]
    return MachineDescription(
        nb_processors=nodes.nb if nodes.are_processors else nodes.nb_cores,
        partitions=tuple(partitions),
        outages=tuple(outages),
        power=tuple(power),
        field=file.field,
    )


class _Nodes:
    """The groups of equal nodes, scaled: which of the nodes of the file each node is."""

    def __init__(self, path: str, file: _MachineFile, factor: float) -> None:
        self.are_processors = file.processors == "nodes"
        """Whether a processor of the simulation is a node."""
        self.cores = [group.cores for group in file.nodes]
        """Of a node of each group."""
        ends, originals, first_cores = [0], [0], [0]
        for number, group in enumerate(file.nodes, 1):
            scaled = round(group.count * factor)
            if scaled < 1:
                raise UsageError(
                    f"{parameter('node_factor')} {factor} leaves no node of {path}: nodes "
                    f"{number}, which has {group.count}"
                )
            originals.append(originals[-1] + group.count)
            ends.append(ends[-1] + scaled)
            first_cores.append(first_cores[-1] + scaled * group.cores)
        if first_cores[-1] > MOST_PROCESSORS:
            raise InputError(f"{path}: more than {MOST_PROCESSORS} cores in all")
        self._ends, self._originals, self._first_cores = ends, originals, first_cores
        self.nb, self.nb_cores = ends[-1], first_cores[-1]

    def of_group(self, at: int) -> ProcessorSet:
        """Return the scaled nodes of the group with number ``at``."""
        return ProcessorSet.interval(self._ends[at], self._ends[at + 1] - self._ends[at])

    def choose(self, text: str | None, where: str) -> ProcessorSet:
        """Return the scaled nodes for the nodes of the file in ``text``; None: all nodes."""
        if text is None:
            return ProcessorSet.interval(0, self.nb)
        with located(f"{where}: nodes", ProtocolError, InputError):
            named = from_text(text, self._originals[-1])
        intervals: list[tuple[int, int]] = []
        groups = zip(pairwise(self._originals), pairwise(self._ends), strict=True)
        for (first, end), (begin, stop) in groups:
            factor = (stop - begin) / (end - first)
            for low, high in (named & ProcessorSet.interval(first, end - first)).intervals():
                new = [begin + round((bound - first) * factor) for bound in (low, high + 1)]
                if new[0] < new[1]:
                    intervals.append((new[0], new[1] - 1))
        chosen = join_intervals(intervals)
        if not chosen:
            raise UsageError(f"{parameter('node_factor')} leaves no node of {where}")
        return chosen

    def processors(self, nodes: ProcessorSet) -> ProcessorSet:
        """Return the processors of the simulation that belong to some nodes."""
        if self.are_processors:
            return nodes
        intervals: list[tuple[int, int]] = []
        for at, cores in enumerate(self.cores):
            first, end = self._ends[at], self._ends[at + 1]
            for low, high in (nodes & ProcessorSet.interval(first, end - first)).intervals():
                start = self._first_cores[at] + (low - first) * cores
                intervals.append((start, start + (high + 1 - low) * cores - 1))
        return join_intervals(intervals)

    def cores_of(self, nodes: ProcessorSet) -> set[int]:
        """Return how many cores these nodes have: one number if they are equal."""
        spans = pairwise(self._ends)
        return {
            cores
            for cores, (first, end) in zip(self.cores, spans, strict=True)
            if nodes & ProcessorSet.interval(first, end - first)
        }


def _partitions(path: str, tables: Sequence[_PartitionTable], nodes: _Nodes) -> list[Partition]:
    for key in ("name", "number"):
        values = [getattr(table, key) for table in tables]
        for number, value in enumerate(values, 1):
            if value is not None and value in values[: number - 1]:
                raise InputError(
                    f"{path}: partitions {number}: two partitions have the {key} {value!r}"
                )
    return [
        _partition(f"{path}: partitions {number}", table, nodes)
        for number, table in enumerate(tables or [_PartitionTable(name="all")], 1)
    ]


def _partition(where: str, table: _PartitionTable, nodes: _Nodes) -> Partition:
    chosen = nodes.choose(table.nodes, where)
    cores, in_nodes = nodes.cores_of(chosen), nodes.are_processors
    whole = in_nodes or table.whole_nodes
    if whole and len(cores) > 1:
        sizes = map(str, sorted(cores))
        raise InputError(
            f"{where}: its jobs take whole nodes, which have {' and '.join(sizes)} cores: "
            "expected nodes of one size; make a partition for each"
        )
    per_node = next(iter(cores)) if whole else 1
    of_nodes = table.max_nodes and table.max_nodes * (1 if in_nodes else max(cores))
    limits = [limit for limit in (table.max_processors, of_nodes) if limit is not None]
    shared = {name: getattr(table, name) for name in PartitionLimits.__struct_fields__}
    most, usual = table.max_walltime, table.default_walltime
    return Partition(
        **shared,
        processors=nodes.processors(chosen),
        unit=1 if in_nodes else per_node,
        cores=per_node,
        max_walltime=inf if most is None else float(most),
        default_walltime=None if usual is None else float(usual),
        max_size=min(limits, default=MOST_PROCESSORS),
    )
