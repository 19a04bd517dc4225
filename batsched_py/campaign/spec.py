"""Campaign files: what they may say, and the runs they stand for.

A campaign file is TOML. Every key of its table ``[run]`` is a setting of the simulation, and a
key with a list is an axis. An axis whose name is no setting is an axis of named variants: the
table ``[AXIS.VALUE]`` holds the settings that the value stands for.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import msgspec

from batsched_py.data import data_folder
from batsched_py.errors import InputError, UsageError
from batsched_py.text import did_you_mean

Setting = str | int | float | bool


class Settings(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The settings of one run: the options of ``batsched-py simulate``, with underscores."""

    log: str = "sample"
    scheduler: str = "easy"
    scheduler_options: dict[str, Setting] = {}
    users: str = "rigid"
    sessions: str | None = None
    user_options: dict[str, Setting] = {}
    platform: str | None = None
    nodes: int | None = None
    node_factor: float | None = None
    """Number of nodes as a multiple of the log's."""
    speed_factor: float = 1.0
    rules: str = "replay-feedback"
    size: str | None = None
    walltime: str | None = None
    runtime: str | None = None
    drop: str | None = None
    unknown_user: str | None = None
    profile: str | None = None
    first: int | None = None
    skip_bad_lines: bool = False
    seed: int = 0
    shake: int | None = None
    backend: str = "embedded"
    batsim: str | None = None
    timeouts: str | None = None


class PlannedRun(msgspec.Struct):
    """One run of a campaign: its place on the axes, and its settings."""

    labels: dict[str, Setting]
    settings: Settings


class Campaign(msgspec.Struct):
    """A campaign file, read and expanded."""

    name: str
    path: Path
    runs: list[PlannedRun]
    report: str | None
    hint: str


def find_campaign(text: str) -> Path:
    """Return the campaign file that ``text`` names.

    A path, or the name of a study that comes with the project (``replay_feedback``, or with a
    file: ``replay_feedback/shake``). Raises :class:`UsageError` if there is none.
    """
    path = Path(text)
    if path.is_dir():
        path = path / "campaign.toml"
    if path.is_file():
        return path
    study, _, file = text.partition("/")
    shipped = data_folder("experiments") / study / f"{file or 'campaign'}.toml"
    if shipped.is_file():
        return shipped
    studies = sorted(p.parent.name for p in data_folder("experiments").glob("*/campaign.toml"))
    raise UsageError(
        f"there is no campaign file {text!r}; expected a TOML file or a study: {', '.join(studies)}"
    )


def read_campaign(
    path: Path, logs: list[str] | None = None, instead: Mapping[str, Setting | None] | None = None
) -> Campaign:
    """Read a campaign file; ``logs`` replaces its axis of logs.

    ``instead`` are settings that every run has instead of the file's, where not None.

    Raises :class:`InputError` naming the file and the key (or the line, where it is not TOML).
    """
    try:
        content = tomllib.loads(path.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a TOML file: {error}") from None
    run = content.pop("run", None)
    if not isinstance(run, dict):
        raise InputError(f"{path}: there is no table [run]: it holds the settings and the axes")
    head = {key: content.pop(key, default) for key, default in _HEAD.items()}
    for key, value in head.items():
        if value is not None and not isinstance(value, str):
            raise InputError(f"{path}: {key} is {value!r}, expected a text")
    if logs:
        run["log"] = logs
    try:
        runs = _expand(run, content)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    for planned in runs:
        given = {key: value for key, value in (instead or {}).items() if value is not None}
        planned.settings = msgspec.structs.replace(planned.settings, **given)
    own = path.resolve().parent.name if path.stem == "campaign" else path.stem
    name = head["name"] or own
    return Campaign(name, path, runs, head["report"], head["hint"] or "")


_HEAD: dict[str, Any] = {"name": None, "report": None, "hint": None}


def _expand(run: dict[str, Any], variants: dict[str, Any]) -> list[PlannedRun]:
    axes = {key: value for key, value in run.items() if isinstance(value, list)}
    fixed = {key: value for key, value in run.items() if key not in axes}
    named = {key for key in run if key not in Settings.__struct_fields__}
    for key in variants:
        if key not in named:
            raise InputError(_unknown(key, [*_HEAD, "run", *named], "table or key"))
    for key in axes:
        if not axes[key]:
            raise InputError(f"axis {key!r} is empty: give it a value, or leave it out")
    runs = []
    for values in product(*axes.values()):
        labels = fixed | dict(zip(axes, values, strict=True))
        labels = {key: labels[key] for key in run}  # the order of the file
        runs.append(PlannedRun(labels, _settings(labels, variants)))
    return runs


def _settings(labels: dict[str, Any], variants: dict[str, Any]) -> Settings:
    settings: dict[str, Any] = {}
    for key, value in labels.items():
        if key in Settings.__struct_fields__:
            settings[key] = value
            continue
        table = variants.get(key, {}).get(str(value))
        if not isinstance(table, dict):
            if key not in variants:
                raise InputError(_unknown(key, list(Settings.__struct_fields__), "setting"))
            raise InputError(_unknown(str(value), list(variants[key]), f"table [{key}. ...]"))
        for setting in table:
            if setting in settings or setting in labels:
                raise InputError(
                    f"{setting!r} is set by [{key}.{value}] and elsewhere: a label would be wrong"
                )
        settings |= table
    try:
        return msgspec.convert(settings, Settings)
    except msgspec.ValidationError as error:
        raise InputError(f"settings {settings}: {error}") from None


def _unknown(name: str, known: list[str], what: str) -> str:
    there = ", ".join(known)
    return f"there is no {what} {name!r}{did_you_mean(name, known)}; there are: {there}"
