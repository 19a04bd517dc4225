"""Imports the public names of a package when they are first used."""

from __future__ import annotations

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def lazy_names(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` for a package whose names come from other modules.

    ``file`` is the package's ``__init__.py``: what it imports under ``TYPE_CHECKING``, for mypy and
    editors, is imported from there when it is asked for. The two functions are for what runs only,
    or mypy would take any name.
    """
    module_of = {
        alias.name: node.module
        for block in ast.parse(Path(file).read_text(encoding="utf-8")).body
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in block.body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }

    def find(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(module_of[name]), name)
        setattr(import_module(package), name, value)  # which is then found without this
        return value

    def listed() -> list[str]:
        return sorted({*vars(import_module(package)), *module_of})

    return find, listed
