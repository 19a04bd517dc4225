"""``batsched-py import``, as a user calls it."""

from __future__ import annotations

import gzip
import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from batsched_py.workload.logs.swf import read_swf
from helpers.accounting_records import sacct
from helpers.calling import Called, command

OUTPUTS = ("out.swf", "out_names.csv", "out_machine.toml", "out_resources.csv")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "jobs.txt").write_text(sacct({"JobID": 1}, {"JobID": 2, "User": "bob"}))
    return tmp_path


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def call(folder: Path, line: str) -> Called:
    return command(folder, *line.split())


def test_four_files_are_written_and_said(folder: Path) -> None:
    done = call(folder, "import slurm jobs.txt out.swf --computer Blue --time-zone Europe/Paris")
    assert done.returncode == 0
    assert all(name in done.stderr for name in OUTPUTS)
    assert files(folder) == {"jobs.txt", *OUTPUTS}
    log = read_swf(folder / "out.swf")
    assert log.header_field("Computer") == "Blue"
    assert all(f"note: {value}" in done.stderr for key, value in log.header if key == "Note")
    again = call(folder, "import slurm jobs.txt out.swf")
    assert "replaces out.swf" in again.stderr


def test_the_log_may_be_packed(folder: Path) -> None:
    call(folder, "import slurm jobs.txt out.swf")
    call(folder, "import slurm jobs.txt packed.swf.gz")
    packed = (folder / "packed.swf.gz").read_bytes()
    assert gzip.decompress(packed) == (folder / "out.swf").read_bytes()
    assert b"packed" not in packed
    assert (folder / "packed_names.csv").is_file()


def test_records_may_be_piped_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = gzip.compress((folder / "jobs.txt").read_bytes())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(content))))
    done = call(folder, "import slurm - out.swf")
    assert "wrote 2 jobs" in done.stderr


@pytest.mark.parametrize("name", OUTPUTS)
def test_no_output_is_an_input(folder: Path, name: str) -> None:
    content = (folder / "jobs.txt").read_bytes()
    (folder / "jobs.txt").rename(folder / name)
    done = call(folder, f"import slurm {name} out.swf")
    assert (done.returncode, f"{name}: " in done.stderr) == (2, True)
    assert files(folder) == {name}
    assert (folder / name).read_bytes() == content


def test_what_cannot_be_written_leaves_nothing(folder: Path) -> None:
    """Not even the files that could."""
    (folder / "out_machine.toml").mkdir()
    done = call(folder, "import slurm jobs.txt out.swf")
    assert done.returncode == 1
    assert files(folder) == {"jobs.txt", "out_machine.toml"}


@pytest.mark.process
def test_ctrl_c_leaves_nothing(folder: Path) -> None:
    """While it reads what is piped in, and the pipe does not end."""
    place = folder / "temporary"
    place.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "batsched_py", "import", "slurm", "-", "out.swf"],
        cwd=folder,
        env=os.environ | {"TMPDIR": str(place)},
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.write(sacct(*({"JobID": number} for number in range(2000))).encode())
    process.stdin.flush()  # more than a pipe holds: it has read from it
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert (process.returncode, b"interrupted" in said) == (130, True)
    assert files(folder) == {"jobs.txt", "temporary"}
    assert not list(place.iterdir())
