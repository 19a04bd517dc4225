"""What only some need is an extra of the package: its modules may not be installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from batsched_py.errors import MissingExtraError


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Raise :class:`MissingExtraError` if a module of the extra ``name`` is not installed.

    Around the import, or, as a decorator, for a function that imports it.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"{error.name} is not installed: pip install 'batsched_py[{name}]'"
        ) from None
