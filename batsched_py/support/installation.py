"""Finds installed parts: the command and its files, optional packages, and entry points."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from batsched_py.errors import MissingExtraError, UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_PACKAGE = Path(__file__).parents[1]
_SCRIPT = Path(sys.executable).with_name("batsched-py")
# Without -P Python would look for modules in the current folder first.
PROGRAM = [str(_SCRIPT)] if _SCRIPT.is_file() else [sys.executable, "-P", "-m", "batsched_py"]
"""Begin of the command line of ``batsched-py``."""


def platforms_folder() -> Path:
    """Return the folder of the platform files; raises :class:`UsageError` if it is missing."""
    for folder in (_PACKAGE / "platforms", _PACKAGE.parent / "platforms"):
        if folder.is_dir():
            return folder
    raise UsageError("the platform files are not part of this installation")


def studies_folder() -> Path:
    """Return the folder of the studies; raises :class:`UsageError` if it is missing."""
    spec = find_spec("batsched_studies")
    if spec is None or spec.origin is None:
        raise UsageError("the studies are not part of this installation")
    return Path(spec.origin).parent


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Raise :class:`MissingExtraError` if a Python package of the extra ``name`` is missing.

    Around the import, or, as a decorator, for a function that imports it.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        raise MissingExtraError(
            f"the Python package {package} is not installed: pip install 'batsched_py[{name}]'"
        ) from None


@cache
def find_entry_points(group: str) -> Mapping[str, EntryPoint]:
    """Return the entry points of a group by name, sorted."""
    entries = sorted(_everything().select(group=group), key=lambda entry: str(entry.name))
    return {entry.name: entry for entry in entries}


@cache
def _everything() -> Any:
    """Read the metadata of all installed packages, once, and only if it is needed."""
    from importlib.metadata import entry_points

    return entry_points()
