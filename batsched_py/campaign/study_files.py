"""The Python files of a user's own study, which need be in no package and no search path."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from batsched_py.errors import PluginError
from batsched_py.support.plugins import importable_name


def study_module(path: Path) -> ModuleType:
    """Return the module in the file ``path``, executed once; raises :class:`PluginError`.

    A file of a package that Python finds is imported by its name.
    """
    name = importable_name(path)
    if name is not None:
        return importlib.import_module(name)
    module_name = f"_{path.parent.name}_{path.stem}"
    if module_name in sys.modules:
        return sys.modules[module_name]
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise PluginError(f"{path}: expected a Python file of a study")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module
