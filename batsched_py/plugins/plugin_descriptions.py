"""Reads the one-line descriptions of plug-ins from their sources, without importing them."""

from __future__ import annotations

import ast
import inspect
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from batsched_py.errors import BatschedError
from batsched_py.files.readers import read_bytes

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

NOT_DESCRIBED = "(not described)"
REPLAY = "Replay without users: every job is submitted at its recorded time."
"""Of the users called ``rigid``, who are no plug-in."""


def find_description(entry: EntryPoint) -> str:
    """Return the first paragraph of an entry point's docstring, as one line.

    A Typer application has instead what its ``help=`` or its only command says. What cannot be read
    so (source in an archive, a class that is imported from elsewhere) is imported, and raises what
    that raises.
    """
    path = _source(entry.module)
    written = path and read_docstring(path, entry.attr)
    return join_first_paragraph(written) if written else find_object_description(entry.load())


def find_object_description(plugin: Any) -> str:
    """Return the first paragraph of an imported object's docstring, as one line."""
    info = getattr(plugin, "info", None)  # of a Typer application
    text = getattr(info, "help", None)
    return join_first_paragraph(text if isinstance(text, str) else inspect.getdoc(plugin))


def join_first_paragraph(text: str | None) -> str:
    """Return the first paragraph of a docstring as one line."""
    return " ".join((text or NOT_DESCRIBED).strip().split("\n\n")[0].split())


def read_docstring(path: Path, name: str) -> str | None:
    """Return the docstring of a class, function or application from a file, without running it.

    Empty without docstring; None if the object is not in the file, or the file cannot be read.
    """
    try:
        module = ast.parse(read_bytes(path))
    except (BatschedError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    for statement in module.body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            decorators = map(ast.unparse, statement.decorator_list)
            if statement.name == name or any(d.startswith(f"{name}.command(") for d in decorators):
                return ast.get_docstring(statement) or ""
        elif isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
            given = {keyword.arg: keyword.value for keyword in statement.value.keywords}
            text = given.get("help")
            if ast.unparse(statement.targets[0]) == name and isinstance(text, ast.Constant):
                return str(text.value)
    return None


@cache
def _folder(package: str) -> Path | None:
    """Return where the files of a package or module at the top are, without importing it."""
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):
        return None
    return None if spec is None or spec.origin is None else Path(spec.origin).parent


def _source(module: str) -> Path | None:
    """Return the file of a module; not ``find_spec``, which imports the packages around it."""
    package, *inner = module.split(".")
    folder = _folder(package)
    if folder is None:
        return None
    place = folder.joinpath(*inner) if inner else folder / package
    files = (place.with_suffix(".py"), place / "__init__.py")
    return next((path for path in files if path.is_file()), None)
