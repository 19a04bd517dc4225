"""Writes files whole or not at all.

What is written is on the disk before it takes the place of what was there: after a crash of the
machine, too, there is the old file or the new one, not an empty one. That the new one is there
needs :func:`sync_folder`; it is for files that mark work as done. Both wait for the disk, which
is not for what is made again if it is not whole.
"""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile, gettempdir

from batsched_py.errors import OutputError, UsageError
from batsched_py.support.terminal_text import say

_LINES = 4096
"""Lines that are written together, since each write takes longer than a line."""


def write_whole(path: str | Path, content: str | bytes, *, sync: bool = True) -> None:
    """Write ``content`` (text as UTF-8, line ends as they are) to ``path``, whole or not at all.

    Creates parent folders and replaces an existing file. Raises :class:`OutputError`; then
    nothing is left behind and an existing file is as it was. Without ``sync`` the file may be empty
    after a crash of the machine. Bytes of a name that are not UTF-8 are written as escapes.
    """
    if isinstance(content, str):
        content = content.encode(errors="backslashreplace")
    with whole_file(path, sync=sync) as part:
        part.write_bytes(content)


def write_parts(path: str | Path, parts: Iterable[bytes]) -> None:
    """Write a file part by part, whole or not at all, as :func:`write_whole` does."""
    with whole_file(path) as part, open(part, "wb") as file:
        file.writelines(parts)


def encode_lines(
    lines: Iterable[str], encoding: str = "utf-8", errors: str = "strict"
) -> Iterator[bytes]:
    """Yield lines encoded as UTF-8, many at a time."""
    lines = iter(lines)
    while some := "".join(islice(lines, _LINES)):
        yield some.encode(encoding, errors)


@contextmanager
def whole_file(path: str | Path, *, sync: bool = True) -> Iterator[Path]:
    """Give a temporary path next to ``path``, which replaces it if the block succeeds.

    For writers that want a path (figures, downloads). Creates parent folders. If the block
    raises, the temporary file is removed and ``path`` is as it was; what the system refuses
    becomes an :class:`OutputError`.
    """
    path = Path(path)
    make_folder_of(path)
    is_device = _is_device(path)  # /dev/stdout and the like cannot be replaced
    part = path if is_device else _part_of(path)
    try:
        yield part
        if not is_device:
            put_in_place(part, path, sync=sync)
    except OutputError:  # of another file
        raise
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        if not is_device:
            part.unlink(missing_ok=True)


def put_in_place(part: Path, path: Path, *, sync: bool = True) -> None:
    """Sync a file to the disk and rename it; raises :class:`OSError`."""
    if sync:
        _sync(part, os.O_RDWR)
    os.replace(part, path)


def sync_folder(folder: Path) -> None:
    """Sync the list of files of a folder to the disk, where the system can."""
    with suppress(OSError):
        _sync(folder, os.O_RDONLY)


def _sync(path: Path, mode: int) -> None:
    handle = os.open(path, mode)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _is_device(path: Path) -> bool:
    return path.exists() and not path.is_file()


def _part_of(path: Path) -> Path:
    """Return a new hidden name in the folder of a file, short enough for the system."""
    name = os.fsencode(path.name)[:80].decode(errors="ignore")
    return path.with_name(f".{name}.{secrets.token_hex(8)}.part")


@contextmanager
def locked(folder: str | Path, *, shared: bool = False) -> Iterator[None]:
    """Lock a folder in a block against other processes that lock it; make it if needed.

    Several processes can hold a ``shared`` lock. Raises :class:`OutputError` if another process
    has the lock. Where the system cannot lock files, nothing is done.
    """
    lock = Path(folder) / ".lock"
    make_folder_of(lock)
    try:
        import fcntl
    except ImportError:  # not on this system
        yield
        return
    try:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
    except OSError as error:  # such as a link
        raise OutputError(f"{lock} cannot be written: {error.strerror}") from None
    with open(handle, "r+b", buffering=0) as file:
        try:
            fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OutputError(f"{folder} is in use by another run: wait until it ends") from None
        except OSError:  # a file system without locks
            pass
        yield


def new_file(path: Path) -> FileIO:
    """Open a new file for writing without buffer, such as a log.

    What has its name is replaced, so that a link is not followed; devices (``/dev/stdout``) are
    written to. Raises :class:`OSError`.
    """
    if _is_device(path):
        return FileIO(path, "wb")
    path.unlink(missing_ok=True)
    return FileIO(path, "xb")


def make_folder_of(path: str | Path) -> None:
    """Make the folder of ``path``, and check that files can be written there.

    Call it before a long computation. Raises :class:`OutputError`.
    """
    path = Path(path)
    folder = path.parent
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, "it is a folder")
        folder.mkdir(parents=True, exist_ok=True)
        if not _is_device(path):
            with TemporaryFile(dir=folder):
                pass
    except FileExistsError:
        raise OutputError(f"{path} cannot be written: {folder}: it is not a folder") from None
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror}") from None


def find_temporary_folder() -> str:
    """Return the folder for temporary files; raises :class:`OutputError` if there is none."""
    try:
        return gettempdir()
    except FileNotFoundError as error:  # none of a list of folders
        raise OutputError(
            f"{error.strerror}: name one that can be written in the variable TMPDIR; in a "
            "container, mount one (`docker run --tmpfs /tmp`)"
        ) from None


def announce_replaced(paths: Iterable[Path]) -> None:
    """Print on standard error which files will be replaced."""
    there = [str(path) for path in paths if path.is_file()]
    if there:
        more = f" and {len(there) - 1} more files" if len(there) > 1 else ""
        say(f"note: this replaces {there[0]}{more}")


def keep_inputs(output: Path, *inputs: Path) -> None:
    """Raise :class:`UsageError` if ``output`` is one of the input files."""
    for path in inputs:
        if output.exists() and path.exists() and output.samefile(path):
            raise UsageError(f"{output}: this is the input; expected another file to write")
