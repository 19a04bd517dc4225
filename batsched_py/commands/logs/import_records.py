"""``batsched-py import``: accounting records of a site become a log."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from batsched_py.accounting.import_options import ImportOptions
from batsched_py.commands.help_text import CommandHelp, make_group
from batsched_py.commands.shared_options import with_fields
from batsched_py.files.writers import announce_replaced
from batsched_py.options.setting_fields import convert_settings, setting_fields
from batsched_py.support.terminal_text import print_table, say

if TYPE_CHECKING:
    from batsched_py.accounting.systems.accounting_system import AccountingSystem

app = make_group(
    help="""Convert accounting records of Slurm, PBS or OAR to a log.

    Examples:
        batsched-py import slurm sacct.txt site.swf --time-zone Europe/Paris
        batsched-py import pbs accounting/2024* site.swf.gz --max-processors 512
    """
)
_OPTIONS = setting_fields(ImportOptions)
_Records = Annotated[
    list[str],
    typer.Argument(
        metavar="RECORDS...", help="Files of records, plain or gzipped; - reads standard input."
    ),
]
_Out = Annotated[
    Path,
    typer.Argument(
        metavar="OUT.swf",
        help="Log to write (.swf or .swf.gz), with OUT_names.csv, OUT_machine.toml and "
        "OUT_resources.csv.",
    ),
]


def _with_options(*without: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command all options of an import but some."""

    def make_options(**values: Any) -> ImportOptions:
        return ImportOptions(**convert_settings(_OPTIONS, values))

    fields = [field for name, field in _OPTIONS.items() if name not in without]
    return with_fields("options", make_options, fields)


@app.command("slurm", cls=CommandHelp)
@_with_options()
def slurm(records: _Records, out: _Out, *, options: ImportOptions) -> None:
    """Convert the output of `sacct --parsable2`, with its header line.

    Jobs that had not ended are left out, and counted.
    """
    from batsched_py.accounting.systems.slurm import Slurm

    _import(Slurm, records, out, options)


@app.command("pbs", cls=CommandHelp)
@_with_options("delimiter", "cluster", "partition_limits")
def pbs(records: _Records, out: _Out, *, options: ImportOptions) -> None:
    """Convert accounting logs of PBS Professional, OpenPBS or Torque.

    Files of single days may come in any order. Only records of ends (E) and of runs that were
    requeued (R) become jobs; others are counted.
    """
    from batsched_py.accounting.systems.pbs import Pbs

    _import(Pbs, records, out, options)


@app.command("oar", cls=CommandHelp)
@_with_options("submission", "runs", "delimiter", "cluster", "partition_limits")
def oar(records: _Records, out: _Out, *, options: ImportOptions) -> None:
    """Convert jobs of OAR from a CSV file with the columns of its database.

    Jobs that had not ended are left out, and counted.
    """
    from batsched_py.accounting.systems.oar import Oar

    _import(Oar, records, out, options)


def _import(
    system: type[AccountingSystem], records: list[str], out: Path, options: ImportOptions
) -> None:
    """Import records, and say what was done."""
    from batsched_py.accounting.import_log import import_log, name_files
    from batsched_py.accounting.resource_use import HEADINGS

    files = name_files(out)
    announce_replaced(files)
    done = import_log(system, records, out, options)
    for note in done.notes:
        say(f"note: {note}")
    if len(table := done.use.table()) > 1:
        print_table(HEADINGS, table, HEADINGS[1:])
    say(f"wrote {done.nb_jobs} jobs to {out}, their names to {files.names}")
    say(f"drafted the machine in {files.machine}: correct it")
    say(f"wrote the memory, GPUs and nodes of jobs to {files.resources}")
