"""What determines a run: the hash that it is known by, and the files that it reads.

A run that was done is done again if and only if something that determines it has changed: a
setting, the content of a file, the code, the versions of what it is computed with.
"""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from batsched_py.errors import BatschedError
from batsched_py.run.backends.dispatch import launcher
from batsched_py.run.result import versions
from batsched_py.run.settings import EMBEDDED, Settings
from batsched_py.support import plugins
from batsched_py.support.code_places import is_installed
from batsched_py.support.file_digest import digest
from batsched_py.support.file_readers import read_bytes, read_toml
from batsched_py.support.imported_files import imported_files

HASH = 12
"""Digits of the hash with which the name of a run's folder ends."""
_OUTSIDE = {"timeouts": None, "batsim_log": False, "budgets": None}
"""Settings that do not change what a run gives."""
_DETERMINING = {
    "batsched_py": (
        *("decision_process.py", "errors.py", "units.py", "campaign/run_task.py"),
        *("metrics", "model", "protocol", "results", "run", "schedulers", "simulator", "support"),
        *("transport", "workload"),
    ),
    "batsched_users": ("behaviour", "data", "models", "resampling", "sessions"),
}
"""Files and folders of each package whose code determines what a simulation gives."""


def identity(planned: Settings, settings: Settings, log: Path, further: Iterable[Any] = ()) -> str:
    """Return a hash of all that determines a run on the file ``log``, in hexadecimal digits.

    ``settings`` are the ``planned`` ones with each file where it was found: that is no part of it.
    ``further`` is what else determines what is kept of it, such as how it is measured.
    """
    determining = msgspec.structs.replace(planned, **_OUTSIDE)
    parts: list[Any] = [determining, digest(log), code_digest(), versions(), *further]
    parts += [_plugin(group, name) for group, name in _plugins_of(settings)]
    if settings.backend != EMBEDDED:
        parts.append(_batsim(settings.backend, settings.batsim))
    parts += [digest(file) for file in _named_files(settings)]
    return hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()[:HASH]


def input_files(settings: Settings, log: Path) -> list[Path]:
    """Return the files that a run reads: its log, and those that its settings name."""
    of_plugins = [file for plugin in _plugins_of(settings) for file in _plugin_files(*plugin)]
    return list(dict.fromkeys([log, *_named_files(settings), *of_plugins]))


def _plugins_of(settings: Settings) -> list[tuple[str, str]]:
    wrapped = [name for name in _models(settings.user_options) if not plugins.names_file(name)]
    return [
        (plugins.SCHEDULERS, settings.scheduler),
        *((plugins.USERS, name) for name in dict.fromkeys([settings.users, *wrapped])),
    ]


def _models(value: Any, inside: tuple[Path, ...] = ()) -> Iterator[str]:
    """Yield the models that options name: those that another is around, members of populations.

    ``inside`` are the files that led there.
    """
    if isinstance(value, list):
        for item in value:
            yield from _models(item, inside)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key == "model" and isinstance(item, str):
                yield item
            yield from _models(item, inside)
    elif isinstance(value, str) and value.endswith(".toml"):
        file = Path(value)
        with suppress(BatschedError, OSError, ValueError):  # the run will say so
            if file not in inside:
                yield from _models(read_toml(file), (*inside, file))


def _named_files(settings: Settings) -> list[Path]:
    options = (*settings.scheduler_options.values(), *settings.user_options.values())
    return [
        file for text in (settings.platform, settings.sites, *options) for file in _files_of(text)
    ]


def _files_of(value: Any, beside: Path | None = None) -> list[Path]:
    """Return the files that a setting names: itself, all in a folder, and what a TOML file names.

    ``beside`` is a folder in which they may be too. A population file names plug-ins, parameters
    and distributions.
    """
    if isinstance(value, dict | list):
        values = value.values() if isinstance(value, dict) else value
        return [file for item in values for file in _files_of(item, beside)]
    if not isinstance(value, str) or not value:
        return []
    text, python, _ = value.partition(".py:")
    path = Path(text + ".py" if python else text)
    places = [path] if beside is None else [beside / path, path]  # which of them is up to the model
    files = [file for place in places for file in _all_files(place)]
    if python:  # what it imports of ours is part of the code
        return [each for file in files for each in imported_files(file, _DETERMINING)]
    for file in list(files):
        if file.suffix == ".toml" and beside is None:
            with suppress(BatschedError):  # the run will say so
                files += _files_of(read_toml(file), file.parent)
    return files


def _all_files(path: Path) -> list[Path]:
    with suppress(OSError):  # a long text is no path
        if path.is_dir():
            return sorted(file for file in path.iterdir() if file.is_file())
        if path.is_file():
            return [path]
    return []


def _plugin(group: str, name: str) -> list[str]:
    """Return what identifies the code of a plug-in: of a file, with those that it imports."""
    files = map(digest, _plugin_files(group, name))
    return [*_registered(group).get(name, []), *files]


def _plugin_files(group: str, name: str) -> list[Path]:
    """Return the files of a plug-in that may be edited: it is in a file, or in a package that is
    installed by a link to its sources (``pip install -e``), with what they import."""
    if ".py:" in name:
        return _files_of(name)
    entry = plugins.names(group).get(name)
    if entry is None or entry.module.partition(".")[0] in _DETERMINING:
        return []
    spec = find_spec(entry.module)  # which was imported when the settings were checked
    if spec is None or spec.origin is None or is_installed(Path(spec.origin)):
        return []
    return imported_files(Path(spec.origin), _DETERMINING)


@cache
def _registered(group: str) -> dict[str, list[str]]:
    return {
        name: [entry.value, *([entry.dist.name, entry.dist.version] if entry.dist else [])]
        for name, entry in plugins.names(group).items()
    }


@cache
def _batsim(backend: str, batsim: str | None) -> str:
    """Return what identifies a Batsim that is not this code; raises if it cannot be run."""
    identifier = launcher(backend, batsim).check()["batsim"]
    return digest(Path(identifier)) if Path(identifier).is_file() else identifier


@cache
def code_digest() -> str:
    """Return a digest of the code that determines a simulation, and of the data that ship."""
    content = hashlib.sha256()
    for path in determining_code():
        content.update(read_bytes(path))
    return content.hexdigest()


def determining_code() -> list[Path]:
    """Return the files of the code that determines a simulation, and of the data that ship."""
    files: list[Path] = []
    for package, parts in _DETERMINING.items():
        spec = find_spec(package)
        if spec is not None and spec.origin is not None:
            places = [Path(spec.origin).parent / part for part in parts]
            files += [place for place in places if place.is_file()]
            files += [path for place in places for path in place.rglob("*.py")]
            files += [path for place in places for path in place.rglob("*.json")]
    return sorted(files)


@cache
def provenance() -> dict[str, Any]:
    """Return the version and, in a checkout, the git revision (``-dirty``: with changes)."""
    return {"version": version("batsched_py"), "git_revision": _revision()}


def _revision() -> str | None:
    checkout = Path(__file__).parents[2]
    if not (checkout / ".git").exists():  # of an installed package
        return None
    command = ["git", "-C", str(checkout), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):  # no git here, or not our checkout
        return None
    return done.stdout.strip() or None
