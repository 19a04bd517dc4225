"""Workers: processes that live long and perform one task after the other.

Starting Python and loading what a simulation needs takes longer than many a simulation. A worker
is a process of its own, so that one that is lost (killed, out of memory) costs only its task.

The two sides exchange pickles. Workers end with the process that started them, whose pipe closes
then. A request to end reaches them by the system's default action, whatever code they run; what
ignores it is killed.

``concurrent.futures`` and pebble have pools of processes too; both are of no more use after a
worker was killed while it had no task, and pebble's also after an error that cannot be unpickled.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import IO, Any

from batsched_py.run.backends.child_processes import ending

_COMMAND = (sys.executable, "-P", "-m", "batsched_py.campaign.worker_processes")
_PATIENCE = 3.0
"""Seconds that a worker has to end when it is asked to."""
_IDLE = 60.0
"""Seconds that a process waits for its next task: then it ends, and another one is started."""
_RETIRED = 75
"""Exit code of a process that waited too long."""


class WorkerLost(Exception):  # noqa: N818 - the task may be well
    """The process of a worker ended while it performed a task."""


class Worker:
    """A process that performs one task at a time; it is started by the first one.

    After a loss the next task starts another process. For one thread, but for :meth:`stop`.
    """

    def __init__(self, folder: str | None = None, idle: float = _IDLE) -> None:
        """``folder`` is its working directory, None: that of this process."""
        self._folder = folder
        self._idle = idle
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return what a function of a module gives, or raise what it raises.

        Raises :class:`WorkerLost` if the process ended instead.
        """
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            _send(process.stdin, pickle.dumps((function, arguments)))
            reply = _receive(process.stdout)
        except (OSError, EOFError):
            code = self._ended(process)
            if code == _RETIRED:  # before it had the task
                return self.call(function, *arguments)
            raise WorkerLost(f"the process of the run {ending(code)}") from None
        done, value = pickle.loads(reply)
        if not done:
            raise value
        return value

    def stop(self) -> None:
        """Ask the process to end, and start no other; may be called by any thread."""
        self._stopped = True
        if self._process is not None:
            self._process.terminate()

    def kill(self) -> None:
        """Kill the process and what it has started; may be called by any thread."""
        if self._process is not None:
            with suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        """End the process, which has no task."""
        process, self._process = self._process, None
        if process is not None:
            assert process.stdin is not None
            process.stdin.close()  # that is its end
            self._ended(process)

    def _started(self) -> subprocess.Popen[bytes]:
        if self._stopped:
            raise WorkerLost("it was stopped")
        if self._process is None:
            self._process = subprocess.Popen(
                (*_COMMAND, str(self._idle)),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                cwd=self._folder,
                process_group=0,  # Ctrl-C is for the process that started it
            )
            if self._stopped:
                self._process.terminate()
        return self._process

    def _ended(self, process: subprocess.Popen[bytes]) -> int:
        self._process = None
        try:
            code = process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with suppress(OSError):  # of what it did not read any more
                    stream.close()
        return code


class LocalWorkers(Executor):
    """Some workers of this machine. Functions are called in their processes, by pickling."""

    def __init__(self, jobs: int, folder: str | None = None) -> None:
        """``jobs`` is how many tasks are performed at a time, ``folder`` as for a worker."""
        self._folder = folder
        self._threads = ThreadPoolExecutor(jobs, thread_name_prefix="worker")
        self._own = threading.local()
        self._workers: list[Worker] = []
        self._stopped = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call ``fn(*args)`` in a worker; its future raises :class:`WorkerLost` for a loss."""
        if kwargs:
            raise TypeError("positional arguments only")
        return self._threads.submit(self._call, fn, *args)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the workers: after all submitted tasks, or within some seconds if these are
        cancelled."""
        killer = threading.Timer(_PATIENCE, self._kill)
        killer.daemon = True
        if cancel_futures:
            self._stopped = True
            for worker in self._workers:
                worker.stop()
            killer.start()
        self._threads.shutdown(wait, cancel_futures=cancel_futures)
        if wait:
            for worker in self._workers:
                worker.close()
            killer.cancel()

    def _kill(self) -> None:
        for worker in self._workers:
            worker.kill()

    def _call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        worker = getattr(self._own, "worker", None)
        if worker is None:
            worker = self._own.worker = Worker(self._folder)
            self._workers.append(worker)
            if self._stopped:  # the one that stops may have looked before
                worker.stop()
        return worker.call(function, *arguments)


def serve(requests: IO[bytes], replies: IO[bytes], idle: float) -> int:
    """Perform tasks until there are no more; end at once if the other side is gone.

    Returns the exit code, which tells whether none came for ``idle`` seconds.
    """
    tasks: SimpleQueue[bytes | None] = SimpleQueue()
    busy = threading.Event()
    threading.Thread(target=_read, args=(requests, tasks, busy), daemon=True).start()
    while True:
        try:
            task = tasks.get(timeout=idle)
        except Empty:
            return _RETIRED
        if task is None:
            return 0
        busy.set()
        reply = _reply(task)
        busy.clear()
        _send(replies, reply)


def _reply(task: bytes) -> bytes:
    """Return what the call in ``task`` gives or raises; what cannot be sent, as its text."""
    try:
        function, arguments = pickle.loads(task)
        return pickle.dumps((True, function(*arguments)))
    except Exception as error:
        try:
            sent = pickle.dumps((False, error))
            pickle.loads(sent)  # an error may be written well and not come back
            return sent
        except Exception:
            return pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")))


def _read(requests: IO[bytes], tasks: SimpleQueue[bytes | None], busy: threading.Event) -> None:
    """Put tasks into the queue; at the end of input interrupt what is being done."""
    while True:
        try:
            tasks.put(_receive(requests))
        except (OSError, EOFError):
            break
    tasks.put(None)
    if busy.is_set():
        os.kill(os.getpid(), signal.SIGTERM)  # as on request: another program is stopped as well
        threading.Event().wait(_PATIENCE)
        os._exit(1)


def _send(stream: IO[bytes], content: bytes) -> None:
    pickle.dump(content, stream)  # bytes, which the other side can read whatever is in them
    stream.flush()


def _receive(stream: IO[bytes]) -> bytes:
    try:
        content: bytes = pickle.load(stream)
    except pickle.UnpicklingError:  # it ends in the middle
        raise EOFError from None
    return content


def _main() -> None:
    # What anybody prints must not get between the replies.
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    try:
        code = serve(sys.stdin.buffer, replies, float(sys.argv[1]))
    except (KeyboardInterrupt, BrokenPipeError):
        code = 130
    if code:
        os._exit(code)  # threads of plug-ins, and that which reads, are not waited for


if __name__ == "__main__":
    _main()
