"""Formats as trees that can be changed and written again, right or wrong.

A tree is a :class:`Pairs` (an object, a table, an element: keys may come twice), a list, a text, or
a :class:`Raw`, which is written as it is, such as a number of any length.
"""

from __future__ import annotations

import csv
import datetime
import io
import json
import tomllib
from collections.abc import Callable
from typing import Any, NamedTuple
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr


class Raw(str):
    """A text that is written without quotes."""


class Pairs(list[Any]):
    """Lists of a key and a value."""


class Form(NamedTuple):
    """How a format is read as a tree, and written; both raise :class:`ValueError`."""

    read: Callable[[str], Any]
    write: Callable[[Any], str]


def _tree(value: Any) -> Any:
    """Return a value of Python as a tree."""
    if isinstance(value, dict):
        return Pairs([key, _tree(of)] for key, of in value.items())
    if isinstance(value, list):
        return [_tree(item) for item in value]
    if isinstance(value, bool) or value is None:
        return Raw(json.dumps(value))
    if isinstance(value, int | float | datetime.date | datetime.time):
        return Raw(str(value))
    return value


def words(text: str) -> list[str]:
    """Return the words of a text, for a list that is long."""
    return text.split()


# JSON --------------------------------------------------------------------------------------------


def _read_json(text: str) -> Any:
    return json.loads(
        text,
        object_pairs_hook=lambda pairs: Pairs([key, value] for key, value in pairs),
        parse_int=Raw,
        parse_float=Raw,
        parse_constant=Raw,
    )


def _in_line(tree: Any, named: Callable[[Any], str], equals: str, comma: str) -> str:
    """Write a tree in one line, as JSON has it and TOML within a value."""

    def written(tree: Any) -> str:
        if isinstance(tree, Pairs):
            return "{" + comma.join(f"{named(k)}{equals}{written(v)}" for k, v in tree) + "}"
        if isinstance(tree, list):
            return "[" + comma.join(map(written, tree)) + "]"
        return tree if isinstance(tree, Raw) else json.dumps(tree, ensure_ascii=False)

    return written(tree)


def _write_json(tree: Any) -> str:
    return _in_line(tree, _key, ":", ",")


def _key(key: str) -> str:
    return key if isinstance(key, Raw) else json.dumps(key, ensure_ascii=False)


JSON = Form(_read_json, _write_json)
JSON_LINES = Form(
    lambda text: [_read_json(line) for line in text.splitlines() if line.strip()],
    lambda tree: "".join(f"{_write_json(line)}\n" for line in _items(tree)),
)


def _items(tree: Any) -> list[Any]:
    return tree if isinstance(tree, list) and not isinstance(tree, Pairs) else [tree]


# TOML --------------------------------------------------------------------------------------------


def _write_toml(tree: Any) -> str:
    lines, tables = [], []
    for key, value in tree if isinstance(tree, Pairs) else [["", tree]]:
        parts = value if isinstance(value, list) and not isinstance(value, Pairs) else None
        if isinstance(value, Pairs):
            tables.append(f"[{_toml_key(key)}]\n" + _lines(value))
        elif parts and all(isinstance(part, Pairs) for part in parts):
            tables += [f"[[{_toml_key(key)}]]\n" + _lines(part) for part in parts]
        else:
            lines.append(f"{_toml_key(key)} = {_toml_value(value)}\n")
    return "".join(lines + tables)


def _lines(table: Pairs) -> str:
    return "".join(f"{_toml_key(key)} = {_toml_value(value)}\n" for key, value in table)


def _toml_key(key: str) -> str:
    plain = isinstance(key, Raw) or (key.replace("_", "").isalnum() and key.isascii())
    return key if plain else json.dumps(key, ensure_ascii=False)


def _toml_value(tree: Any) -> str:
    return _in_line(tree, _toml_key, " = ", ", ")


TOML = Form(lambda text: _tree(tomllib.loads(text)), _write_toml)


# XML: an element is [tag, [attributes, children]] ------------------------------------------------


def _read_xml(text: str) -> Any:
    try:
        return Pairs([_element(ElementTree.fromstring(text))])
    except ElementTree.ParseError as error:
        raise ValueError(str(error)) from None


def _element(element: ElementTree.Element) -> list[Any]:
    attributes = Pairs([key, value] for key, value in element.attrib.items())
    return [element.tag, [attributes, Pairs(map(_element, element))]]


def _write_xml(tree: Any) -> str:
    if not isinstance(tree, list):
        return escape(str(tree))
    if not isinstance(tree, Pairs):
        return "".join(map(_write_xml, tree))
    return "".join(_write_element(tag, content) for tag, content in tree)


def _write_element(tag: str, content: Any) -> str:
    match content:
        case [Pairs() as attributes, children]:
            said = "".join(f" {key}={quoteattr(str(value))}" for key, value in attributes)
            return f"<{tag}{said}>{_write_xml(children)}</{tag}>"
    return f"<{tag}>{_write_xml(content)}</{tag}>"


XML = Form(_read_xml, _write_xml)


# Tables ------------------------------------------------------------------------------------------


def _read_csv(text: str) -> Any:
    try:
        return [list(row) for row in csv.reader(io.StringIO(text))]
    except csv.Error as error:
        raise ValueError(str(error)) from None


def _write_rows(tree: Any, separator: str) -> str:
    return "".join(f"{separator.join(map(_cell, _items(row)))}\n" for row in _items(tree))


def _cell(value: Any) -> str:
    text = value if isinstance(value, str) else _write_json(value)
    quoted = not isinstance(value, Raw) and any(mark in text for mark in '",\n\r')
    return '"' + text.replace('"', '""') + '"' if quoted else text


CSV = Form(_read_csv, lambda tree: _write_rows(tree, ","))
WORDS = Form(
    lambda text: [line.split() for line in text.splitlines()],
    lambda tree: _write_rows(tree, " "),
)
"""Lines of words, such as an SWF log."""
