"""The options of ``batsched-py campaign``, which are the arguments of ``run_campaign()``."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated, Any

import msgspec

from batsched_py.errors import UsageError, parameter
from batsched_py.options.setting_fields import Setting
from batsched_py.run.settings import SETTINGS

OF_RUNS = ("machine", "backend", "batsim", "batsim_log", "timeouts", "budgets")
"""Settings of a simulation that may be given for all runs."""


def _of_runs(name: str) -> Setting:
    """Return a setting of all runs, whose default is in the campaign file."""
    return msgspec.structs.replace(SETTINGS[name].setting, default="that of the campaign file")


class CampaignOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a run of a campaign. Raises :class:`UsageError` for contradictions."""

    jobs: Annotated[
        int | None,
        Setting(
            "Number of simulations at a time.", "N", ("--jobs", "-j"), default="number of cores"
        ),
    ] = None
    logs: Annotated[
        list[str],
        Setting("Log to use instead of those of the file; repeatable.", "LOG", ("--log",)),
    ] = []
    out: Annotated[
        str | None,
        Setting("Folder of the results.", "FOLDER", ("-e", "--export"), default="campaigns/NAME"),
    ] = None
    replications: Annotated[
        int | None,
        Setting("Number of replications of each combination; finished runs are kept.", "N"),
    ] = None
    log_dirs: Annotated[
        list[Path],
        Setting(
            "Folder that is searched for logs first; repeatable, also the variable BATSCHED_LOGS.",
            "FOLDER",
            ("--log-dir",),
        ),
    ] = []
    quick: Annotated[bool, Setting("Run the small size of the study that the file defines.")] = (
        False
    )
    retry_failed: Annotated[bool, Setting("Run only simulations that failed before.")] = False
    only_missing: Annotated[bool, Setting("Run only simulations that were never tried.")] = False
    verify: Annotated[
        float | None,
        Setting(
            "Share of the runs, such as 0.05, that are simulated again with messages between "
            "scheduler and simulator, and fail if results differ.",
            "PART",
        ),
    ] = None
    cluster: Annotated[
        str | None,
        Setting(
            "Cluster to run on: slurm, oar, pbs, sge, ... or the address of a dask scheduler "
            "(tcp://HOST:8786).",
            "WHERE",
        ),
    ] = None
    shard: Annotated[
        str | None,
        Setting(
            "Run only part I of N, from 1, as in a job array; the same command without it then "
            "writes the report.",
            "I/N",
        ),
    ] = None
    machine: Annotated[str | None, _of_runs("machine")] = None
    backend: Annotated[str | None, _of_runs("backend")] = None
    batsim: Annotated[str | None, _of_runs("batsim")] = None
    batsim_log: Annotated[bool, _of_runs("batsim_log")] = False
    timeouts: Annotated[str | None, _of_runs("timeouts")] = None
    budgets: Annotated[str | None, _of_runs("budgets")] = None

    def __post_init__(self) -> None:
        if self.out is not None and not self.out.strip():
            raise UsageError(f"{parameter('out')} {self.out!r}: expected a folder")
        if self.retry_failed and self.only_missing:
            both = f"{parameter('retry_failed')} and {parameter('only_missing')}"
            raise UsageError(f"{both}: give one of them")
        for name in ("jobs", "replications"):
            number = getattr(self, name)
            if number is not None and number < 1:
                raise UsageError(f"{parameter(name)} {number}: expected at least 1")
        if self.verify is not None and not 0 < self.verify <= 1:
            raise UsageError(
                f"{parameter('verify')} {self.verify:g}: expected a part of the runs, above 0 and "
                "at most 1"
            )
        if self.cluster is not None:
            from batsched_py.campaign.workers.cluster import check_cluster

            check_cluster(self.cluster)
        _ = self.share

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that replace those of the file in all runs."""
        given = {name: getattr(self, name) for name in OF_RUNS}
        if self.machine is not None:
            given["machine"] = os.path.abspath(self.machine)
        return {name: value for name, value in given.items() if value not in (None, False)}

    @property
    def at_a_time(self) -> int:
        """The number of runs that are simulated at a time on this machine."""
        return self.jobs or os.cpu_count() or 1

    @property
    def share(self) -> tuple[int, int] | None:
        """The number of the shard, from 1, and the number of shards; None without shards."""
        if self.shard is None:
            return None
        match = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", self.shard)
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            expected = "expected I/N, such as 3/20, with I from 1 to N"
            raise UsageError(f"{parameter('shard')} {self.shard}: {expected}")
        return int(match[1]), int(match[2])
