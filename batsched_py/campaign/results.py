"""The results of a campaign as tables, for its report."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd

from batsched_py.campaign.runner import PREFIX, PreparedRun
from batsched_py.files import write_whole
from batsched_py.workload import Workload
from batsched_py.workload.load import load_workload
from batsched_py.workload.rules import Rules


class CampaignResults:
    """What a report reads: a table of the runs, the jobs of each, and where to write."""

    def __init__(self, runs: Sequence[PreparedRun], out: Path, study: Path) -> None:
        self.out = out
        """Folder for tables and figures."""
        self.study = study
        """Folder of the campaign file."""
        self._runs = [run for run in runs if run.done]

    @cached_property
    def runs(self) -> pd.DataFrame:
        """A row per finished run: its labels and settings, ``folder``, ``input``, ``nb_res``,
        ``wall_time`` and every metric (SI units)."""
        return pd.DataFrame([_row(run) for run in self._runs])

    def jobs(self, run: Any) -> pd.DataFrame:
        """Return ``_jobs.csv`` of a row of :attr:`runs`."""
        return _read_jobs(Path(run["folder"]) / f"{PREFIX}_jobs.csv")

    def workload(self, run: Any) -> Workload:
        """Return the recorded workload of a row of :attr:`runs`."""
        rules = msgspec.convert(_run_json(Path(run["folder"]))["run"]["rules"], Rules)
        return _read_workload(Path(run["input"]), rules)

    def write_table(self) -> Path:
        """Write :attr:`runs` as ``runs.csv`` and return its path."""
        path = self.out / "runs.csv"
        write_whole(path, self.runs.to_csv(index=False))
        return path


def _row(run: PreparedRun) -> dict[str, Any]:
    stored = _run_json(run.folder)
    settings = msgspec.to_builtins(run.planned.settings)
    return {
        **settings,
        **run.planned.labels,
        "folder": str(run.folder),
        "input": str(run.input),
        "nb_res": stored["nb_processors"],
        "seed": run.planned.settings.seed,
        "shake": run.planned.settings.shake,
        "size": stored["run"]["rules"]["size"],
        "wall_time": stored["wall_time"],
        **stored["metrics"]["overall"],
    }


def _run_json(folder: Path) -> Any:
    return msgspec.json.decode((folder / f"{PREFIX}_run.json").read_bytes())


@lru_cache(maxsize=1)
def _read_jobs(path: Path) -> pd.DataFrame:
    text = dict.fromkeys(("job_id", "workload_name", "profile", "user"), str)
    return pd.read_csv(path, dtype=text, keep_default_na=True)


@lru_cache(maxsize=4)
def _read_workload(path: Path, rules: Rules) -> Workload:
    return load_workload(path, rules, skip_bad_lines=True)
