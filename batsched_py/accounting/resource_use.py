"""Measures which resource of their nodes the runs were bound by, and what ended or held them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import isnan

import msgspec

from batsched_py.accounting.seen_nodes import Run, SeenNodes
from batsched_py.units import HOUR

HEADINGS = ("of what ran", "runs", "core-hours", "GPU-hours")
"""Of the table of what binds."""
ALL = "all"
GPUS, CORES, MEMORY = "GPUs bind", "cores bind on a GPU job", "memory binds"
WITHOUT_GPU = "no GPU on GPU nodes"
MORE = "more allocated than requested"
SPECIAL = "shards, licences, heterogeneous"
PREEMPTED, REQUEUED, LOST = "preempted", "requeued", "lost to nodes that failed"
RESERVED = "in reservations"
LAST_REASON = "last waited for "
_ALWAYS = (ALL, GPUS, CORES, MEMORY, WITHOUT_GPU, MORE, SPECIAL)
_BINDING = (GPUS, CORES, MEMORY, WITHOUT_GPU)
_ENDED_BY = {"preempted": PREEMPTED, "requeued": REQUEUED, "node": LOST}
_VERBS = {kind: f"were {kind}" for kind in (PREEMPTED, REQUEUED, LOST, RESERVED)}
_MOST_REASONS = 12


class UseRow(msgspec.Struct):
    """The runs of one kind, with the core-hours and GPU-hours that they held."""

    runs: int = 0
    core_hours: float = 0.0
    gpu_hours: float = 0.0

    def add(self, core_hours: float, gpu_hours: float) -> None:
        """Add a run."""
        self.runs += 1
        self.core_hours += core_hours
        self.gpu_hours += gpu_hours


class ResourceUse:
    """The use of cores, GPUs and memory by the kinds of runs; a run may be of several kinds."""

    def __init__(self) -> None:
        self.rows = {kind: UseRow() for kind in _ALWAYS}
        self.has_resources = False
        """Whether a run has a known number of GPUs above 0, or known memory."""
        self.knows_gpus = False
        self.nb_without_nodes = 0
        """Runs on unknown nodes, which nothing is known to bind."""

    def add(self, run: Run, capacity: Sequence[float] | None) -> None:
        """Add a run on nodes with these cores, GPUs and memory in total; None: unknown nodes.

        The resource of which a run holds the largest share binds: of equal shares GPUs, then cores.
        """
        held = run.extras
        hours = (run.end - run.start) / HOUR
        amounts = max(held.cores, 0) * hours, max(held.gpus, 0) * hours
        self.has_resources |= held.memory > 0 or held.gpus > 0
        self.knows_gpus |= held.gpus > 0
        for kind in self._kinds(run, capacity):
            self.rows.setdefault(kind, UseRow()).add(*amounts)

    def _kinds(self, run: Run, capacity: Sequence[float] | None) -> Iterator[str]:
        held = run.extras
        yield ALL
        if capacity is None:
            self.nb_without_nodes += 1
        else:
            cores, gpus, memory = capacity
            of_gpus = held.gpus / gpus if held.gpus > 0 and gpus else 0.0
            of_cores = max(held.cores, 0) / cores
            of_memory = 0.0 if isnan(memory) else max(held.memory, 0) / memory
            if of_memory > max(of_gpus, of_cores):
                yield MEMORY
            elif held.gpus > 0:
                yield GPUS if of_gpus >= of_cores else CORES
            if held.gpus == 0 and gpus:
                yield WITHOUT_GPU
        if 0 < held.requested_cores < held.cores:
            yield MORE
        if held.is_special:
            yield SPECIAL
        if held.ended_by in _ENDED_BY:
            yield _ENDED_BY[held.ended_by]
        if held.reservation:
            yield RESERVED
        if held.reason:
            yield LAST_REASON + held.reason

    def notes(self) -> Iterator[str]:
        """Yield a sentence for each kind that records have and a log does not."""
        for kind, row in self._others():
            hours = f"{row.core_hours:.4f} core-hours"
            if self.knows_gpus:
                hours += f" and {row.gpu_hours:.4f} GPU-hours"
            yield f"runs that {_VERBS.get(kind, kind)}, with {hours} ({row.runs})"
        if self.nb_without_nodes and self.has_resources:
            yield f"runs on unknown nodes: what binds them is unknown ({self.nb_without_nodes})"

    def _others(self) -> Iterator[tuple[str, UseRow]]:
        for kind in (PREEMPTED, REQUEUED, LOST, RESERVED):
            if kind in self.rows:
                yield kind, self.rows[kind]
        reasons = [item for item in self.rows.items() if item[0].startswith(LAST_REASON)]
        reasons.sort(key=lambda item: (-item[1].gpu_hours, -item[1].core_hours, item[0]))
        yield from reasons[:_MOST_REASONS]
        if others := reasons[_MOST_REASONS:]:
            rest = UseRow()
            for _, row in others:
                rest.runs += row.runs
                rest.core_hours += row.core_hours
                rest.gpu_hours += row.gpu_hours
            yield f"{LAST_REASON}others ({len(others)})", rest

    def table(self) -> list[list[str]]:
        """Return the cells of a table: kind, runs, core-hours and GPU-hours, as shares of all."""
        total = self.rows[ALL]
        knows = total.runs > self.nb_without_nodes
        lines = [[ALL, str(total.runs), f"{total.core_hours:.6g}", self._gpus(total)]]
        for kind, row in [*((kind, self.rows[kind]) for kind in _ALWAYS[1:]), *self._others()]:
            if kind in _BINDING and not knows:
                lines.append([kind, "-", "-", "-"])
                continue
            cores = _share(row.core_hours, total.core_hours)
            gpus = "-" if kind == WITHOUT_GPU else _share(row.gpu_hours, total.gpu_hours)
            lines.append([kind, str(row.runs), cores, gpus])
        return lines

    def _gpus(self, row: UseRow) -> str:
        return f"{row.gpu_hours:.6g}" if self.knows_gpus else "-"


def _share(part: float, total: float) -> str:
    """Return a share in percent; "-" of nothing."""
    return f"{part / total:.0%}" if total else "-"


def measure_resources(runs: Iterable[Run], seen: SeenNodes) -> ResourceUse:
    """Measure what binds runs, by the sizes of the nodes that were ``seen``."""
    use = ResourceUse()
    for run in runs:
        use.add(run, seen.capacity(run.node_names))
    return use
