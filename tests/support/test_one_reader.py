"""Files are read by ``batsched_py/files/readers.py`` alone; what parses and unpacks is
forbidden elsewhere by ruff (TID251 in pyproject.toml), what opens files here."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("batsched_py", "users/batsched_users", "experiments/batsched_studies")
READERS = {"read_text", "read_bytes", "loadtxt", "genfromtxt", "fromfile", "memmap", "read_csv"}
READERS |= {"read_parquet", "read_json", "read_table"}
OPENERS = {"open", "fdopen", "FileIO"}
ALLOWED = {
    "batsched_py/files/readers.py": "is the reader",
    "batsched_py/files/writers.py": "opens what is to be on the disk",
    "batsched_py/support/lazy_names.py": "reads the source of a package of ours",
    "batsched_py/files/digests.py": "takes the digest of a file",
    "batsched_py/workload/logs/swf.py": "numpy reads bytes that were read here",
    "batsched_py/run/backends/child_processes.py": "follows a log that may be longer than memory",
    "batsched_py/support/terminal_text.py": "gives closed streams a place",
}
"""Files that may open others, and why."""


def reads(tree: ast.AST) -> Iterator[int]:
    """Yield the lines on which files are opened to be read, or read."""
    readers = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "batsched_py.files.readers"
        for alias in node.names
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        named = node.func.id if isinstance(node.func, ast.Name) else ""
        called = node.func.attr if isinstance(node.func, ast.Attribute) else named
        opens = called in OPENERS and not _writes(node)
        if opens or (called in READERS and named not in readers):
            yield node.lineno


def _writes(call: ast.Call) -> bool:
    given = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg == "mode")]
    modes = [node.value for node in given if isinstance(node, ast.Constant)]
    return any(isinstance(mode, str) and mode.strip("btx+") in ("w", "a", "") for mode in modes)


def sources() -> Iterator[Path]:
    for package in PACKAGES:
        yield from sorted((ROOT / package).rglob("*.py"))


def test_files_are_read_by_the_readers_alone() -> None:
    found = {
        str(path.relative_to(ROOT)): lines
        for path in sources()
        if (lines := list(reads(ast.parse(path.read_bytes()))))
    }
    assert {name: lines for name, lines in found.items() if name not in ALLOWED} == {}
    assert ALLOWED.keys() <= found.keys(), "what is allowed is needed"
