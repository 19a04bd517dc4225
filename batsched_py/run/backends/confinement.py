"""What a container may not do, and how much of the machine it may take."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from batsched_py.errors import UsageError

MEMORY_VARIABLE = "BATSCHED_CONTAINER_MEMORY"
"""Variable of the environment for the memory of a container: such as ``8g``; 0: no limit."""
PROCESSES_VARIABLE = "BATSCHED_CONTAINER_PROCESSES"
"""Variable of the environment for the number of processes in a container; 0: no limit."""
CONFINED: dict[str, Any] = {
    "read_only": True,
    # /data is in the place of the volume that Batsim's image asks for, which has no limit.
    "tmpfs": {"/tmp": "size=2g", "/data": "size=64m"},
    "cap_drop": ["ALL"],
    "security_opt": ["no-new-privileges:true"],
}
"""What every container has, as the services of ``docker-compose.yml`` have it."""

_MEMORY_SHARE = 0.9
"""Of the engine's memory, where no limit is given: what needs more would not end well anyway."""
_PROCESSES = 4096
"""Where no limit is given: threads count, and Batsim may be told to have one for each actor."""
_UNITS = {"": 1, "b": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_FLAGS = {
    "user": "--user",
    "userns_mode": "--userns",
    "network_mode": "--network",
    "mem_limit": "--memory",
    "memswap_limit": "--memory-swap",
    "pids_limit": "--pids-limit",
}


class Limits(msgspec.Struct, frozen=True):
    """What a container may take; None: the default, 0: no limit."""

    memory: int | None = None
    """Bytes."""
    processes: int | None = None

    @classmethod
    def of_environment(cls) -> Limits:
        """Return what the variables say; raises :class:`UsageError` for what is no limit."""
        return cls(
            _number(MEMORY_VARIABLE, "8g", _UNITS), _number(PROCESSES_VARIABLE, "4096", {"": 1})
        )

    def memory_in(self, engine: Mapping[str, Any]) -> int:
        """Return the bytes that a container may take; 0: no limit.

        ``engine`` is what ``docker info`` tells of the engine; not each can set limits.
        """
        if not engine.get("MemoryLimit"):
            return 0
        if self.memory is None:
            return int(_MEMORY_SHARE * engine.get("MemTotal", 0))
        return self.memory

    def options_in(self, engine: Mapping[str, Any]) -> dict[str, int]:
        """Return the options of a container by their names in Docker's library."""
        options = {}
        if memory := self.memory_in(engine):
            options["mem_limit"] = memory
            if engine.get("SwapLimit"):
                options["memswap_limit"] = memory  # else it may swap as much again, for hours
        processes = _PROCESSES if self.processes is None else self.processes
        if processes and engine.get("PidsLimit"):
            options["pids_limit"] = processes
        return options


def docker_run_arguments(options: Mapping[str, Any]) -> list[str]:
    """Return the arguments of ``docker run`` for options by their names in Docker's library."""
    arguments = ["--read-only"] if options["read_only"] else []
    for name, flag in _FLAGS.items():
        if options.get(name) is not None:
            arguments += [flag, str(options[name])]
    for capability in options["cap_drop"]:
        arguments += ["--cap-drop", capability]
    for rule in options["security_opt"]:
        arguments += ["--security-opt", rule]
    for place, size in options["tmpfs"].items():
        arguments += ["--tmpfs", f"{place}:{size}"]
    for source, mount in options["volumes"].items():
        arguments += ["--volume", f"{source}:{mount['bind']}:{mount['mode']}"]
    return arguments


def _number(variable: str, example: str, units: Mapping[str, int]) -> int | None:
    text = os.environ.get(variable, "").strip()
    if not text:
        return None
    match = re.fullmatch(r"(\d{1,15})([a-z]?)", text.lower(), re.ASCII)
    if match is None or match[2] not in units:
        raise UsageError(
            f"{variable} = {text[:40]!r}: expected such as {example}, or 0 for no limit"
        )
    return int(match[1]) * units[match[2]]
