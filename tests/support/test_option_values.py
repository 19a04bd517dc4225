"""Checks of the options of policies and user models."""

from __future__ import annotations

from collections.abc import Callable
from math import nan
from pathlib import Path
from typing import Any

import pytest

from batsched_py.errors import UsageError
from batsched_py.support import option_values as options


def natural(option: str, value: Any) -> int:
    return options.whole_number(option, value, 1)


@pytest.mark.parametrize(
    ("read", "given", "value"),
    [
        *((natural, given, value) for given, value in ((1, 1), (5.0, 5), (10**20, 10**20))),
        *((options.path, given, Path("a/b")) for given in ("a/b", Path("a/b"))),
    ],
)
def test_values(read: Callable[[str, Any], Any], given: Any, value: Any) -> None:
    made = read("n", given)
    assert (made, type(made)) == (value, type(value))


@pytest.mark.parametrize(
    ("read", "message", "wrong"),
    [
        (natural, "a whole number, at least 1$", [0, -3, 1.5, True, "5", None, nan, 1e999, [1]]),
        (options.path, "the path of a file or folder", [5, 2.5, "", True, ["a"], {}]),
    ],
)
def test_no_values(read: Callable[[str, Any], Any], message: str, wrong: list[Any]) -> None:
    for value in wrong:
        with pytest.raises(UsageError, match=rf"^n=.*: expected {message}"):
            read("n", value)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *(("1.5", 1.5), (" -2 ", -2), ("1e3", 1000)),
        *((text, nan) for text in ("", "x", "nan", "inf", "1e999", "1,5")),
    ],
)
def test_finite_numbers(text: str, number: float) -> None:
    assert options.finite(text) == pytest.approx(number, abs=0, nan_ok=True)
