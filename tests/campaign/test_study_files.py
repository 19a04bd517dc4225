"""Files of studies: those of a package are its modules, others are loaded from where they lie."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from batsched_py.campaign.study_files import study_module
from batsched_py.errors import PluginError
from batsched_py.support.plugins import importable_name, load_file
from batsched_studies.creasy import report, tables


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a study that is a package, whose modules import each other and count executions."""
    folder = tmp_path / "found_studies" / "mine"
    folder.mkdir(parents=True)
    for place in (folder, folder.parent):
        (place / "__init__.py").write_text("")
    (folder / "numbers_of_mine.py").write_text("executions = []\n")
    (folder / "report.py").write_text(
        "from found_studies.mine.numbers_of_mine import executions\n"
        "from .numbers_of_mine import executions as relative\n"
        "executions.append(1)\n"
        "def report(results): return executions is relative, len(executions)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield folder
    for name in [name for name in sys.modules if name.startswith("found_studies")]:
        del sys.modules[name]


def test_a_shipped_study_is_the_module_of_its_package() -> None:
    path = Path(tables.__file__)
    assert importable_name(path) == "batsched_studies.creasy.tables"
    assert study_module(path) is tables
    assert load_file(f"{path.with_name('report.py')}:report") is report.report


def test_a_package_that_python_finds_is_executed_once(package: Path) -> None:
    for _ in range(2):
        assert load_file(f"{package / 'report.py'}:report")(None) == (True, 1)


def test_a_package_that_python_does_not_find_is_loaded_from_its_file(tmp_path: Path) -> None:
    (tmp_path / "__init__.py").write_text("")
    (tmp_path / "alone.py").write_text("value = 3\n")
    assert importable_name(tmp_path / "alone.py") is None
    assert load_file(f"{tmp_path / 'alone.py'}:value") == 3


def test_another_file_of_the_same_name_is_not_taken_for_it(tmp_path: Path) -> None:
    folder = tmp_path / "batsched_studies" / "creasy"
    folder.mkdir(parents=True)
    for place in (folder, folder.parent):
        (place / "__init__.py").write_text("")
    (folder / "tables.py").write_text("EASY = 'mine'\n")
    assert importable_name(folder / "tables.py") is None
    assert load_file(f"{folder / 'tables.py'}:EASY") == "mine"


def test_files_beside_each_other_are_loaded_once(tmp_path: Path) -> None:
    (tmp_path / "cases.py").write_text("found = object()\n")
    assert study_module(tmp_path / "cases.py") is study_module(tmp_path / "cases.py")
    with pytest.raises(PluginError):
        study_module(tmp_path / "missing.py")
