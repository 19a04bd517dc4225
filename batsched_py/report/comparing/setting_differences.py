"""Finds the settings in which two runs or campaigns differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pandas as pd

from batsched_py.report.document import Table
from batsched_py.report.formatting import flatten
from batsched_py.report.kit.tables import columns

ALWAYS = (
    *("run.scheduler", "run.users", "run.seed", "input.name", "input.sha256"),
    *("nb_processors", "versions.batsched_py"),
)
"""Settings that are shown even if they are equal."""
_NO_SETTINGS = (
    *("metrics", "wall_time", "nb_messages", "statistics", "user_statistics"),
    *("users_react", "notes"),
)
_OF_THE_RUN = {f"provenance.{name}" for name in ("hash", "host", "started", "seconds", "code")}
"""Names of provenance that differ between any two runs, or that :func:`identify_code` has."""
_PROVENANCE = "provenance"
_CODE = "code"
_FILE = "file "
_SHORT = 16
_SHORT_CODE = 12


def identify_code(stored: Mapping[str, Any]) -> dict[str, str]:
    """Return short digests of the code and the files of a run: ``code``, ``file NAME``.

    Digests, shortened; of a run of ``simulate`` files only. The log is left out: it is the input.
    """
    provenance = stored.get(_PROVENANCE) or {}
    log = str((stored.get("input") or {}).get("sha256", ""))
    digests = {_CODE: str(provenance["code"])[:_SHORT_CODE]} if provenance.get("code") else {}
    for name, digest in sorted((provenance.get("files") or {}).items()):
        if not log.startswith(short := str(digest)[:_SHORT_CODE]):
            digests[f"{_FILE}{name}"] = short
    return digests


def is_of_code(name: str) -> bool:
    """Return whether a setting is a digest that :func:`identify_code` has made."""
    return name == _CODE or name.startswith(_FILE)


def flatten_settings(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a run by dotted names (``run.user_options.weeks``).

    What identifies its code and files is among them, measurements are not. The rules of the
    workload are stored twice, as given and as used: the latter are left out.
    """
    left_out = {*_NO_SETTINGS, *(["rules"] if "run" in stored else [])}
    kept = {name: value for name, value in stored.items() if name not in left_out}
    flat = {
        name: value
        for name, value in flatten(kept).items()
        if name not in _OF_THE_RUN and not name.startswith("provenance.files.")
    }
    return flat | identify_code(stored)


def find_differing(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    """Return the names of the settings that differ; None, 0 and false are equal.

    Provenance is compared only where both have it: runs of ``simulate`` have none.
    """

    def value(settings: Mapping[str, Any], name: str) -> Any:
        return settings.get(name) or None  # some versions leave out 0 and none

    return [
        name
        for name in dict.fromkeys((*a, *b))
        if value(a, name) != value(b, name) and _is_comparable(name, a, b)
    ]


def _is_comparable(name: str, a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    """Return whether a setting can be compared; a file that only one campaign has read can."""
    if name.startswith(_FILE):
        return (name in a and name in b) or (_CODE in a and _CODE in b)
    always_known = name != _CODE and not name.startswith(f"{_PROVENANCE}.")
    return always_known or (name in a and name in b)


def make_settings_table(
    a: Mapping[str, Any], b: Mapping[str, Any], note: str = "", always: Sequence[str] = ALWAYS
) -> Table:
    """Return a table of the main settings and of all that differ, which are marked."""
    changed = find_differing(a, b)
    names = list(dict.fromkeys([*(name for name in always if name in a or name in b), *changed]))
    frame = pd.DataFrame(
        {
            "setting": [name.removeprefix("run.") for name in names],
            "a": [_text(name, a) for name in names],
            "b": [_text(name, b) for name in names],
            "differs": ["yes" if name in changed else "" for name in names],
        }
    )
    marks = tuple((names.index(name), column) for name in changed for column in ("a", "b"))
    shown = columns({"setting": "option"}, {"a": "A", "b": "B"}, "differs")
    return Table("settings", "Main options, and all that differ", frame, shown, note, marks)


def _text(name: str, settings: Mapping[str, Any]) -> str:
    """Return a setting as text; check sums are shortened."""
    if name not in settings:
        return "-"
    value = settings[name]
    if isinstance(value, str):
        return value[:_SHORT] if name.endswith("sha256") else value
    return "-" if value is None else msgspec.json.encode(value).decode()
