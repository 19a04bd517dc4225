"""Performs runs on a cluster by dask: on a running scheduler, or in jobs of a queueing system.

dask hands out the runs and makes those of a lost worker again; what a job is, its configuration
says. All workers see the campaign's folder and its inputs under the same paths: only settings go
out, and whether a run ended well comes back.
"""

from __future__ import annotations

import hashlib
import logging
import os
import socket
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Executor, Future
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Lock, Thread
from typing import Any
from uuid import uuid4

import msgspec

from batsched_py.campaign.run_identity import digest_code
from batsched_py.campaign.workers.worker_processes import LocalWorkers
from batsched_py.errors import SimulationError, UsageError, parameter
from batsched_py.files.readers import read_bytes
from batsched_py.files.writers import write_whole
from batsched_py.run.result import versions
from batsched_py.support.installation import extra
from batsched_py.support.signals import keep_handlers
from batsched_py.support.terminal_text import say

CLUSTER = parameter("cluster")
_SUFFIX = "Cluster"
_LOOPBACK = "127.0.0.1:0"
"""The address of dask's pages, which need no certificate."""
_CONNECT, _END, _LOOK = 10.0, 30.0, 30.0
"""Seconds for a scheduler to answer, for a cluster to end, and between looks for workers."""
_MOST_CHILDREN = 1_000
"""Processes of a dask worker: as many as dask gives it runs at a time, so no limit."""


class Requirements(msgspec.Struct, frozen=True):
    """The files that a worker must see, and the versions that it must have."""

    mark: str
    """A file in the campaign's folder, there while the campaign runs."""
    cwd: str
    """From where relative paths start."""
    inputs: list[str]
    """The files that the runs read."""
    versions: dict[str, str]
    """The code, and the versions behind it."""


@contextmanager
def open_cluster(where: str, folder: Path, inputs: Iterable[str], jobs: int) -> Iterator[Executor]:
    """Give an executor on a cluster, and release the cluster at the end of the block.

    ``where`` is the address of a dask scheduler, or the name of a queueing system, which is asked
    for ``jobs`` jobs. ``folder`` is the campaign's, ``inputs`` are the files that its runs read, as
    absolute paths. Raises :class:`UsageError` for a scheduler that does not answer, jobs that
    cannot be submitted and workers that cannot take part, and :class:`SimulationError` if the
    scheduler is lost.
    """
    check_cluster(where)
    with ExitStack() as stack:
        stack.enter_context(_quiet())
        place: Any = where
        if where in _systems():
            place = _cluster_of_jobs(where, folder)
            stack.callback(_give_back, place)
            _submit(where, place, jobs)
        client = _connected(place, where)
        stack.callback(client.close, timeout=_CONNECT)
        mark = folder.absolute() / f".session-{uuid4().hex}"
        write_whole(mark, "")
        stack.callback(mark.unlink, missing_ok=True)
        needs = Requirements(str(mark), str(Path.cwd()), sorted(inputs), _versions())
        _check_workers(client, needs)
        client.register_plugin(_call_ender(needs.mark))
        ended = Event()
        Thread(target=_say_if_alone, args=(client, where, ended), daemon=True).start()
        stack.callback(ended.set)
        try:
            with _Workers(client, needs) as executor:
                yield executor
        except CancelledError:
            raise SimulationError(
                f"{CLUSTER} {where}: the dask scheduler is gone; what was done stays done, the "
                "same command continues"
            ) from None


def check_cluster(where: str) -> None:
    """Raise :class:`UsageError` for a text that is neither an address nor a queueing system."""
    if ":" not in where and where not in (systems := _systems()):
        raise UsageError(
            f"{CLUSTER} {where}: expected the address of a dask scheduler, such as "
            f"tcp://HOST:8786, or a queueing system: {', '.join(sorted(systems))}"
        )


def make_job_script(where: str, folder: Path) -> str:
    """Return the script of a job that a queueing system would get; "" for an address."""
    if where not in _systems():
        return ""
    with _quiet(), TemporaryDirectory() as place:
        cluster = _cluster_of_jobs(where, Path(place))
        try:
            return str(cluster.job_script()).replace(place, str(folder.absolute()))
        finally:
            _give_back(cluster)


class _Workers(Executor):
    """Calls on the workers of a cluster."""

    def __init__(self, client: Any, needs: Requirements) -> None:
        self._client = client
        self._needs = needs
        self._executor = client.get_executor(pure=False)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call a function in a process on a node."""
        future: Future[Any] = self._executor.submit(call, self._needs, fn, *args, **kwargs)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Wait for all calls, or cancel them and end those that are being performed."""
        with suppress(Exception):  # what is gone needs no end
            self._executor.shutdown(wait and not cancel_futures)
            Path(self._needs.mark).unlink()  # what is on its way does not begin
            self._client.unregister_worker_plugin(self._needs.mark)


_children: dict[str, LocalWorkers] = {}
"""Processes of this dask worker, by campaign: a run that dies leaves the dask worker whole."""
_lock = Lock()


