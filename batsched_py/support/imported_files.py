"""The files of one's own that a Python file imports, directly or not, as their texts say.

Python prefers an extension to a source, and needs none: both are code.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterator
from functools import cache
from importlib.machinery import all_suffixes
from pathlib import Path

from batsched_py.support.code_places import is_installed
from batsched_py.support.file_readers import read_bytes

_INIT = "__init__.py"
_SUFFIXES = tuple(all_suffixes())
"""Of sources, compiled files without one, and extensions."""
_BY_NAME = ("importlib", "__import__", "study_module")
"""What imports modules whose names are made up when it runs."""

Module = tuple[int, tuple[str, ...]]
"""How far up it is looked for (0: absolute, 1: beside the file, ...), and its names."""


def imported_files(file: Path, left_out: Collection[str] = ()) -> list[Path]:
    """Return a Python file and the files that it imports, and those import, sorted.

    Imports count wherever they stand, inside functions too. A module is looked for beside
    ``file``, beside the packages that it lies in, and where Python looks, but not among what is
    installed nor in packages called as in ``left_out``. Of a file that imports by names that are
    made up when it runs, all beside it count. The paths are absolute; a file that is not there has
    none.
    """
    file = file.absolute()
    roots = list(dict.fromkeys([file.parent, _above(_packages(file), file), *_search_path()]))
    found: set[Path] = set()
    left = [file] if file.is_file() else []
    while left:
        path = left.pop()
        if path not in found:
            found.add(path)
            left += _imported(path, roots, left_out)
    return sorted(found)


def _packages(file: Path) -> list[Path]:
    """Return the folders of the packages that a file lies in, the innermost first."""
    folders = []
    for folder in file.parents:
        if not (folder / _INIT).is_file():
            break
        folders.append(folder)
    return folders


def _above(packages: list[Path], file: Path) -> Path:
    """Return where the outermost of the packages of a file is looked for."""
    return packages[-1].parent if packages else file.parent


def _search_path() -> list[Path]:
    """Return where Python looks, but for what is installed."""
    places = [Path(place).absolute() for place in sys.path if place]
    return [place for place in places if not is_installed(place)]


def _imported(file: Path, roots: list[Path], left_out: Collection[str]) -> Iterator[Path]:
    """Yield the files that a file imports by itself."""
    yield from (folder / _INIT for folder in _packages(file))
    modules, by_name = _imports_of_version(file, file.stat().st_mtime_ns)
    for level, names in modules:
        if level:
            for folder in file.parents[level - 1 : level]:  # none above the root
                yield from _files_of_module(folder, names)
        elif names[0] not in left_out:
            for root in roots:
                yield from _files_of_module(root, names)
    if by_name:
        beside = file.parent.iterdir()
        yield from (path for path in beside if path.name.endswith(_SUFFIXES) and path.is_file())


def _files_of_module(folder: Path, names: tuple[str, ...]) -> Iterator[Path]:
    """Yield the files of a module and of the packages on the way to it, as far as they are there.

    The last name may be one of what a module defines.
    """
    for name in names:
        for module in (folder / name / "__init__", folder / name):
            for suffix in _SUFFIXES:
                if (file := Path(f"{module}{suffix}")).is_file():
                    yield file
        folder /= name


@cache
def _imports_of_version(file: Path, mtime_ns: int) -> tuple[list[Module], bool]:
    """Return the modules that a file imports, and whether it imports others by made-up names."""
    if file.suffix != ".py":
        return [], False
    try:
        nodes = list(ast.walk(ast.parse(read_bytes(file))))
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # what runs it will say so
        return [], False
    modules: list[Module] = []
    for node in nodes:
        if isinstance(node, ast.Import):
            modules += [(0, tuple(alias.name.split("."))) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parts = node.module.split(".") if node.module else []
            modules += [(node.level, (*parts, alias.name)) for alias in node.names]
    called = {node.id for node in nodes if isinstance(node, ast.Name)}
    names = called | {names[0] for level, names in modules if not level}
    return modules, not names.isdisjoint(_BY_NAME)
