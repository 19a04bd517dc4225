"""Loads Python files that an option names: a plug-in, a study, a report.

They are executed as they are, or imported by their name if they lie in a package. In each run they
are executed anew, with all that they import beside them (:func:`fresh_code`).
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from batsched_py.errors import PluginError
from batsched_py.files.readers import is_file
from batsched_py.plugins.code_places import describe_exception, is_installed
from batsched_py.support.json_values import did_you_mean

PACKAGES = ("batsched_py", "batsched_users", "batsched_studies")
"""The packages that come with this program."""


class _SourceOnly(SourceFileLoader):
    """Compiles a file anew, whatever lies in ``__pycache__``."""

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)


def load_file(place: str) -> Any:
    """Load the object ``path/to/file.py:Name``; raises :class:`PluginError`."""
    path_text, _, attribute = place.rpartition(":")
    path = Path(path_text)
    if not path_text:
        raise PluginError(f"{place}: expected path/to/file.py:Name")
    if not is_file(path):
        raise PluginError(f"{place.removesuffix(':')}: there is no file {path_text!r}")
    try:
        _forget_beside(path, anew=True)
        name = importable_name(path)
        module = (
            _executed(path, f"_batsched_py_plugin_{path.stem}")
            if name is None
            else importlib.import_module(name)
        )
    except (Exception, SystemExit) as error:  # whatever the author's code raises
        raise PluginError(f"{place}: {describe_exception(error)}") from error
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
    """Return a file of a study as a module, executed once; raises :class:`PluginError`.

    A file of a package that Python finds is imported by its name; others need be in no search path.
    """
    name = importable_name(path)
    if name is not None:
        return importlib.import_module(name)
    name = f"_{path.parent.name}_{path.stem}"
    module = sys.modules.get(name)
    if module is None and is_file(path):
        _forget_beside(path, anew=False)
        module = _executed(path, name)
    if module is None:
        raise PluginError(f"{path}: expected a Python file of a study")
    return module


def _executed(path: Path, name: str) -> ModuleType | None:
    """Return the module in a file, executed anew; None if it is not a Python file."""
    if path.suffix != ".py":
        return None
    loader = _SourceOnly(name, str(path.absolute()))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    if spec is None:
        return None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    with _importing_beside(path):
        loader.exec_module(module)
    return module


_earlier: dict[str, ModuleType] | None = None
"""The modules from before the run, by name; None outside a run."""
_beside: dict[str, ModuleType] = {}
"""Modules beside plug-ins that were imported outside a run, by name."""


@contextmanager
def fresh_code() -> Iterator[None]:
    """Load plug-ins and their modules anew in this block; then restore the earlier modules."""
    global _earlier
    outer, _earlier = _earlier, dict(sys.modules)
    try:
        yield
    finally:
        for name, module in [*sys.modules.items()]:
            if _earlier.get(name) is not module and _is_authors(name, module):
                del sys.modules[name]
        sys.modules |= _earlier
        _earlier = outer


def forget_package(name: str) -> None:
    """Import a package of a plug-in anew in the next run, even an installed one."""
    if name not in PACKAGES:
        for full_name, module in (_earlier or {}).items():
            is_of_package = full_name.partition(".")[0] == name
            if is_of_package and sys.modules.get(full_name) is module and _is_source(module):
                del sys.modules[full_name]


@contextmanager
def _importing_beside(file: Path) -> Iterator[None]:
    """Let a file that is executed import what lies beside it, after all else that Python finds."""
    folder = str(file.resolve().parent)
    before = dict(sys.modules)
    sys.path.append(folder)
    try:
        yield
    finally:
        with suppress(ValueError):  # the file has changed the path itself
            sys.path.remove(folder)
        if _earlier is None:
            for name, module in sys.modules.items():
                if before.get(name) is not module and _is_authors(name, module):
                    _beside[name] = module


def _forget_beside(file: Path, *, anew: bool) -> None:
    """Forget modules from other folders that have the name of a module beside a file.

    With ``anew`` also forget the modules beside it, which may have been edited, unless this run has
    loaded them.
    """
    folder = file.resolve().parent
    while (folder / "__init__.py").is_file():
        folder = folder.parent
    names = {entry.stem for entry in folder.iterdir()}
    for name, module in [*(_beside if _earlier is None else sys.modules).items()]:
        if (
            name.partition(".")[0] in names
            and sys.modules.get(name) is module
            and _is_authors(name, module)
        ):
            of_this_run = _earlier is not None and _earlier.get(name) is not module
            is_beside = Path(str(module.__file__)).resolve().is_relative_to(folder)
            if not is_beside or (anew and not of_this_run):
                del sys.modules[name]


def _is_authors(name: str, module: ModuleType) -> bool:
    """Tell whether a module is source code of a plug-in's author: not installed, and not ours."""
    ours = name == "__main__" or name.partition(".")[0] in PACKAGES
    return not ours and _is_source(module) and not is_installed(Path(str(module.__file__)))


def _is_source(module: ModuleType) -> bool:
    """Tell whether a module is a Python file: extensions cannot be loaded twice."""
    return str(getattr(module, "__dict__", {}).get("__file__")).endswith(".py")


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
