"""Finds columns by the names in a header line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from batsched_py.errors import InputError
from batsched_py.support.json_values import did_you_mean

Columns = Mapping[str, tuple[str, ...]]
"""What is read, and the names that its column may have; the first one that is there counts."""


def list_known_names(columns: Columns) -> frozenset[str]:
    """Return all names of columns, in lower case."""
    return frozenset(name.lower() for names in columns.values() for name in names)


def normalise_names(header: Sequence[str]) -> list[str]:
    """Return the names in a header in lower case, for comparisons."""
    return [name.strip().lower() for name in header]


def find_columns(
    columns: Columns, header: Sequence[str], path: str, *needed: str
) -> dict[str, int]:
    """Return the place of each column, -1 for a missing one.

    Raises :class:`InputError` for a column that is ``needed``; names the one that is meant.
    """
    names = normalise_names(header)
    places = {
        what: next((names.index(name.lower()) for name in known if name.lower() in names), -1)
        for what, known in columns.items()
    }
    for wanted in (columns[what] for what in needed if places[what] < 0):
        known = list_known_names(columns)
        unread = [name.strip() for name in header if name.strip().lower() not in known]
        hint = did_you_mean(wanted[0], unread).replace("did you mean", "is it")
        raise InputError(
            f"{path}:1: there is no column {' or '.join(wanted)}{hint}: expected it in the header"
        )
    return places


def name_fields(places: Mapping[str, int], fields: Sequence[str]) -> dict[str, str]:
    """Return the text of each column, empty for a missing one."""
    return {what: fields[place] if place >= 0 else "" for what, place in places.items()}
