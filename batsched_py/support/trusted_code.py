"""Whose code may be run when results name it: ours, or what this account ran from this very place.

Results (``campaign.json``, ``PREFIX_run.json``) name files of Python code, and may be anybody's.
What they say of that code, a digest too, was written by whoever made them, so it is not asked.
What decides is a list of this account's own: each time that somebody names a file of code
(on a command line, or in a campaign file that he runs), the file and what it imports are put into
it with their SHA-256. Later that code is run on the word of results only if it is the same at the
same place, and nobody else can change it there or put something beside it.
"""

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from batsched_py.errors import BatschedError
from batsched_py.support.file_readers import read_bytes
from batsched_py.support.imported_files import imported_files

PACKAGES = ("batsched_py", "batsched_users", "batsched_studies")
"""Those that come with this program."""
_DIGITS = 64
"""Of a SHA-256; two blanks and a place are behind it, as ``sha256sum`` has it."""


def remember(place: str) -> None:
    """Put the file of ``path/to/file.py:Name`` and what it imports into the list of this account.

    Where no list can be written the code is run all the same, and later only if it is named again.
    """
    path = Path(place.rpartition(":")[0]).resolve()
    if not path.is_file() or _is_ours(path):
        return
    with suppress(BatschedError, OSError, RuntimeError):  # no home, or it cannot be written
        known = _known()
        code = _code(place).items()
        new = [f"{digest}  {of}\n" for of, digest in code if known.get(of) != digest]
        if new and not any("\n" in line[:-1] for line in new):  # a place is a line of the list
            file = _list()
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as end:
                end.write(b"".join(map(os.fsencode, new)))


def reason_not_to_run(place: str) -> str | None:
    """Return why ``path/to/file.py:Name`` is not run on the word of results; None if it may be."""
    file = place.rpartition(":")[0]
    try:
        path = Path(file).resolve(strict=True)
    except (OSError, RuntimeError, ValueError):  # whatever a text may be that is no path
        return f"there is no file {file or place}"
    if _is_ours(path):
        return None
    known = _known()
    if _named(place) not in known:
        return f"{path} is not code that you have run from there"
    for name, digest in _code(place).items():
        if known.get(name) != digest:
            changed = "has changed since you ran it" if name in known else "is new since you ran it"
            return f"{name} {changed}"
    files = imported_files(path, PACKAGES)
    others = (_open_to_others(each) for file in files for each in {file, file.resolve()})
    return next(filter(None, others), None)


def _is_ours(path: Path) -> bool:
    return any(path.is_relative_to(folder) for folder in _our_folders())


@cache
def _our_folders() -> list[Path]:
    specs = map(find_spec, PACKAGES)
    return [Path(spec.origin).resolve().parent for spec in specs if spec and spec.origin]


def _named(place: str) -> str:
    file, _, name = place.rpartition(":")
    return f"{Path(file).resolve()}:{name}"


def _code(place: str) -> dict[str, str]:
    """Return the digests of the code that ``place`` stands for: itself, and each file of it."""
    path = Path(place.rpartition(":")[0]).resolve()
    files = {str(file.resolve()): _sha256(file) for file in imported_files(path, PACKAGES)}
    return files | {_named(place): _sha256(path)}


def _sha256(file: Path) -> str:
    return hashlib.sha256(read_bytes(file)).hexdigest()


def _list() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(state).expanduser() / "batsched_py" / "code_that_ran"


def _known() -> dict[str, str]:
    """Return the digests in the list by place, the newest of each; none if there is no list."""
    try:
        lines = os.fsdecode(read_bytes(_list())).split("\n")
    except (BatschedError, RuntimeError):
        return {}
    return {line[_DIGITS + 2 :]: line[:_DIGITS] for line in lines}


def _open_to_others(file: Path) -> str | None:
    """Say what somebody else can change on the way to a file, None if nothing.

    It and its folder are this account's or the system's. The folders above it count too: in one
    with the sticky bit, such as ``/tmp``, nobody can change what belongs to others.
    """
    for path in (file, *file.parents):
        found = path.stat()
        if path in (file, file.parent) and found.st_uid not in (0, os.getuid()):
            return f"{path} belongs to another account"
        is_shared = found.st_mode & stat.S_IWOTH or (
            found.st_mode & stat.S_IWGRP and not _is_private(found.st_gid)
        )
        if is_shared and not found.st_mode & stat.S_ISVTX:
            return f"{path} can be written by others"
    return None


@cache
def _is_private(group: int) -> bool:
    """Tell whether a group is that of this account alone, as most systems make one for each."""
    import grp
    import pwd

    if group == 0:
        return True
    try:
        account, of_group = pwd.getpwuid(os.getuid()).pw_name, grp.getgrgid(group)
    except KeyError:
        return False
    return of_group.gr_name == account and set(of_group.gr_mem) <= {account}
