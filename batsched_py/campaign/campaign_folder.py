"""A campaign's folder: its planned runs and their results."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

import msgspec
import pandas as pd

from batsched_py.campaign.campaign_file import QUICK, STORED, Campaign, Keep
from batsched_py.campaign.finished_runs import (
    PREFIX,
    REMEDY,
    RUN_JSON,
    FinishedRun,
    read_failure,
    read_finished_run,
)
from batsched_py.campaign.planned_runs import REPLICATION, PlannedRun
from batsched_py.campaign.preparation import PreparedRun, find_axes, find_code
from batsched_py.campaign.run_identity import find_version
from batsched_py.errors import BatschedError, InputError, UsageError, parameter
from batsched_py.files.csv_text import format_frame_csv
from batsched_py.files.digests import Version, version
from batsched_py.files.readers import is_file
from batsched_py.files.writers import whole_file, write_whole
from batsched_py.metrics import METRICS
from batsched_py.metrics.withdrawals import fill_withdrawals
from batsched_py.plugins.plugin_files import importable_name
from batsched_py.results.jobs_file import read_jobs
from batsched_py.results.whole_run import read_run_settings, read_sealed, write_sealed
from batsched_py.run.resolved_machine import describe_machine
from batsched_py.run.settings import SETTINGS, Settings
from batsched_py.run.stored_values import OF_MACHINE_FILE, OF_POWER, ProcessSettings
from batsched_py.support.installation import find_entry_points
from batsched_py.support.json_values import quote
from batsched_py.workload import Workload
from batsched_py.workload.conversion_rules import LATER, Rules
from batsched_py.workload.grid_site_rules import depends_on_sites
from batsched_py.workload.load import load_workload
from batsched_py.workload.logs.log_archive import SAMPLE

REPORTS = "batsched_py.reports"
"""The entry points of reports: only these are run for results in a folder."""
_MOST_JOBS = 1_000_000
"""Jobs that are kept in memory while a report is made: some 200 MB."""
_ONLY_IF_GIVEN = ("each_event", "end_delay", "sites", *OF_MACHINE_FILE, *OF_POWER, *LATER)
"""Settings that are columns only if any run sets them."""


class StoredRun(msgspec.Struct, kw_only=True):
    """A planned run as the folder of a campaign stores it."""

    planned: PlannedRun
    folder: str
    """Relative to the campaign's folder, which can be moved."""
    input: str
    command: list[str]


class Stored(msgspec.Struct, kw_only=True):
    """The content of ``campaign.json``: the campaign as it was last started."""

    name: str
    title: str
    file: str
    report: str | None
    """The name of a registered report; or ``file.py:function``, which is not run for that."""
    metric: str | None = None
    is_part: bool = False
    keep: Keep
    provenance: dict[str, Any]
    runs: list[StoredRun]


def store(campaign: Campaign, runs: Iterable[PreparedRun], out: Path) -> None:
    """Write ``campaign.json``, before the first run."""
    stored = Stored(
        name=campaign.name,
        title=campaign.title,
        file=str(campaign.path.absolute()),
        report=_report_name(campaign),
        metric=campaign.metric,
        is_part=campaign.is_part,
        keep=campaign.keep,
        provenance=find_version(),
        runs=[
            StoredRun(
                planned=run.planned,
                folder=str(run.folder.relative_to(out)),
                input=str(run.input),
                command=run.command,
            )
            for run in runs
        ],
    )
    write_sealed(out / STORED, msgspec.json.encode(stored))


def _report_name(campaign: Campaign) -> str | None:
    """Return the name by which the report of a campaign is registered, else its place."""
    place = find_code(campaign, "report")
    if place is None:
        return None
    file, _, function = place.rpartition(":")
    value = f"{importable_name(Path(file))}:{function}"
    names = [name for name, entry in find_entry_points(REPORTS).items() if entry.value == value]
    return names[0] if names else place


def check_folder(campaign: Campaign, out: Path) -> None:
    """Raise :class:`UsageError` if a folder belongs to another campaign."""
    if not is_file(out / STORED):
        return
    try:
        other = open_results(out).name
    except BatschedError:  # broken: it is written anew
        return
    if other != campaign.name:
        raise UsageError(
            f"{out} is the folder of the campaign {other!r}, but this one is {campaign.name!r}: "
            f"give another folder as {parameter('out')}"
        )


def open_results(folder: str | Path) -> CampaignResults:
    """Return the results in a campaign's folder.

    Raises :class:`UsageError` if it is none, :class:`InputError` if its file is broken.
    """
    path = Path(folder) / STORED
    if not is_file(path):
        raise UsageError(f"{folder} is not the folder of a campaign: there is no {path}")
    try:
        stored = read_sealed(path, Stored)
        _check_folders(stored.runs, path)
    except InputError as error:
        raise InputError(f"{error}; run the campaign again to write it anew") from None
    return CampaignResults(stored, Path(folder))


