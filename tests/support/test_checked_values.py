"""What people write, checked against the types that declare it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isnan, nan
from pathlib import Path
from typing import Annotated, Any, Literal, Optional

import msgspec
import numpy as np
import pytest
from msgspec import Meta

from batsched_py.accounting.records import parse_length
from batsched_py.errors import InputError, UsageError
from batsched_py.options import option_values as options
from batsched_py.options.checked_values import Name, Seconds, convert, describe_type, find_fault
from batsched_py.options.durations import parse_slurm_time, parse_time
from batsched_py.options.setting_fields import parse_budgets, parse_options
from batsched_py.run.settings import Settings
from batsched_py.run.stored_values import Run
from batsched_py.schedulers.multifactor.settings import read_seconds

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
        "jobs=0": "jobs = 0: .* at least 1",
        "job=1": "'job'",
        "jobs=1,jobs=2": "twice",
        "jobs": "NAME=NUMBER",
    }.items():
        with pytest.raises(UsageError, match=message):
            parse_budgets(text)


# Options of policies and user models --------------------------------------------------------------


def test_whole_numbers() -> None:
    for value, number in ((1, 1), (5.0, 5), (10**20, 10**20)):
        read = options.whole_number("n", value, 1)
        assert (read, type(read)) == (number, int)
    for wrong in (0, -3, 1.5, True, "5", None, nan, float("inf"), [1]):
        with pytest.raises(UsageError, match=r"^n=.*: .* at least 1$"):
            options.whole_number("n", wrong, 1)


@pytest.mark.parametrize("value", [5, 2.5, "", True, ["a"], {}])
def test_paths(value: Any) -> None:
    assert options.path("file", "a/b") == options.path("file", Path("a/b")) == Path("a/b")
    with pytest.raises(UsageError, match=r"^file=.*"):
        options.path("file", value)


def test_finite_numbers() -> None:
    assert [options.finite(text) for text in ("1.5", " -2 ", "1e3")] == [1.5, -2, 1000]
    assert all(isnan(options.finite(text)) for text in ("", "x", "nan", "inf", "1e999", "1,5"))


# Lengths of time ----------------------------------------------------------------------------------


IN_SLURMS_NOTATION = {
    "30:00": 1_800,
    "0:07.5": 7.5,
    "12:00:00": 43_200,
    "1-12:30": 131_400,
    "7-00:00:00": 604_800,
}


def _run(**given: str) -> Run:
    return Settings(backend="socket", machine="machine.toml", **given).run()  # type: ignore[arg-type]


ENTRANCES: dict[str, Callable[[str], float | None]] = {
    "warm_up": lambda text: _run(warm_up=text).warm_up,
    "max_walltime": lambda text: _run(max_walltime=text).max_walltime,
    "budgets": lambda text: parse_budgets(f"idle_time={text}").idle_time,
    "machine file": lambda text: Seconds.parse(text),
    "records": lambda text: parse_length("Timelimit", text),
    "multifactor": lambda text: read_seconds("half_life", text),
}


@pytest.mark.parametrize("entrance", ENTRANCES)
@pytest.mark.parametrize("text", IN_SLURMS_NOTATION)
def test_slurms_notation_is_accepted_wherever_a_time_is(entrance: str, text: str) -> None:
    length = IN_SLURMS_NOTATION[text]
    if entrance == "records":  # whole seconds
        length = int(length)
    assert ENTRANCES[entrance](text) == length


def test_a_number_alone_is_seconds_and_units_stay() -> None:
    for text, length in {"30": 30, "90 min": 5_400, "1e3": 1_000, "4 weeks": 2_419_200}.items():
        assert parse_time("warm_up", text) == length


@pytest.mark.parametrize(
    "text",
    ["1-", "-12", "1-2-3", "1:2:3:4", "30:", ":30", "1-12:", "1:234"],
)
def test_what_is_no_time(text: str) -> None:
    assert isnan(parse_slurm_time(text))
    with pytest.raises(UsageError, match="expected a time"):
        parse_time("warm_up", text)
