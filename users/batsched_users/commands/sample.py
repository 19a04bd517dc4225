"""``batsched-py users sample``: writes a log of the jobs that users submit if no job waits."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from batsched_py.commands import shared_options as o
from batsched_py.files.writers import keep_inputs, make_folder_of
from batsched_py.options.setting_fields import parse_budgets, parse_options
from batsched_py.plugins import plugins
from batsched_py.support.signals import stop_signals
from batsched_py.support.terminal_text import say
from batsched_py.workload.conversion_rules import Rules, describe
from batsched_py.workload.logs.log_archive import find_log
from batsched_users.commands.output import say_notes

if TYPE_CHECKING:
    from batsched_py.model.endless_work import SubmissionWatch
    from batsched_py.model.user_model import UserModel

_COMPLETED = 1


@o.with_rules(walltime="requested")  # as users requested it in the log
def sample(
    *,
    rules: Rules,
    source: o.Input,
    output: Annotated[
        Path, typer.Argument(metavar="OUTPUT.swf", help="Log to write (.swf or .swf.gz).")
    ],
    users: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="User model: a name from `batsched-py list`, or FILE.py:CLASS."
        ),
    ] = "resampled",
    user_option: Annotated[
        list[str] | None,
        typer.Option("-U", metavar="KEY=VALUE", help="Option of the user model; repeatable."),
    ] = None,
    nodes: o.Nodes = None,
    seed: Annotated[int, typer.Option(help="Seed of the random choices of users.", min=0)] = 0,
    skip_bad_lines: o.SkipBadLines = False,
    log_dir: o.LogDirs = None,
    budgets: o.Budgets = None,
) -> None:
    """Write the jobs that users submit as an SWF log, if no job ever waits.

    Other programs can use the log. `batsched-py simulate --swf FILE` writes the jobs that users
    submit in a simulation, in which jobs wait.
    """
    from numpy.random import SeedSequence

    from batsched_py.model.endless_work import SubmissionWatch
    from batsched_py.workload.load import load_workload
    from batsched_py.workload.logs.swf import write_swf
    from batsched_py.workload.logs.swf_header import SYNTHETIC, make_header_lines

    make_folder_of(output)
    options = parse_options(user_option or [], "-U")
    path = find_log(source, log_dir or [])
    keep_inputs(output, path, *(Path(str(value)) for value in options.values()))
    workload = load_workload(path, rules, skip_bad_lines=skip_bad_lines)
    if nodes is not None:
        workload = msgspec.structs.replace(workload, nb_res=nodes)
    watch = SubmissionWatch(parse_budgets(budgets), len(workload.jobs))
    kind = plugins.load(plugins.USERS, users)
    chance = SeedSequence(seed).spawn(1)[0]  # as in a simulation with this seed
    with stop_signals():
        rows = _rows(plugins.make_users(kind, users, workload, options, chance), watch)
    notes = [
        f"users: {users} {msgspec.json.encode(options).decode()}, seed {seed}, on a machine "
        "without limits: no job waits",
    ]
    if workload.jobs:
        notes.append(f"made from {workload.name} ({describe(rules)}): cite that log too")
    header = make_header_lines(
        nb_jobs=len(rows),
        nb_processors=workload.nb_res,
        unix_start_time=workload.unix_start_time,
        time_zone=workload.time_zone,
        notes=[SYNTHETIC, *notes],
    )
    write_swf(output, header, rows)
    say_notes(workload)
    say(f"wrote {len(rows)} jobs to {output}")


def _rows(model: UserModel, watch: SubmissionWatch) -> list[list[float]]:
    """Return the 18 SWF fields of each job; users are numbered by their first job."""
    from batsched_py.workload.logs.swf import UNKNOWN, order_fields
    from batsched_users.behaviour.job_profiles import run_time_of
    from batsched_users.learning.ideal_machine import play_model

    rows: list[list[float]] = []
    numbers: dict[str, int] = {}
    run_times: dict[str, float] = {}
    for played in play_model(model, watch=watch):
        job = played.job
        if job.profile not in run_times:
            run_times[job.profile] = run_time_of(model.profiles[job.profile])
        request = job.walltime if job.walltime is not None else job.estimate
        user = UNKNOWN if job.user is None else numbers.setdefault(job.user, len(numbers) + 1)
        fields: dict[str, float] = {
            "job_number": len(rows) + 1,
            "submit_time": played.submit,
            "wait_time": 0,
            "run_time": run_times[job.profile],
            "allocated_processors": job.size,
            "requested_processors": job.size,
            "requested_time": UNKNOWN if request is None else request,
            "status": _COMPLETED,
            "user": user,
        }
        rows.append(order_fields(fields))
    return rows
