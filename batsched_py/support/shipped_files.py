"""Where the files that come with the project are, in a checkout and in an installed wheel."""

from __future__ import annotations

from pathlib import Path

from batsched_py.errors import UsageError

_PACKAGE = Path(__file__).parent


def data_folder(name: str) -> Path:
    """Return the folder ``platforms`` or ``experiments``; raises :class:`UsageError` if absent."""
    for folder in (_PACKAGE / "data" / name, _PACKAGE.parent / name):
        if folder.is_dir():
            return folder
    raise UsageError(f"the folder {name!r} is not part of this installation")
