"""``batsched-py sample-log``: write the synthetic log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from batsched_py.files.writers import write_whole
from batsched_py.workload.logs import sample_log as sample


def sample_log(
    out: Annotated[Path, typer.Argument(help="SWF file to write.", metavar="OUT.swf")],
    seed: Annotated[
        int, typer.Option(metavar="N", help="Seed of the random numbers.")
    ] = sample.SEED,
    days: Annotated[
        int, typer.Option(metavar="N", help="Number of days in which jobs are submitted.")
    ] = sample.DAYS,
) -> None:
    """Write a synthetic SWF log of 64 processors and some 50 users."""
    write_whole(out, sample.sample_log(seed, days))
    typer.echo(f"wrote {out}")
