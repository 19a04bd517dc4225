"""Reads machine files: nodes, their power, partitions, limits and outages of an HPC site.

A TOML file that ``batsched-py import`` drafts and the user corrects.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, compress, pairwise
from math import inf
from pathlib import Path
from typing import Annotated, Literal, get_args

import msgspec
from msgspec.structs import replace

from batsched_py.errors import InputError, ProtocolError, UsageError, located, parameter
from batsched_py.files.readers import is_file, read_toml
from batsched_py.options.checked_values import Memory, Seconds, convert
from batsched_py.processors.sets import (
    MOST_PROCESSORS,
    NO_PROCESSORS,
    ProcessorSet,
    from_text,
    join_intervals,
)
from batsched_py.support.host_lists import expand_nodes
from batsched_py.units import LATEST_TIME
from batsched_py.workload.grid_sites import MOST_TIMES
from batsched_py.workload.machine_description import (
    Count,
    Limit,
    MachineDescription,
    NodeGroup,
    Outage,
    Partition,
    PartitionLimits,
    Resource,
    Text,
)
from batsched_py.workload.node_shares import NodeSize
from batsched_py.workload.processor_power import PowerGroup, ProcessorPower

_Time = Annotated[float, msgspec.Meta(ge=0, le=LATEST_TIME)]
_NodeSet = Annotated[str, msgspec.Meta(description="numbers of nodes such as '0-3 7'")]


class _NodeTable(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A table ``[[nodes]]``: a group of equal nodes."""

    name: Text = "node"
    names: Text | None = None
    """Such as ``gpu[01-24]``; they give the count."""
    count: Annotated[int, msgspec.Meta(ge=1, le=MOST_PROCESSORS)] | None = None
    cores: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 1
    gpus: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 0
    memory: Memory | None = None
    power: ProcessorPower | None = None
    """Of one processor of the simulation."""

    def __post_init__(self) -> None:
        named = None if self.names is None else len(expand_nodes(self.names))
        if self.count is None and named is None:
            raise ValueError("there is no count: expected one, or names such as 'gpu[01-24]'")
        if named not in (None, self.count or named):
            raise ValueError(f"count = {self.count}, but there are {named} names")
        self.count = self.count or named

    @property
    def nb(self) -> int:
        """The number of nodes."""
        return self.count or 0


class _NamedNodeTable(_NodeTable, kw_only=True, forbid_unknown_fields=True):
    """A table ``[[nodes]]`` of nodes with names and a known number of cores."""

    names: Text
    cores: Annotated[int, msgspec.Meta(ge=1, le=100_000)]


class _NamedNodes(msgspec.Struct):
    """The nodes of a machine file, without its other tables."""

    nodes: Annotated[
        list[_NamedNodeTable],
        msgspec.Meta(min_length=1, description="at least one table [[nodes]]"),
    ]


