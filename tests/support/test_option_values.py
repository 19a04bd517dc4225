"""Checks of the options of policies and user models."""

from __future__ import annotations

from math import isnan, nan
from pathlib import Path
from typing import Any

import pytest

from batsched_py.errors import UsageError
from batsched_py.options import option_values as options


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
