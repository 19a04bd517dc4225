"""Computes the SHA-256 of files, once per file."""

from __future__ import annotations

import hashlib
import os
import time
from functools import cache
from pathlib import Path

_TICK = 2.0
"""Seconds: a file that was changed so lately may be changed again without another time."""


Version = tuple[int, ...]


def sha256(path: str | Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal; raises :class:`OSError`."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest(path: Path) -> str:
    """Return the SHA-256 of a file, which is read once per process as long as it is unchanged."""
    return digest_known(path, path.stat())


def digest_known(path: Path, state: os.stat_result) -> str:
    """Return the SHA-256 of a file whose :func:`version` is known; it is read once per version."""
    if time.time() - max(state.st_mtime, state.st_ctime) < _TICK:  # noqa: TID251 - the clock of files
        return sha256(path)
    return _of_version(path, version(state))


def version(state: os.stat_result) -> Version:
    """Return the times, size and inode of a file, which change with its content."""
    return state.st_mtime_ns, state.st_ctime_ns, state.st_size, state.st_ino


@cache
def _of_version(path: Path, seen: Version) -> str:
    return sha256(path)
