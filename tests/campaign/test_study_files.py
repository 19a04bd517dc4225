"""Files of studies: those of a package are its modules, others are loaded from where they lie."""

from __future__ import annotations

from pathlib import Path

import pytest

from batsched_py.campaign.study_files import study_module
from batsched_py.errors import PluginError
from batsched_studies.creasy import tables


def test_each_file_is_executed_once(tmp_path: Path) -> None:
    assert study_module(Path(tables.__file__)) is tables
    (tmp_path / "cases.py").write_text("value = object()\n")
    assert study_module(tmp_path / "cases.py") is study_module(tmp_path / "cases.py")
    with pytest.raises(PluginError):
        study_module(tmp_path / "missing.py")
