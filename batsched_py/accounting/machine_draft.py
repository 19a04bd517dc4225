"""Drafts the description of a machine from the jobs that ran on it, for users to correct.

The format is that of machine files, see :mod:`batsched_py.workload.machine_file`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from math import ceil, inf

import msgspec

from batsched_py.accounting.import_options import ImportOptions
from batsched_py.accounting.log_rows import ALLOCATED, NODES, REQUESTED_TIME
from batsched_py.accounting.machine_use import Gap, MachineUse
from batsched_py.accounting.seen_nodes import SeenGroup, SeenNodes
from batsched_py.accounting.sorted_records import Row
from batsched_py.processors.sets import ProcessorSet, to_text
from batsched_py.support.host_lists import fold_nodes
from batsched_py.support.terminal_text import one_line
from batsched_py.units import DAY, HOUR
from batsched_py.workload.logs.clock import format_moment
from batsched_py.workload.logs.swf import UNKNOWN


class NodeGroup(msgspec.Struct):
    """A group of equal nodes; their numbers continue those of the previous group."""

    name: str
    count: int
    cores: int
    gpus: int = 0
    memory: int = 0
    """MiB of each, 0 if it is unknown."""
    names: str = ""
    """At the site, if the records have them."""
    why: str = "guessed"
    """Where the sizes are from."""


class PartitionDraft(msgspec.Struct, kw_only=True):
    """A partition drafted from its jobs; sizes are in processors of the log, times in seconds."""

    name: str = "all"
    number: int | None = None
    nb_jobs: int = 0
    largest: int = 0
    most_nodes: int = 0
    longest_request: int = -1
    least_of_node: float = inf
    """Fewest processors that a job had of each of its nodes, on average."""
    most_of_node: float = 0.0
    nodes: str = ""
    """As Batsim writes sets."""
    has_shared_nodes: bool = False
    """Whether a node had two jobs at once, or other processors than its jobs had, or is guessed."""

    def add(self, job: Row) -> None:
        """Add a job that ran in the partition to the draft."""
        self.nb_jobs += 1
        self.largest = max(self.largest, job[ALLOCATED])
        self.most_nodes = max(self.most_nodes, job[NODES])
        self.longest_request = max(self.longest_request, job[REQUESTED_TIME])
        if job[NODES] > 0 and job[ALLOCATED] > 0:
            each = job[ALLOCATED] / job[NODES]
            self.least_of_node = min(self.least_of_node, each)
            self.most_of_node = max(self.most_of_node, each)

    @property
    def whole_nodes(self) -> bool:
        """Whether all jobs had the same number of processors per node, a whole number above one.

        No node had two jobs at once then.
        """
        is_same = self.least_of_node == self.most_of_node > 1 and self.most_of_node.is_integer()
        return is_same and not self.has_shared_nodes


class MachineDraft(msgspec.Struct, kw_only=True):
    """A description of a machine, drafted from its jobs."""

    field: str
    in_nodes: bool
    """Whether the processors of the log are nodes."""
    nb_jobs: int = 0
    """That ran."""
    nb_without: int = 0
    """Those of them whose partition is unknown."""
    groups: list[NodeGroup] = []
    partitions: list[PartitionDraft] = []
    outages: list[Gap] = []
    """In seconds of the log: times in which nothing ran, though a job waited."""
    second_0: int = 0
    """Unix time of the log's begin."""
    zone: str = "UTC"
    """Time zone of the site, for dates in comments."""
    knows_nodes: bool = False
    """Whether the records name the nodes; else they are guessed."""
    resources: str = ""
    """The table of what jobs held, beside the machine file."""

    @property
    def nb_nodes(self) -> int:
        """The number of nodes of the machine."""
        return sum(group.count for group in self.groups)

    @property
    def nb_processors(self) -> int:
        """The number of processors, as the log counts them."""
        return self.nb_nodes if self.in_nodes else sum(g.count * g.cores for g in self.groups)


