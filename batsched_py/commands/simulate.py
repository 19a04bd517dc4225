"""``batsched-py simulate``: one simulation from a log to its files."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from batsched_py.commands import shared_options as o
from batsched_py.errors import InvariantError, SimulationError, UsageError
from batsched_py.files.writers import keep_inputs, make_folder_of, write_whole
from batsched_py.run.settings import BACK_END, Settings
from batsched_py.run.stored_values import Run, check_outside
from batsched_py.support.signals import default_stop_signals
from batsched_py.support.terminal_text import one_line, say
from batsched_py.units import DAY, HOUR
from batsched_py.workload.conversion_rules import describe
from batsched_py.workload.logs.log_archive import find_log

if TYPE_CHECKING:
    from batsched_py.run.resolved_run import ResolvedRun
    from batsched_py.run.result import Result
    from batsched_py.workload.machine_description import MachineDescription

FILES = ("jobs.csv", "schedule.csv", "run.json")
FURTHER_FILES = "Further output files"


@o.with_settings()
def simulate(
    *,
    settings: Settings,
    source: o.Input,
    prefix: o.Prefix = "out",
    log_dir: o.LogDirs = None,
    record: Annotated[
        bool,
        typer.Option(
            "--record",
            help="Also write all messages to PREFIX_exchange.jsonl, for `batsched-py explain`.",
            rich_help_panel=FURTHER_FILES,
        ),
    ] = False,
    check_against: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Also simulate with this simulator, and show the jobs that differ.",
            rich_help_panel=BACK_END,
        ),
    ] = None,
    swf: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Also write the simulated jobs as an SWF log (.swf or .swf.gz).",
            rich_help_panel=FURTHER_FILES,
        ),
    ] = None,
) -> None:
    """Simulate a log under a policy, and write its jobs, its schedule and its metrics.

    The output files are PREFIX_jobs.csv, PREFIX_schedule.csv and PREFIX_run.json. A simulator in
    another process leaves its inputs, outputs, logs and commands in the folder PREFIX_BACKEND.

    Examples:
        batsched-py simulate sample -e out/easy
        batsched-py simulate sample --scheduler fcfs --users feedback -e out/fcfs
        batsched-py simulate sample -O backfill_order=sjf --node-factor 0.8 -e out/sjbf
    """
    from batsched_py.run.resolved_run import check, resolve_run
    from batsched_py.workload.load import read_machine_size

    if prefix.endswith("/"):
        raise UsageError(f"--export {prefix}: expected a prefix of files, such as {prefix}out")
    for name in FILES:  # before the work, not after it
        make_folder_of(f"{prefix}_{name}")
    run = settings.on_machine(lambda: read_machine_size(find_log(source, log_dir or []))).run()
    batsim = run.batsim
    if check_against == "batsim":
        run = msgspec.structs.replace(run, batsim=None)
    backends = {run.backend, check_against or run.backend}
    check_outside(backends, batsim_log=settings.batsim_log, timeouts=settings.timeouts)
    other = None
    if check_against is not None:
        if check_against == run.backend:
            raise UsageError(
                f"--check-against {check_against}: expected another simulator than --backend"
            )
        other = msgspec.structs.replace(
            run, backend=check_against, batsim=batsim if check_against == "batsim" else None
        )
        check(other)
    path = find_log(source, log_dir or [])
    if swf is not None:
        make_folder_of(swf)  # before the work, not after it
        keep_inputs(swf, path, *(Path(f"{prefix}_{name}") for name in FILES))
    with default_stop_signals():
        resolved = resolve_run(run, path)
        exchange = Path(f"{prefix}_exchange.jsonl") if record else None
        folder, headed = f"{prefix}_{run.backend}", other is not None
        result = _execute(resolved, prefix, folder, exchange, headed=headed)
        print(f"for a report with figures: batsched-py report {shlex.quote(prefix)}")
        if swf is not None:
            _export(result, resolved.machine.description, swf)
        if other is not None:
            second = f"{prefix}_{other.backend}"
            # it may read less or more of a platform file
            other_result = _execute(resolve_run(other, path), second, second, headed=True)
            _compare(result, run, other_result, other, prefix)
    if result.fault is not None:
        raise InvariantError(result.fault)


def _execute(
    resolved: ResolvedRun, prefix: str, folder: str, exchange: Path | None = None, *, headed: bool
) -> Result:
    """Simulate, write the files and say what came out, under the name of the back end if asked."""
    from batsched_py.results.run_files import describe_replaced_run
    from batsched_py.run.result import Recording
    from batsched_py.run.simulate import execute

    if headed:
        print(f"simulator {resolved.run.backend}:", flush=True)
    result = execute(resolved, folder, None if exchange is None else Recording(exchange))
    if replaced := describe_replaced_run(prefix, result.settings):
        say(f"note: {replaced}")
    paths = result.write(prefix)
    _report(result, resolved.run, paths if exchange is None else [*paths, exchange])
    return result


def _export(result: Result, machine: MachineDescription | None, path: Path) -> None:
    """Write the simulated jobs as a log, and say what it could not carry."""
    from batsched_py.results.swf_export import write_result_log

    lost = write_result_log(
        result.table_as_written(),
        result.settings,
        path,
        machine=machine,
        exact=result.table,
        fields=result.fields_of_jobs,
    )
    for note in lost:
        say(f"note: {path}: {note}")
    print(f"wrote {path}, a log of the simulated jobs")


def _compare(result: Result, run: Run, other: Result, other_run: Run, prefix: str) -> None:
    """Say which jobs differ; raises :class:`SimulationError` if the schedules do."""
    from batsched_py.report.comparing import job_differences as jobs

    names = run.backend, other_run.backend
    path = Path(f"{prefix}_differences.csv")
    different = jobs.find_differences(result, other)
    total = result.measured["overall"]["nb_jobs"]
    if not different:
        path.unlink(missing_ok=True)
        print(f"{names[0]} and {names[1]}: all {total} jobs are equal")
        return
    write_whole(path, jobs.format_differences_csv(different, *names))
    for line in jobs.describe_differences(different, *names):
        print(one_line(line))
    elsewhere = sum(job.gravest.kind.another_schedule for job in different)
    if not elsewhere:
        print(f"{names[0]} and {names[1]}: the same schedule of all {total} jobs ({path})")
        return
    hint = (
        "; Batsim's clock may split one instant into several"
        if {"batsim", "docker"} & set(names)
        else ""
    )
    raise SimulationError(
        f"{elsewhere} of {total} jobs differ between {names[0]} and {names[1]} in times, request, "
        f"end or energy, or are in only one of them ({path}){hint}"
    )


def _report(result: Result, run: Run, paths: list[Path]) -> None:
    from batsched_py.metrics import saturated
    from batsched_py.run.key_numbers import count_lost

    notes = [note for note in result.notes if note != result.fault]
    overall = result.measured["overall"]
    growth = overall["backlog_growth"]
    if saturated(growth):
        notes.append(
            f"saturated: the number of unfinished jobs grows by {growth:.1f} a week, so means "
            "depend on the length of the run"
        )
    for note in notes:
        say(f"note: {note}")
    print(f"rules: {describe(run.rules)}")
    print(
        f"{overall['nb_jobs']} jobs ({count_lost(overall)}) on "
        f"{result.settings['nb_processors']} processors in {result.wall_time:.2f} s"
    )
    leaving = ("withdrawn_share", "utilisation") if "withdrawn_share" in overall else ()
    for name, unit, scale in (
        ("makespan", "days", DAY),
        *((name, "%", 0.01) for name in leaving),
        ("mean_waiting_time", "h", HOUR),
        ("max_waiting_time", "h", HOUR),
        ("mean_bounded_slowdown", "", 1),
        ("mean_lateness", "h", HOUR),
    ):
        value = overall[name]
        shown = "-" if value is None else f"{value / scale:.3f} {unit}".rstrip()
        print(f"{name.replace('_', ' ')}: {shown}")
    if energy := overall.get("energy"):
        parts = ("idle", "asleep", "switching")
        shares = (f"{name} {overall[f'energy_{name}'] / energy:.0%}" for name in parts)
        print(f"energy: {energy / 1e6:.3f} MJ ({', '.join(shares)})".replace("%", " %"))
    if summary := result.settings.get("user_statistics", {}).get("summary"):
        print(one_line(str(summary)))
    print("wrote " + ", ".join(str(path) for path in paths))
