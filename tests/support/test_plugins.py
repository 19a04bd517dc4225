"""Plug-ins: by name, by file, and what is said of those that do not fit."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from numpy.random import SeedSequence, default_rng

from batsched_py import Easy, Job, simulate
from batsched_py.errors import PluginError
from batsched_py.plugins import plugins
from batsched_py.plugins.plugin_files import importable_name, load_file, study_module
from batsched_studies.creasy import tables

GOOD = """
class Mine:
    def __init__(self, *, depth: int = 1):
        self.depth = depth
    def schedule(self, now, queue, machine):
        return iter(())
"""


def write(folder: Path, text: str) -> str:
    path = folder / "policy.py"
    path.write_text(text)
    return f"{path}:Mine"


def test_by_file_and_by_name(tmp_path: Path) -> None:
    place = write(tmp_path, GOOD)
    plugin = plugins.load(plugins.SCHEDULERS, place)
    assert plugins.make(plugin, place, (), {"depth": 3}).depth == 3
    assert plugins.load(plugins.SCHEDULERS, "easy").__name__ == "Easy"
    # Options need not be keyword-only, nor their types known.
    place = write(tmp_path, GOOD.replace("*, depth: int", "depth: 'NotKnownHere'"))
    plugin = plugins.load(plugins.SCHEDULERS, place)
    assert plugins.find_accepted_options(plugin) == ["depth"]
    assert plugins.make(plugin, place, (), {"depth": "any"}).depth == "any"
    for group, wrong, words in (
        (plugins.SCHEDULERS, f"{tmp_path}/none.py:Mine", "no file"),
        (plugins.SCHEDULERS, "esay", r"'easy'.*file\.py:Class"),
        (plugins.USERS, f"{tmp_path}/policy.py", r"policy\.py:Class.*classes are: Mine$"),
    ):
        with pytest.raises(PluginError, match=words):
            plugins.load(group, wrong)
    with pytest.raises(PluginError, match=r"path/to/file\.py:Name"):
        load_file("report.py")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("class Mine: pass", r"no method 'schedule': expected def schedule\(self, now, queue"),
        ("class Mine:\n def schedule(self, now): yield", r"found def schedule\(self, now\)"),
        (
            "class Mine:\n def schedule(self, *given): yield\n def may_start(self, job): ...",
            r"found def may_start\(self, job\), expected def may_start\(self, now, job\)",
        ),
        ("class Mine:\n def schedule(self, now, queue, machine, *, more): yield", "expected def"),
        ("Mine = 3", "expected a class"),
        ("from enum import Enum\nclass Min: pass", r"'Min'\?\); its classes are: Min$"),
        ("def broken(:", "SyntaxError"),
        ("raise SystemExit(0)", "SystemExit"),
        ("def f():\n    return 1 / 0\nf()", r"ZeroDivisionError: .*policy\.py:2, in f\)"),
    ],
)
def test_wrong_plugins_fail_at_once(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(PluginError, match=message):
        plugins.load(plugins.SCHEDULERS, write(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (GOOD, {"dept": 3}, r"option of .* called 'dept' \(did you mean 'depth'"),
        (GOOD.replace("depth: int = 1", "depth: int"), {}, "needs the option 'depth'"),
        (GOOD.replace("*, ", ""), {"depth": 1.5}, "depth=1.5: "),
        # A default says the type, too.
        (GOOD.replace(": int = 1", "=0.5"), {"depth": True}, "depth=True: expected a number"),
        (GOOD.replace(": int = 1", "=0.5"), {"depth": "12h"}, r"a number \(seconds\?\)$"),
        (GOOD.replace(": int = 1", "=0.5"), {"depth": "much"}, "expected a number$"),
        (GOOD.replace(": int = 1", "=False"), {"depth": 1}, "depth=1: expected true or false"),
        (
            GOOD.replace("int = 1", "'int | None' = 1").replace("= depth", "= 0 * depth + 1"),
            {"depth": "x"},
            ":Mine': depth='x': expected a whole number$",
        ),
    ],
)
def test_options_that_do_not_fit(
    tmp_path: Path, text: str, options: dict[str, Any], message: str
) -> None:
    place = write(tmp_path, text)
    with pytest.raises(PluginError, match=message):
        plugins.make(plugins.load(plugins.SCHEDULERS, place), place, (), options)


MODEL = """
class Mine:
    def __init__(self, workload, pause=60.0, *, seed=None):
        self.profiles = workload
        self.given = pause, seed
    def next_submission(self): ...
    def jobs_to_submit(self, now): ...
    def job_ended(self, now, job, state): ...