class _PartitionTable(PartitionLimits, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table ``[[partitions]]``."""

    name: Text
    nodes: _NodeSet | None = None
    whole_nodes: bool = False
    unit: Literal["core", "gpu"] | None = None
    """What is counted; None: jobs hold all resources of nodes, where nodes have several."""
    max_walltime: Seconds | None = None
    default_walltime: Seconds | None = None
    max_nodes: Count | None = None
    max_processors: Count | None = None


_Most = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
_NAMES = "qos:NAME, partition:NAME, account:NAME or user:NAME"
_Whose = Annotated[
    str, msgspec.Meta(pattern=r"^(qos|partition|account|user):.*\S", description=_NAMES)
]


class _LimitTable(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A table ``[[limits]]``."""

    of: _Whose | None = None
    per: Literal["user", "account", "all"] = "all"
    gpus: _Most | None = None
    cpus: _Most | None = None
    memory: Memory | None = None
    jobs: _Most | None = None


_EVERYTHING = _PartitionTable(name="all")


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
    resources: Text | None = None
    """A table of what jobs hold besides cores, beside this file."""
    nodes: Annotated[
        list[_NodeTable], msgspec.Meta(min_length=1, description="at least one table [[nodes]]")
    ]
    partitions: list[_PartitionTable] = []
    outages: list[_OutageTable] = []
    limits: list[_LimitTable] = []


class MachineChanges(msgspec.Struct, frozen=True, kw_only=True):
    """What a run changes in a machine file; None: nothing."""

    node_factor: float | None = None
    """Nodes of each group, as a multiple."""
    gpu_node_factor: float | None = None
    """Of the groups with GPUs: a further factor."""
    max_walltime: float | None = None
    """Seconds that no partition exceeds."""
    whole_nodes: bool | None = None
    """Whether jobs of all partitions take whole nodes."""
    max_gpus_per_user: int | None = None
    """GPUs that the running jobs of a user hold at most."""

    def factor(self, gpus: int) -> float:
        """Return the factor of nodes with this number of GPUs."""
        factor = 1.0 if self.node_factor is None else self.node_factor
        return factor * (self.gpu_node_factor or 1.0) if gpus else factor

    def apply(self, file: _MachineFile, path: str) -> None:
        """Change the partitions and limits of a file; raises :class:`UsageError`."""
        for name in ("node_factor", "gpu_node_factor"):
            factor = getattr(self, name)
            if factor is not None and not 0 < factor <= MOST_TIMES:
                raise UsageError(
                    f"{parameter(name)} {factor}: expected a positive number up to {MOST_TIMES:g}"
                )
        for name in ("gpu_node_factor", "max_gpus_per_user"):
            if getattr(self, name) is not None and not any(group.gpus for group in file.nodes):
                raise UsageError(f"{parameter(name)}: no nodes of {path} have gpus")
        file.partitions = [self._change(table) for table in file.partitions or [_EVERYTHING]]
        if self.max_gpus_per_user is not None:
            if self.max_gpus_per_user < 1:
                raise UsageError(
                    f"{parameter('max_gpus_per_user')} {self.max_gpus_per_user}: expected 1 or more"
                )
            file.limits.append(_LimitTable(per="user", gpus=self.max_gpus_per_user))

    def _change(self, table: _PartitionTable) -> _PartitionTable:
        if self.whole_nodes is not None:
            table = replace(table, whole_nodes=self.whole_nodes)
        if self.max_walltime is not None:
            most = inf if table.max_walltime is None else table.max_walltime
            table = replace(table, max_walltime=Seconds(min(most, self.max_walltime)))
        return table


NO_CHANGES = MachineChanges()


def read_machine(
    path: str | Path, changes: MachineChanges = NO_CHANGES, *, packs: bool = True
) -> MachineDescription:
    """Read a machine file with some ``changes``.

    With f times as many nodes of a group, node j is in the partitions and outages of node ``j / f``
    of the file. Where nodes have GPUs or memory, jobs hold parts of nodes if the policy ``packs``
    them and the file has no ``unit``; if not, one resource of each partition is counted.

    Raises :class:`UsageError` for a file that does not exist and changes that make no sense, and
    :class:`InputError`, naming table and key, for other content that makes no sense.
    """
    path = Path(path)
    if not is_file(path):
        raise UsageError(f"{parameter('machine')} {path}: there is no such file")
    file = convert(read_toml(path), _MachineFile, str(path))
    changes.apply(file, str(path))
    nodes = _Nodes(str(path), file, changes)
    notes = _choose_units(str(path), file, nodes, packs)
    partitions = _partitions(str(path), file.partitions, nodes)
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
        limits=tuple(
            _limit(f"{path}: limits {number}", table, partitions)
            for number, table in enumerate(file.limits, 1)
        ),
        power=tuple(power),
        field=file.field,
        nodes=nodes.groups(ProcessorSet.interval(0, nodes.nb)) if nodes.are_packed else (),
        resources=None if file.resources is None else str(path.parent / file.resources),
        notes=tuple(notes),
    )


def read_node_sizes(path: str) -> dict[str, NodeSize]:
    """Return the size of each node by its name, from a machine file or its tables ``[[nodes]]``.

    Raises :class:`UsageError` for a file that does not exist, and :class:`InputError`, naming table
    and key, for tables that make no sense.
    """
    if not is_file(path):
        raise UsageError(f"{parameter('nodes')} {path}: there is no such file")
    sizes: dict[str, NodeSize] = {}
    for number, table in enumerate(convert(read_toml(path), _NamedNodes, path).nodes, 1):
        size = NodeSize(table.cores, table.gpus, table.memory or 0)
        for name in expand_nodes(table.names):
            if name in sizes:
                raise InputError(
                    f"{path}: nodes {number}: the node {name!r} is named twice: expected each "
                    "node once"
                )
            sizes[name] = size
    return sizes


def _choose_units(path: str, file: _MachineFile, nodes: _Nodes, packs: bool) -> list[str]:
    """Choose what a processor is on each node; returns notes on what the file leaves open.

    Raises :class:`InputError` for partitions that share nodes and count different resources.
    """
    chosen = [
        nodes.find_groups(table.nodes, f"{path}: partitions {number}")
        for number, table in enumerate(file.partitions, 1)
    ]
    have_gpus = [all(file.nodes[at].gpus for at in groups) for groups in chosen]
    counts_gpus = [table.unit == "gpu" for table in file.partitions]
    is_open = not any(table.unit for table in file.partitions) and not nodes.are_processors
    notes = []
    if is_open and any(group.gpus or group.memory is not None for group in file.nodes):
        nodes.are_packed = packs
        if not packs:
            counts_gpus = have_gpus
            if _mixed_groups(chosen, have_gpus):
                counts_gpus = [False] * len(chosen)
            counted = [
                f"{'GPUs' if counts else 'cores'} of {table.name}"
                for counts, table in zip(counts_gpus, file.partitions, strict=True)
            ]
            notes = [
                "the policy does not place jobs by cores, GPUs and memory of nodes: it counts the "
                + ", ".join(counted)
            ]
    for number, (counts, has) in enumerate(zip(counts_gpus, have_gpus, strict=True), 1):
        if counts and (nodes.are_processors or not has):
            raise InputError(
                f"{path}: partitions {number}: unit = 'gpu': expected nodes with gpus, and "
                "processors = 'cores'"
            )
    if mixed := _mixed_groups(chosen, counts_gpus):
        raise InputError(
            f"{path}: nodes {min(mixed) + 1}: some partitions count their GPUs and others their "
            "cores: expected the same unit, or a table for the nodes of each"
        )
    for groups in compress(chosen, counts_gpus):
        nodes.count_gpus(groups)
    return notes


