"""Names that are too long, and memory that there is not, end in a line that says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from batsched_py import Result, simulate
from batsched_py.campaign.campaign_folder import open_results
from batsched_py.errors import OutputError, UsageError
from helpers.calling import command

LONG = "x" * 300


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("simulate sample --first 20 -e LONG", "cannot be written: File name too long"),
        ("simulate sample --first 20 --platform LONG", "cannot be read: File name too long"),
        ("simulate sample --first 20 --scheduler LONG.py:X", "there is no file"),
        ("report LONG", "is not the folder of a campaign"),
        ("explain LONG --job 1", "there is no run LONG"),
        ("campaign LONG", "there is no campaign file"),
        ("campaign small.toml -e LONG", "results.csv cannot be written: File name too long"),
        ("optimum sample -e LONG", "cannot be written: File name too long"),
        ("serve -e LONG", "cannot be written: File name too long"),
    ],
)
def test_a_command_ends_with_a_line(tmp_path: Path, line: str, words: str) -> None:
    (tmp_path / "small.toml").write_text('[run]\nlog = ["sample"]\nfirst = 20\n')
    called = command(tmp_path, *line.replace("LONG", LONG).split())
    assert called.returncode in (1, 2)
    assert words.replace("LONG", LONG) in called.stderr
    assert "Errno" not in called.stderr
    assert called.stderr.count("batsched-py: error: ") == 1


def test_the_library_raises_errors_of_its_own(tmp_path: Path) -> None:
    result = simulate("sample", first=20)
    for read in (Result.load, open_results, simulate):
        with pytest.raises(UsageError, match=LONG):
            read(tmp_path / LONG)
    with pytest.raises(OutputError, match="too long"):
        result.write(tmp_path / LONG)
    with pytest.raises(OutputError, match="too long"):
        simulate("sample", first=20, record=tmp_path / LONG)


def test_a_policy_that_wants_too_much_memory_ends_with_a_line(tmp_path: Path) -> None:
    (tmp_path / "greedy.py").write_text(
        "class Greedy:\n"
        "    def schedule(self, now, queue, machine):\n"
        "        self.all = bytearray(1 << 62)\n"
    )
    ended = command(tmp_path, "simulate", "sample", "--scheduler", "greedy.py:Greedy", "-e", "out")
    assert ended.returncode == 1
    assert "not enough memory" in ended.stderr.splitlines()[-1]
    assert "Traceback" not in ended.stderr
    assert not list(tmp_path.glob("out*"))
