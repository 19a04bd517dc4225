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


class CampaignOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a run of a campaign. Raises :class:`UsageError` for contradictions."""

    jobs: Annotated[
        int | None, Setting("Simulations at a time (default: cores).", "N", ("--jobs", "-j"))
    ] = None
    logs: Annotated[
        list[str], Setting("Log to use instead of the file's (repeatable).", "LOG", ("--log",))
    ] = []
    out: Annotated[
        str | None,
        Setting("Folder of the results (default: campaigns/NAME).", "FOLDER", ("-e", "--export")),
    ] = None
    replications: Annotated[
        int | None,
        Setting(
            "Replications of each combination, in place of the file's number; with a larger number "
            "than before, finished runs are kept.",
            "N",
        ),
    ] = None
    log_dirs: Annotated[
        list[Path],
        Setting(
            "Folder to look for logs in first (repeatable; also the variable BATSCHED_LOGS).",
            "FOLDER",
            ("--log-dir",),
        ),
    ] = []
    quick: Annotated[bool, Setting("The small size of the study, as its file says.")] = False
    retry_failed: Annotated[bool, Setting("Only run those that failed before.")] = False
    only_missing: Annotated[bool, Setting("Only run those that were not tried before.")] = False
    verify: Annotated[
        float | None,
        Setting(
            "Part of the runs (such as 0.05) to simulate twice, with and without messages between "
            "scheduler and simulator. A run fails if its results differ.",
            "PART",
        ),
    ] = None
    cluster: Annotated[
        str | None,
        Setting(
            "Run on a cluster: the address of a dask scheduler (tcp://HOST:8786), or slurm, oar, "
            "pbs, sge ..., which gets one job for each simulation at a time.",
            "WHERE",
        ),
    ] = None
    shard: Annotated[
        str | None,
        Setting(
            "Run only share I (from 1) of N, as in a job array; once all have ended, the same "
            "command without a share writes the report.",
            "I/N",
        ),
    ] = None
    machine: Annotated[str | None, SETTINGS["machine"].setting] = None
    backend: Annotated[str | None, SETTINGS["backend"].setting] = None
    batsim: Annotated[str | None, SETTINGS["batsim"].setting] = None
    batsim_log: Annotated[bool, SETTINGS["batsim_log"].setting] = False
    timeouts: Annotated[str | None, SETTINGS["timeouts"].setting] = None
    budgets: Annotated[str | None, SETTINGS["budgets"].setting] = None

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
