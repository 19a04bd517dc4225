"""docs/plugins.md as its reader follows it: every file and every command in it."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from batsched_py.program import PROGRAM

PAGE = Path(__file__).parents[1] / "docs/plugins.md"
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.S)
FILE = re.compile(r"`([\w.]+)`(?: and call `pytest`)?:\s*$")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the page, each named in the line before its block."""
    place = tmp_path_factory.mktemp("tutorial")
    text = PAGE.read_text()
    for match in BLOCK.finditer(text):
        name = FILE.search(text[: match.start()].rstrip())
        if name:
            (place / name[1]).write_text(match[2])
    return place


def commands() -> list[str]:
    blocks = [m[2] for m in BLOCK.finditer(PAGE.read_text()) if m[1] == "console"]
    return [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]


def test_the_files_are_there(folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} >= {
        *("considerate.py", "test_considerate.py", "compare.toml", "relay.py")
    }


def test_all_commands_work(folder: Path) -> None:
    assert len(commands()) == 4
    for line in commands():
        program, *arguments = shlex.split(line)
        assert program == "batsched-py"
        done = subprocess.run(
            [*PROGRAM, *arguments], cwd=folder, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, (line, done.stderr)
    assert (folder / "out/compare/runs.csv").read_text().count("\n") == 7


def test_its_test_passes(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "test_considerate.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        env={"PYTHONPATH": str(folder), "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 0, done.stdout