"""


def test_methods_with_a_slip_in_their_names() -> None:
    """They would do nothing in silence."""

    class Capped(Easy):
        def may_strat(self, now: float, job: Job) -> bool:
            return False

        def job_ended(self, now: float, job: Job) -> None:
            pass

        def job_end(self) -> None:
            pass

    assert plugins.find_misspelt(plugins.SCHEDULERS, Capped) == {"may_strat": "may_start"}
    notes = simulate("sample", scheduler=Capped, first=5).settings["notes"]
    assert "Capped.may_strat is never called: did you mean may_start?" in notes


def test_the_first_parameter_of_a_user_model_is_no_option(tmp_path: Path) -> None:
    place = write(tmp_path, MODEL)
    model = plugins.load(plugins.USERS, place)
    assert plugins.find_accepted_options(model) == ["pause", "seed"]
    assert plugins.make_users(model, place, {}, {"pause": 5}, 7).given == (5, 7)
    with pytest.raises(PluginError, match="called 'workload'"):
        plugins.make_users(model, place, {}, {"workload": {}}, 7)
    place = write(tmp_path, MODEL.replace("profiles", "profile"))
    with pytest.raises(PluginError, match="has no profiles"):
        plugins.make_users(plugins.load(plugins.USERS, place), place, {}, {}, 0)
    with pytest.raises(PluginError, match=r"def job_ended\("):
        plugins.load(plugins.USERS, write(tmp_path, MODEL.replace("job_ended", "job_end")))


@pytest.mark.parametrize(
    ("parameter", "is_number"),
    [
        ("seed=1.5", True),
        ("seed: int", True),
        ("seed=None", False),
        ("seed", False),
        ("seed: 'NotKnownHere' = 0", False),
        ("**options", False),
    ],
)
def test_a_user_model_gets_a_seed_that_fits_its_parameter(
    tmp_path: Path, parameter: str, is_number: bool
) -> None:
    text = MODEL.replace("seed=None", parameter)
    if parameter == "**options":
        text = text.replace("*, ", "").replace("pause, seed", "pause, options['seed']")
    place = write(tmp_path, text)

    def given(seed: int) -> Any:
        model = plugins.load(plugins.USERS, place)
        return plugins.make_users(model, place, {}, {}, SeedSequence(seed)).given[1]

    assert isinstance(given(3), int if is_number else SeedSequence)
    draws = [default_rng(given(seed)).random() for seed in (3, 3, 4)]
    assert draws[0] == draws[1] != draws[2]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a package whose modules import each other and count executions."""
    folder = tmp_path / "found_package" / "mine"
    folder.mkdir(parents=True)
    for place in (folder, folder.parent):
        (place / "__init__.py").write_text("")
    (folder / "numbers_of_mine.py").write_text("executions = []\n")
    (folder / "report.py").write_text(
        "from found_package.mine.numbers_of_mine import executions\n"
        "from .numbers_of_mine import executions as relative\n"
        "executions.append(1)\n"
        "def report(results): return executions is relative, len(executions)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield folder
    for name in [name for name in sys.modules if name.startswith("found_package")]:
        del sys.modules[name]


def test_a_file_of_a_package_that_python_finds_is_executed_once(package: Path) -> None:
    for _ in range(2):
        assert load_file(f"{package / 'report.py'}:report")(None) == (True, 1)
    assert study_module(Path(tables.__file__)) is tables
    cases = study_module(package / "numbers_of_mine.py")
    assert study_module(package / "numbers_of_mine.py") is cases
    with pytest.raises(PluginError):
        study_module(package / "missing.py")


@pytest.mark.parametrize("folder", [".", "found_package/mine"])
def test_a_file_of_no_package_that_python_finds_is_loaded_from_its_place(
    package: Path, tmp_path: Path, folder: str
) -> None:
    """One of the same name as a module that Python finds is not taken for it."""
    place = tmp_path / "elsewhere" / folder
    place.mkdir(parents=True)
    for path in {place, place.parent}:
        (path / "__init__.py").write_text("")
    (place / "report.py").write_text("report = 3\n")
    assert importable_name(place / "report.py") is None
    assert load_file(f"{place / 'report.py'}:report") == 3


def _loads(folder: Path, says: str) -> str:
    """Load a policy of a folder whose helper says something; return what the policy got of it."""
    folder.mkdir(exist_ok=True)
    (folder / "its_helper.py").write_text(f"SAYS = {says!r}\n")
    policy = "import calendar\nfrom its_helper import SAYS\n\nclass P:\n    says = SAYS\n"
    (folder / "p.py").write_text(policy + "    def schedule(self, now, queue, machine): ...\n")
    found: str = plugins.load(plugins.SCHEDULERS, f"{folder / 'p.py'}:P").says
    return found


def test_a_file_imports_what_lies_beside_it(tmp_path: Path) -> None:
    path = list(sys.path)
    assert _loads(tmp_path / "a", "of a") == "of a"
    assert _loads(tmp_path / "b", "of b") == "of b"  # its own, not that of a
    (tmp_path / "a" / "calendar.py").write_text("raise RuntimeError")  # hides nothing of Python
    assert _loads(tmp_path / "a", "edited now") == "edited now"
    assert sys.path == path
