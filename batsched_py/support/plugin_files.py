"""Python files that are named: of a plug-in, of a study, of a report.

They are executed as they are, or imported by their name if they lie in a package.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from batsched_py.errors import PluginError
from batsched_py.support.code_places import described
from batsched_py.support.file_readers import is_file
from batsched_py.support.json_values import did_you_mean
from batsched_py.support.known_imports import import_anything, source_loader
from batsched_py.support.trusted_code import STUDIES, run_only_known


def load_file(place: str, *, by_results: bool = False, of_ours: str = STUDIES) -> Any:
    """Return what ``path/to/file.py:Name`` names; raises :class:`PluginError`.

    What results name, not who runs the program, is loaded if it may be run and is of ``of_ours`` or
    known (:mod:`batsched_py.support.trusted_code`), and later imports only what is known beside it.
    """
    path_text, _, attribute = place.rpartition(":")
    path = Path(path_text)
    if not path_text:
        raise PluginError(f"{place}: expected path/to/file.py:Name")
    if not is_file(path):
        raise PluginError(f"{place.removesuffix(':')}: there is no file {path_text!r}")
    if by_results:
        run_only_known(place, of_ours)
    else:
        import_anything(path)
    try:
        name = importable_name(path)
        module = (
            _executed(path, f"_batsched_py_plugin_{path.stem}")
            if name is None
            else importlib.import_module(name)
        )
    except (Exception, SystemExit) as error:  # whatever the author's code raises
        raise PluginError(f"{place}: {described(error)}") from error
    if module is None:
        raise PluginError(f"{place}: {path_text!r} is not a Python file")
    if not hasattr(module, attribute):
        classes = [
            name
            for name, value in vars(module).items()
            if inspect.isclass(value) and value.__module__ == module.__name__
        ]
        missing = f": no {attribute!r} in the file{did_you_mean(attribute, classes)}"
        problem = missing if attribute else "Class: give a class of it"
        raise PluginError(f"{place}{problem}; its classes are: {', '.join(classes) or 'none'}")
    return getattr(module, attribute)


def study_module(path: Path) -> ModuleType:
    """Return the module in a file of a study, executed once; raises :class:`PluginError`.

    A file of a package that Python finds is imported by its name; others need be in no search path.
    """
    name = importable_name(path)
    if name is not None:
        return importlib.import_module(name)
    name = f"_{path.parent.name}_{path.stem}"
    module = sys.modules.get(name) or (_executed(path, name) if is_file(path) else None)
    if module is None:
        raise PluginError(f"{path}: expected a Python file of a study")
    return module


def _executed(path: Path, name: str) -> ModuleType | None:
    """Return the module in a file, executed anew; None if it is not a Python file."""
    if path.suffix != ".py":
        return None
    loader = source_loader(name, path)
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    if spec is None:
        return None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    with _importing_beside(path):
        loader.exec_module(module)
    return module


_BESIDE: dict[str, tuple[Path, int]] = {}
"""Modules that lie beside executed files, by name: their files, and the versions of these."""


@contextmanager
def _importing_beside(file: Path) -> Iterator[None]:
    """Let a file that is executed import what lies beside it, after all else that Python finds.

    Files in several folders may each have a module of one name, and a module may be edited.
    """
    folder = file.resolve().parent
    for name, (origin, version) in list(_BESIDE.items()):
        top = name.partition(".")[0]
        is_of_another = not origin.is_relative_to(folder) and (
            (folder / f"{top}.py").is_file() or (folder / top).is_dir()
        )
        if is_of_another or _version(origin) != version:
            del _BESIDE[name]
            sys.modules.pop(name, None)
    before = set(sys.modules)
    sys.path.append(str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for name in set(sys.modules) - before:
            origin = Path(getattr(sys.modules[name], "__file__", None) or "-")
            if origin.is_relative_to(folder):
                _BESIDE[name] = origin, _version(origin)


def _version(file: Path) -> int:
    return file.stat().st_mtime_ns if file.is_file() else 0


def importable_name(path: Path) -> str | None:
    """Return the name by which Python imports a file of a package; None if it lies in none.

    A file of a package is imported by its name: then its imports work, and it is executed once.
    """
    path = path.resolve()
    parts, folder = [path.stem], path.parent
    while (folder / "__init__.py").is_file():
        parts.insert(0, folder.name)
        folder = folder.parent
    if len(parts) == 1:
        return None
    try:
        spec = importlib.util.find_spec(".".join(parts))
    except (ImportError, ValueError):  # not in the search path
        return None
    is_it = spec is not None and spec.origin is not None and Path(spec.origin).resolve() == path
    return ".".join(parts) if is_it else None
