"""Runs on the nodes of a cluster, through dask: the side that asks for them.

The other side is :mod:`batsched_py.campaign.cluster_node`. Runs go out and results come back as
values,
so no file system needs to be shared. A worker that has not got an input says so, and gets it once.
"""

from __future__ import annotations

import asyncio
import logging
import pickle
import sys
import threading
import time
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future
from concurrent.futures import wait as wait_for
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec

from batsched_py.campaign import cluster_node as station
from batsched_py.campaign.cluster_address import (
    CLUSTER,
    LOCAL,
    Request,
    check_submission,
    cluster_class,
    job_script,
    needed,
    parse_cluster,
)
from batsched_py.campaign.cluster_node import Answer
from batsched_py.campaign.run_task import Files, RunFailed, Task
from batsched_py.campaign.worker_processes import WorkerLost
from batsched_py.errors import BatschedError, OutputError, SimulationError, UsageError
from batsched_py.run.simulate import sha256

__all__ = ["ClusterLostError", "describe", "job_script", "open_cluster", "parse_cluster"]

_CONNECT = 10.0
"""Seconds for a scheduler to answer at first."""
_PULSE = 5.0
"""Seconds between looks at the scheduler."""
_PATIENCE = 30.0
"""Seconds without an answer after which a scheduler counts as gone; also for it all to end."""
_ALONE = 30.0
"""Seconds without a worker until that is said."""
_ATTEMPTS = 3
"""Times that the process of a run may be lost."""
_MOST_AT_ONCE = 2_000
"""Runs that dask is told at a time."""
_JOBS_IN_VAIN = 3
"""Times that each job may end early with no run ended meanwhile; then no more are asked for."""
_SEE = "see 'Troubleshooting' in docs/clusters.md"


# Run by dask workers of this machine: Ctrl-C in the terminal is for the coordinator.
_DEAF = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"


class ClusterLostError(SimulationError):
    """The whole cluster is of no more use; it is not the fault of a run."""


@contextmanager
def open_cluster(text: str, files: Mapping[str, str]) -> Iterator[Executor]:
    """Give an executor on the cluster that ``--cluster`` names, and let it go at the end.

    ``files`` are the inputs of all runs, absolute path to SHA-256. ``submit(perform, task)`` gives
    a future of what ``perform`` returns; it raises :class:`RunFailed`, :class:`WorkerLost` (the run
    was lost too often), or, as all others then do, :class:`ClusterLostError`.

    Whatever ends the block, simulations that run are stopped and nodes given back. Raises
    :class:`UsageError` for what ``text`` says, a scheduler that does not answer, and workers with
    other code.
    """
    request = parse_cluster(text)
    needed("distributed")
    with ExitStack() as stack:
        stack.enter_context(_quiet())
        cluster = _started(request, stack)
        client = _connected(request, cluster, stack)
        executor = ClusterExecutor(client, files, _Jobs(cluster, request))
        stack.callback(executor.close)
        _say(f"dashboard of the cluster: {client.dashboard_link}")
        executor.check_workers()
        yield executor


def describe(text: str) -> str:
    """Return where ``--cluster`` would run: for a queueing system the script of its jobs.

    Raises :class:`UsageError`.
    """
    request = parse_cluster(text)
    if request.queued:
        return f"jobs of {request.kind}: {request.jobs}, each with this script:\n{job_script(text)}"
    if request.kind == LOCAL:
        return f"on dask workers of this machine: {request.options['workers']}"
    return f"on the workers of the dask scheduler at {request.address}"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@contextmanager
