"""The Python files of a study: not a package, and in no search path."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from batsched_py.errors import PluginError


def study_module(path: Path) -> ModuleType:
    """Return the module in the file ``path``, executed once; raises :class:`PluginError`."""
    known = f"_{path.parent.name}_{path.stem}"
    if known in sys.modules:
        return sys.modules[known]
    spec = importlib.util.spec_from_file_location(known, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise PluginError(f"{path}: expected a Python file of a study")
    module = importlib.util.module_from_spec(spec)
    sys.modules[known] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module
