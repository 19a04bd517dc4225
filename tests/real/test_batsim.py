"""Real Batsim gives what docs/real.md says, case by case."""

from __future__ import annotations

from pathlib import Path

import pytest

from batsched_studies.real_batsim import page
from batsched_studies.real_batsim.cases import CASES, Case
from helpers.batsim_program import needs_batsim

pytestmark = [
    pytest.mark.process,
    needs_batsim,
]
LIKE_OTHERS = ("whole log", "whole log, users", "many users", "requested times", "delays")
OF_PLUGINS = ("`easy`", "`conservative`", "`grid` (spread)", "`feedback`", "`weekly`")
"""Of the cases of policies and users, those that always run."""


def marks(case: Case) -> list[pytest.MarkDecorator]:
    is_long = case.name not in OF_PLUGINS if case.plugin else case.name in LIKE_OTHERS
    return [pytest.mark.long] if is_long else []


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case.name, marks=marks(case)) for case in CASES]
)
def test_what_the_page_says(case: Case, tmp_path: Path) -> None:
    """The numbers are those of Batsim 4.2.0."""
    lines = page.PAGE.read_text(encoding="utf-8").splitlines()
    comparison = page.compare_case(case, tmp_path)
    if comparison.all_equal:
        group = next(line for line in lines if line.startswith(f"| {case.group}: "))
        assert page.format_entry(case) in group.removesuffix(" |").split(" | ")[1].split("; ")
    else:
        assert page.make_row(case, comparison) in lines
