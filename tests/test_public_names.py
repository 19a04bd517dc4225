"""What is public: the names that the page promises, and no others; pages use only these."""

from __future__ import annotations

import ast
import doctest
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
API = ROOT / "docs" / "reference" / "api"
PROMISE = (API / "index.md").read_text()
DESCRIBED = "".join(page.read_text() for page in sorted(API.glob("*.md")))
MODULES = re.findall(r"^\| from `([\w.]+)` \|", PROMISE, re.M)
FOR_CONTRIBUTORS = {"architecture.md", "CHANGELOG.md", "CONTRIBUTING.md", "RELEASING.md"}
"""Pages whose prose speaks of what is internal."""
PAGES = [
    page
    for pattern in ("*.md", "docs/**/*.md", "experiments/**/*.md")
    for page in sorted(ROOT.glob(pattern))
]
OURS = ("batsched_py", "batsched_users", "batsched_studies")
CODE = re.compile(r"```python\n(.*?)```", re.S)
IN_PROSE = re.compile(r'(?<!entry-points\.")\b(?:batsched_py|batsched_users)(?:\.\w+)+')


def promised(module: str) -> list[str]:
    """Return the names in the first column of the table ``| from `module` | ...``."""
    _, _, rest = PROMISE.partition(f"| from `{module}` |")
    rows = rest.partition("\n\n")[0].splitlines()[2:]
    return [name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])]


def is_public(path: str) -> bool:
    """Tell whether a path with dots is a public module or a public name of one."""
    module, _, name = path.rpartition(".")
    return path in MODULES or (module in MODULES and name in import_module(module).__all__)


def imported(code: str) -> Iterator[str]:
    """Yield what of ours some code imports: modules, or names after their modules."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            paths = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            paths = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (path for path in paths if path.partition(".")[0] in OURS)


def test_each_public_name_is_described_once() -> None:
    """Modules as a whole, names of the largest one by one; the page of simulate is generated."""
    described = re.findall(r"^::: ([\w.]+)$", DESCRIBED, re.M)
    first, *others = MODULES
    names = [f"{first}.{name}" for name in promised(first) if name != "simulate"]
    assert sorted(described) == sorted([*names, *others])
    assert "## simulate\n" in DESCRIBED


@pytest.mark.parametrize("module", MODULES)
def test_what_is_exported_is_what_is_promised(module: str) -> None:
    """Each name once, with a docstring; none is a module, which would hide it after an import."""
    package = import_module(module)
    exported = package.__all__
    assert {*exported} <= {*dir(package)}
    assert sorted(promised(module)) == sorted(exported)
    assert [name for name in exported if not getattr(package, name).__doc__] == []
    if hasattr(package, "__path__"):
        assert not [name for name in exported if find_spec(f"{module}.{name}")]
    with pytest.raises(AttributeError, match=rf"{module}.*no_such_name"):
        _ = package.no_such_name


@pytest.mark.parametrize("module", MODULES)
def test_examples_in_docstrings_give_what_they_show(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    package = import_module(module)
    public = {name: getattr(package, name) for name in package.__all__}
    finder, runner = doctest.DocTestFinder(recurse=False), doctest.DocTestRunner()
    for name, what in public.items():
        known = vars(sys.modules.get(getattr(what, "__module__", None) or module, package)) | public
        for example in finder.find(what, name, module=False, globs=known):
            runner.run(example)
    assert not runner.failures


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_pages_use_public_names_only(page: Path) -> None:
    text = page.read_text()
    paths = [path for code in CODE.findall(text) for path in imported(code)]
    if page.name not in FOR_CONTRIBUTORS:
        paths += IN_PROSE.findall(CODE.sub("", text))
    internal = [path for path in paths if not is_public(path)]
    assert not internal


def imported_by(program: str) -> set[str]:
    """Return the modules that a program in a process of its own has imported."""
    command = [sys.executable, "-c", f"import sys; {program}; print(*sys.modules)"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


HEAVY = {"numpy", "pandas", "procset"}


@pytest.mark.process
@pytest.mark.parametrize(
    ("module", "names", "heavy"),
    [
        ("batsched_py", "Start, Machine, WaitingReason", {*HEAVY, "batsched_py.simulator"}),
        ("batsched_py.report.kit", "table", {"altair", "networkx"}),
        ("batsched_users", "__all__", {"numpy", "pandas", "networkx"}),
    ],
)
def test_names_cost_little(module: str, names: str, heavy: set[str]) -> None:
    """Libraries are imported when something of theirs is asked for."""
    assert not heavy & imported_by(f"from {module} import {names}")
