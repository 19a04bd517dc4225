"""The jobs of one simulation as numpy columns, and the schema of their file."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from batsched_py.processors.sets import ProcessorSet
from batsched_py.protocol.batsim_jobs_columns import (
    BATSIM_COLUMNS,
    FLAG,
    LEAST_EXECUTION_TIME,
    PROCESSORS,
)
from batsched_py.protocol.own_job_fields import ADDED_COLUMNS, FURTHER_COLUMNS
from batsched_py.results.machine_power import MachinePower
from batsched_py.workload.grid_sites import GridSites

if TYPE_CHECKING:
    import pandas as pd

Column = NDArray[np.float64]
Mask = NDArray[np.bool_]
Counts = NDArray[np.integer[Any]]

MEASURED = "measured"
"""The last column: 1 or 0 by job, there only if a job of the run is not measured."""
COLUMNS = BATSIM_COLUMNS | ADDED_COLUMNS | FURTHER_COLUMNS | {MEASURED: FLAG}
RARE = "rare"
"""The ``behaviour`` of jobs that load the machine and are not measured."""
NO_HOME = -1
"""The number of a home that is unknown."""


class JobTable(msgspec.Struct, dict=True):
    """Columns of one simulation, each of shape (n,); times in seconds, nan = none.

    What several metrics need is computed once, so a table is not to be changed once it is made.
    """

    submit: Column
    start: Column
    finish: Column
    execution: Column
    """Time from start to finish; at least 1e-5 s, as Batsim writes it."""
    size: Column
    """Processors that the job got; 0 if it never ran."""
    original_submit: Column
    """Recorded submission; nan where nothing was recorded."""
    user: list[str]
    """User of each job, ``""`` where unknown."""
    nb_processors: int | None = None
    """Processors of the machine; without it there is no utilisation and the like."""
    rare: Mask = msgspec.field(default_factory=lambda: np.empty(0, dtype=np.bool_))
    """Which jobs are of rare behaviour (Zakay); none by default."""
    measured: Mask = msgspec.field(default_factory=lambda: np.empty(0, dtype=np.bool_))
    """Which jobs are measured; the others, such as the rare ones, only load the machine."""
    withdrawal: Column = msgspec.field(default_factory=lambda: np.empty(0))
    """When the user of the job withdrew it, nan if they did not; empty if nobody withdrew a job."""
    requested: Column = msgspec.field(default_factory=lambda: np.empty(0))
    """Requested processors times walltime (else estimate), nan if unknown; empty if nobody withdrew
    a job."""
    on_time: Column = msgspec.field(default_factory=lambda: np.empty(0))
    """1 if the job ended well by its deadline, 0 if not, nan without one; empty without deadlines.
    """
    waking: Column = msgspec.field(default_factory=lambda: np.empty(0))
    """The part of the waiting time in which processors of the job were switched on; mostly 0."""
    power: MachinePower | None = None
    """The power of the processors and their switches, None if they are unknown."""
    watts: Column = msgspec.field(default_factory=lambda: np.empty((0, 2)))
    """The watts of each job's processors, computing and idle; shape (n, 2), empty without power."""
    numbers: dict[str, Column] = {}
    """All columns of numbers of the ``_jobs.csv`` that the table was read from, by their names
    there, nan where empty; none if it was not read, or if its rows were selected."""
    texts: dict[str, list[str]] = {}
    """The same of texts."""
    sites: GridSites = ()
    """The parts of the machine where users are at home; none if it is one."""
    home: Counts = msgspec.field(default_factory=lambda: np.empty(0, dtype=np.int16))
    """Number of the site where each job's user is at home, :data:`NO_HOME` if unknown."""
    on_site: Counts = msgspec.field(default_factory=lambda: np.empty((0, 0), dtype=np.uint16))
    """Processors that each job got on each of the :attr:`sites`; shape (n, sites)."""

    def __post_init__(self) -> None:
        if not len(self.rare):
            self.rare = np.zeros(len(self.submit), dtype=np.bool_)
        if not len(self.measured):
            self.measured = ~self.rare
        if not len(self.waking):
            self.waking = np.zeros(len(self.submit))
        if not len(self.home):
            self.home = np.full(len(self.submit), NO_HOME, dtype=np.int16)
            self.on_site = np.zeros((len(self.submit), len(self.sites)), dtype=np.uint16)

    def without_ends(self, warm_up: float, cool_down: float) -> JobTable:
        """Return the table with the jobs of the warm-up and the cool-down as not measured.

        Those are the jobs submitted less than ``warm_up`` seconds after the first submission, or
        less than ``cool_down`` seconds before the last. They load the machine, as rare behaviour
        does.
        """
        if not len(self.submit) or not (warm_up or cool_down):
            return self
        begin, end = float(self.submit.min()) + warm_up, float(self.submit.max()) - cool_down
        inside = (self.submit >= begin) & (self.submit <= end)
        return msgspec.structs.replace(self, measured=self.measured & inside)

    def with_power(
        self, power: MachinePower, allocated: Callable[[], Sequence[ProcessorSet]]
    ) -> JobTable:
        """Return the table with the power of the machine, and the watts of each job.

        ``allocated`` returns the jobs' processors; it is called only if these differ in power.
        """
        unknown = 0.0 if power.size == self.nb_processors else np.nan
        watts = power.sum_watts(self.size, allocated)[:, :2] + unknown
        return msgspec.structs.replace(self, power=power, watts=watts)

    @cached_property
    def only_measured(self) -> JobTable:
        """The table of the jobs that are measured."""
        return self if self.measured.all() else self.select(self.measured)

    @cached_property
    def ran(self) -> Mask:
        """Mask of the jobs that ran, neither rejected nor withdrawn ones; shape (n,)."""
        return np.isfinite(self.finish)

    @cached_property
    def withdrawn(self) -> Mask:
        """Mask of the jobs that their users withdrew before they started; shape (n,)."""
        if not len(self.withdrawal):
            return np.zeros(len(self.submit), dtype=np.bool_)
        return np.isfinite(self.withdrawal)

    @property
    def took_time(self) -> Mask:
        """Mask of the jobs that ran longer than the 1e-5 s of a zero-length job; shape (n,)."""
        return self.execution > LEAST_EXECUTION_TIME

    @property
    def zero_length_note(self) -> str:
        """A sentence on the measured zero-length jobs, empty if there are none."""
        nb = int((self.measured & self.ran & ~self.took_time).sum())
        jobs = "job does" if nb == 1 else "jobs do"
        return f"{nb} zero-length {jobs} not count in mean_slowdown and SLDwW" if nb else ""

    @cached_property
    def only_ran(self) -> JobTable:
        """The table of the jobs that ran."""
        return self if self.ran.all() else self.select(self.ran)

    @property
    def lateness(self) -> Column:
        """Replayed minus recorded submission time, seconds, nan if unknown; shape (n,)."""
        return self.submit - self.original_submit

    @property
    def waiting(self) -> Column:
        """``s - a``, seconds; shape (n,)."""
        return self.start - self.submit

    @property
    def left(self) -> Column:
        """When each job ended or was withdrawn, seconds, nan of rejected jobs; shape (n,)."""
        if not len(self.withdrawal):
            return self.finish
        return np.where(self.withdrawn, self.withdrawal, self.finish)

    @property
    def waited(self) -> Column:
        """Seconds from submission to start or withdrawal, nan of rejected jobs; shape (n,)."""
        if not len(self.withdrawal):
            return self.waiting
        return np.where(self.withdrawn, self.withdrawal, self.start) - self.submit

    @property
    def turnaround(self) -> Column:
        """``f - a``, seconds; shape (n,)."""
        return self.finish - self.submit

    @property
    def stretch(self) -> Column:
        """``r / p``; shape (n,).

        Of the 1e-5 s that a zero-length job counts with, a date of some weeks keeps few digits:
        there it is found from the waiting time.
        """
        of_zero_length = self.waiting + self.execution
        return np.where(self.took_time, self.turnaround, of_zero_length) / self.execution

    @property
    def area(self) -> Column:
        """``w p``, processor-seconds; shape (n,)."""
        return self.size * self.execution

    @cached_property
    def user_number(self) -> NDArray[np.int64]:
        """A number for each job's user in order of first appearance, -1 if unknown; shape (n,)."""
        number_of: dict[str, int] = {}
        numbers = [number_of.setdefault(user, len(number_of)) if user else -1 for user in self.user]
        return np.array(numbers, dtype=np.int64)

    def number_column(self, name: str) -> Column:
        """Return one of :attr:`numbers`, nan if there is none."""
        return self.numbers.get(name, np.full(len(self.submit), np.nan))

    def text_column(self, name: str) -> list[str]:
        """Return one of :attr:`texts`, ``""`` if there is none."""
        return self.texts.get(name, [""] * len(self.submit))

    def frame(self) -> pd.DataFrame:
        """Return the known columns of the file that was read, and ``measured``; nan where empty.

        Texts are ``str``, counts ``int`` and all other numbers ``float``.
        """
        import pandas as pd

        series: dict[str, pd.Series[Any]] = {}
        for name, unit in COLUMNS.items():
            if name in self.texts:
                texts = pd.Series(self.texts[name], dtype=str)
                series[name] = texts.mask(texts == "")
            elif name in self.numbers:
                column = self.numbers[name]
                count = unit in (PROCESSORS, FLAG) and np.isfinite(column).all()
                series[name] = pd.Series(column.astype(np.int64) if count else column)
        return pd.DataFrame(series).assign(measured=self.measured)

    def select(self, rows: NDArray[Any] | slice) -> JobTable:
        """Return the table of the given rows (indices, mask, part), without numbers and texts."""
        user = (
            self.user[rows]
            if isinstance(rows, slice)
            else np.array(self.user, object)[rows].tolist()
        )
        arrays = {name: getattr(self, name) for name in _BY_JOB}
        columns = {name: of[rows] if len(of) else of for name, of in arrays.items()}
        return msgspec.structs.replace(self, **columns, user=user, numbers={}, texts={})