def _mixed_groups(chosen: Sequence[set[int]], counts_gpus: Sequence[bool]) -> set[int]:
    """Return the groups of nodes in partitions of which some count GPUs and others do not."""
    pairs = list(zip(chosen, counts_gpus, strict=True))
    with_gpus = set().union(*(groups for groups, counts in pairs if counts))
    return with_gpus.intersection(
        *[set().union(*(groups for groups, counts in pairs if not counts))]
    )


class _Nodes:
    """The groups of equal nodes, scaled: which of the nodes of the file each node is."""

    def __init__(self, path: str, file: _MachineFile, changes: MachineChanges) -> None:
        self.are_processors = file.processors == "nodes"
        """Whether a processor of the simulation is a node."""
        self.cores = [group.cores for group in file.nodes]
        """Processors of a node of each group."""
        self._tables = file.nodes
        self.are_packed = False
        """Whether jobs hold cores, GPUs and memory of nodes."""
        self.counting_gpus: set[int] = set()
        """The groups of nodes whose processors are GPUs."""
        self._path, ends, originals = path, [0], [0]
        for number, group in enumerate(file.nodes, 1):
            factor = changes.factor(group.gpus)
            scaled = round(group.nb * factor)
            if scaled < 1:
                raise UsageError(
                    f"{parameter('node_factor')} {factor:g} leaves no node of {path}: nodes "
                    f"{number}, which has {group.nb}"
                )
            originals.append(originals[-1] + group.nb)
            ends.append(ends[-1] + scaled)
        self._ends, self._originals, self.nb = ends, originals, ends[-1]
        self._number_cores()

    def _number_cores(self) -> None:
        counts = [end - first for first, end in pairwise(self._ends)]
        sizes = (count * cores for count, cores in zip(counts, self.cores, strict=True))
        self._first_cores = list(accumulate(sizes, initial=0))
        self.nb_cores = self._first_cores[-1]
        if self.nb_cores > MOST_PROCESSORS:
            raise InputError(f"{self._path}: more than {MOST_PROCESSORS} cores in all")

    def count_gpus(self, groups: set[int]) -> None:
        """Let a processor of these groups of nodes be a GPU."""
        self.counting_gpus |= groups
        for at in groups:
            self.cores[at] = self._tables[at].gpus
        self._number_cores()

    def groups(self, nodes: ProcessorSet) -> tuple[NodeGroup, ...]:
        """Return the groups of these nodes with their resources."""
        return tuple(
            NodeGroup(count=count, cores=of.cores, gpus=of.gpus, memory_mib=of.memory)
            for at, of in enumerate(self._tables)
            if (count := (nodes & self.of_group(at)).size)
        )

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

    def find_groups(self, text: str | None, where: str) -> set[int]:
        """Return the numbers of the groups of the nodes that :meth:`choose` returns."""
        nodes = self.choose(text, where)
        return {at for at in range(len(self.cores)) if nodes & self.of_group(at)}


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
        for number, table in enumerate(tables, 1)
    ]


def _partition(where: str, table: _PartitionTable, nodes: _Nodes) -> Partition:
    chosen = nodes.choose(table.nodes, where)
    groups, in_nodes = nodes.find_groups(table.nodes, where), nodes.are_processors
    cores = {nodes.cores[at] for at in groups}
    whole = in_nodes or table.whole_nodes
    if whole and len(cores) > 1 and not nodes.are_packed:
        sizes = map(str, sorted(cores))
        raise InputError(
            f"{where}: its jobs take whole nodes, which have {' and '.join(sizes)} cores: "
            "expected nodes of one size; make a partition for each"
        )
    per_node = next(iter(cores)) if whole and len(cores) == 1 else 1
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
        counts_gpus=groups <= nodes.counting_gpus,
        nodes=chosen if nodes.are_packed else NO_PROCESSORS,
        takes_nodes=whole,
        node_groups=nodes.groups(chosen),
    )


def _limit(where: str, table: _LimitTable, partitions: Sequence[Partition]) -> Limit:
    values = {resource: getattr(table, resource, None) for resource in get_args(Resource)}
    most = {resource: budget for resource, budget in values.items() if budget is not None}
    if not most:
        raise InputError(f"{where}: it limits nothing: expected gpus, cpus, memory or jobs")
    kind, colon, name = (table.of or "").partition(":")
    name = name.strip()
    if kind == "partition":
        names = {str(part.number): part.name for part in partitions}
        names |= {part.name: part.name for part in partitions}
        if name not in names:
            raise InputError(
                f"{where}: of = {table.of!r}: expected a partition of this file, one of "
                f"{', '.join(part.name for part in partitions)}"
            )
        name = names[name]
    return Limit(of=kind + colon + name, per=table.per, most=most)
