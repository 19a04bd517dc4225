"""Tables of TOML files that people write: values by key, each checked, with a place in messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from batsched_py.errors import BatschedError, InputError
from batsched_py.support.json_values import did_you_mean, is_number, shown
from batsched_py.support.option_values import parse_time

MOST_TABLES = 10_000
"""Of an array of tables."""


class TomlTable:
    """A table with known keys; ``where`` begins all messages about it.

    What makes no sense is an :class:`InputError`.
    """

    def __init__(self, where: str, content: Any, keys: Sequence[str]) -> None:
        self.where, self.content = where, content
        if not isinstance(content, dict):
            raise InputError(f"{where}: expected a table with {', '.join(keys)}")
        for key in content:
            if key not in keys:
                raise InputError(
                    f"{where}: there is no {key!r}{did_you_mean(key, keys)}: expected "
                    f"{', '.join(keys)}"
                )

    def get(self, key: str) -> Any:
        """Return a value as it is, None if it is not there."""
        return self.content.get(key)

    def tables(self, key: str, keys: Sequence[str], least: int = 0) -> list[TomlTable]:
        """Return the tables ``[[key]]`` of an array, which may have these keys."""
        given = self.content.get(key, [])
        if not isinstance(given, list) or not least <= len(given) <= MOST_TABLES:
            raise InputError(
                f"{self.where}: {key}: expected {least} to {MOST_TABLES} tables [[{key}]]"
            )
        return [
            TomlTable(f"{self.where}: [[{key}]] {at}", table, keys)
            for at, table in enumerate(given, 1)
        ]

    def choice(self, key: str, allowed: Sequence[str], default: str) -> str:
        """Return one of the texts that are allowed."""
        value = self.content.get(key, default)
        if value not in allowed:
            raise self.wrong(key, f"expected {' or '.join(allowed)}")
        return str(value)

    def text(self, key: str, default: str) -> str:
        """Return a text that is not empty."""
        value = self.content.get(key, default)
        if not isinstance(value, str) or not value.strip():
            raise self.wrong(key, "expected a text")
        return value

    def boolean(self, key: str, default: bool) -> bool:
        """Return true or false."""
        value = self.content.get(key, default)
        if not isinstance(value, bool):
            raise self.wrong(key, "expected true or false")
        return value

    def whole(self, key: str, default: int | None, least: int = 1, most: int = 2**53) -> int | None:
        """Return a whole number in a range, or the default where there is none."""
        value = self.content.get(key, default)
        if value is not None and (type(value) is not int or not least <= value <= most):
            raise self.wrong(key, f"expected a whole number, {least} to {most}")
        return value

    def number(self, key: str, default: float | None, least: float, most: float) -> float | None:
        """Return a number in a range, or the default where there is none."""
        value = self.content.get(key, default)
        if value is not None and (not is_number(value) or not least <= value <= most):
            raise self.wrong(key, f"expected a number, {least:g} to {most:g}")
        return None if value is None else float(value)

    def time(self, key: str, default: float | None) -> float | None:
        """Return a time above 0 in seconds: a number, or a text such as ``7 days``."""
        value = self.content.get(key)
        if value is None:
            return default
        try:
            seconds = parse_time(key, value)
            if is_number(seconds) and seconds > 0:
                return float(seconds)
        except (BatschedError, TypeError):
            pass
        raise self.wrong(
            key, "expected a time above 0, such as '7 days', '36 h', '7-00:00:00' or 3600"
        )

    def wrong(self, key: str, expected: str) -> InputError:
        """Return what is to be raised for a value that makes no sense."""
        if key not in self.content:
            return InputError(f"{self.where}: there is no {key}: {expected}")
        return InputError(f"{self.where}: {key} = {shown(self.content[key])}: {expected}")
