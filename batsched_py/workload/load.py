"""Loads a workload from a file of any supported format."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from batsched_py.errors import UsageError
from batsched_py.workload.batsim.batsim_workload import read_workload
from batsched_py.workload.conversion_rules import Rules
from batsched_py.workload.grid_sites import GridSites
from batsched_py.workload.log_conversion import convert_log
from batsched_py.workload.log_partitions import with_whole_nodes
from batsched_py.workload.logs.swf import read_swf
from batsched_py.workload.machine_description import MachineDescription
from batsched_py.workload.workload import Workload


def load_workload(
    path: str | Path,
    rules: Rules,
    *,
    skip_bad_lines: bool = False,
    speed_factor: float = 1.0,
    sites: GridSites = (),
    described: MachineDescription | None = None,
) -> Workload:
    """Load a Batsim workload (``.json``, ``.json.gz``) or an SWF log (any other name).

    ``rules``, ``skip_bad_lines``, ``speed_factor``, ``sites`` and ``described`` are for logs, see
    :func:`~batsched_py.workload.logs.swf.read_swf` and
    :func:`~batsched_py.workload.log_conversion.convert_log`. A Batsim workload is taken as
    it is: its ``rules`` are those that it was made with, as far as the file has them.

    Raises :class:`UsageError` for a missing file, :class:`InputError` for a wrong one.
    """
    path = Path(path)
    if not os.path.exists(path):
        raise UsageError(
            f"there is no file {path}; expected an SWF log or a Batsim workload (`batsched-py logs "
            "list` shows the logs that can be fetched)"
        )
    if is_batsim_json(path):
        workload = read_workload(path)
        workload.notes.append("a Batsim workload: conversion rules do not apply")
        return workload if described is None else with_whole_nodes(workload, described)
    log = read_swf(path, skip_bad_lines=skip_bad_lines)
    return convert_log(log, rules, speed_factor=speed_factor, sites=sites, described=described)


@cache
def read_machine_size(path: Path) -> int:
    """Return the number of processors of the machine of a log or of a Batsim workload."""
    if is_batsim_json(path):
        return read_workload(path).nb_res
    return read_swf(path, skip_bad_lines=True).max_processors


def is_batsim_json(path: str | Path) -> bool:
    """Return whether a file is a Batsim workload, by its name."""
    return str(path).lower().removesuffix(".gz").endswith(".json")
