"""Whose code is run on the word of results."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from batsched_py.support.plugins import load_file
from batsched_py.support.shipped_files import studies_folder
from batsched_py.support.trusted_code import reason_not_to_run, remember


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def study(tmp_path: Path) -> str:
    """The place of a report that imports a module beside it."""
    folder = tmp_path / "study"
    folder.mkdir(mode=0o755)
    (folder / "report.py").write_text("from numbers_of_mine import three\ndef report(r): pass\n")
    (folder / "numbers_of_mine.py").write_text("three = 3\n")
    return f"{folder / 'report.py'}:report"


def test_code_is_run_again_once_it_was_named(study: str) -> None:
    assert "is not code that you have run from there" in str(reason_not_to_run(study))
    load_file(study)
    assert reason_not_to_run(study) is None


@pytest.mark.parametrize("name", ["report.py", "numbers_of_mine.py"])
def test_changed_code_is_to_be_named_again(study: str, name: str) -> None:
    remember(study)
    file = Path(study).parent / name
    before = file.read_text()
    file.write_text(before + "\n")
    assert f"{file} has changed since you ran it" in str(reason_not_to_run(study))
    file.write_text(before)
    assert reason_not_to_run(study) is None
    file.write_text(before + "\n")
    remember(study)
    assert reason_not_to_run(study) is None


def test_another_function_of_the_file_and_a_copy_elsewhere_are_other_code(
    study: str, tmp_path: Path
) -> None:
    remember(study)
    assert reason_not_to_run(study.replace(":report", ":three")) is not None
    copied = tmp_path / "sent"
    copied.mkdir()
    for file in Path(study).parent.glob("*.py"):
        (copied / file.name).write_bytes(file.read_bytes())
    assert reason_not_to_run(f"{copied / 'report.py'}:report") is not None


def test_a_module_that_came_to_be_beside_it_is_new(study: str) -> None:
    Path(study.rpartition(":")[0]).write_text("import json, helper\ndef report(r): pass\n")
    remember(study)
    assert reason_not_to_run(study) is None
    (Path(study).parent / "helper.py").write_text("")
    assert "helper.py is new since you ran it" in str(reason_not_to_run(study))


def test_what_others_can_change_is_not_run(study: str) -> None:
    remember(study)
    folder = Path(study).parent
    for path, mode in ((folder, 0o757), (folder / "numbers_of_mine.py", 0o646)):
        before = path.stat().st_mode
        path.chmod(mode)
        assert f"{path} can be written by others" in str(reason_not_to_run(study))
        path.chmod(before)
    assert reason_not_to_run(study) is None
    folder.chmod(0o1757)  # as /tmp
    assert reason_not_to_run(study) is None


@pytest.mark.skipif(os.getuid() != 0, reason="only the superuser gives files away")
def test_what_belongs_to_another_account_is_not_run(study: str) -> None:
    remember(study)
    os.chown(Path(study).parent / "numbers_of_mine.py", 4321, -1)
    assert "belongs to another account" in str(reason_not_to_run(study))


def test_the_program_s_own_studies_are_run(tmp_path: Path) -> None:
    place = studies_folder() / "replay_feedback" / "report.py"
    assert reason_not_to_run(f"{place}:report") is None
    link = tmp_path / "report.py"
    link.symlink_to(place)
    assert reason_not_to_run(f"{link}:report") is None


@pytest.mark.parametrize(
    "place", ["", ":", "x.py", "x.py:", "/nowhere/x.py:f", "a\0b.py:f", f"{'x' * 5000}.py:f", "/:f"]
)
def test_what_is_no_file_is_not_run(place: str) -> None:
    assert reason_not_to_run(place) is not None


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\n", b"short\n", b"x" * 100])
def test_a_list_that_is_damaged_or_not_there_knows_nothing(
    study: str, tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "state" / "batsched_py").mkdir(parents=True)
    (tmp_path / "state" / "batsched_py" / "code_that_ran").write_bytes(content)
    assert reason_not_to_run(study) is not None


def test_without_a_place_for_the_list_code_runs_when_it_is_named(
    study: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null")
    assert callable(load_file(study))
    assert reason_not_to_run(study) is not None
