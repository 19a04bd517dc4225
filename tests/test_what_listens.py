"""What listens, and who may connect: the kernel is asked about all processes of each command."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.batsim_program import needs_batsim
from helpers.listening import StartedProgram, others_reach, started
from helpers.waiting import LIMIT

pytestmark = [
    pytest.mark.process,
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="asks /proc"),
]

US = [sys.executable, "-m", "batsched_py"]

# A policy that waits, once it has begun, until somebody writes to the pipe ``go``.
WAITS = """
from pathlib import Path
from batsched_py import Start

class Waits:
    def schedule(self, now, queue, machine):
        Path(__file__).with_name("began").touch()
        go = Path(__file__).with_name("go")
        if go.exists():
            go.read_text()
            go.unlink()
        for job in list(queue):
            if job.size <= machine.free:
                yield Start(job)
"""
CAMPAIGN = '[run]\nfirst = 20\nscheduler = "waits.py:Waits"\n'


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A folder with a campaign whose run waits for the pipe ``go``."""
    os.mkfifo(tmp_path / "go")
    (tmp_path / "waits.py").write_text(WAITS)
    (tmp_path / "test.toml").write_text(CAMPAIGN)
    return tmp_path


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A folder that all may write to, as ``/tmp``; somebody was there before us."""
    folder = Path(tempfile.mkdtemp(prefix="tmp", dir="/tmp"))
    trap = folder / "dask-scratch-space"  # dask imports modules from it, whoever made it
    trap.mkdir()
    trap.chmod(0o777)
    folder.chmod(0o1777)
    yield folder
    shutil.rmtree(folder)


def is_closed_to_others(program: StartedProgram, temporary: Path) -> bool:
    """Assert that only this user gets at what the program has opened; it runs without umask."""
    assert [port for port in program.ports() if not port.is_loopback] == []
    sockets = program.unix_sockets()
    assert [name for name in sockets if name.startswith("@")] == []  # those have no permissions
    assert [name for name in sockets if others_reach(Path(name))] == []
    trap, made = temporary / "dask-scratch-space", set(temporary.iterdir())
    assert [*trap.iterdir()] == []
    assert [path for path in made - {trap} if path.stat().st_mode & 0o077] == []
    return True


def test_serve(tmp_path: Path, temporary: Path) -> None:
    serve = [*US, "serve", "-v", "easy", "-s"]
    with started(tmp_path, temporary, *serve, "tcp://127.0.0.1:*") as program:
        program.wait_for("listening on tcp")
        assert [port.protocol for port in program.ports()] == ["tcp"]
        assert program.unix_sockets() == []
        assert is_closed_to_others(program, temporary)


def test_serve_where_it_is_asked_to(tmp_path: Path, temporary: Path) -> None:
    """That these tests see what is open."""
    with started(tmp_path, temporary, *US, "serve", "-v", "easy", "-s", "tcp://*:*") as program:
        program.wait_for("listening on tcp")
        (port,) = program.ports()
        assert not port.is_loopback


def test_serve_on_a_unix_socket(tmp_path: Path, temporary: Path) -> None:
    """Also in a folder that all may write to, and whatever the umask."""
    address = temporary / "mine"
    with started(tmp_path, temporary, *US, "serve", "-v", "easy", "-s", f"ipc://{address}") as it:
        it.wait_for("listening on ipc")
        assert it.unix_sockets() == [str(address)]
        assert it.ports() == []
        assert is_closed_to_others(it, temporary)


@pytest.mark.parametrize("backend", ["socket", pytest.param("batsim", marks=needs_batsim)])
def test_a_run_with_two_processes_uses_a_unix_socket_of_its_own(
    backend: str, study: Path, temporary: Path
) -> None:
    line = [*US, "simulate", "sample", "--first", "20", "--backend", backend, "-e", "out"]
    with started(study, temporary, *line, "--scheduler", "waits.py:Waits") as program:
        program.wait_for_file(study / "began")
        assert program.ports() == []
        assert len(program.unix_sockets()) == 1
        assert len(program.processes()) >= 3
        assert is_closed_to_others(program, temporary)
        (study / "go").write_text("")
        assert program.process.wait(LIMIT) == 0


def test_workers_of_a_campaign_listen_nowhere(study: Path, temporary: Path) -> None:
    line = [*US, "campaign", "test.toml", "-e", "out", "--no-report", "--jobs", "2"]
    with started(study, temporary, *line) as program:
        program.wait_for_file(study / "began")
        assert program.ports() == []
        assert program.unix_sockets() == []
        assert is_closed_to_others(program, temporary)
