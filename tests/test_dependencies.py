"""What the package needs: lower bounds that `make lowest` tests, and a lock for developers."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from helpers.lowest_versions import lowest, requirements

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCK = (ROOT / "requirements.lock").read_text()


def test_each_has_a_lower_bound() -> None:
    for line in requirements(PROJECT):
        pinned = Requirement(lowest(line))
        (version,) = [part.version for part in pinned.specifier]
        given = Requirement(line)
        assert given.name == pinned.name
        assert given.specifier.contains(version)
    with pytest.raises(ValueError, match="lower bound"):
        lowest("numpy<3")


def test_the_lock_has_hashes_and_names_no_registry() -> None:
    assert "://" not in LOCK
    assert "--index-url" not in LOCK
    assert "\ntorch==" not in LOCK, "5.5 GB that few developers need: the extra rl"
    for entry in re.split(r"\n(?=\w)", LOCK):
        assert re.match(r"[\w.-]+(\[.*\])?==[\w.]+ ", entry), entry[:80]
        assert "--hash=sha256:" in entry
