"""Places many jobs at once into a timeline, by compiled code where numba is installed.

numba is the extra ``fast``. Its import costs half a second, and the first compilation of all some
seconds (it is kept): so it is imported once plans of many jobs have cost about as much. If it
cannot be imported, or fails, Python places the jobs; the starts are the same.
"""

from __future__ import annotations

from importlib import reload
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from batsched_py.model.timeline import MANY, Timeline

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from batsched_py.model.compiled.timeline import CompiledTimeline
    from batsched_py.model.queue.job_arrays import Floats, Rows

    Integers = NDArray[np.int64]
    Line = Timeline | CompiledTimeline

IMPORT_PAYS = 100_000
"""Number of jobs that Python places before numba is imported: some microseconds each."""


class Placement:
    """Places many jobs: by Python at first, by compiled code after :data:`IMPORT_PAYS` jobs."""

    def __init__(self) -> None:
        self._placed = 0
        self._compiled: ModuleType | None = None

    def place_all(self, line: Timeline, sizes: Integers, durations: Floats) -> Floats:
        """Do the same as :meth:`Timeline.place_all` without changing ``line``."""
        if self._compiled is not None:
            starts: Floats = self._compiled.place_all(*_arrays(line), sizes, durations)[-1]
            return starts
        self._count(len(sizes))
        return np.array(line.copy().place_all(sizes.tolist(), durations.tolist()), np.float64)

    def place_below(
        self, line: Timeline, sizes: Integers, durations: Floats, most: float
    ) -> Floats | None:
        """Do the same as :meth:`place_all`, or return None once the jobs wait too long.

        That is longer than ``most``, the sum of the waits from the beginning, each in seconds
        times processors. Only for jobs that can all start at some time.
        """
        if self._compiled is None:
            return self.place_all(line, sizes, durations)
        starts: Floats | None = self._compiled.place_below(*_arrays(line), sizes, durations, most)
        return starts

    def find_starting(self, line: Timeline, sizes: Integers, durations: Floats) -> Rows:
        """Do the same as :meth:`Timeline.find_starting` without changing ``line``."""
        if self._compiled is not None:
            chosen: Rows = self._compiled.find_starting(*_arrays(line), sizes, durations)
            return chosen
        self._count(len(sizes))
        return np.array(line.copy().find_starting(sizes.tolist(), durations.tolist()), np.intp)

    def replace_all(
        self, line: Line, sizes: Integers, durations: Floats, starts: Floats
    ) -> tuple[Line, Floats]:
        """Do the same as :meth:`Timeline.replace_all`; return the timeline and the new starts.

        The timeline is another object once it is compiled.
        """
        if isinstance(line, Timeline):
            if len(sizes) >= MANY:
                self._count(len(sizes))
            if self._compiled is None or len(sizes) < MANY:
                jobs = sizes.tolist(), durations.tolist(), starts.tolist()
                return line, np.array(line.replace_all(*jobs), np.float64)
            compiled: CompiledTimeline = self._compiled.CompiledTimeline(line, sizes, durations)
        else:
            compiled = line
        return compiled, compiled.replace_all(sizes, durations, starts)

    def _count(self, nb_jobs: int) -> None:
        if self._placed <= IMPORT_PAYS:
            self._placed += nb_jobs
            if self._placed > IMPORT_PAYS:
                self._compiled = _compiled_module()


def _arrays(line: Timeline) -> tuple[Floats, Integers]:
    return np.array(line.times, np.float64), np.array(line.free, np.int64)


def _compiled_module() -> ModuleType | None:
    """Return the module of compiled functions, None if numba is missing or does not work."""
    try:
        from batsched_py.model.compiled import timeline as compiled_timeline

        try:
            compiled_timeline.cache_compiled_code()
            compiled_timeline.compile_all()
        except Exception:  # cached code may be damaged
            reload(compiled_timeline)
            compiled_timeline.compile_all()
    except Exception:  # numba may fail in many ways: with this numpy, this processor, ...
        return None
    return compiled_timeline


placement = Placement()
"""The way that all policies of a process share."""
