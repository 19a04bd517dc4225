"""Schedulers in programs of their own, as values of the key ``scheduler`` of a campaign file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from batsched_py.errors import CampaignError
from batsched_py.support.json_values import did_you_mean, quote

PROGRAM_KEYS = ("command", "protocol", "registers")
"""Keys of a program: settings whose names begin with ``scheduler_``."""
_KEY = "scheduler"


class Program(str):
    """A scheduler that a command line starts: the text, with its ``options`` by key.

    In the table of results it is named by its command.
    """

    __slots__ = ("options",)

    options: dict[str, Any]


def read_programs(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tables of a campaign file with each ``scheduler = {command = ...}`` as a program.

    Raises :class:`CampaignError` for other keys in it.

    >>> tables = {"run": {"scheduler": ["easy", {"command": "batsched -v easy_bf"}]}}
    >>> read_programs(tables)["run"]["scheduler"]
    ['easy', 'batsched -v easy_bf']
    """
    return {key: _read(value, (key,)) for key, value in content.items()}


def _read(value: Any, place: tuple[str | int, ...]) -> Any:
    """Return a table, or a list of tables, with its programs; any other value as it is."""
    if isinstance(value, list):
        return [_read(item, (*place, at)) for at, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    return {
        key: _read_programs_of(item, place)
        if key == _KEY
        else _read(item, (*place, key))
        if len(place) == 1 and place[0] not in ("run", "include")
        else item
        for key, item in value.items()
    }


def _read_programs_of(value: Any, place: tuple[str | int, ...]) -> Any:
    if isinstance(value, list):
        return [_make_program(item, place) for item in value]
    return _make_program(value, place)


def _make_program(value: Any, place: tuple[str | int, ...]) -> Any:
    if not isinstance(value, dict):
        return value
    for key in value:
        if key not in PROGRAM_KEYS:
            hint = did_you_mean(key, PROGRAM_KEYS)
            message = f"a scheduler has no key {key!r}{hint}: expected {', '.join(PROGRAM_KEYS)}"
            raise CampaignError(place, _KEY, message)
    command = value.get("command")
    if not isinstance(command, str) or not command.strip():
        message = f"command is {quote(command)}: expected the command line of a scheduler"
        raise CampaignError(place, _KEY, message)
    program = Program(command)
    program.options = dict(value)
    return program
