"""Where the files that come with the project are, in a checkout and in an installed wheel."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from batsched_py.errors import UsageError

_PACKAGE = Path(__file__).parents[1]


def platforms_folder() -> Path:
    """Return the folder of the platform files; raises :class:`UsageError` if it is absent."""
    for folder in (_PACKAGE / "platforms", _PACKAGE.parent / "platforms"):
        if folder.is_dir():
            return folder
    raise UsageError("the platform files are not part of this installation")


def studies_folder() -> Path:
    """Return the folder of the studies; raises :class:`UsageError` if it is absent."""
    spec = find_spec("batsched_studies")
    if spec is None or spec.origin is None:
        raise UsageError("the studies are not part of this installation")
    return Path(spec.origin).parent
