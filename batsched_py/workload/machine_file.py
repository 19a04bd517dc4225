"""Reads machine files: nodes, their power, partitions, limits and outages of an HPC site.

A TOML file that ``batsched-py import`` drafts and the user corrects.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import Annotated, Literal, get_args, get_type_hints

import msgspec
from msgspec.structs import replace

from batsched_py.errors import InputError, ProtocolError, UsageError, located, parameter
from batsched_py.files.readers import is_file, read_toml
from batsched_py.options.budgets import AboveZero
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

_SOME = msgspec.Meta(min_length=1, description="at least one table [[nodes]]")
_Time = Annotated[float, msgspec.Meta(ge=0, le=LATEST_TIME)]
_NodeSet = Annotated[str, msgspec.Meta(description="numbers of nodes such as '0-3 7'")]


class _NodeTable(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A table ``[[nodes]]``: a group of equal nodes."""

    name: Text = "node"
    names: Text | None = None
    """Such as ``gpu[01-24]``; they give the count."""
    count: Annotated[int, msgspec.Meta(ge=1, le=MOST_PROCESSORS)] = 0
    cores: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 1
    gpus: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 0
    memory: Memory | None = None
    power: ProcessorPower | None = None
    """Of one processor of the simulation."""

    def __post_init__(self) -> None:
        if self.names is not None:
            named = len(expand_nodes(self.names))
            if self.count not in (0, named):
                raise ValueError(f"count = {self.count}, but there are {named} names")
            self.count = named
        if not self.count:
            raise ValueError("there is no count: expected one, or names such as 'gpu[01-24]'")


class _NamedNodeTable(_NodeTable, kw_only=True, forbid_unknown_fields=True):
    """A table ``[[nodes]]`` of nodes with names and a known number of cores."""

    names: Text
    cores: Annotated[int, msgspec.Meta(ge=1, le=100_000)]


class _NamedNodes(msgspec.Struct):
    """The nodes of a machine file, without its other tables."""

    nodes: Annotated[list[_NamedNodeTable], _SOME]


