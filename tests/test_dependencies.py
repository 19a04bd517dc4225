"""What the package needs: lower bounds that `make lowest` tests, and a lock for developers."""

from __future__ import annotations

import re
import tomllib
from itertools import product
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from helpers.lowest_versions import lowest, newest_python, requirements

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCK = (ROOT / "requirements.lock").read_text()
PYTHONS = [f"3.{minor}" for minor in range(11, newest_python(PROJECT)[1] + 1)]


@pytest.mark.parametrize("line", requirements(PROJECT))
def test_each_has_a_lower_bound(line: str) -> None:
    pinned = Requirement(lowest(line))
    (version,) = [part.version for part in pinned.specifier]
    given = Requirement(line)
    assert given.name == pinned.name
    assert given.specifier.contains(version)


def test_a_requirement_without_a_lower_bound_is_told() -> None:
    for line in ("numpy", "numpy<3", "numpy==2.1"):
        with pytest.raises(ValueError, match="expected a lower bound"):
            lowest(line)


@pytest.mark.parametrize(("line", "python"), list(product(requirements(PROJECT), PYTHONS)))
def test_the_lock_has_one_version_that_is_allowed(line: str, python: str) -> None:
    wanted = Requirement(line)
    here = {"python_version": python, "python_full_version": f"{python}.9"}
    entries = [Requirement(entry) for entry in re.findall(r"^(\w.*?) \\$", LOCK, re.MULTILINE)]
    (entry,) = [
        entry
        for entry in entries
        if canonicalize_name(entry.name) == canonicalize_name(wanted.name)
        and (entry.marker is None or entry.marker.evaluate(here))
    ]
    (version,) = [part.version for part in entry.specifier]
    assert wanted.specifier.contains(version), "run `make lock`"


def test_the_lock_has_hashes_and_names_no_registry() -> None:
    assert "://" not in LOCK
    assert "--index-url" not in LOCK
    for entry in re.split(r"\n(?=\w)", LOCK):
        assert re.match(r"[\w.-]+(\[.*\])?==[\w.]+ ", entry), entry[:80]
        assert "--hash=sha256:" in entry
