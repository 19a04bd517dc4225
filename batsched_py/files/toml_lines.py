"""Finds the line of a key in a TOML file, for error messages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from batsched_py.errors import InputError
from batsched_py.files.readers import parse_toml

_HEADER = re.compile(r"\s*\[(\[?)([^\[\]]+)\]\]?\s*(#.*)?$")
_KEY = re.compile(r"""\s*((?:"[^"]*"|'[^']*'|[\w-]++|\s*+\.\s*+)+)\s*=""")


def find_key_line(text: str, table: Sequence[str | int], key: str | None = None) -> int | None:
    """Return the line (from 1) of ``key`` in ``table``; of the table's header without a key.

    ``table`` is the path of its names; in an array of tables a number follows the name, from 0.
    None if it is not found, as in inline tables of several lines.
    """
    here: tuple[str | int, ...] = ()
    counts: dict[tuple[str, ...], int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        header = _HEADER.match(line)
        if header:
            here = _path(header[2], bool(header[1]), counts)
            if key is None and here == tuple(table):
                return number
        elif key is not None and here == tuple(table):
            match = _KEY.match(line)
            if match and _names(match[1])[:1] == [key]:
                return number
    return None


def find_word_line(text: str, word: str) -> int | None:
    """Return the first line (from 1) that has ``word`` outside a comment, None if none has."""
    pattern = re.compile(rf"(?<![\w.-]){re.escape(word)}(?![\w.-])")
    for number, line in enumerate(text.splitlines(), 1):
        if not line.lstrip().startswith("#") and pattern.search(line):
            return number
    return None


def _path(header: str, in_array: bool, counts: dict[tuple[str, ...], int]) -> tuple[str | int, ...]:
    names = tuple(_names(header))
    if not in_array:
        return names
    counts[names] = counts.get(names, -1) + 1
    return (*names, counts[names])


def _names(text: str) -> list[str]:
    """Return the parts of a dotted key."""
    try:
        inner: Any = parse_toml(f"{text.strip()} = 0", "key")
    except InputError:  # the file is not TOML there, or this line is within a text
        return []
    names = []
    while isinstance(inner, dict):
        name, inner = next(iter(inner.items()))
        names.append(name)
    return names
