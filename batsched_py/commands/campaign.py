"""``batsched-py campaign``: all runs of a campaign file, then its report."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec
import typer

from batsched_py.commands import shared_options as o
from batsched_py.errors import BatschedError, SimulationError, UsageError
from batsched_py.run.stored_values import check_outside
from batsched_py.support.atomic_files import locked, make_folder_of
from batsched_py.support.terminal_text import console, one_line, say
from batsched_py.workload.log_archive import SAMPLE

_SHOWN = 10
"""Failures that are printed."""

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from batsched_py.campaign.campaign_file import Campaign
    from batsched_py.campaign.collection import Collection, Member
    from batsched_py.campaign.finished_runs import RunState
    from batsched_py.campaign.preparation import PreparedRun
    from batsched_py.campaign.runner import Failure
    from batsched_py.report.collected_claims import Judged
    from batsched_py.report.document import Report

    States = dict[Path, RunState]


def campaign(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Campaign file, or a study's name.")],
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", "-j", metavar="N", help="Simulations at a time (default: cores)."),
    ] = None,
    log: Annotated[
        list[str] | None,
        typer.Option("--log", metavar="LOG", help="Log to use instead of the file's (repeatable)."),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            "-e",
            "--export",
            metavar="FOLDER",
            help="Folder of the results (default: campaigns/NAME).",
        ),
    ] = None,
    replications: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Repeat each combination so often, instead of as the file says; more of them "
            "continue what is there.",
        ),
    ] = None,
    log_dir: o.LogDirs = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="The small size of the study, as its file says.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show the runs, and how long they may take.")
    ] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Only run those that failed before.")
    ] = False,
    only_missing: Annotated[
        bool, typer.Option("--only-missing", help="Only run those that were not tried before.")
    ] = False,
    report: Annotated[
        bool,
        typer.Option(help="Print and write the report, or only the table of results."),
    ] = True,
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            metavar="WHERE",
            help="Run on a cluster: dask://HOST:PORT, or slurm, oar, pbs, sge with options, such "
            "as slurm:cores=4,memory=8GB,jobs=10.",
        ),
    ] = None,
    machine: o.Machine = None,
    backend: o.Backend = None,
    batsim: o.Batsim = None,
    batsim_log: o.BatsimLog = False,
    timeouts: o.Timeouts = None,
    budgets: o.Budgets = None,
) -> None:
    """Run the simulations of a campaign that are missing, print its tables, write its report.

    A run is named by all that determines it: a second call continues where the first stopped. Of a
    file that names campaigns all of these are run, and their claims become one page.
    """
    from batsched_py.campaign.campaign_file import QUICK, find_campaign
    from batsched_py.campaign.collection import Member, read_collection

    _check_options(
        jobs, out, cluster, replications, retry_failed=retry_failed, only_missing=only_missing
    )
    outside: dict[str, Any] = {"backend": backend, "batsim": batsim, "timeouts": timeouts}
    outside["budgets"] = budgets
    outside["machine"] = None if machine is None else os.path.abspath(machine)
    outside["batsim_log"] = batsim_log or None
    how = _How(
        jobs if jobs is not None else os.cpu_count() or 1,
        cluster,
        log_dir or [],
        outside,
        quick=quick,
        dry_run=dry_run,
        retry_failed=retry_failed,
        only_missing=only_missing,
        report=report,
    )
    path = find_campaign(file)
    collection = read_collection(path)
    if collection is None:
        if log and machine is None:
            _check_machine(path, log)
        member = Member(file, tuple(log or ()), replications)
        planned = _plan(member, path, None if out is None else Path(out), how)
        if (done := _carry_out(planned, how)) is not None:
            _judge(planned.runs, done.failures)
        return
    for flag, given in {"--log": log, "--replications": replications}.items():
        if given:
            raise UsageError(f"{flag}: {path} names several campaigns, each with its own")
    name = f"{collection.name}{QUICK}" if quick else collection.name
    _campaigns(collection, Path(out) if out is not None else Path("campaigns") / name, how)


def _check_machine(path: Path, logs: list[str]) -> None:
    """Raise :class:`UsageError` for other logs than a file's on the machine of that one."""
    from batsched_py.campaign.campaign_file import read_campaign

    runs = read_campaign(path).runs
    machines = {str(run.settings.machine) for run in runs if run.settings.machine is not None}
    if machines and not {run.settings.log for run in runs} <= set(logs):
        raise UsageError(
            f"--log {logs[0]}: {path} has the machine file {min(machines)}, which is that of "
            "another log: give --machine too"
        )


