"""The description of a machine: partitions with their limits, and outages."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from batsched_py.processors.sets import MOST_PROCESSORS, NO_PROCESSORS, ProcessorSet
from batsched_py.workload.node_shares import GPUS, MEMORY, read_held

if TYPE_CHECKING:
    from batsched_py.workload.processor_power import PowerGroups

PARTITION = "partition"
"""The field of a job with the name of its partition, or its number in the log."""
QOS, QOS_NAME, ACCOUNT = "queue", "queue_name", "group"
"""The fields of a job with its QOS, the name of that in the header of the log, and its account."""
Resource = Literal["gpus", "cpus", "memory", "jobs", "processors"]
"""What a limit counts: GPUs, cores, MiB, jobs, or processors of the simulation."""

Count = Annotated[int, msgspec.Meta(ge=1, le=2**53)]
Text = Annotated[str, msgspec.Meta(pattern=r"\S", description="a text")]


class PartitionLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The properties of a partition that are the same in a machine file and in a simulation."""

    name: Text = ""
    number: Annotated[int, msgspec.Meta(ge=-1)] | None = None
    """In the log, None if no job of the log is of it."""
    tier: Annotated[int, msgspec.Meta(ge=0)] = 1
    """Partitions of a higher tier are served first."""
    priority: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.0
    """Factor of a job's priority."""
    over_walltime: Literal["reject", "cut"] = "reject"
    """What becomes of jobs that request more time than the partition gives."""
    max_running_jobs_per_user: Count | None = None
    max_processors_per_user: Count | None = None
    max_walltime: float = inf
    default_walltime: float | None = None
    """Of jobs that request none; None: ``max_walltime`` if there is one."""


