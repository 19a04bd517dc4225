"""Changes of inputs: in the tree of their format, and byte by byte."""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

from fuzz.forms import Form, Pairs, Raw, words

NUMBERS = [
    *words(
        """
        0 -0 -1 1 2 0.5 1e-320 1e-9 1e9 3e9 1e11 1e15 1e18 1e300 1e308 1e400 1e999
        -1e999
        """
    ),
    *words(
        """
        NaN nan Infinity inf -inf 0x10 1_000 01 1. +1 3000000000 100000000000
        """
    ),
    *map(str, (2**31 - 1, 2**31, 2**32, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64, -(2**63))),
    *("9" * 400, "9" * 5000, "0." + "1" * 5000),
]
TEXTS = [
    *("", " ", "x", "0", "-1", "0-1", "\0", "\x1b[31m", "\n", "\r", "\u202e", "\ud800", "\ufeff"),
    *("ü", "=1+1", "@SUM(1)", "../x", "/", "/dev/null", "%s", "{0}", "null", "a" * 300, "a" * 5000),
]
CONTAINERS = ["[]", "{}", "[[]]", "[null]", "true", "false", "null", "[" * 3000 + "]" * 3000]
MARKS = [b"\0", b"\n", b"\r", b"\xff", b"\xef\xbb\xbf", *(bytes([mark]) for mark in b"\"',<>&[{")]
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")