def draft_machine(
    sizes: Mapping[int, PartitionDraft],
    use: MachineUse,
    seen: SeenNodes,
    names: Mapping[int, tuple[int, str]],
    *,
    field: str,
    options: ImportOptions,
    second_0: int,
) -> MachineDraft:
    """Draft the description of a machine from the records of its jobs.

    ``names`` have the number and the name of each partition by its place; jobs of others (of -1)
    make one of all only if there are no others. ``second_0`` is the Unix time of the log's begin.
    """
    named = {place: sizes[place] for place in sizes if place in names} or {
        UNKNOWN: sizes.get(UNKNOWN) or PartitionDraft()
    }
    for place, partition in named.items():
        partition.number, partition.name = names.get(place, (None, "all"))
    named = dict(sorted(named.items(), key=lambda item: item[1].number or 0))
    nb_jobs = sum(partition.nb_jobs for partition in sizes.values())
    draft = MachineDraft(
        field=field,
        in_nodes=options.in_nodes,
        nb_jobs=nb_jobs,
        nb_without=nb_jobs - sum(partition.nb_jobs for partition in named.values()),
        partitions=list(named.values()),
        outages=[
            Gap(gap.begin - second_0, gap.end - second_0, gap.waited)
            for gap in use.gaps
            if gap.waited
        ],
        second_0=second_0,
        zone=options.zone,
    )
    groups = seen.groups()
    draft.knows_nodes = named.keys() <= {place for group in groups for place in group.partitions}
    seen_parts = _seen_parts(named, groups, options) if draft.knows_nodes else None
    parts = list(seen_parts or _guessed_parts(named, use, options))
    counts = [group.count * (1 if options.in_nodes else group.cores) for group, _ in parts]
    if (missing := use.most - sum(counts)) > 0:
        cores = max(group.cores for group, _ in parts)
        count = ceil(missing / (1 if options.in_nodes else cores))
        why = "guessed: the named nodes have fewer processors than were in use at once"
        parts.append((NodeGroup("", count, cores, why=why), dict.fromkeys(named, count)))
        for partition in named.values():
            partition.has_shared_nodes = True
    ranges: dict[int, list[range]] = defaultdict(list)
    for at, (group, nodes_of) in enumerate(parts, start=1):
        for place, nodes in nodes_of.items():
            ranges[place].append(range(draft.nb_nodes, draft.nb_nodes + nodes))
        group.name = f"nodes{at}"
        draft.groups.append(group)
    for place, partition in named.items():
        partition.nodes = to_text(ProcessorSet.of(chain(*ranges[place])))
    return draft


_Part = tuple[NodeGroup, dict[int, int]]
"""A group, and how many of its nodes each partition has, by its place."""


def _seen_parts(
    named: Mapping[int, PartitionDraft], groups: Iterable[SeenGroup], options: ImportOptions
) -> Iterator[_Part]:
    """Yield the groups of the nodes that the records name."""
    for names, partitions, size, is_shared, is_known in groups:
        cores = options.cores_per_node or (1 if options.in_nodes else size.cores)
        why = "as in the file of nodes" if is_known else "the most that jobs held of a node at once"
        group = NodeGroup("", len(names), cores, why=why)
        group.gpus, group.memory = (0, 0) if options.in_nodes else size[1:]
        group.names = "" if options.anonymise else one_line(fold_nodes(names))
        for place in partitions & named.keys():
            named[place].has_shared_nodes |= is_shared or cores != named[place].most_of_node
        yield group, dict.fromkeys(partitions, len(names))


def _guessed_parts(
    named: Mapping[int, PartitionDraft], use: MachineUse, options: ImportOptions
) -> Iterator[_Part]:
    """Yield groups of nodes by the processors in use at once.

    Partitions whose jobs had as many processors of a node are taken to be on the same nodes.
    """
    by_cores: dict[int, list[int]] = defaultdict(list)
    for place, partition in named.items():
        cores = options.cores_per_node or max(1, ceil(partition.most_of_node))
        by_cores[cores].append(place)
    for cores, places in sorted(by_cores.items()):
        unit = 1 if options.in_nodes else cores
        counts = {
            place: max(1, named[place].most_nodes, ceil(use.most_of[place] / unit))
            for place in places
        }
        all_of_them = min(sum(counts.values()), ceil(use.most / unit))
        yield NodeGroup("", max(*counts.values(), all_of_them), cores), counts


