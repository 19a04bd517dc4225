"""The dask scheduler of a campaign: one of its own, whose end is the campaign's, or a running one.

Who is let in by a scheduler, or by its workers, can run programs in the name of their user.
"""

from __future__ import annotations

from contextlib import ExitStack, suppress
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, build_opener

from batsched_py.campaign.cluster.address import (
    CLUSTER,
    Request,
    check_host,
    check_submission,
    cluster_class,
    configured,
    needed,
)
from batsched_py.campaign.cluster.node import SEE
from batsched_py.campaign.cluster.private_folder import make_keys, private_folder, security
from batsched_py.campaign.cluster.queue_commands import refusal
from batsched_py.campaign.cluster.queued_jobs import in_words
from batsched_py.campaign.cluster.worker_jobs import job_class, job_options
from batsched_py.errors import UsageError
from batsched_py.support.terminal_text import say

_CONNECT = 10.0
"""Seconds for a scheduler to answer at first."""
_END = 30.0
"""Seconds for a cluster to end."""
_DASHBOARD = 2.0
"""Seconds for the dashboard to answer."""
_LOOPBACK = "127.0.0.1"
"""Where the dashboard is: it asks nobody who they are."""
_WHO_CONNECTS = "see 'Who may connect' in docs/clusters.md"

# Run by dask workers of this machine: Ctrl-C in the terminal is for the coordinator.
_DEAF = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"


def started(request: Request, folder: Path, stack: ExitStack) -> Any:
    """Return the cluster object of dask, None where a scheduler is running.

    ``folder`` is the campaign's. Raises :class:`UsageError`.
    """
    if request.kind == "dask":
        _check_address(request)
        return None
    if request.queued:
        check_submission(request)
    private = stack.enter_context(private_folder(folder if request.queued else None))
    make_keys(private)
    return (_submitted if request.queued else _local)(request, private, stack)


def _local(request: Request, private: Path, stack: ExitStack) -> Any:
    """Return the cluster object of dask for workers of this machine."""
    cluster = needed("distributed").LocalCluster(
        n_workers=request.options["workers"],
        threads_per_worker=request.options["threads"],
        security=security(private),
        dashboard_address=f"{_LOOPBACK}:0",
        local_directory=str(private),
        scheduler_kwargs={"local_directory": str(private)},
        preload=[_DEAF],
    )
    stack.callback(_give_back, cluster)
    return cluster


def _submitted(request: Request, private: Path, stack: ExitStack) -> Any:
    """Return the cluster object of dask for workers in jobs, which are submitted."""
    ours = {"dashboard_address": f"{_LOOPBACK}:8787", "local_directory": str(private)}
    cluster = cluster_class(request)(
        job_cls=job_class(request, private),
        security=security(private),
        scheduler_options={**ours, **(configured(request, "scheduler-options") or {})},
        **job_options(request, private),
    )
    stack.callback(_give_back, cluster)

    async def submit() -> None:
        cluster.scale(jobs=request.jobs)
        await cluster  # raises what the command says that submits

    try:
        cluster.sync(submit)
    except (RuntimeError, ValueError) as error:
        seen = f"{CLUSTER} {request.kind}: no job can be submitted"
        raise UsageError(f"{seen}: {refusal(error)}") from None
    jobs = [*cluster.workers.values()]
    say(
        f"asked {request.kind} for {in_words(len(jobs), 'job')} of "
        f"{in_words(jobs[0].worker_cores, 'core')} each: {' '.join(job.job_id for job in jobs)}"
    )
    return cluster


def _check_address(request: Request) -> None:
    """Raise :class:`UsageError` for a scheduler that cannot be asked; say what its port means."""
    check_host(request)
    if not request.address.startswith("tls:"):
        danger = f"whoever reaches {request.address} can run programs in your name"
        say(f"note: {danger}; {_WHO_CONNECTS}")
        return
    try:
        keys = needed("distributed").Security().get_connection_args("client")["ssl_context"]
    except OSError as error:
        raise UsageError(
            f"{CLUSTER} {request.address}: the keys that dask's configuration names cannot be "
            f"used: {error}; {_WHO_CONNECTS}"
        ) from None
    if keys is None:
        raise UsageError(
            f"{CLUSTER} {request.address}: dask's configuration names no key and certificate of a "
            f"client (distributed.comm.tls); {_WHO_CONNECTS}"
        )


def _give_back(cluster: Any) -> None:
    try:
        cluster.close(timeout=_END)
    except TimeoutError:
        say("the cluster does not end in time: look at the queue for jobs that are left")


def connected(request: Request, cluster: Any, stack: ExitStack) -> Any:
    """Return a client of a cluster, or of the scheduler that is running; raises UsageError."""
    dask = needed("distributed")
    place = request.address if cluster is None else cluster
    try:
        client = dask.Client(place, timeout=_CONNECT, set_as_default=False)
    except dask.comm.CommClosedError:
        raise UsageError(
            f"{CLUSTER}: what answers at {place} does not speak with us; is it a dask scheduler, "
            "and with TLS or without as the address says (tls://HOST:PORT), and are its keys those "
            f"of dask's configuration here? {_WHO_CONNECTS}"
        ) from None
    except (OSError, ValueError):
        raise UsageError(
            f"{CLUSTER}: no dask scheduler answers at {place} within {_CONNECT:g} s; "
            f"is it running, and is its port open to this machine? {SEE}"
        ) from None

    def close() -> None:
        with suppress(TimeoutError, OSError):
            client.close(timeout=_CONNECT)

    stack.callback(close)
    return client


def show_dashboard(client: Any, cluster: Any) -> None:
    """Say where the dashboard is; without one, end what a cluster of ours serves to browsers."""
    link = client.dashboard_link
    server = None if cluster is None else cluster.scheduler.http_server
    if server is not None and server.address == _LOOPBACK:
        link = f"http://{_LOOPBACK}:{server.port}/status"  # dask's names the host of the scheduler
    if _is_dashboard(link):
        say(f"dashboard of the cluster: {link}")
    elif server is not None:
        cluster.loop.add_callback(server.stop)


def _is_dashboard(link: str) -> bool:
    """Whether there is one: without the package bokeh dask serves a page that asks for it."""
    try:
        with build_opener(ProxyHandler({})).open(link, timeout=_DASHBOARD) as page:
            return b"needs bokeh" not in page.read(1000)
    except (OSError, ValueError, HTTPException):  # HTTP errors are of the first kind
        return False
