"""``batsched-py import``: accounting records of a site become a log."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from batsched_py.commands import shared_options as o
from batsched_py.commands.help_text import CommandHelp, GroupHelp
from batsched_py.errors import UsageError, parameter
from batsched_py.files.readers import read_text
from batsched_py.files.writers import say_replaced
from batsched_py.support.terminal_text import say

if TYPE_CHECKING:
    from batsched_py.accounting.systems.accounting_system import AccountingSystem

app = typer.Typer(
    help="Make a log of a site's accounting records: of Slurm, PBS or OAR.",
    cls=GroupHelp,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
_PRIVACY = "Names"
_Records = Annotated[
    list[str],
    typer.Argument(
        metavar="RECORDS...", help="Files of records, packed by gzip or not; - is standard input."
    ),
]
_Out = Annotated[
    Path,
    typer.Argument(
        metavar="OUT.swf",
        help="Log to write (.swf or .swf.gz); OUT_names.csv and OUT_machine.toml go beside it.",
    ),
]
_Submission = Annotated[
    str,
    typer.Option(
        metavar="submitted|eligible",
        help="Which time is a job's submission; it may become eligible to start later.",
    ),
]


def _of_all(
    *,
    computer: Annotated[
        str, typer.Option(metavar="NAME", help="The machine, for the header.")
    ] = "unknown",
    time_zone: Annotated[
        str | None,
        typer.Option(
            metavar="ZONE", help="Time zone of the site, such as Europe/Paris (else UTC)."
        ),
    ] = None,
    record_zone: Annotated[
        str | None,
        typer.Option(
            metavar="ZONE", help="Time zone of the times in the records, if it is another."
        ),
    ] = None,
    processors: Annotated[
        str, typer.Option(metavar="cores|nodes", help="What a processor of the log is.")
    ] = "cores",
    cores_per_node: Annotated[
        int | None,
        typer.Option(metavar="N", help="Cores of a node, where jobs have whole nodes."),
    ] = None,
    max_processors: Annotated[
        int | None,
        typer.Option(metavar="N", help="Processors of the machine (else the most in use at once)."),
    ] = None,
    outage_hours: Annotated[
        float, typer.Option(metavar="H", help="Hours without a job that are drafted as an outage.")
    ] = 12.0,
    skip_bad_lines: o.SkipBadLines = False,
    job_names: Annotated[
        bool,
        typer.Option(
            "--job-names",
            help="Number the names of jobs, as executables.",
            rich_help_panel=_PRIVACY,
        ),
    ] = False,
    anonymise: Annotated[
        bool,
        typer.Option(
            "--anonymise",
            help="Give users, groups and jobs pseudonyms that need a salt.",
            rich_help_panel=_PRIVACY,
        ),
    ] = False,
    salt: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="The salt, a secret of at least 16 characters; others see it in lists of "
            "processes.",
            rich_help_panel=_PRIVACY,
        ),
    ] = None,
    salt_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File with the salt.", rich_help_panel=_PRIVACY),
    ] = None,
) -> dict[str, Any]:
    """Return the options that all systems have."""
    return locals()


_with_options = o.with_parameters(
    "options", _of_all, inspect.signature(_of_all, eval_str=True).parameters.values()
)


@app.command("slurm", cls=CommandHelp)
@_with_options
def slurm(
    records: _Records,
    out: _Out,
    *,
    delimiter: Annotated[
        str | None, typer.Option(metavar="TEXT", help="What divides the columns (default: |).")
    ] = None,
    partition_limit: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=TIME",
            help="Longest time of a partition, for jobs that requested none (repeatable).",
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Import the jobs of this cluster only, of several."),
    ] = None,
    submission: _Submission = "submitted",
    options: dict[str, Any],
) -> None:
    """Import what `sacct --parsable2` writes, with its header line.

    docs/accounting.md has the call of sacct. Jobs that had not ended are left out, and counted.
    """
    from batsched_py.accounting.import_options import parse_partition_limits
    from batsched_py.accounting.systems.slurm import SYSTEM

    options |= {"delimiter": delimiter, "cluster": cluster, "submission": submission}
    options["partition_limits"] = parse_partition_limits(partition_limit or [])
    _import(SYSTEM, records, out, options)


@app.command("pbs", cls=CommandHelp)
@_with_options
def pbs(
    records: _Records,
    out: _Out,
    *,
    submission: _Submission = "submitted",
    options: dict[str, Any],
) -> None:
    """Import accounting logs of PBS Professional, OpenPBS or Torque.

    Files of single days may come in any order. Only records of ends (E) and of runs that were
    requeued (R) become jobs; others are counted.
    """
    from batsched_py.accounting.systems.pbs import SYSTEM

    _import(SYSTEM, records, out, options | {"submission": submission})


@app.command("oar", cls=CommandHelp)
@_with_options
def oar(records: _Records, out: _Out, *, options: dict[str, Any]) -> None:
    """Import jobs of OAR, as CSV with a header line from its database.

    docs/accounting.md has the query. Jobs that had not ended are left out, and counted.
    """
    from batsched_py.accounting.systems.oar import SYSTEM

    _import(SYSTEM, records, out, options)


def _import(
    system: AccountingSystem, records: list[str], out: Path, options: dict[str, Any]
) -> None:
    """Import records, and say what was done."""
    from batsched_py.accounting.import_log import import_files, import_log
    from batsched_py.accounting.import_options import ImportOptions

    salt = _salt(**{name: options.pop(name) for name in ("anonymise", "salt", "salt_file")})
    files = import_files(out)
    say_replaced(files)
    done = import_log(system, records, out, ImportOptions(**options, salt=salt))
    for note in done.notes:
        say(f"note: {note}")
    say(f"wrote {done.nb_jobs} jobs to {out}, their names to {files.names}")
    say(f"drafted the machine in {files.machine}: correct it")


def _salt(*, anonymise: bool, salt: str | None, salt_file: Path | None) -> str | None:
    """Return the salt if the log is to be anonymised."""
    given = salt is not None or salt_file is not None
    if given and not anonymise:
        raise UsageError(f"a salt is for {parameter('anonymise')}, which was not given")
    if not anonymise:
        return None
    if (salt is None) == (salt_file is None):
        raise UsageError(
            f"{parameter('anonymise')}: expected either {parameter('salt')} or "
            f"{parameter('salt_file')}, a secret that you keep"
        )
    return read_text(salt_file).strip() if salt_file is not None else salt
