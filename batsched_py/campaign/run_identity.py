"""The identity of a run: a hash of its options, its input files and the code.

A run that was done is done again if and only if something that determines it has changed: a
setting, the content of a file, the code, the versions of what it is computed with.
"""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from batsched_py.files.digests import digest
from batsched_py.files.readers import read_bytes
from batsched_py.plugins import plugins
from batsched_py.plugins.imported_files import find_imported_modules
from batsched_py.run.backends.dispatch import make_launcher
from batsched_py.run.named_files import (
    HASH,
    OUR_PACKAGES,
    find_named_files,
    find_plugin_files,
    find_plugins,
)
from batsched_py.run.result import versions
from batsched_py.run.settings import Settings
from batsched_py.run.stored_values import EMBEDDED

_STARTS = ("batsched_py.run.simulate", "batsched_py.run.resolved_run")
"""The modules that simulate a run; the modules that they import determine it too."""
_OUTSIDE = {"timeouts": None, "batsim_log": False, "budgets": None}
"""Settings that do not change what a run gives."""


def hash_run(planned: Settings, settings: Settings, log: Path, further: Iterable[Any] = ()) -> str:
    """Return a hash of the options, files and code that determine a run on the file ``log``.

    ``settings`` are the ``planned`` ones with each file where it was found, which does not count.
    ``further`` is what else determines what is kept of it, such as how it is measured.
    """
    determining = msgspec.structs.replace(planned, **_OUTSIDE)
    parts: list[Any] = [determining, digest(log), digest_code(), versions(), *further]
    for group, name in find_plugins(settings):
        files = find_plugin_files(group, name)  # with those that a file imports
        parts.append([*_registered(group).get(name, []), *map(digest, files)])
    if settings.backend != EMBEDDED:
        parts.append(_batsim(settings.backend, settings.batsim))
    parts += [digest(file) for file in find_named_files(settings)]
    return hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()[:HASH]


@cache
def _registered(group: str) -> dict[str, list[str]]:
    return {
        name: [entry.value, *([entry.dist.name, entry.dist.version] if entry.dist else [])]
        for name, entry in plugins.list_names(group).items()
    }


@cache
def _batsim(backend: str, batsim: str | None) -> str:
    """Return what identifies a Batsim that is not this code; raises if it cannot be run."""
    identifier = make_launcher(backend, batsim).check()["batsim"]
    return digest(Path(identifier)) if Path(identifier).is_file() else identifier


@cache
def digest_code() -> str:
    """Return a digest of the code that determines a simulation, and of the package's data."""
    content = hashlib.sha256()
    for path in find_determining_code():
        content.update(read_bytes(path))
    return content.hexdigest()


def find_determining_code() -> list[Path]:
    """Return the files of code that determines a simulation, and of the package's data.

    These are the modules that a run and the policies and user models of this project import.
    """
    folders = {
        package: Path(spec.origin).parent
        for package in OUR_PACKAGES
        if (spec := find_spec(package)) is not None and spec.origin is not None
    }
    entries = [
        *plugins.list_names(plugins.SCHEDULERS).values(),
        *plugins.list_names(plugins.USERS).values(),
    ]
    modules = find_imported_modules([*_STARTS, *(entry.module for entry in entries)], folders)
    data = [path for folder in folders.values() for path in folder.rglob("*.json")]
    return sorted([*modules, *data, Path(__file__).with_name("run_task.py")])


@cache
def find_version() -> dict[str, Any]:
    """Return the version and, in a checkout, the git revision (``-dirty``: with changes)."""
    return {"version": version("batsched_py"), "git_revision": _revision()}


def _revision() -> str | None:
    checkout = Path(__file__).parents[2]
    if not (checkout / ".git").exists():  # of an installed package
        return None
    command = ["git", "-C", str(checkout), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):  # no git here, or not a checkout of batsched_py
        return None
    return done.stdout.strip() or None
