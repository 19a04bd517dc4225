"""``batsched-py simulator``: the embedded simulator with Batsim's command line."""

from __future__ import annotations

from math import inf
from pathlib import Path
from typing import Annotated

import typer

from batsched_py.commands.process import ArgumentsFromFiles, read_text
from batsched_py.errors import UsageError
from batsched_py.files import make_folder_of, whole_file, write_whole
from batsched_py.signals import stop_signals
from batsched_py.simulator.engine import Options, Simulator
from batsched_py.simulator.outputs import jobs_lines, schedule_csv
from batsched_py.simulator.platform import MASTER_HOST, Platform, read_platform
from batsched_py.workload import Workload
from batsched_py.workload.batsim_json import read_workload

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(cls=ArgumentsFromFiles)
def simulator(
    *,
    platform: Annotated[
        Path, typer.Option("-p", "--platform", metavar="FILE", help="SimGrid platform (XML).")
    ],
    workload: Annotated[
        list[Path] | None,
        typer.Option("-w", "--workload", metavar="FILE", help="Workload (JSON; repeatable)."),
    ] = None,
    endpoint: Annotated[
        str,
        typer.Option("-s", "--socket-endpoint", metavar="ENDPOINT", help="The scheduler's socket."),
    ] = "tcp://localhost:28000",
    prefix: Annotated[
        str, typer.Option("-e", "--export", metavar="PREFIX", help="Prefix of the output files.")
    ] = "out",
    master_host: Annotated[
        str, typer.Option("-m", "--master-host", help="The host that does not compute.")
    ] = MASTER_HOST,
    mmax: Annotated[
        int, typer.Option("--mmax", help="Use the first N machines only; 0: all.", min=0)
    ] = 0,
    mmax_workload: Annotated[
        bool, typer.Option("--mmax-workload", help="Use as many machines as the workloads say.")
    ] = False,
    dynamic_jobs: Annotated[
        bool, typer.Option("--enable-dynamic-jobs", help="The scheduler may register jobs.")
    ] = False,
    acknowledge: Annotated[
        bool, typer.Option("--acknowledge-dynamic-jobs", help="Echo registered jobs.")
    ] = False,
    profile_reuse: Annotated[
        bool, typer.Option("--enable-profile-reuse", help="Keep profiles after their use.")
    ] = False,
    forward_profiles: Annotated[
        bool,
        typer.Option("--forward-profiles-on-submission", help="Send the profile with each job."),
    ] = False,
    sched_config: Annotated[
        str, typer.Option("--sched-cfg", metavar="TEXT", help="Text for the scheduler.")
    ] = "",
    sched_config_file: Annotated[
        Path | None, typer.Option("--sched-cfg-file", metavar="FILE", help="File with that text.")
    ] = None,
    disable_traces: Annotated[
        bool,
        typer.Option(
            "--disable-schedule-tracing",
            "--disable-machine-state-tracing",
            help="Accepted for Batsim's sake: no traces are written.",
        ),
    ] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Say nothing.")] = False,
    verbosity: Annotated[
        str, typer.Option("-v", "--verbosity", help="Accepted for Batsim's sake.")
    ] = "information",
    shake: Annotated[
        int | None,
        typer.Option(
            "--shake",
            help="Seed of a shaken order of simultaneous events (not Batsim's).",
            min=0,
        ),
    ] = None,
    timeout: Annotated[
        float,
        typer.Option("--timeout", help="Seconds to wait for each reply; 0: for ever.", min=0),
    ] = 3600,
    exact_times: Annotated[
        bool,
        typer.Option("--exact-times", help="Say times with all digits, not six (not Batsim's)."),
    ] = False,
) -> None:
    """Simulate for a scheduler that listens, in Batsim's place and with its options.

    For schedulers in any language that speak Batsim 4.2's protocol. What the embedded simulator
    does not do (communication, energy, storage, ...) is refused.
    """
    workloads = [read_workload(path) for path in workload or []]
    machine = _machines(read_platform(platform, master_host), mmax, mmax_workload, workloads)
    options = Options(
        dynamic_jobs=dynamic_jobs,
        acknowledge_dynamic_jobs=acknowledge,
        profile_reuse=profile_reuse,
        forward_profiles=forward_profiles,
        sched_config=_text(sched_config, sched_config_file),
        shake=shake,
        exact_times=exact_times,
    )
    if profile_reuse and not dynamic_jobs:
        raise UsageError("--enable-profile-reuse means nothing without --enable-dynamic-jobs")
    for name in ("jobs.csv", "schedule.csv"):
        make_folder_of(f"{prefix}_{name}")
    from batsched_py.simulator.front import Front

    with stop_signals(), Front(endpoint, timeout or inf, exact=exact_times) as scheduler:
        outcome = Simulator(machine, workloads, options).run(scheduler)
    with whole_file(f"{prefix}_jobs.csv") as part, open(part, "wb") as file:
        file.writelines(line.encode() for line in jobs_lines(outcome.jobs))
    write_whole(f"{prefix}_schedule.csv", schedule_csv(outcome))
    if not quiet:
        print(f"{len(outcome.jobs)} jobs; wrote {prefix}_jobs.csv, {prefix}_schedule.csv")


def _machines(
    platform: Platform, mmax: int, by_workload: bool, workloads: list[Workload]
) -> Platform:
    if by_workload:
        mmax = max((workload.nb_res for workload in workloads), default=mmax)
    if mmax > len(platform.hosts):
        raise UsageError(f"--mmax {mmax}: the platform has {len(platform.hosts)} machines")
    return Platform(platform.hosts[:mmax]) if mmax else platform


def _text(text: str, path: Path | None) -> str:
    if path is None:
        return text
    if text:
        raise UsageError("--sched-cfg and --sched-cfg-file: give one")
    return read_text(str(path), "--sched-cfg-file")
