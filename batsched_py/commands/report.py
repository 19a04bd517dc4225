"""``batsched-py report``: tables, figures and the page of a campaign."""

from __future__ import annotations

from pathlib import Path
from threading import Event
from typing import Annotated

import typer

from batsched_py.errors import UsageError
from batsched_py.support.atomic_files import make_folder_of
from batsched_py.support.signals import stop_signals


def report(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder of a campaign, also of one that runs.")
    ],
    serve: Annotated[
        bool,
        typer.Option("--serve", help="Serve the page on 127.0.0.1 while the campaign runs."),
    ] = False,
    port: Annotated[
        int | None,
        typer.Option("--port", help="Port for --serve (default 8765; 0: any).", metavar="N"),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="The page (default: DIR/report.html).", metavar="FILE"),
    ] = None,
) -> None:
    """Write a campaign's report: one HTML file, and a folder of CSV, Markdown, PNG and SVG files.

    The page needs no network. It is made from the runs that are there.
    """
    if serve:
        if output is not None:
            raise UsageError("--output goes without --serve, which writes nothing")
        _serve(folder, port)
        return
    if port is not None:
        raise UsageError(f"--port {port} means nothing without --serve")
    _write(folder, output)


def _write(folder: Path, output: Path | None) -> None:
    from batsched_py.campaign.campaign_folder import open_results
    from batsched_py.report.campaign_report import report_of
    from batsched_py.report.forms.export_files import FOLDER, PAGE
    from batsched_py.report.forms.publish import publish

    if output is not None and output.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"--output {output}: expected a name that ends with .html")
    results = open_results(folder)
    make_folder_of(output or folder / PAGE)
    make_folder_of(folder / FOLDER / "_")
    if results.runs.empty:
        raise UsageError(f"{folder}: no run has finished yet; watch it with --serve")
    for path in publish(report_of(results), results, output):
        print(f"wrote {path}")


def _serve(folder: Path, port: int | None) -> None:
    from batsched_py.campaign.campaign_folder import open_results
    from batsched_py.report.forms.live_server import ADDRESS, PORT, LiveReport, served

    open_results(folder)  # to say at once that it is no campaign
    with stop_signals():
        try:
            live = LiveReport(lambda: open_results(folder))
            with served(live, PORT if port is None else port) as server:
                address = f"http://{ADDRESS}:{server.server_port}/"
                print(f"the report is at {address} (Ctrl-C ends)", flush=True)
                Event().wait()
        except KeyboardInterrupt:  # from the moment that it can be known where the report is
            print("\nthe server has ended", flush=True)
