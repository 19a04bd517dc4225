"""What is public: the names that docs/plugins.md promises, and no others."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[1] / "docs" / "plugins.md").read_text()
MODULES = ["batsched_py", "batsched_py.testing"]


def promised(module: str) -> list[str]:
    """Return the names in the first column of the table ``| from `module` | ...``."""
    _, _, rest = PAGE.partition(f"| from `{module}` |")
    rows = rest.partition("\n\n")[0].splitlines()[2:]
    return [name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])]


@pytest.mark.parametrize("module", MODULES)
def test_what_is_exported_is_what_is_promised(module: str) -> None:
    exported = import_module(module).__all__
    assert sorted(promised(module)) == sorted(exported)
    assert len(exported) == len(set(exported))


@pytest.mark.parametrize("module", MODULES)
def test_every_name_is_there(module: str) -> None:
    for name in import_module(module).__all__:
        assert getattr(import_module(module), name).__doc__, name


def imported_by(program: str) -> set[str]:
    """Return the modules that a program in a process of its own has imported."""
    command = [sys.executable, "-c", f"import sys; {program}; print(*sys.modules)"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_a_policy_file_costs_little() -> None:
    """Neither the simulator nor numpy nor procset are imported for the names of policies."""
    heavy = {"numpy", "pandas", "procset", "batsched_py.simulator", "batsched_py.testing"}
    assert not heavy & imported_by("from batsched_py import Start, Machine, WaitingReason")


def test_the_kit_needs_no_pytest() -> None:
    assert not {"pytest", "hypothesis", "procset"} & imported_by("import batsched_py.testing")
