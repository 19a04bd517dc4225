"""What people write, checked against the types that declare it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Optional

import msgspec
import numpy as np
import pytest
from msgspec import Meta

from batsched_py.errors import InputError, UsageError
from batsched_py.options.checked_values import Name, Seconds, convert, describe_type, find_fault
from batsched_py.options.setting_fields import parse_budgets, parse_options

FIT: list[tuple[Any, list[Any], list[Any], str]] = [
    (int, [1, 5.0, np.int64(3)], [1.5, True, "1", None], "a whole number"),
    (float, [1, 0.5, np.float64(2)], [True, "1", None], "a number"),
    (bool, [True, False], [1, 0, "true", None], "true or false"),
    (str, ["", "a", Path("a")], [1, None], "a text"),
    (float | None, [1, None], ["x", True], "a number"),
    (Optional[str], ["x", None], [1], "a text"),  # noqa: UP045 - as authors write it
    (Literal["a", 2], ["a", 2], ["b", 3], "one of a, 2"),
    (list[int], [[1], (1, 2)], [1, "1", ["x"]], "a list"),
    (Annotated[int, "n"], [1], ["x"], "a whole number"),
    (Annotated[int, Meta(ge=1)] | None, [1, None], [0], "a whole number, at least 1"),
    (Any, [1, "x", None], [], ""),
    (int | Sequence[int], [1, [2]], ["x"], "a whole number or Sequence"),
    (int | np.random.SeedSequence, [1, np.random.SeedSequence(1)], ["x"], "a whole number or Seed"),
]


@pytest.mark.parametrize(("kind", "good", "bad", "words"), FIT)
def test_values_of_annotated_kinds(kind: Any, good: list[Any], bad: list[Any], words: str) -> None:
    assert [value for value in good if find_fault(value, kind, "x")] == []
    assert [value for value in bad if not find_fault(value, kind, "x")] == []
    assert not bad or describe_type(kind).startswith(words)


class Group(msgspec.Struct, forbid_unknown_fields=True):
    count: Annotated[int, Meta(ge=1, le=9)]
    name: Name = Name("a")
    time: Seconds | None = None
    kind: Literal["even", "odd"] = "odd"

    def __post_init__(self) -> None:
        if self.kind == "even" and self.count % 2:
            raise ValueError("not even")


class File(msgspec.Struct, forbid_unknown_fields=True):
    groups: Annotated[list[Group], Meta(min_length=1)]


def test_a_table_becomes_a_struct() -> None:
    content = {"groups": [{"count": 2, "name": 17, "time": "2 h"}]}
    assert convert(content, File, "x") == File([Group(2, Name("17"), Seconds(7200.0))])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (3, "x.toml 3: expected a table with groups"),
        ({}, "x.toml: there is no groups: expected a list, of length at least 1"),
        ({"group": []}, "x.toml: there is no 'group' (did you mean 'groups'?): expected groups"),
        ({"groups": [3]}, "x.toml: groups 1 = 3: expected a table with count, name, time, kind"),
        ({"groups": [{"count": 1}, {"count": 0}]}, "groups 2: count = 0: expected a whole number"),
        ({"groups": [{"count": 1, "kind": "evn"}]}, "groups 1: kind = 'evn' (did you mean 'even'"),
        ({"groups": [{"count": 1, "kind": "even"}]}, "x.toml: groups 1: not even"),
        ({"groups": [{"count": 1, "time": "-3"}]}, "groups 1: time = '-3': expected a time"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(content: Any, message: str) -> None:
    with pytest.raises(InputError) as error:
        convert(content, File, "x.toml")
    assert message in str(error.value)


def test_options_and_budgets_of_the_command_line() -> None:
    numbers = {".5": 0.5, "5.": 5.0, "-.5e1": -5.0, "5": 5, ".": ".", "a.5": "a.5"}
    for text, value in numbers.items():
        assert parse_options([f"n={text}"], "-O") == {"n": value}
    for text, message in {
        "jobs=0": "jobs = 0.0: .* at least 1",
        "job=1": "'job'",
        "jobs=1,jobs=2": "twice",
        "jobs": "NAME=NUMBER",
    }.items():
        with pytest.raises(UsageError, match=message):
            parse_budgets(text)
