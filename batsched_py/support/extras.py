"""Optional features are extras of the package: the packages that they need may be missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from batsched_py.errors import MissingExtraError


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Raise :class:`MissingExtraError` if a Python package of the extra ``name`` is missing.

    Around the import, or, as a decorator, for a function that imports it.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        raise MissingExtraError(
            f"the Python package {package} is not installed: pip install 'batsched_py[{name}]'"
        ) from None
