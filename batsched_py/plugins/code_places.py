"""Finds the line of a plug-in author's code that an error comes from."""

from __future__ import annotations

import traceback
from pathlib import Path
from sysconfig import get_path
from types import GeneratorType

_OURS = (Path(__file__).parents[1], Path(get_path("scripts")))
"""Folders of this package and of commands: what they call is the author's code."""
_STANDARD_LIBRARY = get_path("stdlib")
_INSTALLED = {"site-packages", "dist-packages"}


def describe_exception(error: BaseException, *hints: str) -> str:
    """Return an exception as one line, with the place in the author's code and ``hints``."""
    if isinstance(error, MemoryError):
        return "there is not enough memory" + (f": {error}" if str(error) else "")
    frames = traceback.extract_tb(error.__traceback__)[::-1]
    in_files = [frame for frame in frames if not frame.filename.startswith("<frozen")]
    authors = [frame for frame in in_files if _is_authors(frame.filename)]
    told = [*getattr(error, "__notes__", ()), *hints]
    if in_files and not isinstance(error, SyntaxError):  # which says where it is
        last = (authors or in_files)[0]
        told.insert(0, f"{last.filename}:{last.lineno}, in {last.name}")
    return f"{type(error).__name__}: {error}" + (f" ({'; '.join(told)})" if told else "")


def find_author_line(error: BaseException) -> str | None:
    """Return the last line of the author's code that ran, as ``file:line``, or None."""
    for frame in traceback.extract_tb(error.__traceback__)[::-1]:
        if _is_authors(frame.filename):
            return f"{frame.filename}:{frame.lineno}"
    return None


def find_waiting_line(generator: object) -> str | None:
    """Return the ``yield`` at which a generator waits, as ``file:line``, or None."""
    place = None
    while isinstance(generator, GeneratorType) and (frame := generator.gi_frame) is not None:
        if place is None or _is_authors(frame.f_code.co_filename):
            place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        generator = generator.gi_yieldfrom
    return place


def is_installed(path: Path) -> bool:
    """Return whether a file belongs to Python or to an installed package."""
    return path.is_relative_to(_STANDARD_LIBRARY) or not _INSTALLED.isdisjoint(path.parts)


def _is_authors(file: str) -> bool:
    path = Path(file)
    ours = file.startswith("<frozen") or any(path.is_relative_to(folder) for folder in _OURS)
    return not ours and not is_installed(path)
