"""``batsched-py users learn``: learns the parameters of user models from logs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from batsched_py.commands import shared_options as o
from batsched_py.commands.help_text import CommandHelp, make_group
from batsched_py.files.writers import keep_inputs, make_folder_of
from batsched_py.support.terminal_text import print_table, say
from batsched_py.units import DAY, HOUR, MINUTE
from batsched_py.workload.conversion_rules import Rules, make_rules
from batsched_py.workload.logs.log_archive import find_log
from batsched_users.commands.output import stem

learn = make_group(help="Learn the parameters of user models from logs.")
_Logs = Annotated[
    list[str], typer.Argument(metavar="LOG...", help="SWF logs: files, or names of `logs list`.")
]


@learn.command("site", cls=CommandHelp)
def site(
    sources: _Logs,
    folder: Annotated[
        Path, typer.Option("-o", "--output", metavar="FOLDER", help="Folder to write the files to.")
    ],
    weight: Annotated[
        str,
        typer.Option(
            metavar="jobs|logs",
            help="Unit with equal weight: each job, or each log.",
        ),
    ] = "jobs",
    skip_bad_lines: o.SkipBadLines = False,
    log_dir: o.LogDirs = None,
) -> None:
    """Learn the distributions of the user model `site` from logs, a file for each.

    The command also prints how the logs differ from those that the paper describes.
    """
    from batsched_py.workload.load import load_workload
    from batsched_users.learning.learn_site import learn_site, measure_facts

    rules = make_rules(walltime="requested")
    paths = (find_log(source, log_dir or []) for source in sources)
    logs = [load_workload(path, rules, skip_bad_lines=skip_bad_lines) for path in paths]
    make_folder_of(folder / "any")
    learn_site(logs, weight=weight).write(folder)
    for log in logs:
        facts = measure_facts(log)
        shares = ", ".join(
            f"{getattr(facts, name):.1%} {text}"
            for name, text in (
                ("negative_think_times", "negative think times"),
                ("by_day", "of jobs by day"),
                ("on_weekdays", "on weekdays"),
            )
        )
        print(f"{log.name}: {shares}")
    say(f"wrote {folder}; use it with --users site -U distributions={folder}")


@learn.command("weekly", cls=CommandHelp)
@o.with_rules
def weekly(
    *,
    rules: Rules,
    source: Annotated[
        str,
        typer.Argument(
            metavar="LOG", help="SWF log or Batsim workload: a file, or a name of `logs list`."
        ),
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE.json", help="File to write.")
    ],
    per: Annotated[
        str,
        typer.Option(
            metavar="pool|user", help="Classes of users: one for all, or one for each user."
        ),
    ] = "pool",
    skip_bad_lines: o.SkipBadLines = False,
    log_dir: o.LogDirs = None,
) -> None:
    """Learn the parameters of the user model `weekly` from a log."""
    from batsched_py.workload.load import load_workload
    from batsched_users.learning.learn_weekly import learn_weekly, write_parameters

    make_folder_of(output)
    path = find_log(source, log_dir or [])
    keep_inputs(output, path)
    workload = load_workload(path, rules, skip_bad_lines=skip_bad_lines)
    parameters = learn_weekly(workload, per=per)
    write_parameters(output, parameters)
    users = sum(user_class.count for user_class in parameters.classes)
    say(f"{workload.name}: {users} users, classes: {len(parameters.classes)}")
    say(f"wrote {output}; use it with --users weekly -U parameters={output}")


@learn.command("withdrawals", cls=CommandHelp)
def withdrawals(
    source: Annotated[
        str, typer.Argument(metavar="LOG", help="SWF log: a file, or a name of `logs list`.")
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE.json", help="File to write.")
    ],
    after_own_end: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            min=0.0,
            help="Leave out withdrawals up to SECONDS after the end of a job of the same user, "
            "which programs may have made.",
        ),
    ] = None,
    skip_bad_lines: o.SkipBadLines = False,
    log_dir: o.LogDirs = None,
) -> None:
    """Learn how often users withdraw waiting jobs, for the user models `withdraws` and `resubmits`.

    The log must have withdrawn jobs: status 5, no run time, and the wait until the withdrawal. The
    command also prints the share of jobs withdrawn by age, where a start censors (Kaplan-Meier).
    """
    from batsched_py.workload.logs.swf import read_swf
    from batsched_users.behaviour.withdrawal_habits import write_habits
    from batsched_users.learning.learn_withdrawals import learn_withdrawals
    from batsched_users.measures.waiting_jobs import estimate_share_withdrawn, find_waiting_jobs

    make_folder_of(output)
    path = find_log(source, log_dir or [])
    keep_inputs(output, path)
    log = read_swf(path, skip_bad_lines=skip_bad_lines)
    habits = learn_withdrawals(log, after_own_end=after_own_end)
    write_habits(output, habits)
    shares = estimate_share_withdrawn(
        find_waiting_jobs(log, after_own_end=after_own_end), list(_AGES.values())
    )
    say(habits.source)
    rows = [
        (f"withdrawn by {age}", f"{share:.1%}") for age, share in zip(_AGES, shares, strict=True)
    ]
    print_table(("", "share of jobs"), rows, numeric=("share of jobs",))
    say(f"wrote {output}; use it with --users withdraws -U habits={output}")


_AGES = {"1 min": MINUTE, "10 min": 10 * MINUTE, "1 h": HOUR, "4 h": 4 * HOUR, "1 day": DAY}


@learn.command("think-times", cls=CommandHelp)
def think_times(
    sources: _Logs, skip_bad_lines: o.SkipBadLines = False, log_dir: o.LogDirs = None
) -> None:
    """Fit think times to response times, of all jobs and of those up to 8 h.

    A fitted line with slope M and intercept B is the option think=linear:M:B of the model `weekly`.
    """
    from batsched_py.workload.logs.swf import read_swf
    from batsched_users.behaviour.think_times import PUBLISHED
    from batsched_users.learning.learn_think_times import find_think_time_pairs, fit_logs
    from batsched_users.measures.job_columns import columns_of_log

    logs = {}
    for source in sources:
        log = read_swf(find_log(source, log_dir or []), skip_bad_lines=skip_bad_lines)
        logs[log.path.name] = find_think_time_pairs(columns_of_log(log).ended)
    rows = [
        (
            stem(name) + bound,
            f"{line.nb_pairs}",
            f"{line.slope:.4f}",
            f"{line.intercept:.0f}",
            f"{line.mean_absolute_residual:.0f}",
        )
        for name, lines in fit_logs(logs).items()
        for line, bound in zip(lines, ("", " (response < 8 h)"), strict=True)
    ]
    published = ("Schlagkamp 2015", "", f"{PUBLISHED.slope:.4f}", f"{PUBLISHED.intercept:.0f}", "")
    columns = ("pairs", "slope", "intercept (s)", "mean residual (s)")
    print_table(("", *columns), [*rows, published], numeric=columns)
