"""The jobs of a log on a machine with partitions: their partitions, sizes and requested times."""

from __future__ import annotations

from math import inf

import msgspec
import numpy as np
from numpy.typing import NDArray

from batsched_py.errors import UsageError
from batsched_py.workload.held_resources import HeldResources
from batsched_py.workload.logs.swf import Column, Mask, SwfLog
from batsched_py.workload.machine_description import MachineDescription
from batsched_py.workload.node_shares import CHUNKS, GPUS, MEMORY, read_held
from batsched_py.workload.workload import Workload


class LogPartitions:
    """The partitions, sizes and requested times of a log's jobs, in arrays of shape (n,).

    A job of a partition that the machine does not have belongs to the first one, which is noted.
    Sizes are whole nodes where the jobs of a partition take whole nodes. A job that requests no
    time gets the default of its partition. A job that requests too much is cut, or refused when it
    is submitted.
    """

    def __init__(self, log: SwfLog, described: MachineDescription) -> None:
        numbers = log.column(described.field)
        self.described, self._partitions = described, described.partitions
        unique, inverse = np.unique(numbers, return_inverse=True)
        places = np.array([described.find_place(int(number)) for number in unique], dtype=np.intp)
        self.place: NDArray[np.intp] = places[inverse]
        """Of the partition of each job among those of the machine."""
        unknown = np.array([int(number) not in described.by_name for number in unique])
        self._unknown = unknown[inverse] & (len(self._partitions) > 1)
        self._numbers, self._field = numbers, described.field
        self._too_long = np.zeros(len(log), dtype=np.bool_)
        path = described.resources
        self.held = None if path is None else HeldResources(path, log)
        """What jobs hold of nodes besides processors, if there is a table of that."""
        self._notes = self.held.notes if self.held else []
        if self.held is None and described.nodes:
            self._notes = ["jobs hold cores only: the machine file names no table of resources"]
        rows = self.held.rows if self.held else [{}] * len(log)
        self._gpus = np.array([row.get(GPUS, 0) for row in rows], dtype=np.float64)
        self._counts_gpus = np.array([part.counts_gpus for part in self._partitions])[self.place]
        self.lacks_gpus: Mask = self._counts_gpus & (self._gpus <= 0)
        """Which jobs hold no GPU in a partition that counts GPUs."""
        if self.held is None and self._counts_gpus.any():
            raise UsageError(
                f"a partition of the machine file counts GPUs, but nothing names those of the jobs "
                f"of {log.path}: expected resources = 'FILE.csv' in the machine file"
            )

    def notes(self, rows: NDArray[np.intp]) -> list[str]:
        """Return sentences on the jobs in these rows that differ from their request."""
        notes, unknown = list(self._notes), rows[self._unknown[rows]]
        if len(unknown):
            others = ", ".join(f"{number:g}" for number in np.unique(self._numbers[unknown]))
            notes.append(
                f"{len(unknown)} jobs have the {self._field} {others[:80]}, which is not in the "
                f"machine file: they go to its first partition, {self._partitions[0].name}"
            )
        if self.held and any(group.memory_mib for group in self.described.nodes):
            known = (self.held.rows[row].keys() & {MEMORY, CHUNKS} for row in rows.tolist())
            if nb := sum(not names for names in known):
                notes.append(f"{nb} jobs have unknown memory: they hold none in the simulation")
        too_long = rows[self._too_long[rows]]
        cut = self._cuts[too_long]
        for over, done in ((cut, "cut to its limit"), (~cut, "refused")):
            if nb := int(over.sum()):
                notes.append(f"{nb} jobs ask for more time than their partition allows: {done}")
        return notes

    @property
    def _cuts(self) -> NDArray[np.bool_]:
        return np.array([part.over_walltime == "cut" for part in self._partitions])[self.place]

    def _of_each(self, values: list[float]) -> Column:
        return np.array(values, dtype=np.float64)[self.place]

    @property
    def names(self) -> list[str]:
        """The name of the partition of each job."""
        names = [part.name for part in self._partitions]
        return [names[place] for place in self.place.tolist()]

    @property
    def max_walltimes(self) -> Column:
        """The largest walltime (seconds) that each job may request in its partition."""
        return self._of_each([part.max_walltime for part in self._partitions])

    def sizes(self, cores: Column) -> Column:
        """Return processors of the simulation; unknown sizes (at most 0) stay so.

        Where a partition counts GPUs, these are processors.
        """
        cores = np.where(self._counts_gpus, self._gpus, cores)
        unit = self._of_each([part.unit for part in self._partitions])
        of_node = self._of_each([part.cores for part in self._partitions])
        return np.where(cores > 0, np.ceil(cores / of_node) * unit, cores)

    def requests(self, requested: Column) -> Column:
        """Return the time that each job asks for, seconds; at most 0 where there is no limit."""
        most = self.max_walltimes
        usual = [part.default_walltime or part.max_walltime for part in self._partitions]
        default = self._of_each(usual)
        default = np.where(default < inf, default, -1.0)
        asked = np.where(requested > 0, requested, default)
        self._too_long = asked > most
        return np.where(self._cuts, np.minimum(asked, most), asked)


def with_whole_nodes(workload: Workload, described: MachineDescription) -> Workload:
    """Return a workload whose jobs take whole nodes where their partitions ask for that.

    Sizes are in processors of the simulation: GPUs where partitions count GPUs, if jobs there name
    any. Jobs there that hold none are left out. What was changed or is not used is noted.
    """
    parts = [described.find_partition(job.extra) for job in workload.jobs]
    pairs = list(zip(workload.jobs, parts, strict=True))
    in_gpus = any(
        of.counts_gpus and not job.extra.keys().isdisjoint((GPUS, CHUNKS)) for job, of in pairs
    )
    jobs, nb_wider = [], 0
    for job, of in pairs:
        counted = in_gpus and of.counts_gpus
        held = read_held(job.extra, GPUS, f"job {job.id}") or 0 if counted else job.size
        size = of.whole_nodes(held)
        nb_wider += size > held
        if held:
            jobs.append(job if size == job.size else msgspec.structs.replace(job, size=size))
    notes = workload.notes.copy()
    if nb := len(pairs) - len(jobs):
        notes.append(f"{nb} jobs were dropped: they hold no GPU, and their partition counts GPUs")
    if nb_wider:
        notes.append(f"{nb_wider} jobs became wider: they take whole nodes")
    if described.resources is not None:
        what = "the machine file's table of resources is not used: a workload has fields of its own"
        notes.append(what)
    return msgspec.structs.replace(workload, jobs=jobs, notes=notes)
