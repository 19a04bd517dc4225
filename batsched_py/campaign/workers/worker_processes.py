"""Worker processes of this machine: each performs one run after the other.

Starting Python and loading what a simulation needs takes longer than many a simulation, so a
worker stays. If it dies (killed, out of memory, a crash in a library) only its run is affected.

``concurrent.futures.ProcessPoolExecutor`` gives up all its runs if one process dies, executes the
caller's script in each, and imports modules from the working directory, which may be anybody's.
"""

from __future__ import annotations

import gc
import itertools
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from queue import SimpleQueue
from typing import IO, Any

from batsched_py.run.backends.child_processes import describe_exit

_COMMAND = (sys.executable, "-P", "-m", "batsched_py.campaign.workers.worker_processes")
_PATIENCE = 3.0
"""Seconds that a process has to end when it is asked to."""


class WorkerLost(Exception):  # noqa: N818 - the run may be well
    """The worker process of a run died before it returned a result."""


class LocalWorkers(Executor):
    """Some workers of this machine; functions are called in their processes, by pickling."""

    def __init__(self, jobs: int, folder: str | None = None) -> None:
        """``jobs`` is how many functions are called at a time, ``folder`` the working directory."""
        self._folder = folder
        self._threads = ThreadPoolExecutor(jobs, "worker")
        self._own = threading.local()
        self._processes: list[subprocess.Popen[bytes]] = []
        self._stopped = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call a function in a worker; its future raises :class:`WorkerLost` for a loss."""
        return self._threads.submit(self._call, (fn, args, kwargs))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the workers: after all that was submitted, or at once if that is cancelled.

        A worker that goes on for 3 s after it was asked to end is killed.
        """
        killer = threading.Timer(_PATIENCE, self._end_all, (subprocess.Popen.kill,))
        if cancel_futures:
            self._stopped = True
            self._end_all(subprocess.Popen.terminate)
            killer.start()
        self._threads.shutdown(wait, cancel_futures=cancel_futures)
        killer.cancel()
        self._end_all(subprocess.Popen.kill)  # they are idle
        for process in self._processes:
            _close(process)

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        """End the workers: at once if the block raised an error, as nobody waits for them."""
        self.shutdown(cancel_futures=error is not None)

    def _end_all(self, end: Callable[[subprocess.Popen[bytes]], None]) -> None:
        for process in self._processes:
            end(process)

    def _call(self, call: tuple[Any, ...]) -> Any:
        """Perform a call in the process of this thread."""
        process = getattr(self._own, "process", None) or self._started()
        try:
            _send(process.stdin, call)
            reply = _receive(process.stdout)
        except (OSError, EOFError):
            self._own.process = None
            raise WorkerLost(f"its process {describe_exit(_close(process))}") from None
        is_value, value = pickle.loads(reply)
        if is_value:
            return value
        raise value

    def _started(self) -> subprocess.Popen[bytes]:
        if self._stopped:
            raise CancelledError
        self._own.process = process = subprocess.Popen(
            _COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=self._folder,
            process_group=0,  # Ctrl-C is for the campaign, which ends its workers
        )
        self._processes.append(process)
        return process


def _close(process: subprocess.Popen[bytes]) -> int:
    """Return the exit code of a process whose pipes are of no more use."""
    for stream in (process.stdin, process.stdout):
        assert stream is not None
        with suppress(OSError):  # of what it did not read any more
            stream.close()
    return process.wait()


def _send(stream: IO[bytes] | None, content: Any) -> None:
    assert stream is not None
    pickle.dump(pickle.dumps(content), stream)  # the other side can always read bytes
    stream.flush()


def _receive(stream: IO[bytes] | None) -> bytes:
    assert stream is not None
    try:
        content: bytes = pickle.load(stream)
    except pickle.UnpicklingError:  # it ends in the middle
        raise EOFError from None
    return content


def _read(requests: IO[bytes], calls: SimpleQueue[bytes]) -> None:
    """Put calls into the queue; end this process when the one that sends them is gone."""
    with suppress(OSError, EOFError):
        while True:
            calls.put(_receive(requests))
    os.kill(os.getpid(), signal.SIGTERM)  # as on request: another program is stopped as well
    time.sleep(_PATIENCE)
    os._exit(1)


def _serve() -> None:
    # Printed text must not get between the replies.
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    calls: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_read, args=(sys.stdin.buffer, calls), daemon=True).start()
    for number in itertools.count():
        if number == 1:  # what the first run has imported and read is there to stay
            gc.collect()
            gc.freeze()
        call = calls.get()
        try:
            function, arguments, named = pickle.loads(call)
            reply = True, function(*arguments, **named)
        except Exception as error:
            reply = False, error
        _send(replies, reply)


if __name__ == "__main__":
    _serve()
