"""The clock of real Batsim: ends that coincide come in two messages, unless it is told to round."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.batsim_program import needs_batsim
from helpers.calling import Called, command

pytestmark = [
    pytest.mark.process,
    needs_batsim,
]


def checked(folder: Path, batsim: str) -> Called:
    line = ["simulate", "sample", "--users", "site", "-U", "weeks=3", "-e", "out"]
    return command(folder, *line, "--check-against", "batsim", "--batsim", batsim)


def test_by_default_an_instant_is_split(tmp_path: Path) -> None:
    """Batsim 4.2.0 on SimGrid 3.32: two jobs end at 885,512 s, in two messages."""
    done = checked(tmp_path, "batsim")
    assert done.returncode == 1
    assert "first dyn!764 (starting_time 885512.000000 in embedded" in done.stdout


def test_a_clock_of_microseconds_gives_what_is_simulated_here(tmp_path: Path) -> None:
    done = checked(tmp_path, "batsim --sg-cfg surf/precision:1e-6")
    assert done.returncode == 0, done.stderr
    assert "embedded and batsim: all 2169 jobs are equal" in done.stdout
