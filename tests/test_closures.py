"""How much one has to read: the code that a module imports, and the files in a folder.

A limit is raised only for a new capability, with the reason beside it.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = {"batsched_py": ROOT, "batsched_users": ROOT / "users"}
MOST_LINES = {
    "batsched_py.schedulers.easy": 1_950,
    "batsched_py.model.system": 3_250,  # the loop without messages
    "batsched_py.decision_process": 4_450,
    "batsched_py.run.simulate": 21_300,
}
"""Lines of a module and of all modules that it imports when it runs, directly or not."""
MOST_FILES = 14
"""Python files in one folder."""


@cache
def modules() -> dict[str, Path]:
    """Return the files of all modules by their names."""
    found = {}
    for package, folder in PACKAGES.items():
        for path in (folder / package).rglob("*.py"):
            name = ".".join(path.relative_to(folder).with_suffix("").parts)
            found[name.removesuffix(".__init__")] = path
    return found


def nodes_that_run(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and those below it, but for those that only type checkers see."""
    yield node
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        children: list[ast.AST] = [*node.orelse]
    else:
        children = [*ast.iter_child_nodes(node)]
    for child in children:
        yield from nodes_that_run(child)


def imported(module: str) -> set[str]:
    """Return the modules of the packages that a module imports, inside functions too."""
    names: set[str] = set()
    for node in nodes_that_run(ast.parse(modules()[module].read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.module is not None, f"{module}: relative imports are not counted"
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names & modules().keys()


def closure(module: str) -> set[str]:
    """Return a module and all modules that it imports, directly or not."""
    found, left = {module}, [module]
    while left:
        new = imported(left.pop()) - found
        found |= new
        left += new
    return found


@pytest.mark.parametrize("module", MOST_LINES)
def test_a_module_is_understood_with_few_others(module: str) -> None:
    lines = {name: len(modules()[name].read_text().splitlines()) for name in closure(module)}
    longest = Counter(lines).most_common(10)
    assert sum(lines.values()) <= MOST_LINES[module], f"the longest of {len(lines)}: {longest}"


def test_folders_hold_few_files() -> None:
    folders = Counter(path.parent for path in modules().values())
    assert {str(folder): nb for folder, nb in folders.items() if nb > MOST_FILES} == {}
