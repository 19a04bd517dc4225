"""Names of a package that are imported when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, modules: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package that has names of other modules.

    ``modules`` maps each of these modules to its names, with spaces between. mypy, ruff and the
    site see the same names by imports under ``TYPE_CHECKING`` and by ``__all__``; the two functions
    are for what runs only, or mypy would take any name.
    """
    module_of = {name: module for module, names in modules.items() for name in names.split()}

    def find(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(module_of[name]), name)
        setattr(import_module(package), name, value)  # which is then found without this
        return value

    def listed() -> list[str]:
        return sorted({*vars(import_module(package)), *module_of})

    return find, listed
