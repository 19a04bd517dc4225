"""What a node of a cluster does for a campaign: it keeps the inputs, and runs simulations.

All here is called by dask in a worker of the cluster, on behalf of
:mod:`batsched_py.campaign.cluster`. A simulation runs in a child process of that worker, so that
its end, whatever it is, leaves the worker whole.

Inputs that are at their place on the node with the same content, as on a file system that nodes
share, are used as they are. Otherwise they are put below a folder of the dask worker, ROOT, the
file of path P at ROOT/P, and the simulation is told these paths. What it writes says P again, so
that nobody can tell from a result where it was made, but by the host that it names.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import shutil
import socket
import zlib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from threading import Lock, Timer
from typing import Any, Literal, TypedDict
from uuid import uuid4

import msgspec

from batsched_py.campaign.run_identity import code_digest
from batsched_py.campaign.run_task import Files, RunFailed, Task
from batsched_py.campaign.worker_processes import Worker, WorkerLost
from batsched_py.run.result import versions
from batsched_py.run.simulate import sha256
from batsched_py.support.atomic_files import write_whole

_IDLE = 60.0
"""Seconds that a child waits for its next run; then it ends, for the campaign may be dead."""


class Answer(TypedDict):
    """What became of a run on this node."""

    kind: Literal["done", "failed", "lost", "missing", "other code"]
    station: str
    """Names the process of the dask worker: an address may be used again by another."""
    address: str
    """Of the dask worker."""
    host: str
    files: dict[str, bytes]
    """If done: its results, compressed."""
    message: str
    """If failed or lost: why."""
    log: str
    missing: list[str]
    """If inputs are missing: the digests of their contents."""
    identity: dict[str, str]
    """If this node would compute something else: what it has."""


class _MissingError(Exception):
    """Inputs are not here yet."""

    def __init__(self, digests: list[str]) -> None:
        super().__init__(digests)
        self.digests = digests


@cache
def identity() -> dict[str, str]:
    """Return what has to be the same everywhere: the code, and the versions behind it."""
    own = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        own.update(path.read_bytes())
    return {**versions(), "code": code_digest(), "campaign code": own.hexdigest()}


def run(session: str, expected: Mapping[str, str], call: bytes) -> Answer:
    """Perform a run for a campaign, and say what became of it; raises nothing on its account.

    ``call`` is a pickled function and its task.
    """
    from distributed import get_worker

    here = get_worker()
    station = _station(session, Path(here.local_directory))
    answer = Answer(
        kind="done",
        station=station.name,
        address=here.address,
        host=socket.gethostname(),
        files={},
        message="",
        log="",
        missing=[],
        identity={},
    )
    if identity() != expected:
        return {**answer, "kind": "other code", "identity": identity()}
    try:
        files = station.perform(*pickle.loads(call))
    except _MissingError as error:
        return {**answer, "kind": "missing", "missing": error.digests}
    except RunFailed as error:
        return {**answer, "kind": "failed", "message": error.message, "log": error.log}
    except WorkerLost as error:
        return {**answer, "kind": "lost", "message": str(error)}
    except Exception as error:  # of this node: its disk is full
        text = f"{type(error).__name__}: {error}"
        return {**answer, "kind": "failed", "message": f"{answer['host']}: {text}"}
    return {**answer, "files": {name: zlib.compress(files[name], 1) for name in files}}


def receive(session: str, contents: Mapping[str, bytes], dask_worker: Any) -> None:
    """Keep inputs: ``contents`` are compressed, by the digest of what they hold."""
    _station(session, Path(dask_worker.local_directory)).receive(contents)


def stop(session: str) -> None:
    """End what runs for a campaign and forget its inputs."""
    with _lock:
        station = _stations.pop(session, None)
    if station is not None:
        station.close()


_stations: dict[str, _Station] = {}  # of this process, by campaign
_lock = Lock()


def _station(session: str, folder: Path) -> _Station:
    with _lock:
        if session not in _stations:
            _stations[session] = _Station(folder.resolve() / f"batsched_py-{session}")
        return _stations[session]


class _Station:
    """The inputs and the child processes of one campaign in one dask worker."""

    def __init__(self, folder: Path) -> None:
        self.name = uuid4().hex
        self._folder = folder
        self._root = folder / "root"
        self._placed: set[tuple[str, str]] = set()
        self._idle: dict[Worker, Timer] = {}
        self._busy: set[Worker] = set()
        self._lock = Lock()
        self._closed = False

    def perform(self, function: Callable[[Task], Files], task: Task) -> Files:
        """Perform a run in a child; raises _MissingError, RunFailed and WorkerLost."""
        placed = self._place(task)
        worker = self._take()
        try:
            files: Files = worker.call(in_its_folder, function, placed)
        except RunFailed as error:
            message, log = self._back(error.message), self._back(error.log)
            raise RunFailed(message, log) from None
        finally:
            self._give_back(worker)
        root = os.fsencode(self._root)
        return {name: content.replace(root, b"") for name, content in files.items()}

    def receive(self, contents: Mapping[str, bytes]) -> None:
        """Keep contents until they are needed at their places."""
        for digest, content in contents.items():
            write_whole(self._content(digest), zlib.decompress(content))

    def close(self) -> None:
        """End all children, also in mid-run, and remove the inputs."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, {}
            for worker in self._busy:
                worker.stop()
        for worker, timer in idle.items():
            timer.cancel()
            worker.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _content(self, digest: str) -> Path:
        return self._folder / "contents" / digest

    def _back(self, text: str) -> str:
        return text.replace(str(self._root), "")

    def _take(self) -> Worker:
        with self._lock:
            if self._closed:
                raise WorkerLost("the campaign was stopped")
            if self._idle:
                worker, timer = self._idle.popitem()
                timer.cancel()
            else:
                worker = Worker()
            self._busy.add(worker)
            return worker

    def _give_back(self, worker: Worker) -> None:
        with self._lock:
            self._busy.discard(worker)
            if self._closed:
                return  # it was stopped
            timer = Timer(_IDLE, self._retire, [worker])
            timer.daemon = True
            timer.start()
            self._idle[worker] = timer

    def _retire(self, worker: Worker) -> None:
        with self._lock:
            if self._idle.pop(worker, None) is None:
                return  # it was taken in this moment
        worker.close()

    def _place(self, task: Task) -> Task:
        """Return the task with paths that hold here; raises _MissingError.

        It is all inputs at their own places, or all below the root: a file may import or name
        what lies beside it.
        """
        with self._lock:
            known = list(task.files.items())
            if Path(task.cwd).is_dir() and all(map(_is_here, *zip(*known, strict=True))):
                return task
            missing = [digest for path, digest in known if not self._source(path, digest)]
            if missing:
                raise _MissingError(sorted(set(missing)))
            for path, digest in known:
                self._put(path, digest)
            below(self._root, task.cwd).mkdir(parents=True, exist_ok=True)
        return moved(task, self._root)

    def _source(self, path: str, digest: str) -> Path | None:
        for source in (self._content(digest), Path(path)):
            if _is_here(str(source), digest):
                return source
        return None

    def _put(self, path: str, digest: str) -> None:
        if (path, digest) in self._placed:
            return
        source = self._source(path, digest)
        assert source is not None  # it was not missing
        place = below(self._root, path)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, place)
        self._placed.add((path, digest))