_BY_JOB = (
    *("submit", "start", "finish", "execution", "size", "original_submit"),
    *("rare", "measured", "home", "on_site", "withdrawal", "requested", "on_time"),
    *("waking", "watts"),
)
"""The columns of a table that are numpy arrays."""


def compute_requested_work(size: Column, walltime: Column, estimate: Column) -> Column:
    """Return requested processors times walltime, else estimate; nan if both are unknown.

    Times are in seconds, work in processor-seconds, all of shape (n,). A walltime below 0 or nan is
    unknown, as in Batsim's table.
    """
    return size * np.where(walltime >= 0, walltime, estimate)


def mark_on_time(deadline: Column, finish: Column, succeeded: Mask) -> Column:
    """Return 1 for jobs that ended well by their deadlines, 0 for others, nan without a deadline.

    Times are in seconds, of shape (n,). Batsim adds 1e-5 s to the end of a zero-length job, which
    does not make it late.
    """
    met = succeeded & (finish <= deadline + LEAST_EXECUTION_TIME)
    return np.where(np.isnan(deadline), np.nan, met)


_SHORT = 1 << 16


class SiteColumns:
    """Collects the columns for grid sites, one job after the other.

    Two bytes per job, and for each site two more (four on sites of 65,536 processors or more).
    """

    def __init__(self, sites: GridSites) -> None:
        self.sites = sites
        self._number_of = {site.name: number for number, site in enumerate(sites)}
        self._home = array("h")
        self._on_site = array("H" if all(site.size < _SHORT for site in sites) else "I")

    def add(self, home: str | None, processors: ProcessorSet) -> None:
        """Append a job: the name of its home, and its processors (none if it did not run)."""
        self._home.append(NO_HOME if home is None else self._number_of.get(home, NO_HOME))
        self._on_site.extend(len(processors & site.processors) for site in self.sites)

    def added_to(self, table: JobTable) -> JobTable:
        """Return the table with these columns; no job may be added afterwards."""
        shape = len(self._home), len(self.sites)
        return msgspec.structs.replace(
            table,
            sites=self.sites,
            home=np.asarray(self._home),
            on_site=np.asarray(self._on_site).reshape(shape),
        )
