"""Checks values of options, settings and tables against their declared types.

Types and bounds are declared once, as annotations such as ``Annotated[int, Meta(ge=1)]``. msgspec
checks them; this module says what was seen, where, what was expected, and which name was meant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
)
from typing import get_type_hints as hints_of

import msgspec
from msgspec import Meta

from batsched_py.errors import BatschedError, InputError, UsageError
from batsched_py.options.durations import parse_time
from batsched_py.options.option_values import find_choices
from batsched_py.support.json_values import did_you_mean, is_number, quote, to_python, whole
from batsched_py.units import parse_mebibytes

if TYPE_CHECKING:
    from typing_extensions import TypeForm

T = TypeVar("T")
_WORDS: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "a text",
    list: "a list",
    tuple: "a list",
    dict: "names and values",
    Mapping: "names and values",
}
_TIME = re.compile(r"[\d.]+ ?(s|sec|seconds?|m|min|minutes?|h|hours?|d|days?|w|weeks?)")
_BOUNDS = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
_BOUNDS |= {"min_length": "of length at least", "max_length": "of length at most"}


class Parsed:
    """The base of types that are written as text; ``expected`` describes the text in messages."""

    expected: str

    @classmethod
    def parse(cls, value: Any) -> Any:
        """Parse a text into a value; raises :class:`ValueError`."""
        raise NotImplementedError

    @classmethod
    def suggest(cls, value: Any) -> str | None:
        """Return the text that a wrong value probably means; None if there is none."""
        return None


class Seconds(float, Parsed):
    """A length of time above 0: a number of seconds, or a text such as ``7 days``."""

    expected = "a time above 0, such as '7 days', '36 h', '7-00:00:00' or 3600"

    @classmethod
    def parse(cls, value: Any) -> Seconds:
        """Return a time in seconds from a text such as ``24 h``."""
        try:
            seconds = parse_time("", value) if isinstance(value, str) else value
        except UsageError:
            raise ValueError from None
        if not is_number(seconds) or seconds <= 0:
            raise ValueError
        return cls(seconds)


class Memory(int, Parsed):
    """An amount of memory in MiB, at least 1: a number of MiB, or a text such as ``512 GiB``."""

    expected = "memory of at least 1 MiB, such as '512 GiB', '96000 MiB' or 96000 (MiB)"

    @classmethod
    def parse(cls, value: Any) -> Memory:
        """Return the whole MiB of a number or a text; units are powers of 1024."""
        if isinstance(value, str):
            value = parse_mebibytes(value)
        if not is_number(value) or value < 1:
            raise ValueError
        return cls(value)


class Name(str, Parsed):
    """A name, which may be written as a number, as users of logs are."""

    expected = "a name or a number"

    @classmethod
    def parse(cls, value: Any) -> Name:
        """Return the text as a name, if it is one."""
        if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
            raise ValueError
        return cls(value)


def convert(
    value: Any,
    type: TypeForm[T],
    where: str,
    kind: Callable[[str], BatschedError] = InputError,
) -> T:
    """Return a value as a ``type``; raises ``kind`` with a message that begins with ``where``.

    Numbers may be numpy's, a number without fraction is a whole number too, a path is a text.

    >>> convert({"a": 1}, dict[str, int], "here")
    {'a': 1}
    """
    try:
        return cast(T, msgspec.convert(_as_written(value), cast(Any, type), dec_hook=_parse))
    except msgspec.ValidationError:
        raise kind(str(find_fault(value, type, where))) from None


def check_fields(struct: msgspec.Struct) -> None:
    """Raise :class:`UsageError` for a value of a struct that has not the type of its field.

    msgspec checks what it reads, but not what a class is called with.
    """
    for name, hint in hints_of(type(struct), include_extras=True).items():
        convert(getattr(struct, name), hint, f"{type(struct).__name__}: {name}", UsageError)


def find_fault(value: Any, type: Any, where: str, *, sign: str = " ") -> str | None:
    """Return the fault of a value as text: its place, the value, and the expected type.

    ``sign`` stands between ``where`` and the value. None if the value is of the ``type``, or if
    msgspec does not know the type.
    """
    return _find(_as_written(value), type, where, sign)


def _as_written(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    return whole(value) if isinstance(value, float) else to_python(value)


def _find(value: Any, type: Any, where: str, sign: str = " = ") -> str | None:
    reasons = [_refuse(value, each) for each in _alternatives(type)]
    if None in reasons:
        return None
    for each in map(_without_notes, _alternatives(type)):
        if isinstance(value, Mapping) and _is_struct(each):
            return _find_in_table(value, each, where) or f"{where}: {reasons[0]}"
        if isinstance(value, list) and get_origin(each) in (list, tuple):
            items = enumerate(value, 1)
            faults = (_find(item, get_args(each)[0], f"{where} {at}") for at, item in items)
            if fault := _first(faults):
                return fault
    expected = describe_type(type)
    is_time = isinstance(value, str) and _TIME.fullmatch(value)
    if is_time and float in map(_without_notes, _alternatives(type)):
        expected += " (seconds?)"
    return f"{where}{sign}{quote(value)}{_hint(value, type)}: expected {expected}"


def _hint(value: Any, type: Any) -> str:
    """Return a hint at the text that a wrong value probably means, ``""`` if there is none."""
    kinds = [each for each in map(_without_notes, _alternatives(type)) if _is_parsed(each)]
    near = [each.suggest(value) for each in kinds if issubclass(each, Parsed)]
    if text := next(filter(None, near), None):
        return f" (did you mean {text!r}?)"
    choices = [str(text) for each in _alternatives(type) for text in find_choices(each)]
    return did_you_mean(value, choices) if isinstance(value, str) else ""


def _parse(type: type[Any], value: Any) -> Any:
    return type.parse(value) if issubclass(type, Parsed) else value


def _find_in_table(table: Mapping[str, Any], struct: Any, where: str) -> str | None:
    kinds = hints_of(struct, include_extras=True)
    for name in table:
        if name not in kinds and struct.__struct_config__.forbid_unknown_fields:
            hint, known = did_you_mean(str(name), kinds), ", ".join(kinds) or "none"
            return f"{where}: there is no {name!r}{hint}: expected {known}"
    for field in msgspec.structs.fields(struct):
        if field.required and field.name not in table:
            return f"{where}: there is no {field.name}: expected {describe_type(kinds[field.name])}"
    fields = (name for name in table if name in kinds)
    return _first(_find(table[name], kinds[name], f"{where}: {name}") for name in fields)


def _first(faults: Iterable[str | None]) -> str | None:
    return next((fault for fault in faults if fault is not None), None)


def _refuse(value: Any, type: Any) -> str | None:
    """Return why msgspec refuses a value; None for annotations that it does not know."""
    try:
        msgspec.convert(value, type, dec_hook=_parse)
    except msgspec.ValidationError as error:
        return str(error).partition(" - at `")[0]
    except TypeError:
        return None
    return None


def describe_type(type: Any) -> str:
    """Describe the values that an annotation allows, in words."""
    alternatives = [each for each in _alternatives(type) if each is not None]
    return " or ".join(dict.fromkeys(map(_describe, alternatives)))


def describe_written(type: Any) -> str:
    """Describe the values of an annotation that a command line or a file can give.

    >>> describe_written(int | Path | None)
    'a whole number'
    """
    return " or ".join(_describe(each) for each in _alternatives(type) if _is_written(each))


def find_title(type: Any) -> str:
    """Return the title of an annotation such as ``Annotated[int, Meta(title="Seed.")]``, or ``""``.

    One of several alternatives may have it.
    """
    notes = [note for each in _alternatives(type) for note in get_args(each)[1:]]
    return next((note.title for note in notes if isinstance(note, Meta) and note.title), "")


def _is_written(type: Any) -> bool:
    if get_origin(type) is Annotated:
        return True
    base = get_origin(type) or type
    return base in _WORDS or base is Literal or isinstance(base, UnionType) or _is_parsed(base)


def _is_parsed(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Parsed | msgspec.Struct)


def _describe(type: Any) -> str:
    if get_origin(type) is Annotated:
        base, *notes = get_args(type)
        metas = [note for note in notes if isinstance(note, Meta)]
        for meta in metas:
            if meta.description is not None:
                return meta.description
        bounds = [
            f", {word} {getattr(meta, name):.8g}"
            for meta in metas
            for name, word in _BOUNDS.items()
            if getattr(meta, name) is not None
        ]
        return "".join([_describe(base), *bounds])
    if choices := find_choices(type):
        return f"one of {', '.join(map(str, choices))}" if len(choices) > 1 else str(choices[0])
    if _is_struct(type):
        return f"a table with {', '.join(type.__struct_fields__)}"
    known = getattr(type, "expected", getattr(type, "__name__", str(type)))
    return _WORDS.get(get_origin(type) or type, known)


def _alternatives(type: Any) -> list[Any]:
    """Return the types of which a value may be one."""
    if get_origin(type) in (Union, UnionType):
        return [None if each is NoneType else each for each in get_args(type)]
    return [type]


def _without_notes(type: Any) -> Any:
    return get_args(type)[0] if get_origin(type) is Annotated else type


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)
