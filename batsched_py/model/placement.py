"""Placing many jobs at once into a timeline, compiled where numba is installed.

numba is the extra ``fast``. Its import costs half a second, and the first compilation of all some
seconds (it is kept): so it is imported once plans of many jobs have cost about as much. If it
cannot be imported, or fails, Python places the jobs; the starts are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from batsched_py.model.timeline import Timeline

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from batsched_py.model.queue.job_arrays import Floats

IMPORT_PAYS = 100_000
"""So many jobs are placed before numba is imported: by Python, some microseconds each."""


class Placement:
    """The way in which many jobs are placed: by Python, and from some work on compiled."""

    def __init__(self) -> None:
        self._placed = 0
        self._compiled: Callable[..., Any] | None = None

    def __call__(
        self,
        line: Timeline,
        sizes: NDArray[np.int64],
        durations: Floats,
        *,
        now_only: bool = False,
    ) -> Floats:
        """Return what :meth:`Timeline.place_all` would; ``line`` stays as it is."""
        if self._compiled is None:
            lists = sizes.tolist(), durations.tolist()
            placed = line.copy().place_all(*lists, now_only=now_only)
            self._count(len(placed))
            return np.array(placed, np.float64)
        times, free = np.array(line.times, np.float64), np.array(line.free, np.int64)
        starts: Floats = self._compiled(times, free, sizes, durations, now_only)
        return starts

    def _count(self, nb: int) -> None:
        if self._placed <= IMPORT_PAYS:
            self._placed += nb
            if self._placed > IMPORT_PAYS:
                self._compiled = _compiled_kernel()


def _compiled_kernel() -> Callable[..., Any] | None:
    """Return the compiled function, None without numba, or with one that does not work."""
    try:
        from batsched_py.model.compiled_timeline import place_all

        nothing = np.zeros(1)
        place_all(nothing, nothing.astype(np.int64), nothing.astype(np.int64), nothing, False)
    except Exception:  # numba fails in ways of its own: with this numpy, this processor, ...
        return None
    return place_all


place_all = Placement()
"""The way that all policies of a process share."""
