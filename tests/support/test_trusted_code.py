"""Whose code is run on the word of results."""

from __future__ import annotations

import os
import sys
from importlib._bootstrap_external import _code_to_hash_pyc
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import cache_from_source, source_hash
from pathlib import Path

import pytest

import batsched_py
from batsched_py.errors import PluginError
from batsched_py.support.plugin_files import load_file
from batsched_py.support.shipped_files import studies_folder
from batsched_py.support.trusted_code import POLICIES, reason_not_to_run, remember


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
    with pytest.raises(PluginError, match="is not code that you have run from there"):
        load_file(study, by_results=True)
    load_file(study)
    assert reason_not_to_run(study) is not None  # it is the command line that remembers
    remember(study)
    assert reason_not_to_run(study) is None
    assert callable(load_file(study, by_results=True))


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
        assert f"{path} can be written by everybody" in str(reason_not_to_run(study))
        path.chmod(before)
    assert reason_not_to_run(study) is None
    folder.chmod(0o1757)  # as /tmp
    assert reason_not_to_run(study) is None


def test_code_of_a_project_whose_group_writes_is_run(study: str) -> None:
    """Whoever else may write there changes nothing unseen, for what was digested is compiled."""
    folder = Path(study).parent
    folder.chmod(0o2775)
    for file in folder.iterdir():
        file.chmod(0o664)
        if os.name == "posix" and os.getuid() == 0:
            os.chown(file, 4321, 4321)  # as files of one's own in a container
    remember(study)
    assert reason_not_to_run(study) is None


def compiled(file: Path, text: str) -> bytes:
    """What Python takes for what it compiled of a file, however that changes."""
    code = compile(text, str(file), "exec")
    return bytes(_code_to_hash_pyc(code, source_hash(file.read_bytes()), False))


@pytest.mark.parametrize("name", ["report", "numbers_of_mine"])
def test_what_lies_in_pycache_beside_known_code_is_not_run(study: str, name: str) -> None:
    file = Path(study).parent / f"{name}.py"
    file.write_text(f"# {os.urandom(8)!r}\n{file.read_text()}")
    remember(study)
    cached = Path(cache_from_source(str(file)))
    cached.parent.mkdir(exist_ok=True)
    cached.write_bytes(compiled(file, "raise SystemExit('this was run')"))
    assert reason_not_to_run(study) is None
    assert callable(load_file(study, by_results=True))


@pytest.mark.parametrize(
    "name",
    [
        *(f"numbers_of_mine{suffix}" for suffix in EXTENSION_SUFFIXES),
        "numbers_of_mine/__init__.py",
        f"numbers_of_mine/__init__{EXTENSION_SUFFIXES[0]}",
        "numbers_of_mine/__init__.pyc",
    ],
)
def test_what_would_be_imported_in_place_of_a_known_module_is_new(study: str, name: str) -> None:
    remember(study)
    other = Path(study).parent / name
    other.parent.mkdir(exist_ok=True)
    other.write_bytes(b"")
    assert f"{other} is new since you ran it" in str(reason_not_to_run(study))


@pytest.mark.parametrize("name", ["absent.pyc", f"absent{EXTENSION_SUFFIXES[0]}", "absent.py"])
def test_a_module_that_was_missing_is_new_in_whatever_form(study: str, name: str) -> None:
    file = Path(study.rpartition(":")[0])
    file.write_text("try:\n import absent\nexcept ImportError: pass\ndef report(r): pass\n")
    remember(study)
    assert reason_not_to_run(study) is None
    (file.parent / name).write_bytes(b"")
    assert f"{name} is new since you ran it" in str(reason_not_to_run(study))


def test_what_known_code_finds_later_and_nobody_digested_is_not_run(study: str) -> None:
    """No text says what such code imports; who names it lets it import anything."""
    file = Path(study.rpartition(":")[0])
    file.write_text("def report(r):\n  exec('import ' + 'hidden')\n  return 3\n")
    (file.parent / "hidden.py").write_text("")
    remember(study)
    report = load_file(study, by_results=True)
    folder = str(file.parent)
    sys.path.append(folder)
    try:
        with pytest.raises(ImportError, match="is not code that you have run"):
            report(None)
        assert load_file(study)(None) == 3
    finally:
        sys.path.remove(folder)


@pytest.mark.parametrize(
    "place",
    [
        "__main__.py:main",
        "support/atomic_files.py:write_whole",
        "schedulers/easy.py:Easy",
    ],
)
def test_results_choose_no_other_code_of_ours(place: str) -> None:
    path = f"{Path(batsched_py.__file__).parent}/{place}"
    assert "but not for that" in str(reason_not_to_run(path))
    is_policy = place.startswith("schedulers")
    assert (reason_not_to_run(path, POLICIES) is None) == is_policy
    study = studies_folder() / "replay_feedback" / "report.py"
    assert reason_not_to_run(f"{study}:Path") is not None


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
