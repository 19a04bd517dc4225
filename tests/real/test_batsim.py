"""Real Batsim gives what its page shows, case by case; Batsim 5 what the embedded one gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from batsched_studies.filled_page import read_data
from batsched_studies.real_batsim import page
from batsched_studies.real_batsim.cases import CASES, Case
from helpers.batsim_program import needs_batsim, needs_batsim5
from helpers.calling import command

pytestmark = pytest.mark.process
LIKE_OTHERS = ("whole log", "whole log, users", "many users", "requested times", "delays")
OF_PLUGINS = ("easy", "conservative", "grid (spread)", "feedback", "weekly")
"""Of the cases of policies and users, those that always run."""
OF_THE_CLOCK = {
    "grid (a site each cluster)": "a message of Batsim takes 3e-10 s on this network",
    "many users": "two ends of one second are sent in two messages",
}
"""What differs under Batsim 4.2 too, and why."""
OF_BATSIM_5 = [
    case
    for case in CASES
    if "Batsim's options" not in case.group and "rounded clock" not in case.name
]
"""All but schedulers that speak version 4 themselves."""


def parameter(case: Case) -> object:
    is_long = case.name not in OF_PLUGINS if case.plugin else case.name in LIKE_OTHERS
    return pytest.param(case, id=case.name, marks=[pytest.mark.long] if is_long else [])


@needs_batsim
@pytest.mark.parametrize("case", [*map(parameter, CASES)])
def test_the_data_of_the_page(case: Case, tmp_path: Path) -> None:
    """The numbers are those of Batsim 4.2.0."""
    row = page.make_row(case, page.compare_case(case, tmp_path))
    assert [*map(str, row)] in read_data("real-batsim")


@needs_batsim5
@pytest.mark.parametrize("case", [*map(parameter, OF_BATSIM_5)])
def test_batsim_5_is_as_the_embedded_simulator(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batsim 5 is the ``batsim`` of a folder on PATH."""
    program = tmp_path / "bin" / "batsim"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\nexec batsim5 "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    comparison = page.compare_case(case._replace(shaken=()), tmp_path)
    expected = case.name not in OF_THE_CLOCK
    assert comparison.all_equal == expected, page.make_row(case, comparison)


@needs_batsim
@pytest.mark.parametrize(
    ("batsim", "code", "told"),
    [
        ("batsim", 1, "first dyn!764 (starting_time 885512.000000 in embedded"),
        ("batsim --sg-cfg surf/precision:1e-6", 0, "all 2169 jobs are equal"),
    ],
)
def test_an_instant_is_split_unless_the_clock_has_microseconds(
    tmp_path: Path, batsim: str, code: int, told: str
) -> None:
    """Batsim 4.2.0 on SimGrid 3.32: two jobs end at 885,512 s, in two messages."""
    line = ["simulate", "sample", "--users", "site", "-U", "weeks=3", "-e", "out"]
    done = command(tmp_path, *line, "--check-against", "batsim", "--batsim", batsim)
    assert done.returncode == code, done.stderr
    assert told in done.stdout
