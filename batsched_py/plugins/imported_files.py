"""Finds the files that a Python file imports, directly or not, by parsing the sources.

Python prefers an extension to a source, and needs none: both are code.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache
from importlib.machinery import all_suffixes
from pathlib import Path

from batsched_py.files.readers import read_bytes
from batsched_py.plugins.code_places import is_installed

_INIT = "__init__.py"
_SUFFIXES = tuple(all_suffixes())
"""Of sources, compiled files without one, and extensions."""
_BY_NAME = ("importlib", "__import__", "study_module")
"""What imports modules whose names are made up when it runs."""

Module = tuple[int, tuple[str, ...]]
"""How far up it is looked for (0: absolute, 1: beside the file, ...), and its names."""


def find_imported_files(file: Path, left_out: Collection[str] = ()) -> list[Path]:
    """Return a Python file and all files that it imports, directly or not, sorted.

    Imports count wherever they stand, inside functions too, but not those for type checkers. A
    module is looked for beside ``file``, beside the packages that it lies in, and where Python
    looks, but not among what is installed nor in packages called as in ``left_out``. Of a file that
    imports by names that are made up when it runs, all beside it count. The paths are absolute; a
    file that is not there has none.
    """
    file = file.absolute()
    folders = _Folders()
    packages = folders.packages(str(file))
    above = os.path.dirname(packages[-1]) if packages else str(file.parent)
    places = (Path(place).absolute() for place in sys.path if place)
    searched = (str(place) for place in places if not is_installed(place))
    roots = list(dict.fromkeys([str(file.parent), above, *searched]))
    start = [str(file)] if file.is_file() else []
    return _closure(start, lambda path: _imported(path, roots, left_out, folders))


def find_imported_modules(modules: Iterable[str], packages: Mapping[str, Path]) -> list[Path]:
    """Return the files of modules, and of the modules in ``packages`` that they import, sorted.

    ``packages`` are names of packages and their folders. Imports by names that are made up when
    the code runs do not count.
    """
    folders = _Folders()

    def files_of(names: tuple[str, ...]) -> Iterator[str]:
        if names[0] in packages:
            yield from folders.files_of_module(str(packages[names[0]].parent), names)

    def imported(path: str) -> Iterator[str]:
        for level, names in _imports_of_version(Path(path), os.stat(path).st_mtime_ns)[0]:
            yield from files_of(names) if not level else ()

    start = [file for name in modules for file in files_of(tuple(name.split(".")))]
    return _closure(start, imported)


def _closure(start: list[str], imported: Callable[[str], Iterable[str]]) -> list[Path]:
    """Return files, those that they import, and so on."""
    found, left = set(start), start
    while left:
        new = set(imported(left.pop())) - found
        found |= new
        left += new
    return sorted(map(Path, found))


class _Folders:
    """A cache of the content of folders, since a module is searched in many of them."""

    def __init__(self) -> None:
        self._names: dict[str, frozenset[str]] = {}

    def names(self, folder: str) -> frozenset[str]:
        """Return the names in a folder, empty if there is no such folder."""
        if folder not in self._names:
            try:
                self._names[folder] = frozenset(os.listdir(folder))
            except OSError:
                self._names[folder] = frozenset()
        return self._names[folder]

    def has_file(self, folder: str, name: str) -> bool:
        return name in self.names(folder) and os.path.isfile(os.path.join(folder, name))

    def packages(self, file: str) -> list[str]:
        """Return the folders of the packages that a file lies in, the innermost first."""
        packages = []
        folder = os.path.dirname(file)
        while self.has_file(folder, _INIT) and folder not in packages:
            packages.append(folder)
            folder = os.path.dirname(folder)
        return packages

    def files_of_module(self, folder: str, names: tuple[str, ...]) -> Iterator[str]:
        """Yield the existing files of a module and of the packages that contain it.

        The last name may be one of what a module defines.
        """
        for name in names:
            inside = os.path.join(folder, name)
            for place, stem in ((inside, "__init__"), (folder, name)):
                for suffix in _SUFFIXES:
                    if self.has_file(place, f"{stem}{suffix}"):
                        yield os.path.join(place, f"{stem}{suffix}")
            folder = inside


def _imported(
    file: str, roots: list[str], left_out: Collection[str], folders: _Folders
) -> Iterator[str]:
    """Yield the files that a file imports by itself."""
    yield from (os.path.join(folder, _INIT) for folder in folders.packages(file))
    modules, by_name = _imports_of_version(Path(file), os.stat(file).st_mtime_ns)
    for level, names in modules:
        if level:
            for folder in Path(file).parents[level - 1 : level]:  # none above the root
                yield from folders.files_of_module(str(folder), names)
        elif names[0] not in left_out:
            for root in roots:
                yield from folders.files_of_module(root, names)
    if by_name:
        beside = os.path.dirname(file)
        for name in folders.names(beside):
            if name.endswith(_SUFFIXES) and folders.has_file(beside, name):
                yield os.path.join(beside, name)


@cache
def _imports_of_version(file: Path, mtime_ns: int) -> tuple[list[Module], bool]:
    """Return the modules that a file imports, and whether it imports others by made-up names."""
    if file.suffix != ".py":
        return [], False
    try:
        nodes = list(_nodes_that_run(ast.parse(read_bytes(file))))
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


def _nodes_that_run(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a module but for those that only type checkers see."""
    left = [tree]
    while left:
        node = left.pop()
        yield node
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            left += node.orelse
        else:
            left += ast.iter_child_nodes(node)
