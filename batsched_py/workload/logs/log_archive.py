"""Finds logs by name, and fetches them from the archive.

Source: the Parallel Workloads Archive, https://www.cs.huji.ac.il/labs/parallel/workload/ ; cite
D. G. Feitelson, D. Tsafrir, D. Krakov, "Experience with using the Parallel Workloads Archive",
J. Parallel Distrib. Comput. 74(10), 2014, and acknowledge the provider named in each header.
"""

from __future__ import annotations

import atexit
import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from difflib import get_close_matches
from functools import cache
from pathlib import Path

import msgspec

from batsched_py.errors import InputError, LogError, UsageError, parameter
from batsched_py.files.readers import is_file, is_folder, read_bytes, read_toml, unpack
from batsched_py.files.writers import find_temporary_folder, write_whole
from batsched_py.support.installation import extra
from batsched_py.support.json_values import did_you_mean
from batsched_py.workload.logs.sample_log import SAMPLE_LOG

ARCHIVE = "https://www.cs.huji.ac.il/labs/parallel/workload"
SAMPLE = "sample"
"""Name of the synthetic log that comes with the project."""
NONE = "none"
"""Name of a log without jobs, for users who make theirs up: 128 processors, time from Monday,
1 January 2024, 0:00 UTC on."""
_SHIPPED = {SAMPLE: SAMPLE_LOG, NONE: Path(__file__).with_name("none.json")}
"""The logs that come with the project."""
_SUFFIXES = ("", ".swf", ".swf.gz", ".json")
LOG_FILE = "an SWF log (.swf, .swf.gz) or a Batsim workload (.json)"


class ArchiveLog(msgspec.Struct, frozen=True):
    """A log of the archive, with its address and its digest."""

    folder: str
    """Where it lies below :data:`ARCHIVE`."""
    nb_jobs: int | None = None
    """None where we have not seen the log."""
    sha256: str | None = None
    """Of the decompressed log: compression may differ between servers. None where not seen."""


@cache
def read_catalogue() -> dict[str, ArchiveLog]:
    """Return the known logs of the archive by name."""
    return msgspec.convert(read_toml(Path(__file__).with_suffix(".toml")), dict[str, ArchiveLog])


def cache_folder() -> Path:
    """Return the folder of fetched logs: ``$XDG_CACHE_HOME/batsched_py/logs`` or the like."""
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "batsched_py" / "logs"


def log_folders(log_dirs: Iterable[Path] = ()) -> list[Path]:
    """Return the folders that may have logs: ``log_dirs``, those of BATSCHED_LOGS, the cache."""
    variable = os.environ.get("BATSCHED_LOGS", "")
    return [*log_dirs, *(Path(p) for p in variable.split(os.pathsep) if p), cache_folder()]


def find_log(name: str | Path, log_dirs: Iterable[Path] = ()) -> Path:
    """Return the file of a log, given by its name or by a path.

    ``sample`` is the synthetic log that comes with the project, ``none`` a log without jobs. What
    has a name in ``/dev``, such as a pipe, is read now, once, into a temporary file.
    Raises :class:`UsageError` with the places where it was looked for.
    """
    path = Path(name)
    if str(name).startswith("/dev/") and os.path.exists(path) and not is_folder(path):
        return _copy_of_pipe(path, path.stat().st_ino)
    if is_file(path):
        return path
    if str(name) in _SHIPPED:
        return _SHIPPED[str(name)]
    folders = log_folders(log_dirs)
    for folder in folders:
        for suffix in _SUFFIXES:
            candidate = folder / f"{name}{suffix}"
            if is_file(candidate):
                return candidate
    if is_folder(path):
        raise UsageError(f"{name} is a folder: expected {LOG_FILE}, or the name of a log")
    if os.path.exists(path):
        raise UsageError(f"{name} is a device, a socket or a FIFO: expected {LOG_FILE}")
    stem = str(name).removesuffix(".gz").removesuffix(".swf").removesuffix(".json")
    raise UsageError(
        f"there is no file and no log {str(name)!r}{_hint_at_one_beside(path)}; "
        f"looked in {', '.join(map(str, folders))}; {_advice(stem)}"
    )