def draft_lines(draft: MachineDraft, system: str) -> Iterator[str]:
    """Yield the lines of a machine file, with comments for the user who corrects it."""
    yield f"# Drafted by `batsched-py import {system}` from {draft.nb_jobs} jobs that ran."
    yield "# Correct it: records show only what was used, and no limits of users."
    if draft.nb_without:
        yield f"# The partition of {draft.nb_without} of them is unknown."
    yield f'field = "{draft.field}"  # which field of the log numbers the partitions below'
    unit = "nodes" if draft.in_nodes else "cores"
    yield f'processors = "{unit}"  # what a processor of the simulation is: cores or nodes'
    if draft.resources:
        yield f"resources = {_text(draft.resources)}  # memory, GPUs and nodes of jobs"
    if not draft.knows_nodes:
        yield ""
        yield "# The records do not name nodes. Their number, and the nodes that partitions share,"
        yield "# are guessed from the largest number of processors in use at once."
    for group in draft.groups:
        yield from ("", "[[nodes]]", f"name = {_text(group.name)}", f"count = {group.count}")
        if group.names:
            yield f"names = {_text(group.names)}"
        yield f"cores = {group.cores}  # {group.why}"
        if group.gpus:
            yield f"gpus = {group.gpus}"
        if group.memory:
            gib, odd = divmod(group.memory, 1024)
            yield f'memory = "{f"{group.memory} MiB" if odd else f"{gib} GiB"}"'
    for partition in draft.partitions:
        yield from _partition_lines(partition, draft)
    for gap in draft.outages:
        yield from _outage_lines(gap, draft)


def _partition_lines(partition: PartitionDraft, draft: MachineDraft) -> Iterator[str]:
    yield from ("", "[[partitions]]", f"name = {_text(partition.name)}")
    if partition.number is not None:
        yield f"number = {partition.number}"
    known = "" if draft.knows_nodes else "  # guessed"
    yield f'nodes = "{partition.nodes}"{known}'
    whole = partition.whole_nodes and not draft.in_nodes
    why = "all jobs had equally many processors per node" if whole else "jobs had parts of nodes"
    yield f"whole_nodes = {'true' if whole else 'false'}  # {why}"
    if partition.longest_request > 0:
        length = _length(partition.longest_request)
        yield f"max_walltime = {length}  # the longest request"
    yield "# If jobs request more time than the limit (for example after you lower it):"
    yield "# cut (they get the limit, and are killed at it) or reject (they are refused)."
    yield 'over_walltime = "cut"'
    yield f"# Jobs that ran: {partition.nb_jobs}, the largest on {partition.largest} processors."
    yield "# Other limits: max_nodes, max_running_jobs_per_user, max_processors_per_user."
    yield "# Order: tier, priority."


def _outage_lines(gap: Gap, draft: MachineDraft) -> Iterator[str]:
    """Yield a time in which nothing ran, though a job waited, with its dates."""
    yield from ("", "# Nothing ran, though a job waited.", "[[outages]]")
    for name, second in (("begin", gap.begin), ("end", gap.end)):
        date = format_moment(second, draft.second_0, draft.zone)
        yield f"{name} = {second}  # {date:%Y-%m-%d %H:%M:%S}, {draft.zone}"
    yield f'nodes = "{to_text(ProcessorSet.of(range(draft.nb_nodes)))}"'
    yield 'reason = "nothing ran"'


def _length(seconds: int) -> str:
    for unit, length in (("days", int(DAY)), ("hours", int(HOUR))):
        if seconds % length == 0:
            return f'"{seconds // length} {unit}"'
    return str(seconds)


def _text(name: str) -> str:
    """Return a basic string of TOML; names have no control characters."""
    return msgspec.json.encode(name).decode()
