"""The result of one simulation: tables, metrics, and files."""

from __future__ import annotations

import io
import platform as python_platform
from array import array
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from importlib.metadata import version
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
import numpy as np

from batsched_py import metrics
from batsched_py.results import job_columns
from batsched_py.simulator.engine import Outcome
from batsched_py.simulator.execution import REJECTED
from batsched_py.simulator.files.output_files import jobs_lines, schedule_csv, times
from batsched_py.support.atomic_files import write_lines, write_whole

if TYPE_CHECKING:
    import pandas as pd

    from batsched_py.simulator.jobs import SimulatedJob


class Output(Protocol):
    """What a back end leaves of a simulation."""

    nb_messages: int | None
    """Messages from the simulator, None where nobody counted."""
    nb_processors: int
    """Processors that compute."""

    @property
    def nb_rare(self) -> int:
        """Jobs of rare behaviour, which are not measured."""
        ...

    def table(self) -> metrics.JobTable:
        """Return all jobs as numpy columns, in order of completion."""
        ...

    def jobs_lines(self) -> Iterator[str]:
        """Yield the lines of ``_jobs.csv``, our columns after Batsim's."""
        ...

    def schedule_csv(self) -> str:
        """Return the text of ``_schedule.csv``."""
        ...


class EmbeddedOutput:
    """What the embedded simulator leaves."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
        self.nb_messages: int | None = outcome.nb_messages
        self.nb_processors = outcome.nb_processors

    @property
    def nb_rare(self) -> int:
        """Jobs of rare behaviour, which are not measured."""
        return self._columns.rare.count(1)

    def table(self) -> metrics.JobTable:
        """Return all jobs as numpy columns, in order of completion."""
        return self._columns.table(self.nb_processors)

    def jobs_lines(self) -> Iterator[str]:
        """Yield the lines of ``_jobs.csv``."""
        further = [name for name in job_columns.FURTHER if name in self._columns.carried]
        return jobs_lines(
            self.outcome.jobs,
            (*job_columns.COLUMNS, *further),
            lambda job: job_columns.fields(job.description, further),
        )

    @cached_property
    def _columns(self) -> _Columns:
        columns = _Columns()
        for job in self.outcome.jobs:
            columns.add(job)
        return columns

    def schedule_csv(self) -> str:
        """Return the text of ``_schedule.csv``."""
        return schedule_csv(self.outcome)


class _Columns:
    """What one pass over the jobs gives: 57 bytes per job, since users share their names."""

    def __init__(self) -> None:
        names = ("submit", "start", "finish", "execution", "size", "original_submit")
        self._numbers = {name: array("d") for name in names}
        self._user: list[str] = []
        self._names: dict[str, str] = {}
        self.carried: set[str] = set()
        """Those of :data:`job_columns.FURTHER` that any job carries."""
        self.rare = bytearray()
        """Of each job 1 if it is of rare behaviour, else 0."""

    def add(self, job: SimulatedJob) -> None:
        """Append a row."""
        description = job.description
        self.carried.update(job_columns.carried(description))
        self.rare.append(job_columns.is_rare(description))
        start = finish = execution = nan
        if job.final_state != REJECTED:
            start = job.start_time
            execution, finish = times(job)
        row = (
            description.submit_time,
            start,
            finish,
            execution,
            job.alloc.bit_count(),
            job_columns.original_submission(description),
        )
        for column, value in zip(self._numbers.values(), row, strict=True):
            column.append(value)
        user = job_columns.user(description)
        self._user.append(self._names.setdefault(user, user))

    def table(self, nb_processors: int) -> metrics.JobTable:
        """Return all jobs; nothing may be added any more."""
        columns = {name: np.frombuffer(column) for name, column in self._numbers.items()}
        rare = np.frombuffer(self.rare, dtype=np.bool_)
        return metrics.JobTable(**columns, user=self._user, nb_processors=nb_processors, rare=rare)


class Result:
    """What :func:`batsched_py.simulate` returns."""

    def __init__(
        self,
        output: Output,
        settings: dict[str, Any],
        wall_time: float,
        *,
        warm_up: float = 0.0,
        cool_down: float = 0.0,
    ) -> None:
        self.output = output
        self._warm_up = warm_up
        self._cool_down = cool_down
        self.settings = settings
        """Everything that determines the run, as stored in ``PREFIX_run.json``."""
        self.wall_time = wall_time
        """Seconds that the simulation took."""

    @cached_property
    def table(self) -> metrics.JobTable:
        """All jobs as numpy columns, in order of completion.

        Those of the warm-up and the cool-down are not measured, as those of rare behaviour.
        """
        table = self.output.table()
        if self._warm_up or self._cool_down:
            table = metrics.without_ends(table, self._warm_up, self._cool_down)
        return table

    @cached_property
    def metrics(self) -> dict[str, Any]:
        """All metrics: ``overall``, ``windows``, ``per_user``, and the ``denominators``.

        Jobs of rare behaviour (Zakay, chapter 5), of the warm-up and of the cool-down load the
        machine and are not measured: only the metrics of the machine are over all jobs.
        """
        return {
            "overall": metrics.overall(self.table),
            "denominators": {name: metric.denominator for name, metric in metrics.METRICS.items()},
            "units": {name: metric.unit for name, metric in metrics.METRICS.items()},
            "windows": metrics.windows(self.table),
            "per_user": metrics.per_user(self.table),
        }

    @cached_property
    def jobs(self) -> pd.DataFrame:
        """``_jobs.csv`` as a data frame: a row per job, Batsim's columns and ours."""
        import pandas as pd

        text = dict.fromkeys(("job_id", "workload_name", "profile", "user"), str)
        return pd.read_csv(io.StringIO(self.jobs_csv()), dtype=text)

    def jobs_csv(self) -> str:
        """Return the text of ``PREFIX_jobs.csv``."""
        return "".join(self.output.jobs_lines())

    def write(self, prefix: str | Path) -> list[Path]:
        """Write ``PREFIX_jobs.csv``, ``PREFIX_schedule.csv``, ``PREFIX_run.json``; return them.

        Each file is written whole or not at all; missing folders are made.
        """
        paths = [Path(f"{prefix}_{name}") for name in ("jobs.csv", "schedule.csv", "run.json")]
        write_lines(paths[0], self.output.jobs_lines())
        write_whole(paths[1], self.output.schedule_csv())
        write_whole(paths[2], self.run_json())
        return paths

    def run_json(self, further: Mapping[str, Any] | None = None) -> bytes:
        """Return the content of ``PREFIX_run.json``, with ``further`` keys."""
        run = {
            **self.settings,
            "wall_time": self.wall_time,
            "nb_messages": self.output.nb_messages,
            "metrics": self.metrics,
            **(further or {}),
        }
        return msgspec.json.format(msgspec.json.encode(run), indent=1) + b"\n"


def versions() -> dict[str, str]:
    """Return the versions of what a run was made with."""
    return dict(_versions())


@cache
def _versions() -> dict[str, str]:  # looking them up takes as long as a small simulation
    return {
        "python": python_platform.python_version(),
        **{name: version(name) for name in ("batsched_py", "msgspec", "numpy")},
    }