class _How(msgspec.Struct, frozen=True):
    """How campaigns are run: what the options say that is the same for all of them."""

    at_a_time: int
    cluster: str | None
    log_dirs: list[Path]
    outside: dict[str, Any]
    quick: bool
    dry_run: bool
    retry_failed: bool
    only_missing: bool
    report: bool


def _campaigns(collection: Collection, folder: Path, how: _How) -> None:
    """Run each campaign in a folder of its own; failed runs of one do not keep others from it."""
    from batsched_py.report.collected_claims import judged

    members = collection.campaigns
    if how.quick:  # of which each file says how often it repeats
        without = msgspec.structs.replace
        members = {without(member, replications=None): path for member, path in members.items()}
    # Mistakes in the last one are to be told before the first one runs.
    planned = {
        member: _plan(member, path, folder / member.folder, how) for member, path in members.items()
    }
    failed, told = {}, []
    for member, campaign in planned.items():
        say(f"--- {member.label}")
        try:
            if (done := _carry_out(campaign, how)) is None:
                continue
            if done.report is not None:
                numbers = (done.nb_finished, len(campaign.runs))
                command = command_of(member, quick=how.quick)
                told.append(judged(member.label, command, *numbers, done.report))
            _judge(campaign.runs, done.failures)
        except BatschedError as error:  # of this campaign, such as of its report's code
            failed[member.label] = str(error)
    if how.report and not how.dry_run:
        _write_claims(collection.title, told, folder)
    if failed:
        raise SimulationError("; ".join(f"{name}: {why}" for name, why in failed.items()))


def command_of(member: Member, *, quick: bool = False) -> str:
    """Return the command that runs a campaign of several alone."""
    options = [word for log in member.logs for word in ("--log", log)]
    if member.replications is not None:
        options += ["--replications", str(member.replications)]
    return shlex.join(["batsched-py", "campaign", member.name, *options, *["--quick"] * quick])


def _write_claims(title: str, judged: list[Judged], folder: Path) -> None:
    from batsched_py.report.collected_claims import collected
    from batsched_py.report.forms.export_files import PAGE
    from batsched_py.report.forms.publish import write_page
    from batsched_py.report.forms.terminal import print_report

    report = collected(title, judged)
    page, *files = write_page(report, folder / PAGE)
    print_report(report, console())
    print(f"wrote {page}, and {len(files)} files of tables in {files[0].parent}")


class _Planned(NamedTuple):
    """A campaign whose runs are known, and its folder."""

    spec: Campaign
    folder: Path
    runs: list[PreparedRun]


def _plan(member: Member, path: Path, out: Path | None, how: _How) -> _Planned:
    """Read one campaign, to be run in ``out`` or in the folder of its name."""
    from batsched_py.campaign.campaign_file import read_campaign
    from batsched_py.campaign.preparation import prepare

    outside = how.outside
    logs = list(member.logs) or None
    spec = read_campaign(path, logs, outside, quick=how.quick, replications=member.replications)
    backends = {run.settings.backend for run in spec.runs}
    check_outside(backends, batsim_log=bool(outside["batsim_log"]), timeouts=outside["timeouts"])
    folder = out if out is not None else Path("campaigns") / spec.name
    return _Planned(spec, folder, prepare(spec, folder, how.log_dirs))


class _Done(NamedTuple):
    """What came of a campaign."""

    report: Report | None
    """None if it is not wanted, or nothing has finished."""
    failures: list[Failure]
    nb_finished: int


