"""The result of one simulation: tables, metrics, and files."""

from __future__ import annotations

import platform as python_platform
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from batsched_py import metrics
from batsched_py.results.job_table import JobTable, Mask
from batsched_py.results.jobs_file import jobs_of
from batsched_py.support.atomic_files import write_lines, write_whole

if TYPE_CHECKING:
    import pandas as pd


class Output(Protocol):
    """What a back end leaves of a simulation."""

    nb_messages: int | None
    """Messages from the simulator, None where nobody counted."""
    nb_processors: int
    """Processors that compute."""

    @property
    def table(self) -> JobTable:
        """All jobs as numpy columns, in order of completion."""
        ...

    def jobs_lines(self, measured: Mask) -> Iterator[str]:
        """Yield the lines of ``_jobs.csv``, our columns after Batsim's.

        ``measured`` is the last of them unless all jobs are.
        """
        ...

    def schedule_csv(self) -> str:
        """Return the text of ``_schedule.csv``."""
        ...


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
    def table(self) -> JobTable:
        """All jobs as numpy columns, in order of completion.

        Those of the warm-up and the cool-down are not measured, as those of rare behaviour.
        """
        return self.output.table.without_ends(self._warm_up, self._cool_down)

    @cached_property
    def metrics(self) -> dict[str, Any]:
        """All metrics: ``overall``, ``windows``, ``per_user``, and the ``denominators``.

        ``per_site`` too if the machine has sites.
        Jobs of rare behaviour (Zakay, chapter 5), of the warm-up and of the cool-down load the
        machine and are not measured: only the metrics of the machine are over all jobs.
        """
        overall = metrics.overall(self.table)
        there = {name: metric for name, metric in metrics.METRICS.items() if name in overall}
        values = {
            "overall": overall,
            "denominators": {name: metric.denominator for name, metric in there.items()},
            "units": {name: metric.unit for name, metric in there.items()},
            "windows": metrics.windows(self.table),
            "per_user": metrics.per_user(self.table),
        }
        return values | ({"per_site": metrics.per_site(self.table)} if self.table.sites else {})

    @cached_property
    def jobs(self) -> pd.DataFrame:
        """``_jobs.csv`` as a data frame: a row per job, Batsim's columns, ours and ``measured``."""
        return self.table_as_written().frame()

    def table_as_written(self) -> JobTable:
        """Return what reading ``PREFIX_jobs.csv`` gives: all its columns, with six decimals."""
        return jobs_of(self.jobs_lines(), self.output.nb_processors, self.output.table.sites)

    def jobs_lines(self) -> Iterator[str]:
        """Yield the lines of ``PREFIX_jobs.csv``."""
        return self.output.jobs_lines(self.table.measured)

    def jobs_csv(self) -> str:
        """Return the text of ``PREFIX_jobs.csv``."""
        return "".join(self.jobs_lines())

    def write(self, prefix: str | Path) -> list[Path]:
        """Write ``PREFIX_jobs.csv``, ``PREFIX_schedule.csv``, ``PREFIX_run.json``; return them.

        Each file is written whole or not at all; missing folders are made.
        """
        paths = [Path(f"{prefix}_{name}") for name in ("jobs.csv", "schedule.csv", "run.json")]
        write_lines(paths[0], self.jobs_lines())
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


@cache  # looking them up takes as long as a small simulation
def versions() -> Mapping[str, str]:
    """Return the versions of what a run was made with."""
    return {
        "python": python_platform.python_version(),
        **{name: version(name) for name in ("batsched_py", "msgspec", "numpy")},
    }
