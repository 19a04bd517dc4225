"""Isolates a run, so that changes by plug-ins in this process do not reach the next run."""

from __future__ import annotations

import os
import random
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from batsched_py.plugins.plugin_files import fresh_code

_ONE_RUN = threading.RLock()
"""Held by a run: modules, generators and the working directory are those of the process."""


@contextmanager
def isolate(seed: int) -> Iterator[list[str]]:
    """Give plug-ins fresh code and seeded global random generators in a block; then restore both.

    Restored are the modules of plug-ins, the working directory, the search path for imports, and
    the states of ``random`` and ``numpy.random``. The list that it yields gets notes at the end:
    on another working directory, threads that go on, and generators that were used. Runs in
    several threads wait for each other.
    """
    notes: list[str] = []
    with _ONE_RUN:
        folder, path, threads = _folder(), [*sys.path], set(threading.enumerate())
        before = random.getstate(), np.random.get_state()
        random.seed(seed)
        np.random.seed(np.random.SeedSequence(seed).generate_state(4))
        seeded = _states()
        try:
            with fresh_code():
                yield notes
        finally:
            notes += _notes(folder, threads, seeded, seed)
            if folder is not None and folder != _folder():
                os.chdir(folder)
            sys.path[:] = path
            random.setstate(before[0])
            np.random.set_state(before[1])


def _folder() -> str | None:
    """Return the working directory, None if it does not exist any more."""
    with suppress(FileNotFoundError):
        return os.getcwd()
    return None


def _states() -> dict[str, Any]:
    state: Any = np.random.get_state()
    name, keys, *rest = state
    return {"random": random.getstate(), "numpy.random": (name, keys.tobytes(), *rest)}


def _notes(
    folder: str | None, threads: set[threading.Thread], seeded: dict[str, Any], seed: int
) -> Iterator[str]:
    """Yield notes on what plug-ins have changed since the beginning of the run."""
    if (changed := _folder()) != folder:
        yield f"a plug-in changed the working directory to {changed}; it was set back to {folder}"
    if left := [thread.name for thread in threading.enumerate() if thread not in threads]:
        yield (
            f"threads that began during the run go on after it ({', '.join(left)}): if a plug-in "
            "left them, they may change the next run"
        )
    if used := [name for name, state in _states().items() if state != seeded[name]]:
        yield (
            f"a plug-in drew from the global generator of {' and '.join(used)}, which began with "
            f"the seed {seed} of the run. Other code that draws from it changes the results: use a "
            "generator with a seed of its own"
        )
