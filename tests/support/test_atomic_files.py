"""Writing files whole or not at all."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from batsched_py.errors import OutputError
from batsched_py.files import writers as atomic_files
from batsched_py.files.writers import (
    find_temporary_folder,
    make_folder_of,
    sync_folder,
    whole_file,
    write_whole,
)
from helpers.calling import command
from helpers.runs_by_hand import Row, settings, write_run


def test_a_failure_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that the disk says late: some systems look for a place only when they must."""
    path = tmp_path / "a" / "b.txt"
    write_whole(path, "older")
    write_whole(path, b"old")

    def fail() -> None:
        with whole_file(path) as part:
            part.write_text("half")
            raise KeyboardInterrupt

    def refuse(handle: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with pytest.raises(KeyboardInterrupt):
        fail()
    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OutputError, match=os.strerror(errno.EIO)):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert list(path.parent.iterdir()) == [path]
    sync_folder(tmp_path)  # a folder need not be synced


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OutputError, match="not a folder"):
        write_whole(tmp_path / "file" / "x", "")
    with pytest.raises(OutputError, match="folder cannot"):
        write_whole(tmp_path / "folder", "")
    with pytest.raises(OutputError, match=r"(?i)not a (folder|directory)"):
        make_folder_of(tmp_path / "file" / "x" / "y")


def test_a_folder_that_refuses_files_is_named_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a container's is with ``--read-only``: not even root may write there."""

    def refuse(**options: Any) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(atomic_files, "TemporaryFile", refuse)
    with pytest.raises(OutputError, match="x cannot"):
        make_folder_of(tmp_path / "x")
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: [str(tmp_path / "none")])
    with pytest.raises(OutputError, match=r"/none'\]: .*TMPDIR"):
        find_temporary_folder()


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


@pytest.mark.process
def test_what_a_killed_writer_left_is_taken_for_nothing(tmp_path: Path) -> None:
    """Neither for the table of a run, nor for a file that is replaced."""
    write_run(tmp_path / "out", [Row("1", 0, 0)], settings())
    before = command(None, "metrics", tmp_path / "out")
    code = (
        "import os, sys\nfrom batsched_py.files.writers import whole_file\n"
        "for name in sys.argv[1:]: whole_file(name).__enter__().write_text('half')\n"
        "os.kill(os.getpid(), 9)"
    )
    names = [tmp_path / name for name in ("out_jobs.csv", "out_run.json", "x_jobs.csv")]
    subprocess.run([sys.executable, "-c", code, *names])
    assert len(list(tmp_path.glob(".*.part"))) == 3
    assert command(None, "metrics", tmp_path / "out") == before
    called = command(None, "metrics", tmp_path / "o")
    assert "'out_jobs.csv'" in called.stderr
    assert ".part" not in called.stderr


def test_names_may_be_as_long_as_the_system_allows(tmp_path: Path) -> None:
    """Also where that of the part would be longer, and characters have several bytes."""
    for name in ("x" * 251 + ".csv", "é" * 127, "x"):
        write_whole(tmp_path / name, name)
        assert (tmp_path / name).read_text() == name
    assert len([*tmp_path.iterdir()]) == 3
    for name in ("x" * 256, "é" * 128, "x" * 5000 + "/y", "y/" * 3000):
        for write in (make_folder_of, lambda path: write_whole(path, "")):
            with pytest.raises(OutputError, match="too long"):
                write(tmp_path / name)