class Partition(PartitionLimits, frozen=True, kw_only=True):
    """A partition, its processors and its limits, in processors of the simulation and seconds."""

    processors: ProcessorSet = NO_PROCESSORS
    unit: int = 1
    """Processors of a node where jobs take whole nodes, 1 where they take processors."""
    cores: int = 1
    """Cores of a log's job that become ``unit`` processors."""
    max_size: int = MOST_PROCESSORS
    """Processors of a job."""
    counts_gpus: bool = False
    """Whether a processor of the simulation is a GPU here, not a core."""
    takes_nodes: bool = False
    nodes: ProcessorSet = NO_PROCESSORS
    """The numbers of its nodes; none where jobs do not hold parts of :attr:`.nodes`."""
    node_groups: tuple[NodeGroup, ...] = ()
    """Its nodes by their resources, also where one resource is counted."""

    def whole_nodes(self, size: int) -> int:
        """Return ``size`` rounded up to the processors of whole nodes, if jobs take nodes."""
        return -(-size // self.unit) * self.unit

    def count(self, resource: Resource, job: Any) -> int | None:
        """Return what a job holds of a resource, None if unknown; raises :class:`WorkloadError`."""
        if resource == "jobs":
            return 1
        if resource == "processors" or (resource == "gpus" and self.counts_gpus):
            return int(job.size)
        if resource == "cpus":
            return None if self.counts_gpus else int(job.size) // self.unit * self.cores
        return read_held(job.extra, GPUS if resource == "gpus" else MEMORY, f"job {job.id}")

    @property
    def limits_users(self) -> bool:
        """Whether the partition limits the running jobs of a user."""
        return (self.max_running_jobs_per_user, self.max_processors_per_user) != (None, None)

    @property
    def limit_of_users(self) -> Limit:
        """The limits of the running jobs of a user as one limit, with no budgets if none."""
        jobs, processors = self.max_running_jobs_per_user, self.max_processors_per_user
        most: dict[Resource, int] = {} if jobs is None else {"jobs": jobs}
        most |= {} if processors is None else {"processors": processors}
        return Limit(of=f"partition:{self.name}", per="user", most=most, in_order=True)


NO_LIMITS = Partition()
"""The partition of a machine without partitions."""


class Limit(msgspec.Struct, frozen=True, kw_only=True):
    """A limit on what the running jobs of a QOS, partition, account or user hold at a time."""

    of: str = ""
    """Whose jobs count and are bound, such as ``qos:gpu``, with a name or number; ``""``: all."""
    per: Literal["user", "account", "all"] = "all"
    """Whether each user or each account has a budget, or all jobs have one together."""
    most: Mapping[Resource, int]
    """The budgets."""
    in_order: bool = False
    """Whether a job that waits for room holds back later jobs of its budgets that have room."""

    def __hash__(self) -> int:
        return hash((self.of, self.per, frozenset(self.most)))

    def binds(self, job: Any, partition: str) -> bool:
        """Return whether a job in a partition, waiting or of a workload, counts."""
        kind, _, name = self.of.partition(":")
        if kind == "qos":
            return name in (str(job.extra.get(QOS, "")), job.extra.get(QOS_NAME))
        return name == (partition if kind == "partition" else find_owner(kind, job))

    def describe(self, resource: Resource) -> str:
        """Return a budget in words, such as ``8 gpus per user of qos:gpu``."""
        unit = "MiB of memory" if resource == "memory" else resource
        per = "" if self.per == "all" else f" per {self.per}"
        return f"{self.most[resource]} {unit}{per}{self.of and f' of {self.of}'}"


def find_owner(kind: str, job: Any) -> str:
    """Return the ``user`` or ``account`` of a job, ``""`` for another kind: all have one budget."""
    if kind == "user":
        return str(job.user)
    return str(job.extra.get(ACCOUNT, "")) if kind == "account" else ""


class Outage(msgspec.Struct, frozen=True, kw_only=True):
    """An outage: processors that run no job in ``[begin, end)``, in seconds of the log."""

    begin: float
    end: float
    processors: ProcessorSet
    planned: bool = True
    """Whether it is known before: no job is started that would run into it."""
    reason: str = ""


class NodeGroup(msgspec.Struct, frozen=True, kw_only=True):
    """A group of equal nodes, with the cores, GPUs and memory of each."""

    count: int
    cores: int
    gpus: int = 0
    memory_mib: int | None = None
    """None: unknown, so that memory holds no job back."""


class MachineDescription(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A machine with partitions, outages and power, as a machine file describes it."""

    nb_processors: int
    partitions: tuple[Partition, ...]
    outages: tuple[Outage, ...] = ()
    power: PowerGroups = ()
    field: str = PARTITION
    """The field of a log that numbers the partitions."""
    nodes: tuple[NodeGroup, ...] = ()
    """The nodes, if jobs hold cores, GPUs and memory of nodes; none if processors are counted."""
    limits: tuple[Limit, ...] = ()
    resources: str | None = None
    """The table of what each job of the log holds besides its cores."""
    notes: tuple[str, ...] = ()

    @cached_property
    def by_name(self) -> dict[Any, int]:
        """The place of each partition, by its name and its number in the log."""
        numbers = {part.number: at for at, part in enumerate(self.partitions)}
        names = {part.name: at for at, part in enumerate(self.partitions)}
        return numbers | names

    def find_place(self, partition: Any) -> int:
        """Return the place of the partition with a name or a number; the first if there is none."""
        return self.by_name.get(partition, 0) if isinstance(partition, str | int) else 0

    def find_partition(self, extra: Mapping[str, Any]) -> Partition:
        """Return the partition of a job by its further fields."""
        return self.partitions[self.find_place(extra.get(PARTITION))]

    @cached_property
    def all_limits(self) -> tuple[Limit, ...]:
        """The limits of partitions on the running jobs of a user, and :attr:`limits`."""
        of_users = (part.limit_of_users for part in self.partitions if part.limits_users)
        return (*of_users, *self.limits)

    def admits(self, job: Any) -> bool:
        """Return whether a job, with its place in ``partition``, may ever run by the limits."""
        part, size = self.partitions[job.partition], job.size
        fits = size % part.unit == 0 and size <= min(part.max_size, part.processors.size)
        is_short = job.walltime is None or job.walltime <= part.max_walltime
        return (
            fits
            and is_short
            and all(
                (part.count(resource, job) or 0) <= most
                for limit in self.all_limits
                if limit.binds(job, part.name)
                for resource, most in limit.most.items()
            )
        )

    @property
    def is_one(self) -> bool:
        """Whether the machine is one pool of single processors without nodes."""
        (first, *others) = self.partitions
        whole = first.unit == 1 and first.processors.size == self.nb_processors
        return whole and not others and not self.nodes
