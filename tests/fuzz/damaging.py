"""Inputs that are nearly right: hypothesis changes right ones, and makes what shows a fault small.

An input is a list of lexemes (texts in quotes, numbers, words, single marks), whatever its format.
So a change leaves most of it as it should be, and reaches what is behind the syntax.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from hypothesis import strategies as st

from fuzz.contract import LONGEST, Target

_LEXEME = re.compile(rb'"(?:[^"\\\n]|\\.)*"|-?\d+(?:\.\d+)?(?:e[-+]?\d+)?|\w+|[ \t]+|.', re.DOTALL)
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
_BETWEEN = {b",", b"\n", b">", b"|", b";"}
"""Marks that end a part of an input."""
_OPENING, _CLOSING = {b"[", b"{", b"("}, {b"]", b"}", b")"}
_HOW_MANY = (1, 1, 1, 1, 2, 2, 3, 5)
_WORDS = """
0 -0 -1 1 2 0.5 1e-320 1e-9 1e9 3e9 1e11 1e15 1e18 1e300 1e308 1e400 1e999 -1e999 NaN nan
Infinity inf -inf 0x10 1_000 01 1. +1 2147483647 2147483648 4294967296 9007199254740993
9223372036854775807 18446744073709551616 -9223372036854775808 [] {} [[]] [null] true false
null "" x 0-1 ../x / /dev/null %s {0} =1+1 @SUM(1) ü
"""
_VALUES = [
    *_WORDS.split(),
    *("9" * 400, "9" * 5000, "0." + "1" * 5000, "[" * 3000 + "]" * 3000, "a" * 300, "a" * 5000),
    *("\0", "\x1b[31m", "\n", "\r", "\t", "\u202e", "\ud800", "\ufeff", '"', "'", "<", "&"),
    '<!ENTITY a "b">',
]
Lexemes = list[bytes]
_ENCODINGS = ("utf-16", "utf-8-sig", "latin-1", "utf-32", "utf-7")


def damaged(target: Target) -> st.SearchStrategy[bytes]:
    """Return inputs like the examples of a target."""
    values = [text.encode(errors="surrogatepass") for text in (*_VALUES, *target.words.split())]
    return _changed([_LEXEME.findall(example) for example in target.examples()], values)


@st.composite
def _changed(draw: st.DrawFn, examples: list[Lexemes], values: Lexemes) -> bytes:
    lexemes = list(draw(st.sampled_from(examples)))
    for _ in range(draw(st.sampled_from(_HOW_MANY))):
        change = draw(st.sampled_from(_CHANGES))
        if lexemes:
            change(draw, lexemes, values, draw(st.sampled_from(examples)))
    data = b"".join(lexemes)
    if draw(st.integers(0, 9)) == 9:
        data = draw(st.sampled_from(_OF_BYTES))(draw, data)
    return data[:LONGEST]


def _set_value(draw: st.DrawFn, lexemes: Lexemes, values: Lexemes, other: Lexemes) -> None:
    at, value = _place(draw, lexemes), values[_place(draw, values)]
    lexemes[at] = b'"%s"' % value if draw(st.booleans()) else value


def _take_value(draw: st.DrawFn, lexemes: Lexemes, values: Lexemes, other: Lexemes) -> None:
    """Replace a lexeme by one of an example."""
    lexemes[_place(draw, lexemes)] = other[_place(draw, other)]


def _nudge_number(draw: st.DrawFn, lexemes: Lexemes, values: Lexemes, other: Lexemes) -> None:
    numbers = [at for at, lexeme in enumerate(lexemes) if _NUMBER.fullmatch(lexeme)]
    if numbers:
        at = numbers[draw(st.integers(0, len(numbers) - 1))]
        number = float(lexemes[at])
        near = (number + 1, number - 1, -number, number / 2, number * 10, number + 1e-7)
        value = draw(st.sampled_from([*near, *(int(x) for x in near if abs(x) < 1e18)]))
        lexemes[at] = repr(value).encode()


def _leave_out(draw: st.DrawFn, lexemes: Lexemes, values: Lexemes, other: Lexemes) -> None:
    del lexemes[_part(draw, lexemes)]


def _repeat(draw: st.DrawFn, lexemes: Lexemes, values: Lexemes, other: Lexemes) -> None:
    part = _part(draw, lexemes)
    lexemes[part] = lexemes[part] * draw(st.sampled_from([2, 3, 50]))


def _move(draw: st.DrawFn, lexemes: Lexemes, values: Lexemes, other: Lexemes) -> None:
    part = _part(draw, lexemes)
    moved = lexemes[part]
    del lexemes[part]
    at = draw(st.integers(0, len(lexemes)))
    lexemes[at:at] = moved


def _insert(draw: st.DrawFn, lexemes: Lexemes, values: Lexemes, other: Lexemes) -> None:
    """Insert a part of an example."""
    at = _place(draw, lexemes)
    lexemes[at:at] = other[_part(draw, other)]


_Change = Callable[[st.DrawFn, Lexemes, Lexemes, Lexemes], None]
_CHANGES: list[_Change] = [
    *(_set_value, _take_value, _nudge_number, _leave_out, _repeat, _move, _insert)
]


def _place(draw: st.DrawFn, lexemes: Lexemes) -> int:
    return draw(st.integers(0, len(lexemes) - 1))


def _part(draw: st.DrawFn, lexemes: Lexemes) -> slice:
    """Draw one lexeme, one part between two marks (such as a key with its value), or a few."""
    begin = _place(draw, lexemes)
    kind = draw(st.integers(0, 3))
    if kind == 0:
        return slice(begin, begin + 1)
    while kind > 1 and begin > 0 and lexemes[begin - 1] not in _BETWEEN | _OPENING:
        begin -= 1
    end = begin
    while end < len(lexemes) and lexemes[end] not in _CLOSING:
        end += 1
        if lexemes[end - 1] in _BETWEEN and draw(st.integers(0, 3)):
            break
    return slice(begin, end)


def _flip(draw: st.DrawFn, data: bytes) -> bytes:
    if not data:
        return data
    at = draw(st.integers(0, len(data) - 1))
    return data[:at] + bytes([data[at] ^ 1 << draw(st.integers(0, 7))]) + data[at + 1 :]


def _cut(draw: st.DrawFn, data: bytes) -> bytes:
    return data[: draw(st.integers(0, len(data)))]


def _encode(draw: st.DrawFn, data: bytes) -> bytes:
    text = data.decode(errors="replace")
    return text.encode(draw(st.sampled_from(_ENCODINGS)), errors="replace")


_OF_BYTES: list[Callable[[st.DrawFn, bytes], bytes]] = [_flip, _cut, _encode]
