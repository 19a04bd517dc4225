"""Which mutant is switched on, and which ones the tests reach."""

from __future__ import annotations

import os
from pathlib import Path

on = int(os.environ.get("MUTANT", "-1"))
"""The number of the mutant that is tried; -1: none."""
reached: set[int] = set()
"""The mutants reached in the test at hand; :mod:`mutants.plugin` clears it before each test."""
_folder = os.environ.get("MUTANTS_REACHED")


def is_on(number: int) -> bool:
    """Return whether a mutant is to act; note in a file, if asked to, which test reached it.

    Processes that a test starts inherit the name of the test.
    """
    if _folder and number not in reached:
        reached.add(number)
        with Path(_folder, f"reached-{os.getpid()}").open("a") as file:
            file.write(f"{number}\t{os.environ.get('PYTEST_CURRENT_TEST', '')}\n")
    return number == on
