"""The program of the benchmarks runs, and its history says what became slower."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import history
import loop_rows
import process_rows
import pytest
from measuring import Measured

assert loop_rows  # these make the rows
assert process_rows

NAME = history.TABLE
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def benchmarks(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCHMARKS), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.process
def test_the_rows_are_measured_kept_and_shown(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n<!-- {NAME} -->\nold\n<!-- end of {NAME} -->\nafter\n")
    kept = tmp_path / "history.jsonl"
    wanted = ["floor-loop", "output"]
    run = benchmarks("--quick", "--rounds", "1", "--keep", kept, "--page", page, *wanted, "curie")
    assert run.returncode == 0, run.stderr
    (entry,) = history.entries(kept)
    assert entry.rows.keys() == set(wanted)
    assert all(measured.ratio > 0 for measured in entry.rows.values())
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text
    assert all(f"| `{name}` |" in text for name in entry.rows)
    assert "curie-cpu" not in text  # it was skipped
    assert "skipped: " in run.stdout


def test_a_row_that_nobody_knows() -> None:
    run = benchmarks("--quick", "flor")
    assert run.returncode == 1
    assert "no row flor" in run.stderr


def entry(version: str, log: str = "log", **ratios: float) -> history.Entry:
    rows = {name.replace("_", "-"): Measured(ratio, 0.1) for name, ratio in ratios.items()}
    about = {"date": "2026-01-01", "machine": "m", "python": "3"}
    return history.Entry(version=version, log=log, rows=rows, **about)


def test_slower_by_more_than_the_spread() -> None:
    runs = [entry("a", feedback=9.0), entry("b", feedback=2.0), entry("c", "other", feedback=1.0)]
    assert history.slower({"feedback": Measured(2.15, 0.0)}, runs, "log") == []
    assert history.slower({"feedback": Measured(1.5, 0.0)}, runs, "log") == []
    assert history.slower({"feedback": Measured(2.25, 0.3)}, runs, "log") == []
    (sentence,) = history.slower({"feedback": Measured(2.25, 0.0)}, runs, "log")
    assert "feedback" in sentence
    assert history.slower({"output": Measured(9.0, 0.0)}, runs, "log") == []


def test_the_table_has_the_first_version_and_the_last() -> None:
    runs = [entry("a", feedback=3.0), entry("a", curie_cpu=30.0), entry("b", feedback=1.25)]
    lines = history.table(runs, "log").splitlines()[2:]
    cells = {line.split("|")[1].strip(): line.split("|")[3:6] for line in lines}
    assert [cell.strip() for cell in cells["`feedback`"]] == ["3.00", "1.25", "1.40"]
    assert [cell.strip() for cell in cells["`curie-cpu`"]] == ["30.00", "", "10.00"]
