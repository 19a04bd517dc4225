"""Writing files whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from batsched_py.errors import OutputError
from batsched_py.support.atomic_files import (
    make_folder_of,
    temporary_place,
    whole_file,
    write_whole,
)


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
