"""``batsched-py report``: the page of a campaign or of a run, and its tables and figures."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Annotated

import typer

from batsched_py.errors import UsageError
from batsched_py.files.readers import is_file
from batsched_py.files.writers import announce_replaced, make_folder_of, write_whole
from batsched_py.support.terminal_text import say

if TYPE_CHECKING:
    from batsched_py.campaign.campaign_folder import CampaignResults
    from batsched_py.report.document import Report


def report(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR|PREFIX", help="Folder of a campaign, finished or not, or prefix of a run."
        ),
    ],
    follow: Annotated[
        bool,
        typer.Option(
            "--follow",
            help="While the campaign runs, write the report again as runs end; it reloads itself.",
        ),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="HTML file to write. [default: DIR/report.html or PREFIX_report.html]",
            metavar="FILE",
        ),
    ] = None,
    nodes: Annotated[
        int | None,
        typer.Option(
            help="Number of processors of the machine. [default: from the files of the run]",
            metavar="N",
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            "--report",
            help="Code that makes the report of a campaign. [default: that of an installed study]",
            metavar="FILE.py:FUNCTION",
        ),
    ] = None,
) -> None:
    """Write the report of a run or of a campaign as one HTML file.

    The file needs no network. The report of a campaign is made from its finished runs, and comes
    with a folder of CSV, Markdown, PNG and SVG files. The code of an installed study is found by
    its name; code in a file runs only if --report names it.

    Examples:
        batsched-py report out/easy
        batsched-py report out/easy -o easy.html
    """
    from batsched_py.campaign.campaign_file import STORED
    from batsched_py.campaign.campaign_folder import open_results
    from batsched_py.report.forms.export_files import PAGE, find_files_folder
    from batsched_py.report.forms.publish import write_page

    if output is not None and output.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"--output {output}: expected a name that ends with .html")
    if not is_file(folder / STORED):
        if by is not None:
            raise UsageError(f"--report {by}: only for campaigns, and {folder} is none")
        if follow:
            raise UsageError(f"--follow: {folder} is not the folder of a campaign (no {STORED})")
        _write_run(folder, output, nodes)
        return
    if nodes is not None:
        raise UsageError(f"--nodes {nodes}: only for runs, and {folder} is a campaign")
    results = open_results(folder)
    place = output or folder / PAGE
    make_folder_of(place)
    make_folder_of(find_files_folder(place) / "_")
    if follow:
        results = _follow(folder, place, by)
    if results.runs.empty:
        raise UsageError(
            f"{folder}: no run of the campaign has finished yet; --follow waits for them"
        )
    if left := results.unfinished:
        number = f"{len(left)} of {results.nb_planned}"
        say(
            f"note: {number} runs have not finished: there is no {left[0]}; "
            "if none is running, run the campaign again"
        )
    for path in write_page(partial(_make_report, results, by, place), place, results)[1]:
        print(f"wrote {path}")


def _make_report(results: CampaignResults, by: str | None, place: Path) -> Report:
    """Return the report of a campaign; say what is left out and which files will be replaced."""
    from batsched_py.report.campaign_report import explain_left_out_code, make_campaign_report
    from batsched_py.report.forms.export_files import find_files_folder

    made = make_campaign_report(results, by)
    if by is None and (told := explain_left_out_code(results)):
        say(f"note: {told}")
    announce_replaced([place, *find_files_folder(place).glob("*")])
    return made


def _write_run(prefix: Path, output: Path | None, nodes: int | None) -> None:
    """Write the page of one run."""
    from batsched_py.campaign.campaign_file import STORED
    from batsched_py.report.forms.html_page import render_page
    from batsched_py.report.one_run import make_run_report
    from batsched_py.report.shown_runs import OneRun
    from batsched_py.run.stored_run import find_jobs_file

    try:
        find_jobs_file(prefix)
    except UsageError as error:
        no_campaign = f"{prefix} is not the folder of a campaign (no {prefix / STORED})"
        raise UsageError(f"{no_campaign}, and {error}") from None
    run = OneRun(prefix, nodes)
    place = output or Path(f"{run.prefix}_report.html")
    make_folder_of(place)
    announce_replaced([place])
    write_whole(place, render_page(make_run_report(run), run))
    print(f"wrote {place}")


def _follow(folder: Path, place: Path, by: str | None) -> CampaignResults:
    """Write the page as runs end, until all of them have; return the results of all."""
    from batsched_py.campaign.campaign_folder import open_results
    from batsched_py.report.forms.publish import EVERY, write_page_so_far

    shown = None
    while left := len((results := open_results(folder)).unfinished):
        if left != shown:
            write_page_so_far(results, place, by)
            if shown is None:
                say(f"note: updating {place} until the campaign ends (Ctrl-C stops)")
            shown = left
        sleep(EVERY)
    return results