def _carry_out(planned: _Planned, how: _How) -> _Done | None:
    """Run what is missing of a campaign, and write its results; None if it is only shown."""
    from batsched_py.campaign.preparation import PreparedRun, nb_other_folders

    spec, folder, runs = planned
    for note in spec.notes:
        say(f"note: {note}")
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor() as readers:  # most of the time goes into digests, which run beside
        there = list(readers.map(PreparedRun.state, runs))
    states = {run.folder: state for run, state in zip(runs, there, strict=True)}
    undone = [run for run in runs if not states[run.folder].done]
    missing = _chosen(undone, states, how.retry_failed, how.only_missing)
    done = len(runs) - len(undone)
    say(f"{spec.name}: {_runs(len(runs))}, {done} of them done before")
    _say_damaged([damage for run in undone if (damage := states[run.folder].damage)])
    _say_others(nb_other_folders(runs, folder), folder / "runs")
    if how.dry_run:
        _show(runs, states, missing, how.at_a_time, how.cluster, folder)
        return None
    from batsched_py.campaign.campaign_folder import check_folder, store

    check_folder(spec, folder)
    make_folder_of(folder / "results.csv")
    with locked(folder):
        # Another command was in it until now.
        missing = [run for run in missing if not run.state().done]
        with _executor(how.at_a_time, how.cluster, missing, folder) as executor:
            store(spec, runs, folder)  # not before it is sure that something can be run
            failures = _run(missing, executor) if missing else []
        _say_failures(failures)
        report, nb_finished = _write_results(folder, spec, how.report)
    if spec.hint and any(run.settings.log == SAMPLE for run in spec.runs):
        print(spec.hint)
    return _Done(report, failures, nb_finished)


def _check_options(
    jobs: int | None,
    out: str | None,
    cluster: str | None,
    replications: int | None,
    *,
    retry_failed: bool,
    only_missing: bool,
) -> None:
    """Raise :class:`UsageError` for what makes no sense, even if nothing is left to run."""
    if retry_failed and only_missing:
        raise UsageError("--retry-failed and --only-missing: give one of them")
    if cluster is not None and jobs is not None:
        raise UsageError("--jobs is for this machine; the options of --cluster say how many there")
    if jobs is not None and jobs < 1:
        raise UsageError(f"--jobs {jobs}: expected at least 1")
    if replications is not None and replications < 1:
        raise UsageError(f"--replications {replications}: expected at least 1")
    if out is not None and not out.strip():
        raise UsageError(f"-e {out!r}: expected a folder")
    if cluster is not None:
        from batsched_py.campaign.cluster.address import parse_cluster

        parse_cluster(cluster)


def _chosen(
    missing: list[PreparedRun], states: States, retry_failed: bool, only_missing: bool
) -> list[PreparedRun]:
    if retry_failed:
        return [run for run in missing if states[run.folder].failure is not None]
    if only_missing:
        return [run for run in missing if states[run.folder].failure is None]
    return missing


def _runs(number: int) -> str:
    return "1 run" if number == 1 else f"{number} runs"


def _say_damaged(damaged: list[str]) -> None:
    """Say which runs were done and are not whole any more."""
    for damage in damaged[:_SHOWN]:
        say(f"note: damaged: {damage}")
    if len(damaged) > _SHOWN:
        say(f"note: {len(damaged) - _SHOWN} damaged runs more")


def _say_others(number: int, place: Path) -> None:
    """Say how many folders are there which these runs do not use."""
    of_others = "of other settings, inputs or code than these runs"
    if number == 1:
        say(f"note: 1 folder in {place} is {of_others}: it does not count, and can be removed")
    elif number:
        say(
            f"note: {number} folders in {place} are {of_others}: they do not count, and can be "
            "removed"
        )


def _say_failures(failures: list[Failure]) -> None:
    """Print each message with the first run that had it, and how many others did."""
    alike: dict[str, list[Failure]] = {}
    for failure in failures:
        alike.setdefault(failure.message, []).append(failure)
    for message, same in list(alike.items())[:_SHOWN]:
        others = f" (and {len(same) - 1} more like it)" if len(same) > 1 else ""
        say(f"failed: {same[0].run.folder}{others}: {message}")
    if len(alike) > _SHOWN:
        say(f"failed: {len(alike) - _SHOWN} messages more")


