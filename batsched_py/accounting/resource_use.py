"""Measures which resource of their nodes binds runs, and what ended runs or held them."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from batsched_py.accounting.records import Extras
from batsched_py.accounting.seen_nodes import Run, SeenNodes
from batsched_py.support.terminal_text import one_line
from batsched_py.units import HOUR
from batsched_py.workload.held_resources import ENDS
from batsched_py.workload.node_shares import NodeSize

HEADINGS = ("of what ran", "runs", "core-hours", "GPU-hours")
"""Of the table of what binds."""
ALL, WITHOUT_GPU = "all", "no GPU on GPU nodes"
_BINDING = ("GPUs bind", "cores bind on a GPU job", "memory binds", WITHOUT_GPU)
_MORE, _SPECIAL = "more allocated than requested", "shards, licences, heterogeneous"
_REASON = "last held back by "


class UseRow(msgspec.Struct):
    """The runs of one kind, with the core-hours and GPU-hours that they held."""

    runs: int = 0
    core_hours: float = 0.0
    gpu_hours: float = 0.0


class ResourceUse:
    """The use of cores, GPUs and memory by kinds of ``runs``; a run may be of several kinds.

    The resource of which a run holds the largest share on its nodes binds it, by the sizes of the
    nodes that were ``seen``. Of equal shares GPUs bind, then cores.
    """

    def __init__(self, runs: Iterable[Run], seen: SeenNodes) -> None:
        self.rows = {kind: UseRow() for kind in (ALL, *_BINDING, _MORE, _SPECIAL)}
        self.has_resources = False
        """Whether a run had memory or GPUs, as far as records say."""
        self.nb_without_nodes = 0
        """Runs whose nodes are unknown."""
        for run in runs:
            held, hours = run.held, (run.end - run.start) / HOUR
            nodes = seen.capacity(run.node_names)
            self.has_resources |= held.gpus > 0 or held.memory_mib > 0
            self.nb_without_nodes += not nodes.cores
            for kind in _find_kinds(held, nodes):
                row = self.rows.setdefault(kind, UseRow())
                row.runs += 1
                row.core_hours += max(held.cores, 0) * hours
                row.gpu_hours += max(held.gpus, 0) * hours

    def table(self) -> list[list[str]]:
        """Return the cells of a table: kind, runs, and hours as shares of all."""
        total = self.rows[ALL]
        gpu_hours = _number(total.gpu_hours) if total.gpu_hours else "-"
        lines = [[ALL, str(total.runs), _number(total.core_hours), gpu_hours]]
        for kind in sorted(list(self.rows)[1:], key=lambda kind: kind.startswith(_REASON)):
            row = self.rows[kind]
            of_gpus = "-" if kind == WITHOUT_GPU else _share(row.gpu_hours, total.gpu_hours)
            cells = [str(row.runs), _share(row.core_hours, total.core_hours), of_gpus]
            is_unknown = kind in _BINDING and total.runs == self.nb_without_nodes
            if row.runs or self.has_resources:
                lines.append([one_line(kind), *(["-"] * 3 if is_unknown else cells)])
        return lines


def _find_kinds(held: Extras, nodes: NodeSize) -> list[str]:
    amounts = zip((held.cores, held.gpus, held.memory_mib), nodes, strict=True)
    of_cores, of_gpus, of_memory = (max(has, 0) / of if of else 0 for has, of in amounts)
    binds = _BINDING[of_gpus < of_cores] if held.gpus > 0 and nodes.cores else ""
    binds = _BINDING[2] if of_memory > max(of_gpus, of_cores) else binds
    kinds = {
        ALL: True,
        binds: binds,
        WITHOUT_GPU: held.gpus == 0 and nodes.gpus,
        _MORE: 0 < held.requested_cores < held.cores,
        _SPECIAL: held.is_special,
        ENDS.get(held.ended_by, ""): held.ended_by,
        "in reservations": held.reservation,
        _REASON + held.reason: held.reason not in ("", "Priority", "Resources"),
    }
    return [kind for kind, holds in kinds.items() if holds]


def _number(hours: float) -> str:
    return f"{hours:,.0f}" if hours >= 100 else f"{hours:.3g}"


def _share(part: float, total: float) -> str:
    """Return a share in percent; "-" of nothing."""
    return "-" if not total else "<1%" if 0 < part < total / 200 else f"{part / total:.0%}"
