"""Checks of the options of policies and user models."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan, nan
from pathlib import Path
from typing import Annotated, Any, Literal, Optional

import numpy as np
import pytest

from batsched_py.errors import UsageError
from batsched_py.support import option_values as options


@pytest.mark.parametrize(("value", "number"), [(1, 1), (5.0, 5), (10**20, 10**20)])
def test_whole_numbers(value: Any, number: int) -> None:
    read = options.whole_number("n", value, 1)
    assert (read, type(read)) == (number, int)


@pytest.mark.parametrize("value", [0, -3, 1.5, True, "5", None, nan, float("inf"), [1]])
def test_no_whole_numbers(value: Any) -> None:
    with pytest.raises(UsageError, match=r"^n=.*: expected a whole number, at least 1$"):
        options.whole_number("n", value, 1)


def test_paths() -> None:
    assert options.path("file", "a/b") == options.path("file", Path("a/b")) == Path("a/b")


@pytest.mark.parametrize("value", [5, 2.5, "", True, ["a"], {}])
def test_no_paths(value: Any) -> None:
    with pytest.raises(UsageError, match=r"^file=.*: expected the path of a file or folder"):
        options.path("file", value)


@pytest.mark.parametrize(("text", "number"), [("1.5", 1.5), (" -2 ", -2), ("1e3", 1000)])
def test_finite_numbers(text: str, number: float) -> None:
    assert options.finite(text) == number


@pytest.mark.parametrize("text", ["", "x", "nan", "inf", "1e999", "1,5"])
def test_no_finite_numbers(text: str) -> None:
    assert isnan(options.finite(text))


@pytest.mark.parametrize(
    ("text", "value"),
    [(".5", 0.5), ("5.", 5.0), ("-.5e1", -5.0), ("0.5", 0.5), ("5", 5), (".", "."), ("a.5", "a.5")],
)
def test_numbers_with_a_point_at_an_end(text: str, value: Any) -> None:
    assert options.parse_options([f"n={text}"], "-O") == {"n": value}


FIT: list[tuple[Any, list[Any], list[Any], str]] = [
    (int, [1, 5.0, np.int64(3)], [1.5, True, "1", None], "a whole number"),
    (float, [1, 0.5, np.float64(2)], [True, "1", None], "a number"),
    (bool, [True, False], [1, 0, "true", None], "true or false"),
    (str, ["", "a", Path("a")], [1, None], "a text"),
    (float | None, [1, None], ["x", True], "a number or null"),
    (Optional[str], ["x", None], [1], "a text or null"),  # noqa: UP045 - as authors write it
    (Literal["a", 2], ["a", 2], ["b", 3], "'a' or 2"),
    (list[int], [[1], (1, 2)], [1, "1"], "a list"),
    (Annotated[int, "n"], [1], ["x"], "a whole number"),
    (Any, [1, "x", None], [], ""),
    (int | Sequence[int], [1, "not checked"], [], ""),
]


@pytest.mark.parametrize(("kind", "good", "bad", "words"), FIT)
def test_values_of_annotated_kinds(kind: Any, good: list[Any], bad: list[Any], words: str) -> None:
    assert [value for value in good if not options.fits(value, kind)] == []
    assert [value for value in bad if options.fits(value, kind)] == []
    assert not bad or options.in_words(kind) == words
