"""Which files of one's own a Python file consists of, by what the texts import."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from batsched_py.plugins.imported_files import find_imported_files

FILES: Mapping[str, str] = {
    "policy.py": "",
    "beside.py": "import farther",
    "farther.py": "import beside",  # in a circle
    "unrelated.py": "import policy",
    "package/__init__.py": "from .defaults import BOUND",
    "package/defaults.py": "",
    "package/deep/__init__.py": "",
    "package/deep/inner.py": "from ..defaults import BOUND",
    "package/deep/other.py": "",
    "spaces/module.py": "",  # a folder without __init__.py is a package too
    "numpy_like/__init__.py": "",
}
PACKAGE = {"package/__init__.py", "package/defaults.py"}
INNER = {*PACKAGE, "package/deep/__init__.py", "package/deep/inner.py"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "loop.py").symlink_to("loop.py")
    (tmp_path / "through").symlink_to("policy.py/x")  # links that lead nowhere hide nothing
    (tmp_path / "long").symlink_to(300 * "x")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def found(file: str | Path, *left_out: str) -> set[str]:
    paths = find_imported_files(Path(file), left_out)
    assert paths == sorted(set(paths))
    return {str(path.relative_to(Path.cwd())) for path in paths}


@pytest.mark.parametrize(
    ("text", "imports"),
    [
        ("x = 1", set()),
        ("import os, numpy, pytest, nowhere", set()),  # installed, or not there
        ("import beside", {"beside.py", "farther.py"}),
        ("from beside import anything", {"beside.py", "farther.py"}),
        ("try:\n import beside\nexcept ImportError:\n pass", {"beside.py", "farther.py"}),
        ("import package", PACKAGE),
        ("from package.deep import inner", INNER),
        ("from package import deep", {*PACKAGE, "package/deep/__init__.py"}),
        ("from spaces.module import x", {"spaces/module.py"}),
        ("from . import beside", {"beside.py", "farther.py"}),
        ("# import beside\n'import beside'", set()),
        ("def wrong(:", set()),  # running it says what is wrong
        ("import beside, loop", {"beside.py", "farther.py"}),  # a link to itself
        ("import numpy_like", set()),  # left out
    ],
)
def test_what_the_text_imports(text: str, imports: set[str]) -> None:
    Path("policy.py").write_text(text)
    assert found("policy.py", "numpy_like") == {"policy.py", *imports}
    Path("users.py").write_text("import policy")
    assert found("users.py", "numpy_like") == {"users.py", "policy.py", *imports}
    assert found("gone.py") == set()


@pytest.mark.parametrize(
    "text", ["from importlib import import_module", "x = __import__('beside')"]
)
def test_who_imports_by_made_up_names_may_import_all_that_lies_beside(text: str) -> None:
    Path("policy.py").write_text(text)
    assert found("policy.py") == {"policy.py", "beside.py", "farther.py", "unrelated.py"}


def test_a_file_of_a_package_has_the_packages_that_it_lies_in() -> None:
    """They are executed before it, and it may import from the top."""
    assert found("package/deep/other.py") == {*INNER, "package/deep/other.py"} - {
        "package/deep/inner.py"
    }
    Path("package/deep/other.py").write_text("from package.deep import inner\nimport unrelated")
    assert found("package/deep/other.py") == {
        *INNER,
        *("package/deep/other.py", "unrelated.py", "policy.py"),
    }


def test_where_python_looks_counts_but_not_what_is_installed(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with PYTHONPATH, and with ``pip install``."""
    place = tmp_path_factory.mktemp("places")
    for folder in (place / "lib", place / "site-packages"):
        folder.mkdir()
        (folder / f"in_{folder.name.replace('-', '_')}.py").write_text("")
        monkeypatch.syspath_prepend(folder)
    Path("policy.py").write_text("import in_lib, in_site_packages")
    names = {path.name for path in find_imported_files(Path("policy.py"))}
    assert names == {"policy.py", "in_lib.py"}
