"""``batsched-py campaign``: all runs of a campaign file, then its report."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec
import typer

from batsched_py.campaign.campaign_options import CampaignOptions
from batsched_py.commands import shared_options as o
from batsched_py.errors import BatschedError, SimulationError, UsageError, parameter
from batsched_py.options.setting_fields import setting_fields
from batsched_py.support.terminal_text import console, one_line, say
from batsched_py.workload.logs.log_archive import SAMPLE

_SHOWN = 10
"""Failures that are printed."""

if TYPE_CHECKING:
    from batsched_py.campaign.campaign_folder import CampaignResults
    from batsched_py.campaign.collection import Collection
    from batsched_py.campaign.finished_runs import RunState
    from batsched_py.campaign.preparation import PreparedRun
    from batsched_py.campaign.run_campaign import PlannedCampaign
    from batsched_py.campaign.workers.runner import Failure
    from batsched_py.report.document import Report


@o.with_fields("options", CampaignOptions, setting_fields(CampaignOptions).values())
def campaign(
    *,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Campaign file (.toml), or the name of a study.")
    ],
    options: CampaignOptions,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only list the runs, and estimate how long they take.")
    ] = False,
    report: Annotated[
        bool,
        typer.Option(help="Print and write the report; without it, only the table of results."),
    ] = True,
) -> None:
    """Run all missing simulations of a campaign file, print its tables and write its report.

    A second call continues where the first one stopped. A file that names other campaigns runs all
    of them, and writes one page with their claims.

    Examples:
        batsched-py campaign replay_feedback --dry-run
        batsched-py campaign replay_feedback --quick -e out/study
    """
    from batsched_py.campaign.campaign_file import QUICK, find_campaign
    from batsched_py.campaign.collection import read_collection
    from batsched_py.campaign.run_campaign import PlannedCampaign

    path = find_campaign(file)
    collection = read_collection(path)
    if collection is None:
        planned = PlannedCampaign(path, options)
        if (done := _carry_out(planned, dry_run=dry_run, report=report)) is not None:
            _check_failures(planned.runs, done.failures)
        return
    for name in ("logs", "replications"):
        if getattr(options, name):
            raise UsageError(
                f"{parameter(name)}: {path} names several campaigns, which have their own"
            )
    name = f"{collection.name}{QUICK}" if options.quick else collection.name
    folder = Path(options.out or f"campaigns/{name}")
    _carry_out_all(collection, folder, options, dry_run=dry_run, report=report)


def _carry_out_all(
    collection: Collection, folder: Path, options: CampaignOptions, *, dry_run: bool, report: bool
) -> None:
    """Run each campaign in a folder of its own; failed runs of one do not keep others from it."""
    from batsched_py.campaign.run_campaign import PlannedCampaign
    from batsched_py.report.collected_claims import collect_claims, judge_campaign

    planned = {}  # report mistakes in the last one before the first one runs
    for member, path in collection.campaigns.items():
        if options.quick:  # of which each file says how often it repeats
            member = msgspec.structs.replace(member, replications=None)
        own = {"out": str(folder / member.folder), "logs": [*member.logs]}
        planned[member] = PlannedCampaign(
            path, msgspec.structs.replace(options, replications=member.replications, **own)
        )
    failed: dict[str, str] = {}
    claims = []
    for member, campaign in planned.items():
        say(f"--- {member.label}")
        try:
            if (done := _carry_out(campaign, dry_run=dry_run, report=report)) is None:
                continue
            if done.report is not None:
                claims.append(
                    judge_campaign(
                        done.report,
                        name=member.label,
                        command=member.command(quick=options.quick),
                        nb_runs=done.nb_finished,
                        nb_planned=len(campaign.runs),
                    )
                )
            _check_failures(campaign.runs, done.failures)
        except BatschedError as error:  # of this campaign, such as of its report's code
            failed[member.label] = str(error)
    if report and not dry_run and options.shard is None:
        _publish(lambda: collect_claims(collection.title, claims), folder)
    if failed:
        raise SimulationError("; ".join(f"{name}: {why}" for name, why in failed.items()))


def _publish(make: Callable[[], Report], folder: Path, *drawn: Any) -> Report:
    """Make and write a report as a page with files, then print it: a pipe may be closed early."""
    from batsched_py.report.forms.export_files import PAGE
    from batsched_py.report.forms.publish import write_page
    from batsched_py.report.forms.terminal import print_report

    report, (page, *files) = write_page(make, folder / PAGE, *drawn)
    print_report(report, console())
    print(f"wrote {page}, and {len(files)} files of tables and figures in {files[0].parent}")
    return report


class _Done(NamedTuple):
    """What came of a campaign."""

    failures: list[Failure]
    report: Report | None = None
    """None if it is not wanted, or nothing has finished."""
    nb_finished: int = 0


def _carry_out(planned: PlannedCampaign, *, dry_run: bool, report: bool) -> _Done | None:
    """Run what is missing of a campaign, and write its report; None if it is only shown."""
    states = planned.read_states()
    chosen = planned.choose(states)
    _say_begin(planned, states)
    if dry_run:
        _show(planned, states, chosen)
        return None
    failures, tables = planned.run(chosen)
    _say_failures(failures)
    if planned.options.verify is not None:
        _say_verified(planned.verified, failures)
    done = _Done(failures)
    if tables:
        from batsched_py.campaign.campaign_folder import open_results
        from batsched_py.campaign.preparation import find_code
        from batsched_py.report.campaign_report import make_campaign_report

        results = open_results(planned.folder)
        _say_tables(tables, results)
        made = None
        if report:
            make = partial(make_campaign_report, results, find_code(planned.spec, "report"))
            jobs = None if planned.options.cluster else planned.options.jobs
            made = _publish(make, results.out, results, jobs)
        done = _Done(failures, made, len(results.runs))
    if planned.options.shard is not None:
        say("note: once all shards have ended, the command without --shard writes the report")
    if planned.spec.hint and any(run.settings.log == SAMPLE for run in planned.spec.runs):
        print(planned.spec.hint)
    return done


def _say_begin(planned: PlannedCampaign, states: dict[Path, RunState]) -> None:
    """Say what is there already."""
    from batsched_py.campaign.preparation import count_other_folders

    spec, folder = planned.spec, planned.folder
    for note in spec.notes:
        say(f"note: {note}")
    shard = "" if planned.options.shard is None else f", shard {planned.options.shard}"
    done = sum(states[run.folder].done for run in planned.runs)
    say(f"{spec.name}{shard}: {_runs(len(planned.runs))}, {done} of them done before")
    damages = {state.damage: None for state in states.values() if state.damage}
    _say_some([f"note: damaged: {damage}" for damage in damages], "damaged runs")
    if others := count_other_folders(planned.all_runs, folder):
        say(
            f"note: {others} folder{'s' * (others > 1)} in {folder / 'runs'} belong to other "
            "options, inputs or code: they do not count, and you can remove them"
        )


def _say_tables(tables: list[Path], results: CampaignResults) -> None:
    for path in tables:
        print(f"wrote {path}")
    if len(tables) == 1:
        say(
            "note: results.parquet is not written, as the Python package pyarrow is not installed: "
            "pip install 'batsched_py[parquet]'"
        )
    if alike := results.nb_equal_replications:
        say(
            f"note: nothing is random: all replications of {alike} combinations of the other axes "
            "are equal, so their intervals have no meaning"
        )


def _runs(number: int) -> str:
    return "1 run" if number == 1 else f"{number} runs"


def _say_some(lines: list[str], what: str) -> None:
    for line in lines[:_SHOWN]:
        say(line)
    if len(lines) > _SHOWN:
        say(f"note: {len(lines) - _SHOWN} {what} more")


def _say_failures(failures: list[Failure]) -> None:
    """Print each message with the first run that had it, and how many others did."""
    alike: dict[str, list[Failure]] = {}
    for failure in failures:
        alike.setdefault(failure.message, []).append(failure)
    lines = []
    for message, same in alike.items():
        others = f" (and {len(same) - 1} more like it)" if len(same) > 1 else ""
        lines.append(f"failed: {same[0].run.folder}{others}: {message}")
    _say_some(lines, "messages of failed runs")


def _say_verified(verified: list[PreparedRun], failures: list[Failure]) -> None:
    """Say how many runs gave the same with messages between scheduler and simulator."""
    if not verified:
        say("note: nothing was verified: no new run was simulated without messages")
        return
    failed = {failure.run.folder for failure in failures}
    equal = sum(run.folder not in failed for run in verified)
    say(
        f"simulated {_runs(len(verified))} twice, with and without messages between scheduler and "
        f"simulator: {equal} gave the same results"
    )


def _check_failures(runs: list[PreparedRun], failures: list[Failure]) -> None:
    """Raise :class:`SimulationError` if there are runs that failed, now or before."""
    from batsched_py.campaign.finished_runs import read_failure as failure_in

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
    planned: PlannedCampaign, states: dict[Path, RunState], chosen: list[PreparedRun]
) -> None:
    """Print an estimate of the time, the axes, and the runs with what is known of each."""
    from batsched_py.campaign.preparation import find_axes
    from batsched_py.campaign.time_estimate import estimate_time

    seconds = [(run, states[run.folder].seconds) for run in planned.runs]
    timed = [(run, time) for run, time in seconds if time is not None]
    print(f"estimate: {estimate_time(chosen, timed, planned.options.at_a_time)}")
    of_runs = [run.planned.labels for run in planned.runs]
    axes = find_axes(of_runs)
    for axis in axes:
        values = dict.fromkeys(str(labels[axis]) for labels in of_runs if axis in labels)
        print(one_line(f"{axis}: {', '.join(values)}"))
    folders = {run.folder for run in chosen}
    for run in planned.runs:
        known = states[run.folder]
        state = "done" if known.done else "failed before" if known.failure else "missing"
        state = "damaged" if known.damage else state
        left = "" if run.folder in folders or state == "done" else ", left out"
        of_run = run.planned.labels
        labels = " ".join(f"{key}={of_run[key]}" for key in axes if key in of_run)
        print(one_line(f"{state}{left}: {labels}: {run.folder}"))
    if planned.options.cluster is not None:
        from batsched_py.campaign.workers.cluster import make_job_script

        print(make_job_script(planned.options.cluster, planned.folder))