class _PartitionTable(PartitionLimits, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table ``[[partitions]]``."""

    name: Text
    nodes: _NodeSet | None = None
    whole_nodes: bool = False
    unit: Literal["core", "gpu"] | None = None
    """What is counted; None: jobs hold all resources of nodes, where nodes have several."""
    max_walltime: Seconds = Seconds(inf)
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
    nodes: Annotated[list[_NodeTable], _SOME]
    partitions: list[_PartitionTable] = []
    outages: list[_OutageTable] = []
    limits: list[_LimitTable] = []


_Factor = Annotated[
    float, msgspec.Meta(gt=0, le=MOST_TIMES, description=f"a positive number up to {MOST_TIMES:g}")
]


class MachineChanges(msgspec.Struct, frozen=True, kw_only=True):
    """What a run changes in a machine file; None: nothing.

    Raises :class:`UsageError` for values that are out of bounds.
    """

    node_factor: _Factor | None = None
    """Nodes of each group, as a multiple."""
    gpu_node_factor: _Factor | None = None
    """Of the groups with GPUs: a further factor."""
    max_walltime: AboveZero | None = None
    """Seconds that no partition exceeds."""
    whole_nodes: bool | None = None
    """Whether jobs of all partitions take whole nodes."""
    max_gpus_per_user: Count | None = None
    """GPUs that the running jobs of a user hold at most."""

    def __post_init__(self) -> None:
        for name, kind in get_type_hints(MachineChanges, include_extras=True).items():
            convert(getattr(self, name), kind, parameter(name), UsageError)

    def apply(self, file: _MachineFile, path: str) -> None:
        """Change the partitions and limits of a file; raises :class:`UsageError`."""
        for name in ("gpu_node_factor", "max_gpus_per_user"):
            if getattr(self, name) is not None and not any(group.gpus for group in file.nodes):
                raise UsageError(f"{parameter(name)}: no nodes of {path} have gpus")
        tables = file.partitions or [_PartitionTable(name="all")]
        file.partitions = [self._change(table) for table in tables]
        if self.max_gpus_per_user is not None:
            file.limits.append(_LimitTable(per="user", gpus=self.max_gpus_per_user))

    def _change(self, table: _PartitionTable) -> _PartitionTable:
        whole = table.whole_nodes if self.whole_nodes is None else self.whole_nodes
        most = min(table.max_walltime, self.max_walltime or inf)
        return replace(table, whole_nodes=whole, max_walltime=Seconds(most))


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
    machine = _Machine(str(path), file, changes)
    notes = machine.choose_units(packs)
    partitions = [machine.make_partition(part) for part in machine.parts]
    outages = [
        Outage(
            begin=table.begin,
            end=table.end,
            processors=machine.processors(machine.choose(table.nodes, f"outages {number}")),
            planned=table.planned,
            reason=table.reason,
        )
        for number, table in enumerate(file.outages, 1)
    ]
    power = [
        PowerGroup(machine.processors(group.nodes), group.table.power)
        for group in machine.groups
        if group.table.power is not None
    ]
    return MachineDescription(
        nb_processors=machine.processors(machine.nodes).size,
        partitions=tuple(partitions),
        outages=tuple(outages),
        limits=tuple(
            _limit(f"{path}: limits {number}", table, partitions)
            for number, table in enumerate(file.limits, 1)
        ),
        power=tuple(power),
        field=file.field,
        nodes=machine.describe(machine.nodes) if machine.are_packed else (),
        resources=None if file.resources is None else str(path.parent / file.resources),
        notes=notes,
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


class _Group(msgspec.Struct, eq=False):
    """The nodes of a table ``[[nodes]]``."""

    table: _NodeTable
    in_file: ProcessorSet
    """The numbers of the nodes in the file."""
    nodes: ProcessorSet
    """Their numbers in the simulation."""
    cores: int
    """Of a node; its GPUs where these are counted."""


class _Part(msgspec.Struct, eq=False):
    """A table ``[[partitions]]`` and its nodes."""

    where: str
    table: _PartitionTable
    nodes: ProcessorSet
    groups: list[_Group]
    has_gpus: bool
    """Whether all its nodes have GPUs."""
    counts_gpus: bool


class _Machine:
    """The nodes of a machine file, scaled, and its partitions."""

    def __init__(self, path: str, file: _MachineFile, changes: MachineChanges) -> None:
        self._path = path
        self.are_processors = file.processors == "nodes"
        """Whether a processor of the simulation is a node."""
        self.are_packed = False
        """Whether jobs hold cores, GPUs and memory of nodes."""
        self.groups: list[_Group] = []
        self._nb_in_file = nb = 0
        for number, table in enumerate(file.nodes, 1):
            factor = changes.node_factor or 1.0
            if table.gpus:
                factor *= changes.gpu_node_factor or 1.0
            count = round(table.count * factor)
            if count < 1:
                raise UsageError(
                    f"{parameter('node_factor')} {factor:g} leaves no node of {path}: nodes "
                    f"{number}, which has {table.count}"
                )
            in_file = ProcessorSet.interval(self._nb_in_file, table.count)
            scaled = ProcessorSet.interval(nb, count)
            self.groups.append(_Group(table, in_file, scaled, table.cores))
            self._nb_in_file += table.count
            nb += count
        self.nodes = ProcessorSet.interval(0, nb)
        if sum(group.nodes.size * group.cores for group in self.groups) > MOST_PROCESSORS:
            raise InputError(f"{path}: more than {MOST_PROCESSORS} cores in all")
        self.parts: list[_Part] = []
        for number, part in enumerate(file.partitions, 1):
            nodes = self.choose(part.nodes, f"partitions {number}")
            groups = [group for group in self.groups if nodes & group.nodes]
            has_gpus = all(group.table.gpus for group in groups)
            counts_gpus = part.unit == "gpu"
            where = f"{path}: partitions {number}"
            for key in ("name", "number"):
                value = getattr(part, key)
                if value is not None and value in [getattr(of.table, key) for of in self.parts]:
                    raise InputError(f"{where}: two partitions have the {key} {value!r}")
            if counts_gpus and (self.are_processors or not has_gpus):
                raise InputError(
                    f"{where}: unit = 'gpu': expected nodes with gpus, and processors = 'cores'"
                )
            self.parts.append(_Part(where, part, nodes, groups, has_gpus, counts_gpus))

    def choose_units(self, packs: bool) -> tuple[str, ...]:
        """Choose what a processor is on each node; returns notes on what the file leaves open.

        Raises :class:`InputError` for partitions that share nodes and count different resources.
        """
        is_open = not self.are_processors and not any(part.table.unit for part in self.parts)
        is_open &= any(of.table.gpus or of.table.memory is not None for of in self.groups)
        self.are_packed = is_open and packs
        is_counted = is_open and not packs
        for part in self.parts:
            part.counts_gpus |= is_counted and part.has_gpus
        mixed = [
            number
            for number, group in enumerate(self.groups, 1)
            if len({part.counts_gpus for part in self.parts if group in part.groups}) > 1
        ]
        if mixed and not is_counted:
            raise InputError(
                f"{self._path}: nodes {mixed[0]}: some partitions count their GPUs and others "
                "their cores: expected the same unit, or a table for the nodes of each"
            )
        for part in self.parts:
            part.counts_gpus &= not mixed
            for group in part.groups if part.counts_gpus else ():
                group.cores = group.table.gpus
        if not is_counted:
            return ()
        units = (f"{('cores', 'GPUs')[of.counts_gpus]} of {of.table.name}" for of in self.parts)
        what = "the policy does not place jobs by cores, GPUs and memory of nodes: it counts the "
        return (what + ", ".join(units),)

    def describe(self, nodes: ProcessorSet) -> tuple[NodeGroup, ...]:
        """Return the groups of these nodes with their resources."""
        return tuple(
            NodeGroup(count=count, cores=of.cores, gpus=of.gpus, memory_mib=of.memory)
            for group in self.groups
            for of in (group.table,)
            if (count := (nodes & group.nodes).size)
        )

    def choose(self, text: str | None, where: str) -> ProcessorSet:
        """Return the scaled nodes for the nodes of the file in ``text``; None: all nodes."""
        if text is None:
            return self.nodes
        where = f"{self._path}: {where}"
        with located(f"{where}: nodes", ProtocolError, InputError):
            named = from_text(text, self._nb_in_file)
        intervals: list[tuple[int, int]] = []
        for group in self.groups:
            first, begin = group.in_file.bounds[0], group.nodes.bounds[0]
            factor = group.nodes.size / group.table.count
            for low, high in (named & group.in_file).intervals():
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
        before = 0
        for group in self.groups:
            first, cores = group.nodes.bounds[0], group.cores
            for low, high in (nodes & group.nodes).intervals():
                start = before + (low - first) * cores
                intervals.append((start, start + (high + 1 - low) * cores - 1))
            before += group.nodes.size * cores
        return join_intervals(intervals)

    def make_partition(self, part: _Part) -> Partition:
        """Return a partition in processors of the simulation."""
        table, in_nodes = part.table, self.are_processors
        cores = {group.cores for group in part.groups}
        whole = in_nodes or table.whole_nodes
        if whole and len(cores) > 1 and not self.are_packed:
            sizes = map(str, sorted(cores))
            raise InputError(
                f"{part.where}: its jobs take whole nodes, which have {' and '.join(sizes)} cores: "
                "expected nodes of one size; make a partition for each"
            )
        per_node = max(cores) if whole and len(cores) == 1 else 1
        of_nodes = (table.max_nodes or MOST_PROCESSORS) * (1 if in_nodes else max(cores))
        return Partition(
            **{name: getattr(table, name) for name in PartitionLimits.__struct_fields__},
            processors=self.processors(part.nodes),
            unit=1 if in_nodes else per_node,
            cores=per_node,
            max_size=min(table.max_processors or MOST_PROCESSORS, of_nodes),
            counts_gpus=part.counts_gpus,
            nodes=part.nodes if self.are_packed else NO_PROCESSORS,
            takes_nodes=whole,
            node_groups=self.describe(part.nodes),
        )


def _limit(where: str, table: _LimitTable, partitions: Sequence[Partition]) -> Limit:
    budgets = {resource: getattr(table, resource, None) for resource in get_args(Resource)}
    most = {resource: budget for resource, budget in budgets.items() if budget is not None}
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