def in_its_folder(function: Callable[[Task], Files], task: Task) -> Files:
    """Perform a run where the paths in its settings start; called in a child."""
    os.chdir(task.cwd)
    return function(task)


def below(root: Path, path: str) -> Path:
    """Return the place below ``root`` of an absolute path."""
    return root / Path(path).relative_to(Path(path).anchor)


def moved(task: Task, root: Path) -> Task:
    """Return a task whose inputs and working directory are below ``root``.

    Every text in it that is the path of an input, of a folder of inputs, or of a class in an
    input (``/a/b.py:Class``) is rewritten.
    """
    files = {str(below(root, path)): digest for path, digest in task.files.items()}
    paths = [Path(os.path.normpath(path)) for path in (*task.files, task.cwd)]
    known = {str(path) for path in paths} | {str(up) for path in paths[:-1] for up in path.parents}

    def move(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: move(one) for key, one in value.items()}
        if isinstance(value, list):
            return [move(one) for one in value]
        if not isinstance(value, str) or not os.path.isabs(value):
            return value
        path, python, name = value.partition(".py:")
        if os.path.normpath(path + python.rstrip(":")) not in known:
            return value
        return str(below(root, path)) + python + name

    builtins = msgspec.to_builtins(task)
    return msgspec.convert({**move(builtins), "files": files, "folder": None}, Task)


_known: dict[tuple[str, int, int], str] = {}


def _is_here(path: str, digest: str) -> bool:
    """Tell whether the file is on this node with that content."""
    try:
        stat = os.stat(path)
        key = (path, stat.st_size, stat.st_mtime_ns)
        if key not in _known:
            _known[key] = sha256(Path(path))
    except OSError:
        return False
    return _known[key] == digest
