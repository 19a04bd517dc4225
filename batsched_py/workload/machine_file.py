"""Machine files: nodes, partitions with their limits, and outages, as a site knows them.

A TOML file that ``batsched-py import`` drafts and a person corrects; docs/machines.md has all keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from batsched_py.errors import InputError, ProtocolError, UsageError, parameter
from batsched_py.support.file_readers import is_file, read_toml
from batsched_py.support.json_values import shown
from batsched_py.support.processor_sets import (
    MOST_PROCESSORS,
    NO_PROCESSORS,
    ProcessorSet,
    from_text,
    of_intervals,
    to_text,
)
from batsched_py.support.toml_tables import TomlTable
from batsched_py.units import LATEST_TIME
from batsched_py.workload.sites import MOST_TIMES

PARTITION = "partition"
"""The field of a job that names its partition, or says its number in the log."""
FIELDS = (PARTITION, "queue")
"""Fields of a log that may number partitions."""
UNITS = ("cores", "nodes")
"""What a processor of the simulation may be."""
OVER = ("reject", "cut")
"""What may become of jobs that request more time than their partition gives."""


class Partition(msgspec.Struct, frozen=True, kw_only=True):
    """A partition, its processors and its limits, in processors of the simulation and seconds."""

    name: str = ""
    number: int | None = None
    """In the log, None if no job of the log is of it."""
    processors: ProcessorSet = NO_PROCESSORS
    unit: int = 1
    """Processors of a node where jobs take whole nodes, 1 where they take processors."""
    cores: int = 1
    """Cores of a log's job that become ``unit`` processors."""
    tier: int = 1
    """Partitions of a higher tier are served first."""
    priority: float = 0.0
    """Factor of a job's priority, 0 to 1."""
    max_walltime: float = inf
    default_walltime: float | None = None
    """Of jobs that request none; None: ``max_walltime`` if there is one."""
    over_walltime: str = "reject"
    max_size: int = MOST_PROCESSORS
    """Processors of a job."""
    max_running_jobs_per_user: int | None = None
    max_processors_per_user: int | None = None

    def whole_nodes(self, size: int) -> int:
        """Return so many processors, rounded up to whole nodes where jobs take these."""
        return -(-size // self.unit) * self.unit

    def admits(self, size: int, walltime: float | None) -> bool:
        """Tell whether a job of so many processors and seconds (None: no limit) may ever run."""
        most = min(self.max_size, self.processors.size, self.max_processors_per_user or size)
        return (
            size % self.unit == 0
            and size <= most
            and (walltime is None or walltime <= self.max_walltime)
        )

    @property
    def limits_users(self) -> bool:
        """Whether a user may have only so much running at a time."""
        return (self.max_running_jobs_per_user, self.max_processors_per_user) != (None, None)


NO_LIMITS = Partition()
"""Of a machine that has no partitions."""


class Outage(msgspec.Struct, frozen=True, kw_only=True):
    """A time in which some processors run nothing, ``[begin, end)`` in seconds of the log."""

    begin: float
    end: float
    processors: ProcessorSet
    planned: bool = True
    """Whether it is known before: no job is started that would run into it."""
    reason: str = ""


class MachineDescription(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """What a machine file says."""

    nb_processors: int
    partitions: tuple[Partition, ...]
    outages: tuple[Outage, ...] = ()
    field: str = PARTITION
    """The field of a log that numbers the partitions."""

    @cached_property
    def by_name(self) -> dict[Any, int]:
        """The place of each partition, by its name and its number in the log."""
        numbers = {part.number: at for at, part in enumerate(self.partitions)}
        names = {part.name: at for at, part in enumerate(self.partitions)}
        return numbers | names

    def place_of(self, partition: Any) -> int:
        """Return the place of the partition with a name or a number; the first if there is none."""
        return self.by_name.get(partition, 0) if isinstance(partition, str | int) else 0

    def partition_of(self, extra: Mapping[str, Any]) -> Partition:
        """Return the partition of a job by its further fields."""
        return self.partitions[self.place_of(extra.get(PARTITION))]

    @property
    def is_one(self) -> bool:
        """Whether it is but one pool of processors, which jobs take one by one."""
        (first, *others) = self.partitions
        return not others and first.unit == 1 and first.processors.size == self.nb_processors


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
    content = read_toml(path)
    top = TomlTable(str(path), content, ("field", "processors", "nodes", "partitions", "outages"))
    nodes = _Nodes(top.tables("nodes", ("name", "count", "cores"), least=1), node_factor)
    unit = top.choice("processors", UNITS, UNITS[0])
    partitions = [
        replace(part, max_walltime=min(part.max_walltime, max_walltime))
        for part in _partitions(top, nodes, in_nodes=unit == "nodes")
    ]
    return MachineDescription(
        nb_processors=nodes.nb if unit == "nodes" else nodes.nb_cores,
        partitions=tuple(partitions),
        outages=tuple(
            _outage(table, nodes, in_nodes=unit == "nodes")
            for table in top.tables("outages", ("begin", "end", "nodes", "planned", "reason"))
        ),
        field=top.choice("field", FIELDS, FIELDS[0]),
    )


class _Nodes:
    """The groups of equal nodes, scaled: which of the nodes of the file each node is."""

    def __init__(self, groups: Sequence[TomlTable], factor: float) -> None:
        self.cores: list[int] = []
        """Of a node of each group."""
        ends, originals, first_cores = [0], [0], [0]
        for group in groups:
            group.text("name", "node")
            count, cores = (
                group.whole("count", None, 1, MOST_PROCESSORS),
                group.whole("cores", 1, 1, 100_000),
            )
            if count is None:
                raise group.wrong("count", "expected the number of nodes")
            scaled = round(count * factor)
            if scaled < 1:
                raise UsageError(
                    f"{parameter('node_factor')} {factor} leaves no node of {group.where}, which "
                    f"has {count}"
                )
            assert cores is not None
            self.cores.append(cores)
            originals.append(originals[-1] + count)
            ends.append(ends[-1] + scaled)
            first_cores.append(first_cores[-1] + scaled * cores)
            if first_cores[-1] > MOST_PROCESSORS:
                raise InputError(f"{group.where}: more than {MOST_PROCESSORS} cores in all")
        self._ends, self._originals, self._first_cores = ends, originals, first_cores

    @property
    def nb(self) -> int:
        """Number of nodes."""
        return self._ends[-1]

    @property
    def nb_cores(self) -> int:
        """Number of cores of all nodes."""
        return self._first_cores[-1]

    def chosen(self, table: TomlTable, default_all: bool = False) -> ProcessorSet:
        """Return the nodes that a table names by ``nodes``, those of the file, as they are here."""
        text = table.get("nodes")
        if text is None and default_all:
            return ProcessorSet.interval(0, self.nb)
        try:
            named = from_text(text, self._originals[-1])
        except ProtocolError as error:
            raise InputError(f"{table.where}: nodes: {error}") from None
        intervals: list[tuple[int, int]] = []
        groups = zip(pairwise(self._originals), pairwise(self._ends), strict=True)
        for (first, end), (begin, stop) in groups:
            factor = (stop - begin) / (end - first)
            for low, high in (named & ProcessorSet.interval(first, end - first)).intervals():
                new = [begin + round((bound - first) * factor) for bound in (low, high + 1)]
                if new[0] < new[1]:
                    intervals.append((new[0], new[1] - 1))
        chosen = of_intervals(intervals)
        if not chosen:
            raise UsageError(f"{parameter('node_factor')} leaves no node of {table.where}")
        return chosen

    def processors(self, nodes: ProcessorSet, in_nodes: bool) -> ProcessorSet:
        """Return the processors of the simulation that some nodes are."""
        if in_nodes:
            return nodes
        intervals: list[tuple[int, int]] = []
        for at, cores in enumerate(self.cores):
            first, end = self._ends[at], self._ends[at + 1]
            for low, high in (nodes & ProcessorSet.interval(first, end - first)).intervals():
                start = self._first_cores[at] + (low - first) * cores
                intervals.append((start, start + (high + 1 - low) * cores - 1))
        return of_intervals(intervals)

    def cores_of(self, nodes: ProcessorSet) -> set[int]:
        """Return how many cores these nodes have: one number if they are equal."""
        spans = pairwise(self._ends)
        return {
            cores
            for cores, (first, end) in zip(self.cores, spans, strict=True)
            if nodes & ProcessorSet.interval(first, end - first)
        }


_OF_PARTITIONS = (
    *("name", "number", "nodes", "whole_nodes", "tier", "priority", "max_walltime"),
    *("default_walltime", "over_walltime", "max_nodes", "max_processors"),
    *("max_running_jobs_per_user", "max_processors_per_user"),
)


def _partitions(top: TomlTable, nodes: _Nodes, *, in_nodes: bool) -> list[Partition]:
    tables = top.tables("partitions", _OF_PARTITIONS)
    if not tables:
        tables = [TomlTable(f"{top.where}: the machine", {"name": "all"}, _OF_PARTITIONS)]
    partitions = [_partition(table, nodes, in_nodes) for table in tables]
    for name in ("name", "number"):
        seen: set[Any] = set()
        for table, part in zip(tables, partitions, strict=True):
            value = getattr(part, name)
            if value in seen and value is not None:
                raise InputError(f"{table.where}: two partitions have the {name} {value!r}")
            seen.add(value)
    return partitions


def _partition(table: TomlTable, nodes: _Nodes, in_nodes: bool) -> Partition:
    chosen = nodes.chosen(table, default_all=True)
    cores = nodes.cores_of(chosen)
    whole = in_nodes or table.boolean("whole_nodes", False)
    if whole and len(cores) > 1:
        raise InputError(
            f"{table.where}: its jobs take whole nodes, which have {_to_words(cores)} cores: "
            "expected nodes of one size; make a partition for each"
        )
    per_node = next(iter(cores)) if whole else 1
    unit = 1 if in_nodes else per_node
    max_walltime = table.time("max_walltime", inf)
    most = (table.whole("max_processors", None), table.whole("max_nodes", None))
    limits = [most[0], most[1] and most[1] * (1 if in_nodes else max(cores))]
    assert max_walltime is not None
    return Partition(
        name=table.text("name", ""),
        number=table.whole("number", None, least=-1),
        processors=nodes.processors(chosen, in_nodes),
        unit=unit,
        cores=per_node,
        tier=table.whole("tier", 1, least=0) or 0,
        priority=table.number("priority", 0.0, 0, 1) or 0.0,
        max_walltime=max_walltime,
        default_walltime=table.time("default_walltime", None),
        over_walltime=table.choice("over_walltime", OVER, OVER[0]),
        max_size=min([limit for limit in limits if limit is not None], default=MOST_PROCESSORS),
        max_running_jobs_per_user=table.whole("max_running_jobs_per_user", None),
        max_processors_per_user=table.whole("max_processors_per_user", None),
    )


def _to_words(numbers: set[int]) -> str:
    """Return numbers for a message."""
    return " and ".join(map(str, sorted(numbers)))


def _outage(table: TomlTable, nodes: _Nodes, *, in_nodes: bool) -> Outage:
    begin, end = (table.number(key, None, 0, LATEST_TIME) for key in ("begin", "end"))
    if begin is None or end is None or end <= begin:
        raise InputError(
            f"{table.where}: from begin = {shown(table.get('begin'))} to end = "
            f"{shown(table.get('end'))}: expected seconds of the log, the end after the beginning"
        )
    chosen = nodes.chosen(table, default_all=True)
    reason = table.text("reason", "outage")
    planned = table.boolean("planned", True)
    processors = nodes.processors(chosen, in_nodes)
    return Outage(begin=begin, end=end, processors=processors, planned=planned, reason=reason)


def partition_texts(machine: MachineDescription | None) -> dict[str, str]:
    """Return the processors of each partition by its name, as they are stored with a run."""
    partitions = machine.partitions if machine else ()
    return {part.name: to_text(part.processors) for part in partitions}
