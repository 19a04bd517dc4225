"""A limit of the memory that a command may take: most of what the machine has.

More than that would make the kernel kill the command, or another process, without a word. With the
limit it ends with an error as for anything else that is not to be had. What others take at the
moment is not asked: they may end soon. Where the system knows no such limit (it is Linux's
``RLIMIT_DATA``), nothing is done.

CPython may hang where nothing at all is left: an exception that leaves a ``with`` wants a number
there, and no memory for that number is an exception that leaves the ``with``. So the system's limit
is somewhat higher, and a thread that looks again and again lets the main one run out of memory
before.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from contextlib import suppress
from pathlib import Path

from batsched_py.errors import OutputError, UsageError

VARIABLE = "BATSCHED_MEMORY"
"""Variable of the environment: the limit in MB in its place; 0: none."""
_MB = 1_000_000
_LEAST = 2_000 * _MB
"""Less is not limited: libraries ask for more than they use."""
_SHARE = 0.8
"""Of the machine's memory; the rest is the system's."""
_ROOM = 64 * _MB
"""Between what a command may take and the system's limit: to end in order."""
_GROWTH = 2_000 * _MB
"""Bytes a second that a process takes at most, by which it is known when to look again."""
_OFTEN, _SELDOM = 0.02, 1.0
"""Seconds between two looks, at least and at most."""
_STACK = 8 << 20
"""Bytes that a thread asks for; numpy starts one for each processor, and uses next to nothing."""
ADDRESSES_OF_FIGURES = 66 << 30
"""Bytes of addresses that the library reserves which draws figures, without using them."""
ADDRESSES_OF_PAGES = 2 << 30
"""The same where it only packs a page."""
_STARVED = ("failed to map segment", "can't start new thread")
"""What errors say that are of other kinds than :class:`MemoryError`."""

_before: tuple[int, int] | None = None
"""The limits of this process before its own."""
_watcher: threading.Thread | None = None
_over = threading.Event()
"""Set when the watcher is to end."""


def limit_memory() -> None:
    """Let this process, and those that it starts, take no more memory than the machine may give.

    Raises :class:`UsageError` for a :data:`VARIABLE` that is no number.
    """
    global _before
    wanted = _wanted()
    if wanted is None or not sys.platform.startswith("linux"):
        return
    import resource

    soft, hard = _before = resource.getrlimit(resource.RLIMIT_DATA)
    if resource.RLIM_INFINITY in (soft, hard) or wanted < soft:
        with suppress(ValueError, OSError):  # a lower one cannot be raised
            resource.setrlimit(resource.RLIMIT_DATA, (wanted + _ROOM, hard))
    watch_memory()


def watch_memory() -> None:
    """Raise :class:`MemoryError` in the main thread as soon as it takes more than it may.

    For each process that works below a limit of :func:`limit_memory`, its own or an inherited one.
    """
    global _watcher
    if sys.platform.startswith("linux") and not (_watcher and _watcher.is_alive()):
        _over.clear()
        _watcher = threading.Thread(target=_watch, name="memory", daemon=True)
        _watcher.start()


def end_watch() -> None:
    """Watch no longer: the command is over, and its process may go on."""
    _over.set()
    if _watcher:
        _watcher.join()


def _watch() -> None:
    while not _over.is_set() and (allowed := _allowed()) is not None:
        left = allowed - _taken()
        if left < 0:
            from ctypes import c_ulong, py_object, pythonapi

            main = c_ulong(threading.main_thread().ident or 0)
            pythonapi.PyThreadState_SetAsyncExc(main, py_object(MemoryError))
            left = _GROWTH  # it takes a while to end
        _over.wait(min(max(left / _GROWTH, _OFTEN), _SELDOM))


def _allowed() -> int | None:
    """Return the bytes that this process may take; None: there is no limit."""
    import resource

    limit = resource.getrlimit(resource.RLIMIT_DATA)[0]
    return None if limit == resource.RLIM_INFINITY else limit - _ROOM


def _taken() -> int:
    """Return the bytes of this process that the limit counts."""
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[5]) * os.sysconf("SC_PAGESIZE")


def lift_memory_limit(process: int = 0) -> None:
    """Give a process that was started (0: this one) the limit from before :func:`limit_memory`.

    For programs that reserve more than they ever use.
    """
    if _before is None:
        return
    import resource

    with suppress(OSError):  # it has ended, or is another user's
        resource.prlimit(process, resource.RLIMIT_DATA, _before)


def prepare_drawing(what: str, addresses: int) -> None:
    """Lift the limit for what draws figures, which reserves much; raises :class:`OutputError` where
    the shell's own limit (``ulimit -v``) is too low: the library would crash."""
    lift_memory_limit()
    with suppress(ImportError):  # not on this system
        import resource

        allowed = resource.getrlimit(resource.RLIMIT_AS)[0]
        if allowed not in (resource.RLIM_INFINITY, -1) and allowed < addresses:
            raise OutputError(
                f"{what} cannot be made with {allowed // _MB} MB of addresses (`ulimit -v`): the "
                f"library reserves {addresses // _MB} MB; `ulimit -v unlimited` allows it"
            )


def is_lack_of_memory(error: BaseException) -> bool:
    """Tell whether an error says that there is not enough memory."""
    if isinstance(error, ImportError | RuntimeError):
        return any(text in str(error) for text in _STARVED)
    return isinstance(error, MemoryError)


def no_memory() -> str:
    """Say that there is not enough, and what the limit is."""
    limits = []
    with suppress(ImportError):  # not on this system
        import resource

        addresses = resource.getrlimit(resource.RLIMIT_AS)[0]
        if addresses not in (resource.RLIM_INFINITY, -1):
            limits.append((addresses, "`ulimit -v`"))
        if (allowed := _allowed()) is not None:
            limits.append((allowed, VARIABLE))
    if not limits:
        return "there is not enough memory"
    allowed, name = min(limits)
    remedy = f"{VARIABLE}=MB sets that, 0 lifts it" if name == VARIABLE else f"by {name}"
    return f"there is not enough memory: this command may take {allowed // _MB} MB ({remedy})"


def _wanted() -> int | None:
    """Return the limit in bytes, None for none."""
    given = os.environ.get(VARIABLE)
    if given is None:
        memory = _memory()
        stacks = (os.cpu_count() or 1) * _STACK
        return None if memory is None else max(int(_SHARE * memory) + stacks, _LEAST)
    if not re.fullmatch(r"[0-9]{1,12}", given):
        raise UsageError(f"the variable {VARIABLE} is {given!r}: expected a number of MB, 0: none")
    return int(given) * _MB or None


def _memory(proc: Path = Path("/proc"), groups: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Return the bytes that this machine has, or its container or job if that is allowed less; None
    if it is not known."""
    try:
        told = dict(re.findall(r"(\w+):\s+(\d+) kB", (proc / "meminfo").read_text()))
        memory = 1024 * (int(told["MemTotal"]) + int(told["SwapTotal"]))
    except (OSError, KeyError):
        return None
    with suppress(OSError):
        path = re.findall(r"^0::/(.*)$", (proc / "self" / "cgroup").read_text(), re.MULTILINE)
        group = groups / path[0] if path else groups
        for folder in (group, *group.parents):
            with suppress(OSError, ValueError):  # "max", or the outermost, which has none
                memory = min(memory, int((folder / "memory.max").read_text()))
            if folder == groups:
                break
    return memory
