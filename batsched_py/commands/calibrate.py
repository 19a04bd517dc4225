"""``batsched-py calibrate``: how well a replay reproduces the waits that a log recorded."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from batsched_py.commands import shared_options as o
from batsched_py.errors import UsageError
from batsched_py.files.writers import announce_replaced, make_folder_of, write_whole
from batsched_py.run.settings import OF_PROGRAM, SETTINGS, USERS, Settings
from batsched_py.run.stored_values import Run, check_outside
from batsched_py.support.signals import default_stop_signals
from batsched_py.support.terminal_text import console, one_line, print_table, say
from batsched_py.units import HOUR
from batsched_py.workload.conversion_rules import describe
from batsched_py.workload.logs.log_archive import find_log

if TYPE_CHECKING:
    from batsched_py.calibration import Calibration, PolicyCalibrations
    from batsched_py.calibration.groups import Group
    from batsched_py.report.calibrating.calibration_report import Calibrated
    from batsched_py.results.job_table import JobTable
    from batsched_py.run.resolved_run import ResolvedRun
    from batsched_py.support.statistics import Interval

BASELINES = ("easy", "fcfs")
NO_BASELINE = "none"
FILES = ("calibration.json", "calibration.html")
_WORST = 8
"""Groups that the terminal shows."""
_TAKEN = [
    name
    for name, field in SETTINGS.items()
    if field.setting.group != USERS and name not in OF_PROGRAM
]
"""All settings but those of users, who are rigid, and of schedulers of others."""


@o.with_settings(*_TAKEN, scheduler="multifactor")
def calibrate(
    *,
    settings: Settings,
    source: Annotated[
        str,
        typer.Argument(
            metavar="LOG",
            help="SWF log with recorded waiting times: a file, or a name of `logs list`.",
        ),
    ],
    prefix: o.Prefix = "out",
    baselines: Annotated[
        list[str] | None,
        typer.Option(
            "--baseline",
            metavar="NAME",
            help="Policy to compare with; repeatable, none: no policy. [default: easy and fcfs]",
        ),
    ] = None,
    log_dir: o.LogDirs = None,
) -> None:
    """Measure how well a simulation reproduces the waiting times that a log recorded.

    The log is simulated under the policy of the site, and under other policies for comparison. The
    output files are PREFIX_calibration.json with the numbers and PREFIX_calibration.html with
    tables and figures.

    Examples:
        batsched-py calibrate sample --scheduler easy -e out/sample
        batsched-py calibrate sample -O weight_age=500 --baseline easy -e out/slurm
    """
    from batsched_py.workload.load import is_batsim_json, read_machine_size

    if prefix.endswith("/"):
        raise UsageError(f"--export {prefix}: expected a prefix of files, such as {prefix}out")
    path = find_log(source, log_dir or [])
    if is_batsim_json(path):
        raise UsageError(
            f"{path}: a Batsim workload has no recorded waiting times: expected an SWF log"
        )
    run = settings.on_machine(lambda: read_machine_size(path)).run()
    check_outside([run.backend], batsim_log=settings.batsim_log, timeouts=settings.timeouts)
    runs = _runs(run, BASELINES if baselines is None else baselines)
    places = [Path(f"{prefix}_{name}") for name in FILES]
    for place in places:  # before the work, not after it
        make_folder_of(place)
    with default_stop_signals():
        calibrated = _calibrated(path, runs)
        announce_replaced(places)
        _write(calibrated, places)
    _print(calibrated.found)
    print("wrote " + ", ".join(map(str, places)))


def _runs(run: Run, baselines: Sequence[str]) -> dict[str, Run]:
    """Return the runs by the names of their policies, the site's first."""
    from batsched_py.run.resolved_run import check

    runs = {run.scheduler: run}
    for name in baselines:
        if name == NO_BASELINE or (name == run.scheduler and not run.scheduler_options):
            continue
        other = msgspec.structs.replace(run, scheduler=name, scheduler_options={})
        runs[f"{name} without options" if name == run.scheduler else name] = other
    for each in runs.values():
        check(each)
    return runs


def _calibrated(path: Path, runs: dict[str, Run]) -> Calibrated:
    """Simulate all runs on the log, and compare them with it."""
    from batsched_py.calibration import calibrations
    from batsched_py.calibration.matched_jobs import check_waits
    from batsched_py.report.calibrating.calibration_report import Calibrated
    from batsched_py.run.resolved_run import resolve_run
    from batsched_py.workload.logs.swf import read_swf

    site = next(iter(runs.values()))
    log = read_swf(path, skip_bad_lines=site.skip_bad_lines)
    check_waits(log)
    resolved = resolve_run(site, log)
    tables, settings = {}, {}
    for name, run in runs.items():
        tables[name], settings[name] = _simulated(
            name,
            resolve_run(run, log)  # a policy may see another machine
            if run.machine and run is not site
            else resolved.with_policy(run.scheduler, run.scheduler_options),
        )
    found = calibrations(log, tables, resolved.machine.description)
    of_site = next(iter(settings.values()))
    for note in of_site["notes"]:
        say(f"note: {note}")
    if not site.warm_up:
        say(
            "note: the simulated machine is empty at first, unlike the recorded one; with "
            "--warm-up '2 weeks' the jobs of that time do not count"
        )
    print(f"rules: {describe(site.rules)}")
    return Calibrated(log, found, of_site)


