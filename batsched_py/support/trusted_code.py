"""Whose code may be run when results name it: ours, or what this account ran from this very place.

Results (``campaign.json``, ``PREFIX_run.json``) name files of Python code, and may be anybody's.
What they say of that code, a digest too, was written by whoever made them, so it is not asked.
What decides is a list of this account's own: each time that somebody names a file of code
(on a command line, or in a campaign file that he runs), the file and what it imports are put into
it with their SHA-256. Later that code is run on the word of results only if it is the same at the
same place. What is compared is what is compiled (:mod:`batsched_py.support.known_imports`), so a
project's folder may be one that a group writes.
"""

from __future__ import annotations

import os
import shlex
import stat
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from batsched_py.errors import BatschedError, PluginError
from batsched_py.support.file_digest import sha256
from batsched_py.support.file_readers import is_file, read_bytes
from batsched_py.support.imported_files import imported_files
from batsched_py.support.known_imports import import_only_known

PACKAGES = ("batsched_py", "batsched_users", "batsched_studies")
"""Those that come with this program."""
STUDIES = "batsched_studies"
POLICIES = "batsched_py.schedulers"
"""What results may name of it: a study's ``report``, or a policy."""
_DIGITS = 64
"""Of a SHA-256; two blanks and a place are behind it, as ``sha256sum`` has it."""


def remember(place: str) -> None:
    """Put the file of ``path/to/file.py:Name`` and what it imports into the list of this account.

    Where no list can be written the code is run all the same, and later only if it is named again.
    """
    path = Path(place.rpartition(":")[0])
    if not is_file(path) or _is_ours(path := path.resolve()):
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


def reason_not_to_run(place: str, of_ours: str = STUDIES) -> str | None:
    """Return why ``path/to/file.py:Name`` is not run on the word of results; None if it may be.

    ``of_ours`` is the part of this program that may be named: results choose nothing else of it.
    """
    file, _, name = place.rpartition(":")
    try:
        path = Path(file).resolve(strict=True)
    except (OSError, RuntimeError, ValueError):  # whatever a text may be that is no path
        return f"there is no file {file or place}"
    if _is_ours(path):
        is_meant = path.is_relative_to(_folder(of_ours)) and (
            of_ours != STUDIES or name == "report"
        )
        return None if is_meant else f"{place} is of this program, but not for that"
    known = _known()
    if _named(place) not in known:
        return f"{path} is not code that you have run from there"
    try:
        code = _code(place)
    except OSError as error:
        return str(error)
    for of, digest in code.items():
        if known.get(of) != digest:
            changed = "has changed since you ran it" if of in known else "is new since you ran it"
            return f"{of} {changed}"
    files = imported_files(path, PACKAGES)
    others = (_open_to_all(each) for file in files for each in {file, file.resolve()})
    return next(filter(None, others), None)


def run_only_known(place: str, of_ours: str = STUDIES) -> None:
    """Let the code at a place, which results name, import only what is known beside it.

    Raises :class:`PluginError` if it may not be run.
    """
    if reason := reason_not_to_run(place, of_ours):
        raise PluginError(f"{place} was not run: {reason}")
    path = Path(place.rpartition(":")[0]).resolve()
    if not _is_ours(path):
        folders = [path.parent]
        while (folders[-1] / "__init__.py").is_file():
            folders.append(folders[-1].parent)
        known = {Path(of): digest for of, digest in _known().items()}
        import_only_known(folders, known, _our_folders())


def _is_ours(path: Path) -> bool:
    return any(path.is_relative_to(folder) for folder in _our_folders())


def _our_folders() -> list[Path]:
    return [_folder(package) for package in PACKAGES]


@cache
def _folder(package: str) -> Path:
    """Return the folder of one of our packages."""
    spec = find_spec(package)
    return Path(spec.origin if spec and spec.origin else os.devnull).resolve().parent


def _named(place: str) -> str:
    file, _, name = place.rpartition(":")
    return f"{Path(file).resolve()}:{name}"


def _code(place: str) -> dict[str, str]:
    """Return the digests of the code that ``place`` stands for: itself, and each file of it."""
    path = Path(place.rpartition(":")[0]).resolve()
    files = {str(file.resolve()): sha256(file) for file in imported_files(path, PACKAGES)}
    return files | {_named(place): sha256(path)}


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


def _open_to_all(file: Path) -> str | None:
    """Say what everybody can change on the way to a file, None if nothing.

    In a folder with the sticky bit, such as ``/tmp``, nobody can change what belongs to others.
    """
    for path in (file, *file.parents) if os.name == "posix" else ():
        mode = path.stat().st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            return (
                f"{path} can be written by everybody, so that this code is only run when it is "
                f"named (`chmod o-w {shlex.quote(str(path))}` ends that)"
            )
    return None
