"""The result of one simulation: tables, metrics, and files."""

from __future__ import annotations

import io
import platform as python_platform
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from batsched_py import metrics
from batsched_py.files import write_whole
from batsched_py.simulator.engine import Outcome
from batsched_py.simulator.execution import REJECTED
from batsched_py.simulator.outputs import field, jobs_csv, schedule_csv, times
from batsched_py.simulator.registry import SimulatedJob

if TYPE_CHECKING:
    import pandas as pd

OUR_COLUMNS = ",user,session,original_submission_time,lateness"


class Result:
    """What :func:`batsched_py.simulate` returns."""

    def __init__(self, outcome: Outcome, settings: dict[str, Any], wall_time: float) -> None:
        self.outcome = outcome
        self.settings = settings
        """Everything that determines the run, as stored in ``PREFIX_run.json``."""
        self.wall_time = wall_time
        """Seconds that the simulation loop took."""

    @cached_property
    def table(self) -> metrics.JobTable:
        """The jobs as numpy columns, in order of completion."""
        jobs = self.outcome.jobs
        nan = float("nan")
        rejected = [job.final_state == REJECTED for job in jobs]
        return metrics.JobTable(
            submit=np.array([job.description.subtime for job in jobs], dtype=float),
            start=np.array(
                [nan if no else job.start_time for job, no in zip(jobs, rejected, strict=True)],
                dtype=float,
            ),
            finish=np.array(
                [nan if no else times(job)[1] for job, no in zip(jobs, rejected, strict=True)],
                dtype=float,
            ),
            execution=np.array(
                [nan if no else times(job)[0] for job, no in zip(jobs, rejected, strict=True)],
                dtype=float,
            ),
            size=np.array([job.alloc.bit_count() for job in jobs], dtype=float),
            original_submit=np.array([_original(job) for job in jobs], dtype=float),
            user=[str(job.description.extra.get("user", "")) for job in jobs],
        )

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
        return jobs_csv(self.outcome.jobs, OUR_COLUMNS, map(_our_fields, self.outcome.jobs))

    def write(self, prefix: str | Path) -> list[Path]:
        """Write ``PREFIX_jobs.csv``, ``PREFIX_schedule.csv``, ``PREFIX_run.json``; return them.

        Each file is written whole or not at all; missing folders are made.
        """
        run = {
            **self.settings,
            "wall_time": self.wall_time,
            "nb_messages": self.outcome.nb_messages,
            "metrics": self.metrics,
        }
        contents = {
            "jobs.csv": self.jobs_csv().encode(),
            "schedule.csv": schedule_csv(self.outcome).encode(),
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


def _original(job: SimulatedJob) -> float:
    """Return the recorded submission time; what was not replayed came when it was recorded."""
    description = job.description
    return float(description.extra.get("original_submission_time", description.subtime))


def _our_fields(job: SimulatedJob) -> str:
    extra = job.description.extra
    original = _original(job)
    lateness = job.description.subtime - original
    user, session = str(extra.get("user", "")), str(extra.get("session", ""))
    return f",{field(user)},{field(session)},{original:.6f},{lateness:.6f}"
