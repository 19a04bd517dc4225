"""Real Batsim gives what docs/real.md says, line by line."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from batsched_studies.real_batsim import page
from batsched_studies.real_batsim.cases import CASES, Case

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(shutil.which("batsim") is None, reason="there is no batsim on PATH"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_line_of_the_page(case: Case, tmp_path: Path) -> None:
    """The line is that of Batsim 4.2.0."""
    lines = page.PAGE.read_text(encoding="utf-8").splitlines()
    assert page.row(case, page.result(case, tmp_path)) in lines