def _simulated(name: str, resolved: ResolvedRun) -> tuple[JobTable, dict[str, Any]]:
    """Return the jobs of a run, and its settings as they are stored."""
    from batsched_py.results.embedded_output import EmbeddedOutput
    from batsched_py.run.simulate import execute

    result = execute(resolved)
    print(f"simulated under {one_line(name)} in {result.wall_time:.2f} s", flush=True)
    table = result.table
    if isinstance(result.output, EmbeddedOutput):  # whose file need not be made for them
        table = msgspec.structs.replace(table, texts={"job_id": result.output.job_ids()})
    return table, result.settings


def _write(calibrated: Calibrated, places: Sequence[Path]) -> None:
    from batsched_py.calibration.verdict import THRESHOLDS, describe_calibration
    from batsched_py.report.calibrating.calibration_report import make_calibration_report
    from batsched_py.report.forms.html_page import render_page

    stored: dict[str, Any] = {
        **calibrated.settings,
        "verdict": describe_calibration(calibrated.found),
        "thresholds": THRESHOLDS,
        "policies": calibrated.found.policies,
        "differences": calibrated.found.differences,
    }
    for name, table in (("resources", calibrated.found.used), ("held", calibrated.found.held)):
        stored |= {name: table.to_dict("records")} if len(table) else {}
    stored.pop("statistics", None)
    write_whole(places[0], msgspec.json.format(msgspec.json.encode(stored), indent=1) + b"\n")
    write_whole(places[1], render_page(make_calibration_report(calibrated)))


def _print(found: PolicyCalibrations) -> None:
    from batsched_py.calibration.run_calibration import describe_left_out
    from batsched_py.calibration.verdict import describe_calibration
    from batsched_py.report.calibrating.tables import tabulate_resources
    from batsched_py.report.forms.terminal import print_table as print_report_table

    of_site = found.of_site
    jobs = f"{of_site.jobs.compared:,} {'job' if of_site.jobs.compared == 1 else 'jobs'}"
    weeks = f"{of_site.weeks} {'week' if of_site.weeks == 1 else 'weeks'}"
    print(f"compared: {jobs} of {weeks} ({describe_left_out(of_site.jobs)})\n")
    for sentence in describe_calibration(found):
        print(one_line(sentence))
    print()
    _print_policies(found)
    if wrong := _worst(of_site):
        print(f"\nwhere the bias of {one_line(found.site)} costs most:")
        _print_groups(wrong)
    for table in filter(None, tabulate_resources(found)):
        print_report_table(table, console())


def _worst(found: Calibration) -> list[Group]:
    """Return the groups with a clear bias that makes the largest part of all jobs' waits."""
    wrong = [
        group
        for group in found.groups
        if group.bias.is_clear and not group.reproduced and group.jobs < found.jobs.compared
    ]
    return sorted(wrong, key=lambda group: -abs(group.bias.value) * group.jobs)[:_WORST]


_HEADINGS = (
    *("policy", "mean wait [h]", "median [h]", "bias [h]", "95 %", "rank correlation"),
    *("share explained", "at once [%]", "near [%]"),
)


def _print_policies(found: PolicyCalibrations) -> None:
    said, nothing = found.of_site.agreement, "-"
    rows = [
        [
            "recorded",
            *(_number(each, HOUR) for each in (said.mean_recorded, said.median_recorded)),
            *([nothing] * 4),
            _number(said.at_once_recorded, 0.01, 0),
            nothing,
        ],
        *(_row(name, of) for name, of in found.policies.items()),
    ]
    if (usual := found.of_site.by_size_and_hour) is not None:
        rows.append(
            [
                "usual, by size and hour",
                *([nothing] * 4),
                *(_number(each) for each in (usual.rank_correlation, usual.share_explained)),
                nothing,
                _number(usual.near, 0.01, 0),
            ]
        )
    print_table(_HEADINGS, rows, _HEADINGS[1:])


def _row(name: str, found: Calibration) -> list[str]:
    said = found.agreement
    bias, known = said.bias, said.bias.is_known
    return [
        name,
        *(_number(each, HOUR) for each in (said.mean_simulated, said.median_simulated, bias)),
        f"{bias.low / HOUR:z.2f} to {bias.high / HOUR:z.2f}" if known else "-",
        *(_number(each) for each in (said.rank_correlation, said.share_explained)),
        *(_number(each, 0.01, 0) for each in (said.at_once_simulated, said.near)),
    ]


def _print_groups(groups: list[Group]) -> None:
    headings = ("by", "group", "jobs", "recorded [h]", "simulated [h]", "rank correlation")
    rows = [
        [
            *(group.kind, group.name, f"{group.jobs}"),
            *(f"{wait / HOUR:.2f}" for wait in (group.mean_recorded, group.mean_simulated)),
            "-" if isnan(group.rank_correlation) else f"{group.rank_correlation:.2f}",
        ]
        for group in groups
    ]
    print_table(headings, rows, headings[2:])


def _number(value: Interval, scale: float = 1.0, digits: int = 2) -> str:
    """Return a value in a unit, ``-`` if it is unknown."""
    return "-" if isnan(value.value) else f"{value.value / scale:z.{digits}f}"
