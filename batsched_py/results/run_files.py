"""Finds and reads the files of a run by the path of its ``PREFIX_jobs.csv``."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from batsched_py.errors import BatschedError, InputError, ProtocolError, parameter
from batsched_py.files.readers import csv_rows, is_file, parse_json, read_text
from batsched_py.processors.sets import MOST_PROCESSORS, from_text, to_text
from batsched_py.results.whole_run import RUN_JSON, read_run_settings, read_sealed
from batsched_py.support.json_values import quote
from batsched_py.workload.grid_sites import GridSite, GridSites

SUFFIX = "_jobs.csv"
SCHEDULE = "schedule.json"
"""The file that Batsim 5 writes instead of ``schedule.csv``."""
_NO_NUMBER = re.compile(r"-?\b(nan|inf)\b(?=\s*[,}])")
"""The text that C prints for 0/0, in place of a number of JSON."""


def find_beside(path: Path, name: str) -> Path | None:
    """Return the file ``PREFIX_name`` next to ``PREFIX_jobs.csv``, None if it does not exist."""
    if not path.name.endswith(SUFFIX):
        return None
    other = path.with_name(f"{path.name.removesuffix(SUFFIX)}_{name}")
    return other if is_file(other) else None


def read_settings(path: Path) -> dict[str, Any]:
    """Return the content of ``PREFIX_run.json``, empty if there is no such file.

    Raises :class:`InputError` unless the run is whole, see :mod:`.whole_run`.
    """
    stored = find_beside(path, "run.json")
    return {} if stored is None else read_run_settings(stored)


def note_missing_description(path: Path) -> str | None:
    """Return a note if the ``PREFIX_run.json`` of a run of batsched-py is missing, else None."""
    header = read_text(path).partition("\n")[0].split(",")
    if "session" not in header or find_beside(path, "run.json") is not None:
        return None
    return f"{path} may be incomplete: there is no _run.json next to it to check it"


def describe_replaced_run(prefix: str, settings: Mapping[str, Any]) -> str | None:
    """Return a sentence on the earlier run whose files a new run replaces, None without files.

    ``settings`` are those of the new run, as in its ``PREFIX_run.json``.
    """
    path = Path(f"{prefix}{SUFFIX}")
    if not is_file(path):
        return None
    when = datetime.fromtimestamp(path.stat().st_mtime).strftime("%Y-%m-%d %H:%M")
    try:
        before = read_sealed(Path(f"{prefix}{RUN_JSON}"), dict[str, Any])
        run, log = before["run"], before["input"]
        same = all(before[key] == settings[key] for key in ("run", "rules", "input"))
        other = f"another run ({run['scheduler']}, users {run['users']}, on {log['name']})"
        now, then = (run.get("provenance", {}).get("files", {}) for run in (settings, before))
        changed = sorted(name for name in now | then if now.get(name) != then.get(name))
        files = f" (changed since: {', '.join(changed)})" if changed else ""
        what = f"a run with the same settings{files}" if same else other
    except (BatschedError, KeyError, TypeError, AttributeError):  # of older versions, or Batsim's
        what = "another run"
    return f"replaced {prefix}_* of {when}: {what}"


class StoredSite(msgspec.Struct, frozen=True):
    """A grid site in ``PREFIX_run.json``."""

    name: str
    processors: str
    """As text, such as ``0-127``."""
    speed: float


def to_stored_sites(sites: GridSites) -> list[dict[str, Any]]:
    """Return grid sites in the form of ``PREFIX_run.json``."""
    stored = [StoredSite(site.name, to_text(site.processors), site.speed) for site in sites]
    return [msgspec.to_builtins(site) for site in stored]


def read_sites_of_run(path: Path) -> GridSites:
    """Return the grid sites of the run of a ``PREFIX_jobs.csv``, empty without grid sites.

    Raises :class:`InputError` for a malformed ``PREFIX_run.json``.
    """
    stored = read_settings(path).get("sites", [])
    try:
        sites = msgspec.convert(stored, list[StoredSite])
        return tuple(GridSite(site.name, from_text(site.processors), site.speed) for site in sites)
    except (msgspec.ValidationError, ProtocolError) as error:
        raise InputError(f"{find_beside(path, 'run.json')}: sites: {error}") from None


def read_machine_size(path: str | Path) -> int | None:
    """Return the number of processors of a run, None if none of its files has it.

    ``PREFIX_run.json`` is asked first, then ``PREFIX_schedule.csv``, then Batsim 5's
    ``PREFIX_schedule.json``. Raises :class:`InputError` for one that is there and malformed.
    """
    path = Path(path)
    size = read_settings(path).get("nb_processors")
    source = find_beside(path, "run.json")
    if size is None:
        source = find_beside(path, "schedule.csv") or find_beside(path, SCHEDULE)
        size = None if source is None else _size_of_summary(source)
    if size is not None and not (type(size) is int and 1 <= size <= MOST_PROCESSORS):
        hint = f"give the number with {parameter('nodes')}"
        raise InputError(
            f"{source}: {quote(size)} processors, expected 1 to {MOST_PROCESSORS}; {hint}"
        )
    return size


def parse_summary(text: str) -> dict[str, str]:
    """Return the only row of a ``_schedule.csv`` by column.

    Raises :class:`ValueError` or :class:`InputError` for another text.
    """
    header, values = csv_rows(io.StringIO(text), "the summary")
    return dict(zip(header, values, strict=True))


def parse_batsim5_summary(schedule: str, where: Path) -> dict[str, str]:
    """Return the members of a ``schedule.json``, each number as it is written.

    Raises :class:`InputError`, which begins with ``where``.
    """
    numbers = _NO_NUMBER.sub(r'"\g<0>"', schedule)
    members = parse_json(numbers, dict[str, msgspec.Raw], where, expected="what Batsim 5 writes")
    return {name: bytes(value).decode().strip('"') for name, value in members.items()}


def _size_of_summary(path: Path) -> int:
    try:
        text = read_text(path)
        row = parse_batsim5_summary(text, path) if path.suffix == ".json" else parse_summary(text)
        return int(row["nb_computing_machines"])
    except (ValueError, KeyError, InputError):
        raise InputError(
            f"{path}: no number of processors found; give it with {parameter('nodes')}"
        ) from None
