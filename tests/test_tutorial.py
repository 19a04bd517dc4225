"""Pages of docs/ as their readers follow them: every file and every command in them."""

from __future__ import annotations

import re
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from batsched_py.support.own_command import PROGRAM

DOCS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.S)
FILE = re.compile(r"`([\w.]+)`(?:\s+and call `pytest`)?:\s*$")
PAGES = {"plugins.md": 4, "users.md": 19, "simulator.md": 7}
"""Number of commands in each page."""
PORT = "28000"
"""What the pages say; the tests take a free one, as others may use this."""


@pytest.fixture(scope="module")
def port() -> str:
    """A port that is free."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return str(one.getsockname()[1])


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory, port: str) -> dict[str, Path]:
    """The files of each page in a folder, each named in the line before its block."""
    places = {}
    for page in PAGES:
        place = places[page] = tmp_path_factory.mktemp("tutorial")
        text = (DOCS / page).read_text()
        for match in BLOCK.finditer(text):
            name = FILE.search(text[: match.start()].rstrip())
            if name:
                (place / name[1]).write_text(match[2].replace(PORT, port))
    return places


def commands(page: str) -> list[str]:
    text = (DOCS / page).read_text()
    blocks = [match[2] for match in BLOCK.finditer(text) if match[1] == "console"]
    return [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]


def test_the_files_are_there(folders: dict[str, Path]) -> None:
    assert {path.name for path in folders["plugins.md"].iterdir()} >= {
        *("considerate.py", "test_considerate.py", "compare.toml", "relay.py")
    }
    assert {path.name for path in folders["users.md"].iterdir()} >= {"population.toml"}
    assert {path.name for path in folders["simulator.md"].iterdir()} >= {"cluster.xml", "first.py"}


PROGRAMS = {"batsched-py": PROGRAM, "python": [sys.executable]}


@pytest.mark.parametrize("page", PAGES)
def test_all_commands_work(folders: dict[str, Path], page: str, port: str) -> None:
    assert len(commands(page)) == PAGES[page]
    schedulers: list[subprocess.Popen[bytes]] = []
    try:
        for line in commands(page):
            program, *arguments = shlex.split(line.replace(PORT, port))
            command = [*PROGRAMS[program], *arguments]
            if command[-1] == "&":
                schedulers.append(subprocess.Popen(command[:-1], cwd=folders[page]))
                continue
            done = subprocess.run(
                command, cwd=folders[page], capture_output=True, text=True, timeout=300
            )
            assert done.returncode == 0, (line, done.stderr)
            assert [scheduler.wait(60) for scheduler in schedulers] == [0] * len(schedulers), line
    finally:
        for scheduler in schedulers:
            scheduler.kill()
            scheduler.wait()
    if page == "plugins.md":
        assert (folders[page] / "out/compare/results.csv").read_text().count("\n") == 7


def test_its_test_passes(folders: dict[str, Path]) -> None:
    folder = folders["plugins.md"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "test_considerate.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        env={"PYTHONPATH": str(folder), "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 0, done.stdout
