"""The result of one simulation: tables, metrics, and files."""

from __future__ import annotations

import io
import platform as python_platform
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
import numpy as np

from batsched_py import job_columns, metrics
from batsched_py.files import write_whole
from batsched_py.simulator.engine import Outcome
from batsched_py.simulator.execution import REJECTED
from batsched_py.simulator.outputs import jobs_csv, schedule_csv, times
from batsched_py.simulator.registry import SimulatedJob

if TYPE_CHECKING:
    import pandas as pd


class Output(Protocol):
    """What a back end leaves of a simulation."""

    nb_messages: int | None
    """Messages from the simulator, None where nobody counted."""
    nb_processors: int
    """Processors that compute."""

    def table(self) -> metrics.JobTable:
        """Return the jobs as numpy columns, in order of completion."""
        ...

    def jobs_csv(self) -> str:
        """Return the text of ``_jobs.csv``, our columns after Batsim's."""
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

    def table(self) -> metrics.JobTable:
        """Return the jobs as numpy columns, in order of completion."""
        jobs = self.outcome.jobs
        nan = float("nan")
        ran = [job.final_state != REJECTED for job in jobs]
        ends = [times(job) if yes else (nan, nan) for job, yes in zip(jobs, ran, strict=True)]
        starts = [job.start_time if yes else nan for job, yes in zip(jobs, ran, strict=True)]
        return metrics.JobTable(
            submit=np.array([job.description.subtime for job in jobs], dtype=float),
            start=np.array(starts, dtype=float),
            finish=np.array([finish for _, finish in ends], dtype=float),
            execution=np.array([execution for execution, _ in ends], dtype=float),
            size=np.array([job.alloc.bit_count() for job in jobs], dtype=float),
            original_submit=np.array(
                [job_columns.original_submission(job.description) for job in jobs], dtype=float
            ),
            user=[str(job.description.extra.get("user", "")) for job in jobs],
            nb_processors=self.nb_processors,
        )

    def jobs_csv(self) -> str:
        """Return the text of ``_jobs.csv``."""
        jobs = self.outcome.jobs
        return jobs_csv(jobs, job_columns.COLUMNS, map(_our_fields, jobs))

    def schedule_csv(self) -> str:
        """Return the text of ``_schedule.csv``."""
        return schedule_csv(self.outcome)


class Result:
    """What :func:`batsched_py.simulate` returns."""

    def __init__(self, output: Output, settings: dict[str, Any], wall_time: float) -> None:
        self.output = output
        self.settings = settings
        """Everything that determines the run, as stored in ``PREFIX_run.json``."""
        self.wall_time = wall_time
        """Seconds that the simulation took."""

    @cached_property
    def table(self) -> metrics.JobTable:
        """The jobs as numpy columns, in order of completion."""
        return self.output.table()

    @cached_property
    def metrics(self) -> dict[str, Any]:
        """All metrics: ``overall``, ``windows``, ``per_user``, and the ``denominators``."""
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
        return self.output.jobs_csv()

    def write(self, prefix: str | Path) -> list[Path]:
        """Write ``PREFIX_jobs.csv``, ``PREFIX_schedule.csv``, ``PREFIX_run.json``; return them.

        Each file is written whole or not at all; missing folders are made.
        """
        run = {
            **self.settings,
            "wall_time": self.wall_time,
            "nb_messages": self.output.nb_messages,
            "metrics": self.metrics,
        }
        contents = {
            "jobs.csv": self.jobs_csv().encode(),
            "schedule.csv": self.output.schedule_csv().encode(),
            "run.json": msgspec.json.format(msgspec.json.encode(run), indent=1) + b"\n",
        }
        paths = []
        for name, content in contents.items():
            path = Path(f"{prefix}_{name}")
            write_whole(path, content)
            paths.append(path)
        return paths


def versions() -> dict[str, str]:
    """Return the versions of what a run was made with."""
    return {
        "python": python_platform.python_version(),
        **{name: version(name) for name in ("batsched_py", "msgspec", "numpy")},
    }


def _our_fields(job: SimulatedJob) -> list[str]:
    return job_columns.fields(job.description)
