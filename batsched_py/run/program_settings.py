"""The settings of a scheduler of others, and what is stored of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from batsched_py.errors import UsageError, parameter
from batsched_py.plugins.plugins import EXTERNAL

OF_PROGRAM = ("scheduler_command", "scheduler_protocol", "scheduler_registers")
"""Settings of a scheduler of others."""


def make_policy(
    name: str,
    options: Mapping[str, Any],
    command: str | None,
    protocol: int,
    *,
    registers: bool,
) -> dict[str, Any]:
    """Return name and options of the policy as a run has them; a program is ``external``.

    Raises :class:`UsageError` for settings that contradict each other.
    """
    given: dict[str, Any] = {}
    if protocol != 4:
        given["protocol"] = protocol
    if registers:
        given["registers"] = True
    if command is None:
        if given:
            raise UsageError(
                f"{parameter(f'scheduler_{next(iter(given))}')} has no effect without "
                f"{parameter('scheduler_command')}"
            )
        return {"scheduler": name, "scheduler_options": dict(options)}
    if options or name != "easy":
        raise UsageError(
            f"{parameter('scheduler')} {name} and {parameter('scheduler_command')} {command}: give "
            "one of them, and options of a program in its command line"
        )
    return {"scheduler": EXTERNAL, "scheduler_options": {"command": command, **given}}
