"""The runs that a report shows: those of a campaign, or a single one that was stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
import pandas as pd

from batsched_py.errors import UsageError
from batsched_py.report.campaign_axes import shorten_names
from batsched_py.report.kit.selection import log_name
from batsched_py.results.run_files import SUFFIX
from batsched_py.run.result import Result
from batsched_py.run.stored_run import find_jobs_file

if TYPE_CHECKING:
    from batsched_py.campaign.campaign_folder import CampaignResults
    from batsched_py.workload import Workload

ShownRuns: TypeAlias = "CampaignResults | OneRun"
Stored = Sequence[Mapping[str, Any]]


class OneRun:
    """A stored run that looks like a campaign of one run, for reports."""

    what = "run"

    def __init__(self, prefix: str | Path, nodes: int | None = None) -> None:
        self.result = Result.load(prefix, nodes=nodes)
        self.file = find_jobs_file(prefix)
        self.prefix = str(self.file).removesuffix(SUFFIX)
        self.name = self.prefix
        self.axes: list[str] = []
        self.nb_planned = 1
        self.metric: str | None = None
        self.failures: list[tuple[Path, str]] = []

    @property
    def title(self) -> str:
        """The title: policy, log and users, or the name of the files if these are unknown."""
        run = self.result.settings.get("run")
        if not run:
            return Path(self.prefix).name
        policy, users = (
            shorten_names([run[name]])[run[name]] if name in run else "?"
            for name in ("scheduler", "users")
        )
        log = log_name(self.result.settings["input"]["name"])
        return f"{policy} on {log}, user model {users}"

    @cached_property
    def runs(self) -> pd.DataFrame:
        """The run as a table of one row: single settings, options as JSON, and metrics."""
        settings = self.result.settings
        run = settings.get("run", {})
        row = {"nb_res": settings["nb_processors"], "users_react": settings.get("users_react")}
        if run:
            row["input"] = settings["input"]["name"]
        row |= {name: value for name, value in run.items() if not isinstance(value, dict | list)}
        row |= {
            name: msgspec.json.encode(run[name]).decode()
            for name in ("scheduler_options", "user_options")
            if run.get(name)
        }
        return pd.DataFrame([row | self.result.measured["overall"]])

    def settings(self, row: Any) -> dict[str, Any]:
        """Return all stored settings of the run."""
        return {**self.result.settings, "metrics": self.result.measured}

    def kept_jobs(self, row: Any) -> pd.DataFrame | None:
        """Return the stored jobs of the run."""
        return self.result.jobs

    def workload(self, row: Any) -> Workload:
        """Raise :class:`UsageError`, since a run does not store the path of its log."""
        raise UsageError(f"the path of the log of {self.prefix} is unknown")

    def command(self, row: Any) -> str:
        """Return "", since a run does not store its command."""
        return ""


def read_all_stored(results: ShownRuns) -> Stored:
    """Return the stored settings of each run, empty where a folder is gone."""
    return [read_stored(results, row) for _, row in results.runs.iterrows()]


def read_stored(results: ShownRuns, row: Any) -> Mapping[str, Any]:
    """Return the stored settings of a run, empty if its folder is gone."""
    try:
        return results.settings(row)
    except (OSError, msgspec.DecodeError):  # removed since the campaign ran
        return {}