def _quiet() -> Iterator[None]:
    """Leave what dask says of connections that end, which we say ourselves."""
    loggers = [logging.getLogger(name) for name in ("distributed", "tornado.application")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _started(request: Request, stack: ExitStack) -> Any:
    """Return the cluster object of dask, None where a scheduler is running."""
    if request.kind == "dask":
        return None
    if request.kind == LOCAL:
        workers, threads = request.options["workers"], request.options["threads"]
        cluster = needed("distributed").LocalCluster(
            n_workers=workers,
            threads_per_worker=threads,
            dashboard_address=":0",
            preload=[_DEAF],
        )
        stack.callback(_give_back, cluster)
        return cluster
    check_submission(request)
    cluster = cluster_class(request)(**request.options)
    stack.callback(_give_back, cluster)

    async def submit() -> None:
        cluster.scale(jobs=request.jobs)
        await cluster  # raises what the command says that submits

    try:
        cluster.sync(submit)
    except (RuntimeError, ValueError) as error:
        raise UsageError(f"{CLUSTER} {request.kind}: no job can be submitted: {error}") from None
    _say(f"asked {request.kind} for {request.jobs} jobs of {request.options['cores']} cores each")
    return cluster


def _give_back(cluster: Any) -> None:
    distributed = needed("distributed")
    for job in cluster.workers.values():
        if not isinstance(cluster, distributed.LocalCluster):
            job.status = distributed.Status.closing  # jobs do not, and dask asserts it
    try:
        cluster.close(timeout=_PATIENCE)
    except TimeoutError:
        _say("the cluster does not end in time: look at the queue for jobs that are left")


def _connected(request: Request, cluster: Any, stack: ExitStack) -> Any:
    place = request.address if cluster is None else cluster
    try:
        client = needed("distributed").Client(place, timeout=_CONNECT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{CLUSTER}: no dask scheduler answers at {place} within {_CONNECT:g} s "
            f"({type(error).__name__}); is it running, and is its port open to this machine? {_SEE}"
        ) from None

    def close() -> None:
        with suppress(TimeoutError, OSError):
            client.close(timeout=_CONNECT)

    stack.callback(close)
    return client


class _Jobs:
    """The jobs of a queueing system: one that ends early is asked for again."""

    def __init__(self, cluster: Any, request: Request) -> None:
        self._cluster = cluster
        self._wanted = request.jobs if request.queued else 0
        self._left = _JOBS_IN_VAIN * self._wanted
        self.kind = request.kind if request.queued else "dask"

    def run_ended(self) -> None:
        """Note that jobs are not in vain."""
        self._left = _JOBS_IN_VAIN * self._wanted

    async def renew(self) -> None:
        """Ask for those that ended; raises :class:`ClusterLostError` if all end in vain."""
        if not self._wanted:
            return
        gone = self._wanted - len(self._cluster.workers)
        if gone > 0 and self._left > 0:
            self._left -= gone
            self._cluster.scale(jobs=self._wanted)
            try:
                await self._cluster
            except (RuntimeError, ValueError) as error:  # the other jobs go on
                _say(f"{self.kind} takes no further job: {error}")
        elif gone == self._wanted:
            raise ClusterLostError(
                f"the jobs of {self.kind} end before they have ended a run; read what they wrote "
                f"(option log_directory), and try one job by hand; {_SEE}"
            )


class ClusterExecutor(Executor):
    """Runs on the workers of a cluster.

    dask itself runs a task again that was on a worker that it lost, up to a limit of its
    scheduler (4 times in all by default).
    """

    def __init__(self, client: Any, files: Mapping[str, str], jobs: _Jobs) -> None:
        self._client = client
        self._paths = {digest: path for path, digest in files.items()}
        self._jobs = jobs
        self._session = uuid4().hex
        self._identity = station.identity()
        self._numbers = count()
        self._contents: dict[str, bytes] = {}
        self._sent: dict[str, set[str]] = defaultdict(set)
        self._sending: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._room = asyncio.Semaphore(_MOST_AT_ONCE)
        self._running: set[asyncio.Task[Any]] = set()
        self._futures: set[Future[Any]] = set()
        self._lock = threading.Lock()
        self._closed = False
        self._broken: BatschedError | None = None
        self._loop = client.loop.asyncio_loop
        self._watch = asyncio.run_coroutine_threadsafe(self._look(), self._loop)

    @property
    def nb_sent(self) -> int:
        """Number of contents sent to workers until now."""
        return sum(map(len, self._sent.values()))

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call ``fn(task)`` in a process on a node."""
        if self._closed:
            raise RuntimeError("no run can be submitted after the end")
        (task,) = args
        if kwargs or not isinstance(task, Task):
            raise TypeError("expected submit(function, task)")
        future = asyncio.run_coroutine_threadsafe(self._perform(fn, task), self._loop)
        with self._lock:
            self._futures.add(future)
        future.add_done_callback(self._forget)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more runs; wait for those submitted, or cancel them."""
        self._closed = True
        with self._lock:
            futures = list(self._futures)
        if cancel_futures:
            for future in futures:
                future.cancel()
        if wait:
            wait_for(futures)

    def check_workers(self) -> None:
        """Raise :class:`UsageError` if a worker that is there has other code."""

        async def ask() -> dict[str, Any]:
            found: dict[str, Any] = await self._client.run(station.identity, on_error="return")
            return found

        try:
            found = asyncio.run_coroutine_threadsafe(ask(), self._loop).result(_PATIENCE)
        except TimeoutError:
            return  # a worker hangs; each is looked at again when it gets a run
        except OSError as error:
            raise self._lost(str(error)) from None
        for address, theirs in found.items():
            if isinstance(theirs, Exception):
                raise UsageError(_no_code(f"worker {address}", theirs))
            if theirs != self._identity:
                raise UsageError(_other_code(f"worker {address}", self._identity, theirs))

    def close(self) -> None:
        """Cancel what is not done, and stop what runs for it on the nodes."""
        self.shutdown(wait=False, cancel_futures=True)
        self._watch.cancel()
        if isinstance(self._broken, ClusterLostError):
            return  # nobody would hear it

        async def stop() -> None:
            await self._client.run(station.stop, self._session, on_error="ignore")

        with suppress(Exception):  # what is gone needs no stop
            asyncio.run_coroutine_threadsafe(stop(), self._loop).result(_CONNECT)

    def _forget(self, future: Future[Any]) -> None:
        with self._lock:
            self._futures.discard(future)

    async def _perform(self, function: Callable[..., Any], task: Task) -> Files:
        own = asyncio.current_task()
        assert own is not None
        self._running.add(own)
        try:
            if self._broken is not None:
                raise type(self._broken)(str(self._broken))
            async with self._room:
                files = await self._to_the_end(function, task)
            self._jobs.run_ended()
            return files
        except asyncio.CancelledError:
            if self._broken is None:
                raise
            raise type(self._broken)(str(self._broken)) from None
        finally:
            self._running.discard(own)

    async def _to_the_end(self, function: Callable[..., Any], task: Task) -> Files:
        placed = msgspec.structs.replace(task, cwd=str(Path(task.cwd).absolute()))
        call = pickle.dumps((function, placed))
        lost: list[Answer] = []
        given: set[str] = set()
        while True:
            answer = await self._ask(call, lost[-1]["address"] if lost else None)
            if answer["kind"] == "done":
                return {name: zlib.decompress(text) for name, text in answer["files"].items()}
            if answer["kind"] == "failed":
                raise RunFailed(answer["message"], answer["log"])
            if answer["kind"] == "other code":
                place = f"worker {answer['address']} on {answer['host']}"
                raise self._break(
                    UsageError(_other_code(place, self._identity, answer["identity"]))
                )
            if answer["kind"] == "missing":
                await self._send(answer, answer["station"] in given)
                given.add(answer["station"])
                continue
            lost.append(answer)
            if len(lost) == _ATTEMPTS:
                raise WorkerLost(_lost_too_often(lost))

    async def _ask(self, call: bytes, apart: str | None) -> Answer:
        """Let a worker, if possible not the one at ``apart``, perform a run; return its answer."""
        where: dict[str, Any] = {}
        if apart is not None:
            others = [address for address in await self._addresses() if address != apart]
            where = {"workers": others or None, "allow_other_workers": bool(others)}
        # The keys have one group, so that dask keeps the runs until a worker has time for them.
        key = (f"batsched_py-{self._session}", next(self._numbers))
        future = self._client.submit(
            station.run, self._session, self._identity, call, key=key, pure=False, **where
        )
        dask = needed("distributed")
        try:
            answer: Answer = await future
        except dask.KilledWorker as error:
            raise WorkerLost(_killed(error)) from None
        except dask.client.FutureCancelledError:
            raise self._break(self._lost("the connection to it ended")) from None
        except (ImportError, AttributeError) as error:
            raise self._break(UsageError(_no_code("a worker", error))) from None
        finally:
            future.release()
        return answer

    async def _addresses(self) -> list[str]:
        return list(await self._client.scheduler.ncores())

    async def _send(self, answer: Answer, again: bool) -> None:
        """Send a worker the inputs that it asks for; ``again``: after the same run got them."""
        name = answer["station"]
        async with self._sending[name]:
            digests = [one for one in answer["missing"] if again or one not in self._sent[name]]
            contents = {digest: await self._content(digest) for digest in digests}
            if not contents:
                return
            try:
                await self._client.run(
                    station.receive, self._session, contents, workers=[answer["address"]]
                )
            except OutputError as error:
                raise RunFailed(f"{answer['host']} cannot keep the inputs: {error}") from None
            except (OSError, ValueError, RuntimeError):
                return  # it is gone: another one will ask
            self._sent[name].update(contents)

    async def _content(self, digest: str) -> bytes:
        if digest not in self._contents:
            self._contents[digest] = await asyncio.to_thread(_packed, self._paths, digest)
        return self._contents[digest]

    async def _look(self) -> None:
        """Watch over the scheduler and the jobs until the end."""
        end_of_patience = time.monotonic() + _ALONE
        while self._broken is None:
            await asyncio.sleep(_PULSE)
            try:
                workers = await asyncio.wait_for(self._addresses(), _PATIENCE)
                await self._jobs.renew()
            except ClusterLostError as error:
                self._break(error)
                return
            except Exception as error:  # whatever it is: it does not answer
                self._break(self._lost(f"no answer for {_PATIENCE:g} s: {type(error).__name__}"))
                return
            now = time.monotonic()
            if self._running and not workers and now > end_of_patience:
                _say(self._no_worker())
            if workers or not self._running or now > end_of_patience:
                end_of_patience = now + _ALONE

    def _no_worker(self) -> str:
        if self._jobs.kind == "dask":
            return f"runs wait, for there is no worker: start some, dask worker ADDRESS; {_SEE}"
        return (
            f"runs wait, for there is no worker: {self._jobs.kind} has not started a job, or the "
            f"jobs find no way here; {_SEE}"
        )

    def _lost(self, why: str) -> ClusterLostError:
        return ClusterLostError(
            f"the dask scheduler is gone ({why}); what was done stays done, the same command "
            f"continues; {_SEE}"
        )

    def _break(self, error: BatschedError) -> BatschedError:
        """Let all runs end with an error, and return it."""
        if self._broken is None:
            self._broken = error
            own = asyncio.current_task()
            for task in self._running:
                if task is not own:
                    task.cancel()
        return self._broken


def _packed(paths: Mapping[str, str], digest: str) -> bytes:
    path = paths.get(digest)
    if path is None:
        raise RunFailed(f"an input with the digest {digest} is not among those of the campaign")
    content = Path(path).read_bytes()
    if sha256(path) != digest:
        raise RunFailed(f"{path} has changed since the campaign began; start it again")
    return zlib.compress(content)


def _no_code(who: str, error: Exception) -> str:
    return (
        f"{who} cannot load the code of batsched_py {station.identity()['batsched_py']} "
        f"({type(error).__name__}: {error}); install the same version, with the extra cluster, "
        f"into the Python that runs the workers; {_SEE}"
    )


def _other_code(who: str, ours: Mapping[str, str], theirs: Mapping[str, str]) -> str:
    differences = [
        f"{name} {theirs.get(name, 'unknown')[:12]}, here {ours.get(name, 'unknown')[:12]}"
        for name in dict.fromkeys([*ours, *theirs])
        if theirs.get(name) != ours.get(name)
    ]
    return (
        f"{who} would compute something else: it has {'; '.join(differences)} (batsched_py "
        f"{theirs.get('batsched_py')} there, {ours.get('batsched_py')} here); install the same on "
        f"both sides and start the workers again; {_SEE}"
    )


def _lost_too_often(lost: list[Answer]) -> str:
    where = ", ".join(f"{answer['host']} ({answer['address']})" for answer in lost)
    return (
        f"its process was lost {len(lost)} times, on {where}: {lost[-1]['message']}; is there "
        f"enough memory? {_SEE}"
    )


def _killed(error: Any) -> str:
    last = error.last_worker
    return (
        f"{error.allowed_failures + 1} workers were lost while they had it, the last one "
        f"{last.name} at {last.address}; read what it wrote, and look at its memory and its time "
        f"limit; {_SEE}"
    )