def _judge(runs: list[PreparedRun], failures: list[Failure]) -> None:
    """Raise :class:`SimulationError` if there are runs that failed, now or before."""
    from batsched_py.campaign.finished_runs import failure as failure_in

    folders = {run.folder for run in runs if failure_in(run.folder) is not None}
    before = len(folders - {failure.run.folder for failure in failures})
    if failures or before > 0:
        now = f"{len(failures)} of {_runs(len(runs))} failed"
        earlier = f", {before} failed before and were left out" if before > 0 else ""
        where = "why is in the error.txt of their folders, what they said before in log.txt"
        if not folders.issuperset(failure.run.folder for failure in failures):
            where = "not all of their folders could be written, the messages above say why"
        raise SimulationError(f"{now}{earlier}; {where}; the same command tries them again")


def _show(
    runs: list[PreparedRun],
    states: States,
    missing: list[PreparedRun],
    jobs: int,
    cluster: str | None,
    folder: Path,
) -> None:
    """Print the runs with what is known of each, and an estimate of the time."""
    from batsched_py.campaign.time_estimate import estimate

    chosen = {str(run.folder) for run in missing}
    for run in runs:
        known = states[run.folder]
        state = "done" if known.done else "failed before" if known.failure else "missing"
        state = "damaged" if known.damage else state
        left = "" if str(run.folder) in chosen or state == "done" else ", left out"
        labels = " ".join(f"{key}={value}" for key, value in run.planned.labels.items())
        print(one_line(f"{state}{left}: {labels}: {run.folder}"))
    seconds = [(run, states[run.folder].seconds) for run in runs]
    estimated = estimate(missing, [(run, time) for run, time in seconds if time is not None])
    print(f"estimate: {estimated.text(jobs)}")
    if cluster is not None:
        from batsched_py.campaign.cluster.executor import describe

        print(describe(cluster, folder))


def _run(missing: list[PreparedRun], executor: Executor) -> list[Failure]:
    from batsched_py.campaign.runner import execute, whole_logs_first

    # Runs that are planned under several labels are one.
    different = whole_logs_first({run.folder: run for run in missing}.values())
    with _progress(len(different)) as ended:
        return execute(different, executor, lambda run: ended())


@contextmanager
def _executor(
    jobs: int, cluster: str | None, missing: list[PreparedRun], folder: Path
) -> Iterator[Executor]:
    if cluster is None or not missing:
        from batsched_py.campaign.worker_processes import LocalWorkers

        with LocalWorkers(jobs) as executor:
            yield executor
    else:
        from batsched_py.campaign.cluster.executor import open_cluster

        inputs = {path for run in missing for path in run.task.files}
        with open_cluster(cluster, folder, inputs) as executor:
            yield executor


@contextmanager
def _progress(total: int) -> Iterator[Callable[[], None]]:
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
        yield lambda: progress.advance(task)


def _write_results(folder: Path, spec: Campaign, with_report: bool) -> tuple[Report | None, int]:
    """Write the table of results and, if wanted, the report; print the latter.

    Returns it, and how many runs have finished.
    """
    from batsched_py.campaign.campaign_folder import open_results
    from batsched_py.campaign.preparation import beside
    from batsched_py.report.campaign_report import report_of
    from batsched_py.report.forms.publish import publish
    from batsched_py.report.forms.terminal import print_report

    results = open_results(folder)
    if results.runs.empty:
        results.remove_table()
        return None, 0
    written = results.write_table()
    for path in written:
        print(f"wrote {path}")
    if len(written) == 1:
        say(
            "note: results.parquet is not written, as the Python package pyarrow is not installed: "
            "pip install 'batsched_py[parquet]'"
        )
    if alike := results.nb_equal_replications:
        say(
            f"note: nothing was drawn at random: all replications of {alike} combinations of the "
            "other axes are equal, so their intervals say nothing"
        )
    if not with_report:
        return None, len(results.runs)
    report = report_of(results, beside(spec, "report"))
    page, *files = publish(report, results)  # first, as nobody may read what is printed
    print_report(report, console())
    print(f"wrote {page}, and {len(files)} files of tables and figures in {files[0].parent}")
    return report, len(results.runs)