class Mutator:
    """Makes inputs of others; the same random numbers give the same ones."""

    def __init__(self, form: Form, tokens: Sequence[str], chance: random.Random) -> None:
        self._form = form
        self._tokens = tokens
        self._chance = chance

    def mutated(self, corpus: Sequence[bytes]) -> bytes:
        """Return an input like one of ``corpus``, or like two."""
        data = self._chance.choice(corpus)
        if (
            self._chance.random() < 0.65
            and (changed := self._in_its_form(data, corpus)) is not None
        ):
            data = changed
            if self._chance.random() < 0.9:
                return data
        for _ in range(self._how_many()):
            change = self._chance.choice(_OF_BYTES)
            data = change(self, bytearray(data), corpus)
        return data

    def _how_many(self) -> int:
        return 1 + min(int(self._chance.expovariate(0.8)), 8)

    # Trees ---------------------------------------------------------------------------------------

    def _in_its_form(self, data: bytes, corpus: Sequence[bytes]) -> bytes | None:
        try:
            root = [self._form.read(data.decode())]
            other = [self._form.read(self._chance.choice(corpus).decode())]
            for _ in range(self._how_many()):
                self._change(root, other)
            return self._form.write(root[0]).encode(errors="surrogatepass")
        except (ValueError, TypeError, LookupError, RecursionError):  # no such form, or no longer
            return None

    def _change(self, root: list[Any], other: list[Any]) -> None:
        chance = self._chance
        container, at = chance.choice(_places(root))
        is_pair = isinstance(container, Pairs)
        cell, index = (container[at], 1) if is_pair else (container, at)
        kind = chance.randrange(10)
        if kind < 3:
            cell[index] = self._tweaked(cell[index])
        elif kind == 3:
            cell[index] = self._scalar()
        elif kind == 4:
            del container[at]
        elif kind == 5:
            container.insert(chance.randint(0, len(container)), copy.deepcopy(container[at]))
        elif kind == 6:
            there, where = chance.choice(_places(other))
            found = there[where][1] if isinstance(there, Pairs) else there[where]
            cell[index] = copy.deepcopy(found)
        elif kind == 7 and is_pair:
            cell[0] = chance.choice([*self._tokens, *TEXTS, cell[0]])
        elif kind == 7:
            cell[index] = [cell[index]]
        elif kind == 8:
            second = chance.randrange(len(container))
            container[at], container[second] = container[second], container[at]
        elif is_pair:
            container.append([chance.choice(self._tokens), self._scalar()])
        else:
            container.append(self._scalar())

    def _tweaked(self, value: Any) -> Any:
        """Return a value much like this one, often of the same type."""
        chance = self._chance
        if not isinstance(value, str) or chance.random() < 0.2:
            return self._scalar()
        if isinstance(value, Raw) or value.lstrip("-").isdigit():
            try:
                number = float(value)
                near = [number + 1, number - 1, -number, number / 2, number * 10, number + 1e-7]
                near = [*map(repr, near), *(str(int(x)) for x in near if abs(x) < 1e18)]
                return type(value)(chance.choice([*near, *NUMBERS, f'"{value}"']))
            except (ValueError, OverflowError):
                return Raw(chance.choice(NUMBERS))
        at = chance.randint(0, len(value))
        return (
            value[:at] + chance.choice([*TEXTS, *self._tokens]) + value[at + chance.randrange(2) :]
        )

    def _scalar(self) -> Any:
        chance = self._chance
        kind = chance.randrange(4)
        if kind == 0:
            return Raw(chance.choice(CONTAINERS))
        if kind == 1:
            return chance.choice(TEXTS)
        return (
            chance.choice(self._tokens)
            if kind == 2 and self._tokens
            else Raw(chance.choice(NUMBERS))
        )

    # Bytes ---------------------------------------------------------------------------------------

    def _part(self, data: bytearray) -> slice:
        begin = self._chance.randint(0, len(data))
        return slice(begin, begin + min(int(self._chance.expovariate(0.05)), len(data) // 2 + 1))

    def _flip(self, data: bytearray, _: Sequence[bytes]) -> bytes:
        if data:
            data[self._chance.randrange(len(data))] ^= 1 << self._chance.randrange(8)
        return bytes(data)

    def _cut_end(self, data: bytearray, _: Sequence[bytes]) -> bytes:
        return bytes(data[: self._chance.randint(0, len(data))])

    def _leave_out(self, data: bytearray, _: Sequence[bytes]) -> bytes:
        del data[self._part(data)]
        return bytes(data)

    def _repeat(self, data: bytearray, _: Sequence[bytes]) -> bytes:
        part = self._part(data)
        data[part] = data[part] * self._chance.choice([2, 3, 50])
        return bytes(data)

    def _insert(self, data: bytearray, _: Sequence[bytes]) -> bytes:
        words = [*MARKS, *(token.encode(errors="replace") for token in self._tokens)]
        at = self._chance.randint(0, len(data))
        data[at:at] = self._chance.choice(words)
        return bytes(data)

    def _splice(self, data: bytearray, corpus: Sequence[bytes]) -> bytes:
        other = self._chance.choice(corpus)
        at, there = self._chance.randint(0, len(data)), self._chance.randint(0, len(other))
        return bytes(data[:at]) + other[there:]

    def _number(self, data: bytearray, _: Sequence[bytes]) -> bytes:
        numbers = list(_NUMBER.finditer(data))
        if numbers:
            begin, end = self._chance.choice(numbers).span()
            data[begin:end] = self._chance.choice(NUMBERS).encode()
        return bytes(data)

    def _lines(self, data: bytearray, corpus: Sequence[bytes]) -> bytes:
        lines = bytes(data).split(b"\n")
        at, to = self._chance.randrange(len(lines)), self._chance.randrange(len(lines))
        kind = self._chance.randrange(3)
        if kind == 0:
            lines[at], lines[to] = lines[to], lines[at]
        elif kind == 1:
            lines.insert(to, lines[at])
        else:
            del lines[at]
        return b"\n".join(lines)

    def _encoding(self, data: bytearray, _: Sequence[bytes]) -> bytes:
        text = bytes(data).decode(errors="replace")
        kind = self._chance.choice(["utf-16", "utf-8-sig", "latin-1", "utf-32", "utf-7"])
        return text.encode(kind, errors="replace")


_OF_BYTES: list[Callable[[Mutator, bytearray, Sequence[bytes]], bytes]] = [
    *(Mutator._flip, Mutator._flip, Mutator._cut_end, Mutator._leave_out, Mutator._leave_out),
    *(Mutator._repeat, Mutator._insert, Mutator._insert, Mutator._splice, Mutator._splice),
    *(Mutator._number, Mutator._number, Mutator._number, Mutator._lines, Mutator._lines),
    Mutator._encoding,
]


def _places(root: list[Any]) -> list[tuple[list[Any], int]]:
    """Return every value below ``root`` by what it is in and where."""
    places: list[tuple[list[Any], int]] = []
    todo: list[Any] = [root]
    while todo:
        node = todo.pop()
        for at, item in enumerate(node):
            value = item[1] if isinstance(node, Pairs) else item
            places.append((node, at))
            if isinstance(value, list):
                todo.append(value)
    return places
