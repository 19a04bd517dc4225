"""Checks of the options of policies and user models."""

from __future__ import annotations

from math import isnan, nan
from pathlib import Path
from typing import Any

import pytest

from batsched_py.errors import UsageError
from batsched_py.options import option_values as options


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
