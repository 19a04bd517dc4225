"""Writing files whole or not at all."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from batsched_py.errors import OutputError
from batsched_py.support import atomic_files
from batsched_py.support.atomic_files import (
    make_folder_of,
    sync_folder,
    temporary_place,
    whole_file,
    write_whole,
)
from helpers.calling import command
from helpers.runs_by_hand import Row, settings, write_run


def test_makes_folders_and_replaces(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b.txt"
    write_whole(path, "one")
    write_whole(path, b"two")
    assert path.read_text() == "two"
    assert list(path.parent.iterdir()) == [path]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "b.txt"
    write_whole(path, "old")

    def fail() -> None:
        with whole_file(path) as part:
            part.write_text("half")
            raise RuntimeError("interrupted")

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OutputError, match=r"file/x cannot be written: .*file: it is not a folder"):
        write_whole(tmp_path / "file" / "x", "")
    with pytest.raises(OutputError, match="it is a folder"):
        write_whole(tmp_path / "folder", "")
    with pytest.raises(OutputError, match=r"(?i)not a (folder|directory)"):
        make_folder_of(tmp_path / "file" / "x" / "y")


def test_a_read_only_file_system_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a container's is with ``--read-only``: not even root may write there."""
    monkeypatch.setattr(os, "access", lambda *question: False)
    with pytest.raises(OutputError, match="no permission"):
        make_folder_of(tmp_path / "x")
    monkeypatch.setattr(os, "statvfs", lambda folder: SimpleNamespace(f_flag=os.ST_RDONLY))
    with pytest.raises(OutputError, match=r"x cannot be written: .*: Read-only file system: "):
        make_folder_of(tmp_path / "x")
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: [str(tmp_path / "none")])
    with pytest.raises(OutputError, match=r"/none'\] \(Read-only file system\): .*TMPDIR"):
        temporary_place()


def test_content_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the name is, once the folder was written too."""
    calls: list[str] = []

    def sync(handle: int) -> None:
        calls.append(os.path.basename(os.readlink(f"/proc/self/fd/{handle}"))[-5:])

    monkeypatch.setattr(os, "fsync", sync)
    replace = os.replace
    monkeypatch.setattr(os, "replace", lambda *to: (calls.append("replace"), replace(*to)))
    write_whole(tmp_path / "a", "content")
    sync_folder(tmp_path)
    assert calls == [".part", "replace", tmp_path.name[-5:]]


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
def test_what_the_disk_says_late_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Some systems look for a place only when they must."""
    write_whole(tmp_path / "a", "old")

    def refuse(handle: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OutputError, match=f"a cannot be written: {os.strerror(number)}"):
        write_whole(tmp_path / "a", "new")
    with pytest.raises(OutputError, match=os.strerror(number)):
        sync_folder(tmp_path)
    assert (tmp_path / "a").read_text() == "old"
    assert list(tmp_path.iterdir()) == [tmp_path / "a"]


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOSYS])
def test_a_system_that_cannot_sync_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(handle: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", refuse)
    write_whole(tmp_path / "a", "new")
    sync_folder(tmp_path)
    assert (tmp_path / "a").read_text() == "new"


KILLED = """
import os, signal, sys
from batsched_py.support.atomic_files import whole_file
with whole_file(sys.argv[1]) as part:
    part.write_text("half")
    print(part.name, flush=True)
    if sys.argv[2] == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    sys.stdin.read()
"""


def begun(path: Path, how: str) -> tuple[subprocess.Popen[str], Path]:
    """Let another process write half a file; return where."""
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path), how],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, path.with_name(process.stdout.readline().strip())


@pytest.mark.process
def test_what_killed_writers_left_is_removed_by_the_next(tmp_path: Path) -> None:
    """Not what a living one writes, one of another machine, or a writer of another file."""
    path = tmp_path / "out_jobs.csv"
    write_whole(path, "old")
    killed, left = begun(path, "kill")
    killed.communicate()
    other, of_another_file = begun(tmp_path / "out_jobs.csv.gz", "kill")
    other.communicate()
    assert f".{atomic_files._SPACE}." in left.name
    elsewhere = left.with_name(left.name.replace(atomic_files._SPACE, "elsewhere"))
    elsewhere.write_text("half")
    alive, its_part = begun(path, "wait")
    assert path.read_text() == "old"
    assert not left.exists()  # the living one removed it
    write_whole(path, "new")
    assert {*tmp_path.iterdir()} == {path, its_part, elsewhere, of_another_file}
    assert alive.communicate("")[0] == ""
    assert path.read_text() == "half"
    assert not its_part.exists()


@pytest.mark.parametrize(
    "other", ["boot_id", "pid"], ids=["another machine", "another PID namespace"]
)
def test_machines_and_containers_of_one_name_are_told_apart(
    monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    """As copies of a virtual machine have one, and containers in the network of their host."""
    here = atomic_files._process_space()
    state, content = os.stat, Path.read_bytes

    def read_bytes(path: Path) -> bytes:
        return content(path)[::-1] if path.name == other else content(path)

    def stat(path: Any, **options: Any) -> Any:
        return SimpleNamespace(st_ino=1) if other == "pid" and "ns/pid" in path else state(path)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_bytes", read_bytes)
        patched.setattr(os, "stat", stat)
        there = atomic_files._process_space()
    assert there != here == atomic_files._process_space()


def test_a_folder_that_cannot_be_opened_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All was written: that the folder is synced too is more than can be had everywhere."""

    def refuse(path: Any, *mode: Any, **options: Any) -> int:
        if Path(path) == tmp_path:
            raise PermissionError(errno.EACCES, "Permission denied")
        return opened(path, *mode, **options)

    opened = os.open
    monkeypatch.setattr(os, "open", refuse)
    write_whole(tmp_path / "a", "new")
    sync_folder(tmp_path)
    assert (tmp_path / "a").read_text() == "new"


@pytest.mark.process
def test_what_a_killed_writer_left_is_taken_for_nothing(tmp_path: Path) -> None:
    """Neither for the table of a run, nor for a file that is replaced."""
    write_run(tmp_path / "out", [Row("1", 0, 0)], settings())
    before = command(None, "metrics", tmp_path / "out")
    for name in ("out_jobs.csv", "out_run.json", "x_jobs.csv", "out_report.html"):
        process, part = begun(tmp_path / name, "kill")
        process.communicate()
        assert part.exists()
        assert part.suffix == ".part"
        assert part.name.startswith(".")
    assert command(None, "metrics", tmp_path / "out") == before
    called = command(None, "metrics", tmp_path / "o")
    assert "did you mean 'out_jobs.csv'" in called.stderr
    assert ".part" not in called.stderr


def test_names_may_be_as_long_as_the_system_allows(tmp_path: Path) -> None:
    """Also where that of the part would be longer, and characters have several bytes."""
    for name in ("x" * 251 + ".csv", "é" * 127, "x"):
        write_whole(tmp_path / name, name)
        assert (tmp_path / name).read_text() == name
    assert len([*tmp_path.iterdir()]) == 3
    for name in ("x" * 256, "é" * 128, "x" * 5000 + "/y", "y/" * 3000):
        for write in (make_folder_of, lambda path: write_whole(path, "")):
            with pytest.raises(OutputError, match=r"cannot be written: .*too long"):
                write(tmp_path / name)
