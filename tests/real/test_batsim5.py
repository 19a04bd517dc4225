"""Batsim 5 itself gives the embedded simulator's schedules, with every policy and all users."""

from __future__ import annotations

from pathlib import Path

import pytest

from batsched_studies.real_batsim import page
from batsched_studies.real_batsim.cases import CASES, Case
from batsched_studies.real_batsim.comparison import Comparison
from helpers.batsim_program import needs_batsim5
from real.test_batsim import marks

pytestmark = [pytest.mark.process, needs_batsim5]

OF_THE_CLOCK = {
    "`grid` (a site each cluster)": "Batsim's own messages take 3e-10 s on this network",
    "many users": "two ends of one second are told one after the other",
}
"""What differs under Batsim 4.2 too, and why."""
COMPARED = [
    case
    for case in CASES
    if "Batsim's options" not in case.group and "rounded clock" not in case.name
]
"""All but schedulers that speak version 4 themselves."""


def compared(case: Case, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Comparison:
    """Run a case beside Batsim 5, which is the ``batsim`` of a folder on PATH."""
    program = folder / "bin" / "batsim"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\nexec batsim5 "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    return page.compare_case(case._replace(shaken=()), folder)


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case.name, marks=marks(case)) for case in COMPARED]
)
def test_as_the_embedded_simulator(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    comparison = compared(case, tmp_path, monkeypatch)
    if case.name in OF_THE_CLOCK:
        assert not comparison.all_equal
    else:
        assert comparison.all_equal, page.make_row(case, comparison)
