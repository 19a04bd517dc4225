"""A report that is served on loopback while its campaign runs.

The page asks the server every two seconds how far the campaign is, and loads itself again when
there is a new one. A page is made again only if runs have ended since, and not more often than
every few seconds; if that fails, the error is on the page and the last page stays.
"""

from __future__ import annotations

import errno
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from batsched_py.campaign.finished_runs import RUN_JSON
from batsched_py.errors import BatschedError, UsageError, parameter
from batsched_py.report.campaign_report import report_of
from batsched_py.report.document import Report
from batsched_py.report.formatting import cell
from batsched_py.report.forms.html_page import page
from batsched_py.support.code_places import described

if TYPE_CHECKING:
    from batsched_py.campaign.campaign_folder import CampaignResults

ADDRESS = "127.0.0.1"
PORT = 8765
LOOK_EVERY = 2.0
"""Seconds between two looks at the folder."""
REST = 3.0
"""Seconds from one page to the next, at least."""
TIMES = 4.0
"""... or so many times what it took to make one, if that is more."""
_MOST_VALUES = 50  # of an axis whose progress is shown by value

Open = Callable[[], "CampaignResults"]
Stamp = tuple[Any, ...]


class LiveReport:
    """The newest page of a campaign (``page``), and how far it is.

    One thread looks; any may read: what they get is replaced, never changed.
    """

    def __init__(self, open_folder: Open, named: str | None = None) -> None:
        """``named`` is the code that makes the report, as :func:`report_of` takes it."""
        self._open = open_folder
        self._named = named
        self._stamp: Stamp | None = None
        self._took = 0.0
        self._made_at = -REST
        self._error: str | None = None
        self._number = 0
        self._progress: dict[str, Any] = {"done": 0, "planned": 0, "failed": 0, "axes": []}
        self.page = page(_empty(), live=self.state)

    @property
    def state(self) -> dict[str, Any]:
        """What ``/state.json`` says; ``page`` is the number of the page."""
        return {"page": self._number, "error": self._error, **self._progress}

    def look(self) -> None:
        """Look at the folder, and make a new page if runs ended and the last one is old enough."""
        now = time.monotonic()
        try:
            results = self._open()
            stamp, self._progress = _progress(results)
        except (BatschedError, OSError) as error:  # between two campaigns, or moved away
            self._error = str(error)
            return
        if stamp == self._stamp or now - self._made_at < max(REST, TIMES * self._took):
            return
        self._stamp = stamp
        self._make(results)
        self._made_at = time.monotonic()
        self._took = self._made_at - now

    def _make(self, results: CampaignResults) -> None:
        error = None
        try:
            report = report_of(results, self._named)
        except Exception as failed:  # whatever a study's code raises
            report, error = _empty(results.title), _words(failed)
            if self._number:
                self._error = error
                return
        state = {**self.state, "page": self._number + 1, "error": error}
        try:
            made = page(report, results, live=state)
        except Exception as failed:  # a figure or a table that cannot be shown
            self._error = _words(failed)
            return
        self.page, self._number, self._error = made, self._number + 1, error


@contextmanager
def served(live: LiveReport, port: int = PORT) -> Iterator[_Server]:
    """Serve on loopback in threads of their own while the block runs.

    Raises :class:`UsageError` if the port is in use.
    """
    try:
        server = _Server(live, port)
    except (OSError, OverflowError) as error:
        if getattr(error, "errno", None) == errno.EADDRINUSE:
            raise UsageError(
                f"{parameter('port')} {port} is in use: give another, or {parameter('port')} 0 "
                "for any that is free"
            ) from None
        raise UsageError(f"{parameter('port')} {port}: {error}") from None
    stop = threading.Event()
    server.watch = threading.Thread(target=_watch, args=(live, stop), daemon=True)
    threads = [
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True),
        server.watch,
    ]
    for thread in threads:
        thread.start()
    try:
        yield server
    finally:
        stop.set()
        server.shutdown()
        server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    watch: threading.Thread
    """Which makes the pages; it may be amid one when the server has ended."""

    def __init__(self, live: LiveReport, port: int) -> None:
        super().__init__((ADDRESS, port), _Handler)
        self.live = live
        self.hosts = {f"{name}:{self.server_port}" for name in (ADDRESS, "localhost")}


def _watch(live: LiveReport, stop: threading.Event) -> None:
    while not stop.is_set():
        live.look()
        stop.wait(LOOK_EVERY)


class _Handler(BaseHTTPRequestHandler):
    """Answers for the page and its state; there is nothing else, in particular no files."""

    server: _Server
    server_version = "batsched_py"
    sys_version = ""
    timeout = 30.0

    def do_GET(self) -> None:
        """Answer; a HEAD without the body."""
        status, kind, body = self._found(self.path.partition("?")[0])
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_HEAD = do_GET  # noqa: N815 - as the standard library calls it

    def _found(self, path: str) -> tuple[int, str, bytes]:
        text = "text/plain; charset=utf-8"
        if self.headers.get("Host", "") not in self.server.hosts:
            # A page from elsewhere whose name points to this machine must not read this one.
            return 403, text, b"This page is for 127.0.0.1 and localhost only.\n"
        if path == "/":
            return 200, "text/html; charset=utf-8", self.server.live.page.encode()
        if path == "/state.json":
            return 200, "application/json", msgspec.json.encode(self.server.live.state)
        return 404, text, b"Nothing here: the report is at /.\n"

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: a line every two seconds helps nobody."""


_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def _progress(results: CampaignResults) -> tuple[Stamp, dict[str, Any]]:
    """Return what changes if a run ends (also one that was there before), and how far all is."""
    times = [_time(folder) for folder, _ in results.planned]
    planned = [labels for _, labels in results.planned]
    done = [labels for labels, time in zip(planned, times, strict=True) if time]
    failed = len(results.failures)
    axes = []
    for name in results.axes:
        of_all = Counter(cell(labels.get(name)) for labels in planned)
        of_done = Counter(cell(labels.get(name)) for labels in done)
        if len(of_all) <= _MOST_VALUES:
            values = [
                {"value": value, "done": of_done[value], "planned": number}
                for value, number in of_all.items()
            ]
            axes.append({"name": name, "values": values})
    progress = {"done": len(done), "planned": len(planned), "failed": failed, "axes": axes}
    return (*times, failed), progress


def _time(folder: Path) -> int:
    """Return when a run ended, 0 if it has not."""
    try:
        return (folder / RUN_JSON).stat().st_mtime_ns
    except OSError:
        return 0


def _empty(title: str = "A report that is being made") -> Report:
    return Report(title=title, source="", sections=())


def _words(error: Exception) -> str:
    """Return an error with the place in the study's code that it comes from."""
    if isinstance(error, BatschedError):
        return str(error)
    return described(error)
