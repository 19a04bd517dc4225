"""Reports and campaigns that are killed while they write, or for which there is no place."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.calling import command
from helpers.waiting import LIMIT

pytestmark = pytest.mark.process

CAMPAIGN = """
[run]
log = ["sample"]
first = 150
scheduler = ["fcfs", "easy"]
"""
LINE = ("campaign", "small.toml", "-e", "out", "--jobs", "2", "--no-report")
KILLED = """
import os, signal, sys
left, replace = int(sys.argv.pop(1)), os.replace
def replaced(*files):
    global left
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    left -= 1
    replace(*files)
os.replace = replaced
from batsched_py.cli import main
main()
"""
LIMITED = """
import resource, sys
most = int(sys.argv.pop(1))
from batsched_py.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
main()
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign that has ended, with its report."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "small.toml").write_text(CAMPAIGN)
    for line in (LINE, ("report", "out")):
        done = command(folder, *line)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A copy of it whose page is an old one."""
    shutil.copytree(made, tmp_path / "copy")
    (tmp_path / "copy" / "out" / "report.html").write_text("old")
    return tmp_path / "copy"


def called(folder: Path, program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )


def parts(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if ".part" in path.name]


@pytest.mark.parametrize("written", [0, 3])
def test_a_killed_report_leaves_the_old_page_or_the_new(
    made: Path, folder: Path, written: int
) -> None:
    assert called(folder, KILLED, written, "report", "out").returncode == -9
    (left,) = parts(folder)  # nothing reads it
    page, whole = folder / "out" / "report.html", made / "out" / "report.html"
    assert page.read_text() == "old" if not written else len(page.read_bytes()) > 100_000
    done = command(folder, "report", "out")
    assert done.returncode == 0, done.stderr
    assert parts(folder) == [left]
    left.unlink()
    assert len(page.read_bytes()) == pytest.approx(len(whole.read_bytes()), rel=0.01)
    names = [path.relative_to(made) for path in made.rglob("*")]
    assert names == [path.relative_to(folder) for path in folder.rglob("*")]


def test_a_full_disk_is_a_line_and_leaves_the_old_page(folder: Path) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    done = called(folder, LIMITED, 50_000, "report", "out")
    assert done.returncode == 1
    assert "File too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("most", "message"),
    [(10_000, "its files"), (100, "campaign.json")],
)
def test_a_campaign_without_place_goes_on_when_there_is_some(
    made: Path, folder: Path, most: int, message: str
) -> None:
    shutil.rmtree(folder / "out")
    done = called(folder, LIMITED, most, *LINE)
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert parts(folder) == []
    done = command(folder, *LINE)
    assert done.returncode == 0, done.stderr
    for path in made.glob("out/runs/*/*.csv"):
        assert (folder / path.relative_to(made)).read_bytes() == path.read_bytes()