def call(needs: Requirements, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a child of this process, a dask worker.

    Raises :class:`WorkerLost` if the child dies, and as :func:`check_worker` does.
    """
    check_worker(needs)
    with _lock:
        if needs.mark not in _children:
            _children[needs.mark] = LocalWorkers(_MOST_CHILDREN, needs.cwd)
        children = _children[needs.mark]
    return children.submit(function, *arguments).result()


def _call_ender(mark: str) -> Any:
    """Return a plug-in for dask workers that ends the calls of a campaign.

    It does so when it is removed, which a worker also does when it loses its scheduler.
    """
    import distributed

    kind: Any = distributed.WorkerPlugin

    class CallEnder(kind):  # type: ignore[misc]
        name = mark

        def teardown(self, worker: Any) -> None:
            end_calls(mark)

    return CallEnder()


def end_calls(mark: str) -> None:
    """End the processes that run for a campaign in this dask worker."""
    with _lock:
        children = _children.pop(mark, None)
    if children is not None:
        children.shutdown(cancel_futures=True)


def check_worker(needs: Requirements) -> None:
    """Raise :class:`UsageError` if this process lacks required files, or has other code."""
    here = f"the dask worker on {socket.gethostname()}"
    for path in (needs.mark, needs.cwd, *needs.inputs):
        if not os.path.exists(path):
            seen = Path(path).parent if path == needs.mark else path
            raise UsageError(
                f"{here} does not see {seen}: the campaign's folder, its inputs and the folder "
                "where it is started have to be on a file system that all nodes share, under the "
                "same path"
            )
    if needs.versions != (present := _versions()):
        differences = [
            f"{name} {present.get(name, 'unknown')[:12]} instead of {expected[:12]}"
            for name, expected in needs.versions.items()
            if present.get(name) != expected
        ]
        raise UsageError(
            f"{here} has other versions than this machine: {'; '.join(differences)}; install the "
            "same on both sides and start the workers again"
        )


@cache
def _versions() -> dict[str, str]:
    """Return what has to be the same everywhere."""
    content = hashlib.sha256()
    for path in sorted(Path(__file__).parents[1].rglob("*.py")):
        content.update(read_bytes(path))
    return {**versions(), "code": digest_code(), "campaign code": content.hexdigest()}


@cache
def _systems() -> dict[str, Any]:
    """Return the cluster classes of dask-jobqueue by the name of their queueing system."""
    with extra("cluster"), keep_handlers():  # it would make Ctrl-C a silent end of the program
        import dask_jobqueue
    return {
        name.removesuffix(_SUFFIX).lower(): kind
        for name, kind in vars(dask_jobqueue).items()
        if name.endswith(_SUFFIX) and hasattr(kind, "job_cls")
    }


def _cluster_of_jobs(system: str, folder: Path) -> Any:
    """Return a cluster without jobs, by dask's configuration; raises :class:`UsageError`."""
    import dask.config
    import distributed

    security: Any = distributed.Security

    def configured(name: str, default: Any = None) -> Any:
        return dask.config.get(f"jobqueue.{system}.{name}", None) or default

    kind = _systems()[system]
    job_class: Any = kind.job_cls

    class Job(job_class):  # type: ignore[misc]
        async def close(self) -> None:
            await super().close()
            self.status = distributed.Status.closed  # distributed wants it, dask-jobqueue does not

    try:
        return kind(
            job_cls=Job,
            security=security.temporary(),
            shared_temp_directory=configured("shared-temp-directory", str(folder.absolute())),
            processes=configured("processes", 1),  # each thread performs a run
            worker_extra_args=[
                "--dashboard-address",
                _LOOPBACK,
                *configured("worker-extra-args", []),
            ],
            scheduler_options={
                "dashboard_address": _LOOPBACK,
                **configured("scheduler-options", {}),
            },
        )
    except ValueError as error:
        raise UsageError(
            f"{CLUSTER} {system}: {' '.join(str(error).split())} (in dask's configuration: "
            f"jobqueue.{system}, or DASK_JOBQUEUE__{system.upper()}__CORES and the like)"
        ) from None


def _submit(system: str, cluster: Any, jobs: int) -> None:
    async def submit() -> None:
        cluster.scale(jobs=jobs)
        await cluster  # raises the message of the submitting command

    try:
        cluster.sync(submit)
    except (RuntimeError, OSError) as error:
        text = str(error).partition("stderr:\n")[2] or str(error)
        raise UsageError(
            f"{CLUSTER} {system}: no job can be submitted: {' '.join(text.split())}"
        ) from None
    say(f"asked {system} for jobs: {' '.join(job.job_id for job in cluster.workers.values())}")


def _connected(place: Any, where: str) -> Any:
    with extra("cluster"):
        import distributed

    client: Any = distributed.Client
    try:
        return client(place, timeout=_CONNECT, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise UsageError(
            f"{CLUSTER} {where}: no dask scheduler answers within {_CONNECT:g} s ({error}); is it "
            "running, is its port open to this machine, and do both sides use TLS or neither?"
        ) from None


def _check_workers(client: Any, needs: Requirements) -> None:
    try:
        client.run(check_worker, needs)
    except UsageError:
        raise
    except Exception as error:  # anything that a worker without this package raises
        raise UsageError(
            f"{CLUSTER}: a worker cannot load batsched_py ({type(error).__name__}: {error}); "
            "install the same version with the extra cluster there"
        ) from None


def _give_back(cluster: Any) -> None:
    try:
        cluster.close(timeout=_END)
    except TimeoutError:
        say("the cluster did not end in time: look for remaining jobs in the queue")
    for name in ("_job_ca_file", "_job_cert", "_job_key"):  # else they stay until the process ends
        if (file := getattr(cluster, name, None)) is not None:
            file.close()


def _say_if_alone(client: Any, where: str, ended: Event) -> None:
    """Print a message each time that the last worker is gone."""
    were_there = True
    while not ended.wait(_LOOK):
        with suppress(Exception):  # it is gone, which the runs notice
            are_there = bool(client.ncores())
            if were_there and not are_there:
                say(f"runs wait because {where} has no worker: look at its queue and its logs")
            were_there = are_there


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress the messages of dask about connections that end."""
    logger = logging.getLogger("distributed")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)