def _check_folders(runs: Iterable[StoredRun], path: Path) -> None:
    """Raise :class:`InputError` unless the folder of each run is in the campaign's."""
    for run in runs:
        for part in run.folder.split("/"):
            if part in ("", ".", "..") or "\0" in part or len(part.encode(errors="replace")) > 255:
                raise InputError(
                    f"{path}: a run has the folder {quote(run.folder)}: expected runs/NAME"
                )


class CampaignResults:
    """The results of a campaign: a table of its runs, and the jobs of each."""

    what = "campaign"

    def __init__(self, stored: Stored, out: Path) -> None:
        self.out = out
        """The campaign's folder."""
        self.name = stored.name
        self.title = stored.title
        self.file = Path(stored.file)
        """The campaign file."""
        self.study = self.file.parent
        """Folder of the campaign file."""
        self.metric = stored.metric
        """The main metric that the campaign file names, if it names one."""
        self.is_part = stored.is_part
        """Whether it has the report of a study, and not all of its runs."""
        self.keep = stored.keep
        self.provenance = stored.provenance
        self.stored = stored
        """The content of ``campaign.json``."""
        self.derived: dict[str, pd.DataFrame] = {}
        """The tables that :meth:`derive` has returned, by name."""
        self._runs = {str(out / run.folder): run for run in stored.runs}

    @property
    def nb_planned(self) -> int:
        """The number of runs of the campaign."""
        return len(self.stored.runs)

    @property
    def planned(self) -> list[tuple[Path, dict[str, Any]]]:
        """Folder and labels of every run, done or not."""
        return [(self.out / run.folder, dict(run.planned.labels)) for run in self.stored.runs]

    @property
    def axes(self) -> list[str]:
        """The labels that have several values, in the file's order."""
        return find_axes(run.planned.labels for run in self.stored.runs)

    @cached_property
    def runs(self) -> pd.DataFrame:
        """A row per finished run: labels, all settings, ``folder``, ``input``, ``nb_res``,
        ``users_react``, ``wall_time``, every metric (SI units), what the study measures, and
        provenance.

        Raises :class:`InputError` if any of them is damaged.
        """
        done, rows = self.finished, []
        for run in self.stored.runs:  # several may be one simulation
            folder = str(self.out / run.folder)
            if folder in done:
                rows.append(_row(run, folder, done[folder]))
        runs = pd.DataFrame(rows)
        return fill_withdrawals(runs) if "nb_withdrawn" in runs else runs

    @cached_property
    def finished(self) -> dict[str, FinishedRun]:
        """The finished runs by their folders, in the order of the plan.

        Raises :class:`InputError` if any of them is damaged.
        """
        with ThreadPoolExecutor() as readers:  # most of the time goes into digests
            done = zip(
                self._runs, readers.map(read_finished_run, map(Path, self._runs)), strict=True
            )
            return {folder: run for folder, run in done if run is not None}

    def derive(self, name: str, compute: Callable[[Self], pd.DataFrame]) -> pd.DataFrame:
        """Return a small table that ``compute`` makes from these results, such as from their jobs.

        It is kept as ``name`` in :attr:`derived`, to be stored where no jobs are.
        """
        self.derived[name] = compute(self)
        return self.derived[name]

    @property
    def nb_equal_replications(self) -> int:
        """The number of combinations of other labels whose several replications are all equal.

        That is so if neither the users nor anything else draws from the seed.
        """
        runs = self.runs
        if REPLICATION not in runs:
            return 0
        others = [name for name in self.axes if name != REPLICATION]
        metrics = [name for name in METRICS if name in runs]
        groups = [group for _, group in runs.groupby(others, dropna=False)] if others else [runs]
        different = [group[metrics].drop_duplicates() for group in groups if len(group) > 1]
        return sum(len(rows) == 1 for rows in different)

    @property
    def failures(self) -> list[tuple[Path, str]]:
        """Folder and error message of the runs that failed."""
        read = ((folder, read_failure(folder)) for folder in map(Path, self._runs))
        return [(folder, message) for folder, message in read if message is not None]

    @property
    def unfinished(self) -> list[Path]:
        """Paths of the missing ``out_run.json``, for each run that neither finished nor failed."""
        tried = {folder for folder, _ in self.failures}
        return [
            folder / RUN_JSON
            for folder, _ in self.planned
            if folder not in tried and not is_file(folder / RUN_JSON)
        ]

    def jobs(self, run: Any) -> pd.DataFrame:
        """Return ``_jobs.csv`` of a row of :attr:`runs`, and which jobs are ``measured``.

        Raises :class:`UsageError` if it was not kept, with the command that gives it.
        """
        jobs = self.kept_jobs(run)
        if jobs is None:
            path = _jobs_path(run)
            raise UsageError(f"{path} was not kept; this command writes it: {self.command(run)}")
        return jobs

    def kept_jobs(self, run: Any) -> pd.DataFrame | None:
        """Return the table of jobs as :meth:`jobs` does, None if it was not kept.

        Raises :class:`InputError` if anything of the run is damaged.
        """
        read_finished_run(Path(run["folder"]))
        path = _jobs_path(run)
        return _read_jobs(path) if is_file(path) else None

    def workload(self, run: Any) -> Workload:
        """Return the recorded workload of a row of :attr:`runs`."""
        stored = self.settings(run)["run"]
        rules = msgspec.convert(stored["rules"], Rules)
        sites = stored["sites"] if depends_on_sites(rules) else None
        names = ("scheduler", *OF_MACHINE_FILE) if stored.get("machine") else ()
        machine = tuple((name, stored.get(name)) for name in names)
        return _read_workload(Path(run["input"]), rules, sites, *machine)

    def settings(self, run: Any) -> dict[str, Any]:
        """Return the content of ``_run.json`` of a row of :attr:`runs`."""
        return read_run_settings(Path(run["folder"]) / RUN_JSON, REMEDY)

    def command(self, run: Any) -> str:
        """Return the command that repeats a row of :attr:`runs`."""
        return shlex.join(self._runs[str(run["folder"])].command)

    @property
    def report_name(self) -> str | None:
        """The name of the study's registered report, or where its code is; None if it has none."""
        return self.stored.report

    @property
    def is_quick(self) -> bool:
        """Whether this is the study in its small size."""
        return self.name.endswith(QUICK)

    @property
    def is_synthetic(self) -> bool:
        """Whether any run is one of the sample log, which is synthetic."""
        return any(run.planned.settings.log == SAMPLE for run in self.stored.runs)

    def remove_table(self) -> None:
        """Remove the tables of results of an earlier campaign in the folder."""
        for path in self._tables:
            path.unlink(missing_ok=True)

    @property
    def _tables(self) -> list[Path]:
        return [self.out / "results.csv", self.out / "results.parquet"]

    def write_table(self) -> list[Path]:
        """Write :attr:`runs` as ``results.csv`` and ``results.parquet``; return the paths.

        The second needs the extra ``parquet`` and is left out without it.
        """
        paths = self._tables
        write_whole(paths[0], format_frame_csv(self.runs))
        if find_spec("pyarrow") is None:
            paths.pop().unlink(missing_ok=True)
            return paths
        with whole_file(paths[1]) as part:
            _of_one_type(self.runs).to_parquet(part, index=False)
        return paths