@cache
def _copy_of_pipe(path: Path, inode: int) -> Path:
    """Return a file with what can be read only once (``/dev/stdin``, the name of ``<(...)``).

    It is removed when the process ends.
    """
    from tempfile import mkdtemp

    packed = read_bytes(path)
    is_json = unpack(packed, path).lstrip().startswith(b"{")
    folder = mkdtemp(prefix="batsched_py-", dir=find_temporary_folder())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    copy = Path(folder) / f"{path.name}{'.json' if is_json else '.swf'}"
    write_whole(copy, packed)
    return copy


def _hint_at_one_beside(path: Path) -> str:
    """Return a hint at a log of nearly that name in the same folder, if there is one."""
    with suppress(OSError):
        names = [file.name for file in path.parent.iterdir() if file.name.endswith(_SUFFIXES[1:])]
        return did_you_mean(path.name, names)
    return ""


@extra("logs")
def fetch_log(name: str, log_dirs: Iterable[Path] = (), archive: str = ARCHIVE) -> Path:
    """Return a log of :func:`read_catalogue`, downloading it into the cache if it is not there.

    What was downloaded must be readable and the log as known (number of jobs, SHA-256 of its
    content). Raises :class:`UsageError` for an unknown name and :class:`LogError` if it cannot be
    had; then nothing of it is left.
    """
    name = name.removesuffix(".gz").removesuffix(".swf")
    if name in _SHIPPED:
        return find_log(name)
    entry = read_catalogue().get(name)
    if entry is None:
        raise UsageError(f"the catalogue has no log {name!r}; {_advice(name)}")
    try:
        return find_log(name, log_dirs)
    except UsageError:
        pass
    url = f"{archive}/{entry.folder}/{name}.swf.gz"
    import pooch
    import requests

    pooch.get_logger().setLevel("ERROR")
    target = cache_folder() / f"{name}.swf.gz"
    partial = target.with_name(f".{target.name}.part")
    try:
        pooch.retrieve(url, known_hash=None, fname=partial.name, path=partial.parent)
        _verify(partial, entry, url)
        partial.replace(target)
    except (requests.RequestException, OSError, ValueError) as error:
        raise LogError(f"{url} cannot be fetched ({str(error)[:200]}); {_BY_HAND}") from None
    finally:
        partial.unlink(missing_ok=True)
    return target


_BY_HAND = (
    f"a file that you download yourself works too: name its folder by {parameter('log_dir')} "
    "or BATSCHED_LOGS"
)


def _verify(path: Path, entry: ArchiveLog, url: str) -> None:
    content = packed = read_bytes(path)
    with suppress(InputError):
        content = unpack(packed, path)
    if content is packed:
        raise LogError(f"{url} is not a whole gzip file: try again; {_BY_HAND}")
    from hashlib import sha256 as digest_of

    sha256 = digest_of(content).hexdigest()
    if entry.sha256 is not None and sha256 != entry.sha256:
        raise LogError(
            f"{url} is not the log known by that name: its SHA-256 is {sha256}, "
            f"expected {entry.sha256}; {_BY_HAND}"
        )
    try:
        from batsched_py.workload.logs.swf import read_swf  # late: most only look for a log

        jobs = len(read_swf(path))
    except LogError as error:
        problem = str(error).removeprefix(f"{path}:").strip()
        raise LogError(f"{url} is not a log: {problem}; {_BY_HAND}") from None
    if entry.nb_jobs is not None and jobs != entry.nb_jobs:
        raise LogError(f"{url} has {jobs} jobs, expected {entry.nb_jobs}; {_BY_HAND}")


def _advice(name: str) -> str:
    if name in read_catalogue():
        return f"`batsched-py logs fetch {name}` downloads it"
    nothing = get_close_matches(name, [NONE], cutoff=0.7)  # many a short name is a bit like it
    near = _find_log_that_begins_with(name)
    guess = f" (did you mean {near!r}?)" if near else ""
    guess = guess or did_you_mean(name, [SAMPLE, *nothing, *read_catalogue()])
    return f"`batsched-py logs list` names the known ones{guess}"


def _find_log_that_begins_with(name: str) -> str | None:
    """Return the log of the archive whose name begins so: the last cleaned version, if any."""
    there = [log for log in read_catalogue() if log.lower().startswith(f"{name.lower()}-")]
    return max(there, key=lambda log: (log.endswith("-cln"), log), default=None)
