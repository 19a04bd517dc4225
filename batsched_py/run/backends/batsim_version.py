"""Which protocol a Batsim speaks, by what it answers when it is asked for its version."""

from __future__ import annotations

import re
from pathlib import Path
from time import monotonic, sleep

from batsched_py.errors import SimulationError
from batsched_py.run.backends.child_processes import Process, cause, ending
from batsched_py.support.file_readers import read_log
from batsched_py.support.json_values import shown

ASK = "--version"
"""The option of all versions of Batsim by which it says which it is, and ends."""
_TICK = 0.02
_VERSION = re.compile(
    r"(?:^|\bbatsim(?: version)?:? )v?(\d+)\.\d+\S*\s*$", re.IGNORECASE | re.MULTILINE
)
"""Such as ``v4.2.0``, or that at the end of a line that tells whose it is."""


def is_batsim5(asked: Process, log: Path, limit: float) -> bool:
    """Tell whether who was ``asked`` is Batsim 5; it may also be Batsim 4.

    ``log`` has what it says, and is removed if that is clear; ``limit`` is in seconds. Raises
    :class:`SimulationError` if it says neither.
    """
    deadline = monotonic() + limit
    try:
        while (code := asked.poll()) is None:
            if monotonic() > deadline:
                raise SimulationError(
                    f"Batsim did not tell its version within {limit:g} s (ready): what it said to "
                    f"{ASK} is in {log}"
                )
            sleep(_TICK)
    finally:
        asked.stop()
    told = set(_VERSION.findall(said := read_log(log)))
    if told not in ({"4"}, {"5"}):
        why = f"it {ending(code)}: {cause(log)}" if code else f"it said {shown(said.strip())}"
        raise SimulationError(
            f"Batsim was asked for its version ({ASK}), but {why}; expected such as v4.2.0 or "
            f"v5.0.0, all is in {log}"
        )
    log.unlink(missing_ok=True)
    return told == {"5"}