def _row(run: StoredRun, folder: str, stored: FinishedRun) -> dict[str, Any]:
    origin = stored.provenance
    return {
        **_flat(run.planned.settings),
        **run.planned.labels,
        "folder": folder,
        "input": run.input,
        "size": stored.run["rules"]["size"],
        "nb_res": stored.nb_processors,
        "users_react": stored.users_react,
        **stored.metrics.overall,
        **stored.metrics.study,
        **{key: origin.get(key) for key in ("hash", "version", "git_revision", "host", "started")},
        "seconds": origin.get("seconds"),
        "wall_time": stored.wall_time,
    }


def _flat(settings: Settings) -> dict[str, Any]:
    """Return all settings; options of plug-ins as one text each."""
    fields = {name: getattr(settings, name) for name in settings.__struct_fields__}
    for name in fields:
        if name in SETTINGS and SETTINGS[name].is_table:
            fields[name] = msgspec.json.encode(fields[name], order="sorted").decode()
    for name in _ONLY_IF_GIVEN:
        if not fields[name]:
            del fields[name]
    if settings.scheduler_command is not None:  # then the policy's name is only the default
        fields["scheduler"] = settings.scheduler_command
    return fields


def _of_one_type(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with columns of mixed types (an axis of 1 and "all") as text."""
    objects = [name for name in frame if frame[name].dtype == object]
    kinds = {name: {*map(type, frame[name].dropna())} for name in objects}
    mixed = [name for name, types in kinds.items() if len(types) > 1 and types != {int, float}]
    return frame.assign(**{str(name): frame[name].map(str, na_action="ignore") for name in mixed})


def _jobs_path(run: Any) -> Path:
    return Path(run["folder"]) / f"{PREFIX}_jobs.csv"


_frames: dict[tuple[Path, Version], pd.DataFrame] = {}
"""The jobs of the runs that were read last, which a report reads for its figures and its page."""


def _read_jobs(path: Path) -> pd.DataFrame:
    """Return the jobs in a file as a frame that the caller may change."""
    key = path, version(path.stat())
    if key not in _frames:
        jobs = read_jobs(path).frame()
        while _frames and sum(map(len, _frames.values())) + len(jobs) > _MOST_JOBS:
            del _frames[next(iter(_frames))]
        _frames[key] = jobs
    return _frames[key].copy(deep=False)


@lru_cache(maxsize=4)
def _read_workload(path: Path, rules: Rules, sites: str | None, *machine: Any) -> Workload:
    described = describe_machine(ProcessSettings(sites=sites, **dict(machine)))
    return load_workload(
        path, rules, skip_bad_lines=True, sites=described.sites, described=described.description
    )
