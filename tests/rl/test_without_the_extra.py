"""Without the extra ``rl``, only the example fails, and says what to install."""

from __future__ import annotations

import importlib
import re
import runpy
import sys
from pathlib import Path

import pytest

from batsched_py.errors import MissingExtraError

ROOT = Path(__file__).parents[2]
MODULE = "batsched_studies.learning.train_ppo"


def test_a_missing_extra_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"torch is not installed.*\[rl\]"):
        importlib.import_module(MODULE)


@pytest.mark.parametrize("package", ["gymnasium", "torch"])
def test_the_command_shows_one_line(
    package: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(SystemExit, match="2"):
        runpy.run_module(MODULE, run_name="__main__")
    (said,) = capsys.readouterr().err.splitlines()
    assert f"{package} is not installed" in said
    assert "[rl]" in said


def test_only_the_example_imports_torch() -> None:
    pattern = re.compile(r"^\s*(?:import|from) (?:torch|sb3_contrib|stable_baselines3)\b", re.M)
    folders = ("batsched_py", "users", "experiments", "docs")
    files = [file for folder in folders for file in (ROOT / folder).rglob("*.py")]
    (found,) = [file for file in files if pattern.search(file.read_text())]
    assert found.stem == "train_ppo"
