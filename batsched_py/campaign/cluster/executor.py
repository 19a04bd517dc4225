"""Runs on the nodes of a cluster, through dask: the side that asks for them.

The other side is :mod:`batsched_py.campaign.cluster.node`. All nodes see the campaign's folder and
its inputs under the same paths: only what is to be called goes out, and what it returns comes
back.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from concurrent.futures import wait as wait_for
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4
from warnings import catch_warnings, filterwarnings
from weakref import WeakSet

import msgspec

from batsched_py.campaign.cluster import node
from batsched_py.campaign.cluster.address import LOCAL, needed, parse_cluster
from batsched_py.campaign.cluster.dask_schedulers import connected, show_dashboard, started
from batsched_py.campaign.cluster.node import SEE
from batsched_py.campaign.cluster.queued_jobs import ClusterLostError, QueuedJobs
from batsched_py.campaign.cluster.worker_jobs import job_script, with_log_folder
from batsched_py.campaign.worker_processes import WorkerLost
from batsched_py.errors import BatschedError, UsageError
from batsched_py.support.atomic_files import write_whole
from batsched_py.support.terminal_text import say

__all__ = ["ClusterLostError", "describe", "job_script", "open_cluster", "parse_cluster"]

_PULSE = 5.0
"""Seconds between looks at the scheduler."""
_PATIENCE = 30.0
"""Seconds without an answer after which a scheduler counts as gone."""
_ALONE = 30.0
"""Seconds without a worker until that is said."""
_STOP = 10.0
"""Seconds for nodes to stop what runs on them."""
_ATTEMPTS = 3
"""Times that the process of a run may be lost."""


@contextmanager
def open_cluster(text: str, folder: Path, inputs: Iterable[str] = ()) -> Iterator[Executor]:
    """Give an executor on the cluster that ``--cluster`` names, and let it go at the end.

    ``folder`` is the campaign's, ``inputs`` are the absolute paths of the files that its runs
    read: all nodes have to see them. A future of ``submit`` raises what the function raises,
    :class:`WorkerLost` if its process was lost too often, :class:`UsageError` if a node cannot
    take part, or, as all others then do, :class:`ClusterLostError`.

    Whatever ends the block, simulations that run are stopped and nodes given back. Raises
    :class:`UsageError` for what ``text`` says, a scheduler that does not answer, and nodes that
    cannot take part.
    """
    request = with_log_folder(parse_cluster(text), folder)
    needed("distributed")
    with ExitStack() as stack:
        stack.enter_context(_quiet())
        cluster = started(request, folder, stack)
        client = connected(request, cluster, stack)
        place = stack.enter_context(_session(folder, inputs))
        executor = ClusterExecutor(client, place, QueuedJobs(cluster, request))
        stack.callback(executor.close)
        show_dashboard(client, cluster)
        executor.check_nodes()
        yield executor


def describe(text: str, folder: Path) -> str:
    """Return where ``--cluster`` would run: for a queueing system the script of its jobs.

    ``folder`` is the campaign's. Raises :class:`UsageError`.
    """
    request = parse_cluster(text)
    if request.queued:
        script = job_script(with_log_folder(request, folder), folder)
        return f"jobs of {request.kind}: {request.jobs}, each with this script:\n{script}"
    if request.kind == LOCAL:
        return f"on dask workers of this machine: {request.options['workers']}"
    return f"on the workers of the dask scheduler at {request.address}"


@contextmanager
def _quiet() -> Iterator[None]:
    """Leave what dask says of connections that end, which we say ourselves, and of its port."""
    loggers = [logging.getLogger(name) for name in ("distributed", "tornado.application")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        with catch_warnings():
            filterwarnings("ignore", r"\s*Port \d+ is already in use")  # the link names the other
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


@contextmanager
def _session(folder: Path, inputs: Iterable[str]) -> Iterator[str]:
    """Keep the file by which nodes know the campaign in its folder; give its path."""
    place = folder.absolute() / f".session-{uuid4().hex}.json"
    needs = node.NodeRequirements(
        identity=node.identity(), cwd=str(Path.cwd()), inputs=sorted(inputs)
    )
    write_whole(place, msgspec.json.encode(needs))
    try:
        yield str(place)
    finally:
        place.unlink(missing_ok=True)


class ClusterExecutor(Executor):
    """Calls on the nodes of a cluster.

    dask itself calls again what was on a worker that it lost, up to a limit of its scheduler (4
    times in all by default), and what was in a process that was lost.
    """

    def __init__(self, client: Any, place: str, jobs: QueuedJobs) -> None:
        """``place`` is the file with the session that the nodes look for."""
        self._client = client
        self._place = place
        self._jobs = jobs
        self._futures: WeakSet[Future[Any]] = WeakSet()
        self._closed = False
        self._loop = client.loop.asyncio_loop
        self._gone: asyncio.Future[None] = self._loop.create_future()
        """Done when the cluster is of no more use: it raises why."""
        self._watch = asyncio.run_coroutine_threadsafe(self._look(), self._loop)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call ``fn(*args)`` in a process on a node."""
        if self._closed:
            raise RuntimeError("nothing can be submitted after the end")
        if kwargs:
            raise TypeError("positional arguments only")
        future = asyncio.run_coroutine_threadsafe(self._call(fn, *args), self._loop)
        self._futures.add(future)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more calls; wait for those submitted, or cancel them."""
        self._closed = True
        futures = list(self._futures)
        if cancel_futures:
            for future in futures:
                future.cancel()
        if wait:
            wait_for(futures)

    def check_nodes(self) -> None:
        """Raise :class:`UsageError` if a node that is there cannot take part."""
        try:
            answers = self._on_all(node.check, _PATIENCE, on_error="return")
        except TimeoutError:
            return  # one hangs; each looks again when it gets a run
        except OSError as error:
            raise _lost(str(error)) from None
        for answer in answers.values():
            if isinstance(answer, Exception):
                raise answer if isinstance(answer, UsageError) else _no_code(answer)

    def close(self) -> None:
        """Cancel what is not done, and stop what runs for it on the nodes."""
        self.shutdown(wait=False, cancel_futures=True)
        self._watch.cancel()
        if not self._gone.done():  # else nobody would hear it
            with suppress(Exception):  # what is gone needs no stop
                self._on_all(node.stop, _STOP, on_error="ignore")

    def _on_all(self, function: Callable[[str], Any], seconds: float, on_error: str) -> Any:
        async def ask() -> Any:
            return await self._client.run(function, self._place, on_error=on_error)

        return asyncio.run_coroutine_threadsafe(ask(), self._loop).result(seconds)

    async def _call(self, *call: Any) -> Any:
        dask = needed("distributed")
        # The keys have one group, so that dask keeps the runs until a worker has time for them.
        future = self._client.submit(
            node.run, self._place, *call, pure=False, retries=_ATTEMPTS - 1
        )
        answer = asyncio.ensure_future(future.result())
        try:
            await asyncio.wait([answer, self._gone], return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                self._gone.result()
            value = await answer
        except dask.KilledWorker as error:
            raise WorkerLost(_killed(error)) from None
        except dask.client.FutureCancelledError:
            self._end(_lost("the connection to it ended"))
            return self._gone.result()
        except WorkerLost as lost:
            raise WorkerLost(
                f"its process was lost {_ATTEMPTS} times: {lost}; is there enough memory? {SEE}"
            ) from None
        except (ImportError, AttributeError) as error:
            raise _no_code(error) from None
        finally:
            answer.cancel()
            future.release()
        self._jobs.run_ended()
        return value

    async def _look(self) -> None:
        """Watch over the scheduler and the jobs until the end."""
        try:
            await self._watch_over()
        except ClusterLostError as error:
            self._end(error)
        except Exception as error:  # else runs would wait for ever
            self._end(ClusterLostError(f"the cluster cannot be watched over: {error!r}; {SEE}"))

    async def _watch_over(self) -> None:
        alone_since = time.monotonic()
        while not self._gone.done():
            await asyncio.sleep(_PULSE)
            nb_workers = await self._nb_workers()
            await self._jobs.renew(nb_workers)
            now = time.monotonic()
            waiting = any(not future.done() for future in list(self._futures))
            if nb_workers or not waiting:
                alone_since = now
            elif now > alone_since + _ALONE:
                say(await self._jobs.no_worker())
                alone_since = now

    async def _nb_workers(self) -> int:
        try:
            return len(await asyncio.wait_for(self._client.scheduler.ncores(), _PATIENCE))
        except Exception as error:  # whatever it is: it does not answer
            raise _lost(f"no answer for {_PATIENCE:g} s: {type(error).__name__}") from None

    def _end(self, error: BatschedError) -> None:
        """Let all calls end with an error."""
        if not self._gone.done():
            self._gone.set_exception(error)
            self._gone.exception()  # seen, also if nothing waits


def _lost(why: str) -> ClusterLostError:
    return ClusterLostError(
        f"the dask scheduler is gone ({why}); what was done stays done, the same command "
        f"continues; {SEE}"
    )


def _no_code(error: Exception) -> UsageError:
    return UsageError(
        f"a node cannot load the code of batsched_py {node.identity()['batsched_py']} "
        f"({type(error).__name__}: {error}); install the same version, with the extra cluster, "
        f"into the Python that runs the workers; {SEE}"
    )


def _killed(error: Any) -> str:
    last = error.last_worker
    return (
        f"{error.allowed_failures + 1} workers were lost while they had it, the last one "
        f"{last.name} at {last.address}; read what it wrote, and look at its memory and its time "
        f"limit; {SEE}"
    )
