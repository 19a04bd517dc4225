"""Reads the counters of a policy or a user model, once after the simulation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from batsched_py.errors import InvariantError
from batsched_py.plugins.code_places import describe_exception
from batsched_py.support.json_values import quote, to_python


def read_counters(plugin: object) -> dict[str, Any] | None:
    """Return what ``plugin.statistics()`` returns, in types of JSON; None without such a method.

    Raises :class:`InvariantError` naming the plug-in and the counter that JSON cannot hold.
    """
    if not hasattr(plugin, "statistics"):
        return None
    method = f"{type(plugin).__name__}.statistics()"
    try:
        given = plugin.statistics()
    except InvariantError:  # of a policy inside: it names that
        raise
    except (Exception, SystemExit) as error:  # anything that the author's code raises
        raise InvariantError(f"{method} failed: {describe_exception(error)}") from error
    if not isinstance(given, Mapping):
        raise InvariantError(
            f"{method} returned {'None' if given is None else quote(given)}: expected a dict of "
            "names and counters"
        )
    return {str(name): _as_json(value, f"{method}: {name!r}") for name, value in given.items()}


def _as_json(value: Any, what: str) -> Any:
    try:
        value = to_python(value)
        msgspec.json.encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError):
        raise InvariantError(
            f"{what} is {quote(value)}: expected a number, a text, or lists and dicts of these"
        ) from None
    return value
