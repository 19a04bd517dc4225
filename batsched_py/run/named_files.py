"""Finds the files that determine a run: inputs named by options, and editable plug-in code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from batsched_py.errors import BatschedError
from batsched_py.files.readers import read_toml
from batsched_py.plugins import plugins
from batsched_py.plugins.code_places import is_installed
from batsched_py.plugins.imported_files import find_imported_files
from batsched_py.run.settings import Settings
from batsched_py.run.stored_values import Run

HASH = 12
"""Digits of a SHA-256 that tell files, and runs, apart."""
OUR_PACKAGES = ("batsched_py", "batsched_users")
"""Packages whose code is part of every run, or of its plug-ins."""


def find_setting_files(settings: Settings | Run) -> list[Path]:
    """Return the input files that the options name, and the editable files of plug-ins."""
    of_plugins = [file for plugin in find_plugins(settings) for file in find_plugin_files(*plugin)]
    return list(dict.fromkeys([*find_named_files(settings), *of_plugins]))


def find_plugins(settings: Settings | Run) -> list[tuple[str, str]]:
    """Return group and name of all plug-ins of a run, also of user models inside another one."""
    wrapped = [name for name in _models(settings.user_options) if not plugins.names_file(name)]
    return [
        (plugins.SCHEDULERS, settings.scheduler),
        *((plugins.USERS, name) for name in dict.fromkeys([settings.users, *wrapped])),
    ]


def _models(value: Any, inside: tuple[Path, ...] = ()) -> Iterator[str]:
    """Yield the user models that options name, such as the members of a population.

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


def find_named_files(settings: Settings | Run) -> list[Path]:
    """Return the files that the machine's options and the options of plug-ins name."""
    options = (*settings.scheduler_options.values(), *settings.user_options.values())
    texts = (settings.platform, settings.machine, settings.sites, *options)
    return [file for text in texts for file in _files_in(text)]


def _files_in(value: Any, beside: Path | None = None) -> list[Path]:
    """Return the files that a setting names: itself, all in a folder, and what a TOML file names.

    ``beside`` is a folder in which they may be too. A population file names plug-ins, parameters
    and distributions.
    """
    if isinstance(value, dict | list):
        values = value.values() if isinstance(value, dict) else value
        return [file for item in values for file in _files_in(item, beside)]
    if not isinstance(value, str) or not value:
        return []
    text, python, _ = value.partition(".py:")
    path = Path(text + ".py" if python else text)
    places = [path] if beside is None else [beside / path, path]  # which of them is up to the model
    files = [file for place in places for file in _all_files(place)]
    if python:  # what it imports of ours is part of the code
        return [each for file in files for each in find_imported_files(file, OUR_PACKAGES)]
    for file in list(files):
        if file.suffix == ".toml" and beside is None:
            with suppress(BatschedError):  # the run will say so
                files += _files_in(read_toml(file), file.parent)
    return files


def _all_files(path: Path) -> list[Path]:
    with suppress(OSError):  # a long text is no path
        if path.is_dir():
            return sorted(file for file in path.iterdir() if file.is_file())
        if path.is_file():
            return [path]
    return []


def find_plugin_files(group: str, name: str) -> list[Path]:
    """Return the editable files of a plug-in and the files that they import.

    A plug-in is editable in a file, or in a package installed with ``pip install -e``.
    """
    if ".py:" in name:
        return _files_in(name)
    entry = plugins.list_names(group).get(name)
    if entry is None or entry.module.partition(".")[0] in OUR_PACKAGES:
        return []
    spec = find_spec(entry.module)  # which was imported when the settings were checked
    if spec is None or spec.origin is None or is_installed(Path(spec.origin)):
        return []
    return find_imported_files(Path(spec.origin), OUR_PACKAGES)
