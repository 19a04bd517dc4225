"""Runs a campaign file, for the command ``campaign`` and as a function."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from math import ceil
from pathlib import Path

import msgspec

from batsched_py.campaign.campaign_file import Campaign, find_campaign, read_campaign
from batsched_py.campaign.campaign_folder import CampaignResults, check_folder, open_results, store
from batsched_py.campaign.campaign_options import CampaignOptions
from batsched_py.campaign.collection import read_collection
from batsched_py.campaign.finished_runs import RunState, read_hash, read_state
from batsched_py.campaign.preparation import PreparedRun, prepare
from batsched_py.campaign.workers.runner import Failure, execute, sort_whole_logs_first
from batsched_py.campaign.workers.worker_processes import LocalWorkers
from batsched_py.errors import UsageError, parameter
from batsched_py.files.writers import locked, make_folder_of
from batsched_py.run.backends.started_scheduler import check_program
from batsched_py.run.stored_values import EMBEDDED, check_outside
from batsched_py.support.terminal_text import console


class PlannedCampaign:
    """A campaign with its planned runs and its folder, before any run.

    Raises :class:`UsageError` and :class:`CampaignFileError` for mistakes, with file and line.
    """

    def __init__(self, path: Path, options: CampaignOptions) -> None:
        settings = options.settings
        if options.logs and "machine" not in settings:
            _check_machine(path, options.logs)
        self.spec: Campaign = read_campaign(
            path, options.logs, settings, quick=options.quick, replications=options.replications
        )
        check_outside(
            {run.settings.backend for run in self.spec.runs},
            batsim_log=bool(settings.get("batsim_log")),
            timeouts=settings.get("timeouts"),
        )
        self.options = options
        self.folder = Path(options.out or f"campaigns/{self.spec.name}")
        self.all_runs = prepare(self.spec, self.folder, options.log_dirs)
        self.runs = self.all_runs
        """Those of the shard; all without one."""
        self.verified: list[PreparedRun] = []
        """The runs that :meth:`run` simulated twice, with and without messages."""
        if options.share is not None:
            self.runs = select_shard(self.all_runs, *options.share)

    def read_states(self) -> dict[Path, RunState]:
        """Return the states of the runs by their folders; reads all their files."""
        folders = [run.folder for run in self.runs]
        with ThreadPoolExecutor() as readers:  # most of the time goes into digests
            return dict(zip(folders, readers.map(read_state, folders), strict=True))

    def choose(self, states: dict[Path, RunState]) -> list[PreparedRun]:
        """Choose the runs to simulate: all that are not done, or only the failed or missing."""
        undone = [run for run in self.runs if not states[run.folder].done]
        if self.options.retry_failed:
            return [run for run in undone if states[run.folder].failure is not None]
        if self.options.only_missing:
            return [run for run in undone if states[run.folder].failure is None]
        return undone

    def run(
        self, chosen: Iterable[PreparedRun], progress: bool = True
    ) -> tuple[list[Failure], list[Path]]:
        """Simulate the ``chosen`` runs and write the tables of results.

        Returns the runs that failed, and the paths of the tables: none if no run has finished, or
        for a shard, which writes no tables.
        """
        check_folder(self.spec, self.folder)
        make_folder_of(self.folder / "results.csv")
        with locked(self.folder, shared=self.options.share is not None):
            # Another command was in it until now. Runs with several labels are one.
            missing = {run.folder: run for run in chosen if not read_state(run.folder).done}
            self.verified = self._select_verified(missing.values())
            for run in self.verified:
                run.task = msgspec.structs.replace(run.task, verify=True)
            with self._executor(missing.values()) as executor:
                store(self.spec, self.all_runs, self.folder)  # when it is sure that it can be run
                with _progress(len(missing), progress and bool(missing)) as ended:
                    failures = execute(sort_whole_logs_first(missing.values()), executor, ended)
            if self.options.share is not None:
                return failures, []
            results = open_results(self.folder)
            if results.runs.empty:
                results.remove_table()
                return failures, []
            return failures, results.write_table()

    def _select_verified(self, runs: Collection[PreparedRun]) -> list[PreparedRun]:
        """Select the part of the runs to simulate twice, in the order of their hashes."""
        direct = [
            run
            for run in runs
            if run.task.settings.backend == EMBEDDED
            and run.task.settings.shake is None
            and not (run.task.settings.each_event or run.task.settings.end_delay)
        ]
        most = ceil((self.options.verify or 0) * len(direct))
        return sorted(direct, key=lambda run: read_hash(run.folder))[:most]

    @contextmanager
    def _executor(self, runs: Collection[PreparedRun]) -> Iterator[Executor]:
        if self.options.cluster is None or not runs:
            for program in {run.task.settings.scheduler_command for run in runs}:
                if program is not None:
                    check_program(program)
            with LocalWorkers(self.options.at_a_time) as executor:
                yield executor
        else:
            from batsched_py.campaign.workers.cluster import open_cluster

            inputs = {path for run in runs for path in run.task.files}
            where, jobs = self.options.cluster, self.options.jobs or 1
            with open_cluster(where, self.folder, inputs, jobs) as executor:
                yield executor


def select_shard(runs: Iterable[PreparedRun], shard: int, number: int) -> list[PreparedRun]:
    """Return the runs of one shard of ``number``, dealt in turn by the order of their hashes.

    In the order of the file a shard might get all runs of the slowest policy.
    """
    runs = list(runs)
    folders = sorted({run.folder for run in runs}, key=read_hash)
    chosen = set(folders[shard - 1 :: number])
    return [run for run in runs if run.folder in chosen]


def run_campaign(
    file: str | Path,
    out: str | Path | None = None,
    *,
    jobs: int | None = None,
    logs: Sequence[str] = (),
    log_dirs: Sequence[str | Path] = (),
    replications: int | None = None,
    quick: bool = False,
    retry_failed: bool = False,
    only_missing: bool = False,
    verify: float | None = None,
    cluster: str | None = None,
    shard: str | None = None,
    machine: str | Path | None = None,
    backend: str | None = None,
    batsim: str | None = None,
    batsim_log: bool = False,
    timeouts: str | None = None,
    budgets: str | None = None,
    progress: bool = True,
) -> CampaignResults:
    """Run the simulations of a campaign that are missing, and return its results.

    ``file`` is a campaign file, or the name of a study. Results go to the folder ``out`` (None:
    ``campaigns/NAME``), as ``batsched-py campaign`` writes them, but for the report. A second call
    continues where the first stopped. At most ``jobs`` simulations run at a time (None: as many as
    there are cores), each in its own process: a script needs no ``if __name__ ==
    "__main__"``. ``logs`` take the place of the file's, and are looked for in ``log_dirs``, too;
    ``replications`` is how often each combination is repeated, instead of the file's number;
    ``quick`` takes the small size that the file names. ``retry_failed`` runs only what failed
    before, ``only_missing`` only what was not tried. ``verify`` is the part of the runs that is
    simulated twice, with and without messages. ``cluster`` is the address of a dask scheduler, or a
    queueing system (``slurm``), which is asked for ``jobs`` jobs. ``shard`` such as ``"3/20"`` runs
    only that share. ``machine``, ``backend``, ``batsim``, ``batsim_log``, ``timeouts`` and
    ``budgets`` are as in :func:`~batsched_py.simulate`, for all runs, and replace the file's.
    ``progress`` shows a bar on standard error.

    Returns the :class:`CampaignResults` of the folder: ``runs`` is a data frame with a row per run
    that has finished (times in seconds), ``failures`` lists the runs that failed and why.

    Raises :class:`CampaignFileError` for mistakes in the file, with its line, :class:`UsageError`
    for arguments that make no sense, and :class:`OutputError` if another call is in the folder.

    >>> text = '[run]\\nlog = "sample"\\nfirst = 500\\nscheduler = ["easy", "fcfs"]\\n'
    >>> _ = Path("two.toml").write_text(text)
    >>> results = run_campaign("two.toml", "out", jobs=1, progress=False)
    >>> results.runs.set_index("scheduler")["mean_waiting_time"].round().to_dict()
    {'easy': 10781.0, 'fcfs': 18917.0}
    >>> results.failures
    []
    """
    options = CampaignOptions(
        jobs=jobs,
        logs=list(logs),
        out=None if out is None else str(out),
        replications=replications,
        log_dirs=[Path(folder) for folder in log_dirs],
        quick=quick,
        retry_failed=retry_failed,
        only_missing=only_missing,
        verify=verify,
        cluster=cluster,
        shard=shard,
        machine=None if machine is None else str(machine),
        backend=backend,
        batsim=batsim,
        batsim_log=batsim_log,
        timeouts=timeouts,
        budgets=budgets,
    )
    path = find_campaign(str(file))
    if read_collection(path) is not None:
        raise UsageError(f"{path} lists several campaigns: call run_campaign() for each of them")
    planned = PlannedCampaign(path, options)
    planned.run(planned.choose(planned.read_states()), progress)
    return open_results(planned.folder)


def _check_machine(path: Path, logs: Sequence[str]) -> None:
    """Raise :class:`UsageError` for other logs than a file's on the machine of that one."""
    runs = read_campaign(path).runs
    machines = {str(run.settings.machine) for run in runs if run.settings.machine is not None}
    if machines and not {run.settings.log for run in runs} <= set(logs):
        raise UsageError(
            f"{parameter('logs')} {logs[0]}: {path} has the machine file {min(machines)}, which "
            f"describes the machine of another log: give {parameter('machine')} too"
        )


@contextmanager
def _progress(total: int, shown: bool) -> Iterator[Callable[[PreparedRun], None]]:
    if not shown:
        yield lambda run: None
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("simulations"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console(stderr=True)) as progress:
        task = progress.add_task("", total=total)
        yield lambda run: progress.advance(task)
