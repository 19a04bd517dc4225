"""Campaign files: their keys, and how they are read.

A campaign file is TOML. Every key of its table ``[run]`` is a setting of the simulation, and a
key with a list is an axis; :mod:`batsched_py.campaign.planned_runs` makes runs of them. A file may
extend another one: the keys of that one are then the defaults.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from batsched_py.campaign.planned_runs import KEYS, REPLICATION, Label, PlannedRun, expand
from batsched_py.errors import CampaignError, CampaignFileError, UsageError
from batsched_py.files.readers import is_file, is_folder, parse_toml, read_text
from batsched_py.files.toml_lines import find_key_line
from batsched_py.metrics import METRICS
from batsched_py.options.checked_values import find_fault
from batsched_py.support.installation import studies_folder
from batsched_py.support.json_values import did_you_mean

Keep = Literal["jobs", "metrics"]
STORED = "campaign.json"
"""The file that a campaign writes into its folder before its first run."""
QUICK = "_quick"
"""End of the name of a campaign in its small size."""

_ANY_RUNS = "any runs"
"""``report_for`` of a study whose report is also true for runs that are not its own."""
_HEAD: dict[str, Any] = {
    "name": Annotated[
        str,
        Meta(pattern=r"^(?!\.{1,2}$)[^/]*$", description="the name of a folder, without slashes"),
    ],
    "title": str,
    "report": Annotated[
        str, Meta(pattern=r"^$|\.py:", description='file.py:function, or "" for the default report')
    ],
    "report_for": Literal["any runs"],
    "metric": str,
    "measure": Annotated[str, Meta(pattern=r"\.py:", description="file.py:function")],
    "keep": Keep,
    "hint": str,
    "replications": Annotated[int, Meta(ge=1)],
}
"""The keys at the head of a file, with their types."""
_OF_ITS_RUNS = ("title", "report", "report_for", "hint")
"""Keys of a study that are about its own runs."""
_FREE = {"log": None, "seed": 0}
"""Settings that may differ from those of a study: the runs are still runs of that study."""
_ARRAYS = ("include", "exclude")
_TABLES = ("run", *_ARRAYS, "quick")


class Campaign(msgspec.Struct, kw_only=True):
    """A campaign file, read and expanded."""

    name: str
    path: Path
    runs: list[PlannedRun]
    title: str = ""
    """Empty if the file has none."""
    report: str | None = None
    """``file.py:function``, relative to the campaign file; None: the default report."""
    metric: str | None = None
    """The metric that the default report begins with."""
    measure: str | None = None
    """``file.py:function``: what it returns for each result becomes further columns."""
    keep: Keep = "jobs"
    """Whether the tables of jobs are kept of each run, or only metrics."""
    hint: str = ""
    texts: dict[str, str] = {}
    """The files that it was read from, the extended ones last."""
    is_part: bool = False
    """Whether it has the report of a study, and not all of its runs."""
    given_logs: list[str] = []
    """Logs instead of the file's; they are not searched in the folder of the file."""
    notes: list[str] = []
    """Notes for the user."""


class _Study(msgspec.Struct):
    """A study that a campaign file elsewhere extends."""

    name: str
    content: dict[str, Any]
    """Of its campaign file."""
    head: dict[str, Any]
    """Its keys :data:`_OF_ITS_RUNS`."""


def find_campaign(text: str) -> Path:
    """Return the campaign file that ``text`` names.

    A path, or the name of a study that comes with the project (``replay_feedback``, or with a
    file: ``replay_feedback/shake``). Raises :class:`UsageError` if there is none.
    """
    path = Path(text)
    if is_folder(path) and is_file(path / "campaign.toml"):
        return path / "campaign.toml"
    if is_file(path):
        return path
    study, _, file = text.partition("/")
    folder = studies_folder()
    shipped = folder / study / f"{file or 'campaign'}.toml"
    if study and is_file(shipped) and shipped.name != "published.toml":
        return shipped
    studies = sorted(p.parent.name for p in folder.glob("*/campaign.toml"))
    if study in studies:
        files = sorted({p.stem for p in (folder / study).glob("*.toml")} - {"published"})
        raise UsageError(
            f"the study {study} has no campaign file {file!r}{did_you_mean(file, files)}; it has: "
            + ", ".join(files)
        )
    toml = Path(f"{text}.toml")
    hint = f" (did you mean {str(toml)!r}?)" if is_file(toml) else did_you_mean(study, studies)
    raise UsageError(
        f"there is no campaign file {text!r}{hint}; expected a TOML file "
        f"or a study: {', '.join(studies)}"
    )


def read_campaign(
    path: Path,
    logs: list[str] | None = None,
    instead: Mapping[str, Label | None] | None = None,
    *,
    quick: bool = False,
    replications: int | None = None,
) -> Campaign:
    """Read a campaign file; ``logs`` replaces its axis of logs, ``quick`` takes its small size.

    ``instead`` are settings that every run has instead of the file's, where not None;
    ``replications`` is how often each combination is repeated, instead of the file's number. A
    combination that the file repeats less often is repeated at most that often.

    Raises :class:`CampaignFileError` naming the file, the line and the key.
    """
    texts: dict[str, str] = {}
    studies: list[_Study] = []
    try:
        content = _read(path, texts, studies)
        head = _head(content)
        small_size = content.pop("quick", None)
        if quick and small_size is None:
            raise UsageError(f"{path} has no quick size: expected a table [quick] in it")
        replaced = dict(small_size) if quick else {}
        of_file = replaced.pop("replications", head["replications"])
        if replications is not None and of_file is None:
            raise UsageError(f"{path} has no replications: expected a key 'replications' in it")
        _check_variants(content)
        given = {key: value for key, value in (instead or {}).items() if value is not None}
        # Labels name what is run, also what is given here.
        labelled: dict[str, Any] = {key: given[key] for key in given if key in content["run"]}
        labelled |= {"log": logs} if logs else {}
        replaced |= labelled
        number = of_file if replications is None else replications
        runs = expand(content, None if number is None else int(number), replaced)
        is_part, notes = False, list[str]()
        if studies:
            is_part, notes = _take_over(head, studies[-1], runs, labelled, quick=quick)
    except CampaignError as mistake:
        raise CampaignFileError(locate_mistake(path, texts, mistake)) from None
    for planned in runs:
        planned.settings = msgspec.structs.replace(planned.settings, **given)
        planned.labels |= {key: given[key] for key in planned.labels if key in given}
    name = head["name"] or (path.resolve().parent.name if path.stem == "campaign" else path.stem)
    return Campaign(
        name=f"{name}{QUICK}" if quick else name,
        path=path,
        runs=runs,
        title=head["title"] or "",
        report=head["report"] or None,
        metric=head["metric"],
        measure=head["measure"],
        keep=head["keep"] or "jobs",
        hint=head["hint"] or "",
        texts=texts,
        given_logs=logs or [],
        is_part=is_part,
        notes=notes,
    )


def _take_over(
    head: dict[str, Any],
    study: _Study,
    runs: Sequence[PlannedRun],
    given: Mapping[str, Any],
    *,
    quick: bool,
) -> tuple[bool, list[str]]:
    """Complete ``head`` with the keys of the study about its runs, if all ``runs`` are among these.

    ``given`` replaces settings of both files. Logs, seeds and replications may differ. A report for
    any runs is always taken over. Returns whether these are only a part of the study's runs, and a
    note if the study's report is not used because of other runs.
    """
    other, is_part = None, False
    if study.head.get("report_for") != _ANY_RUNS:
        content = dict(study.content)
        fewest = None if _head(content)["replications"] is None else 1
        small_size = dict(content.pop("quick", {})) if quick else {}
        small_size.pop("replications", None)
        own = expand(content, fewest, {**small_size, **given})
        known = set(map(_apart_from_log, own))
        other = next((run for run in runs if _apart_from_log(run) not in known), None)
        is_part = head["report"] is None and known > set(map(_apart_from_log, runs))
    if other is None:
        head |= {key: study.head[key] for key in study.head if head[key] is None}
        return is_part, []
    if head["report"] is not None or "report" not in study.head:
        return False, []
    labels = ", ".join(f"{key} {value}" for key, value in other.labels.items())
    note = (
        f"the report of {study.name} covers only its own runs, but this file has others "
        f"({labels}): the default report is written"
    )
    return False, [note]


def _apart_from_log(run: PlannedRun) -> bytes:
    """Return the labels and settings of a run, without log, seed and replication, as JSON."""
    labels = {key: run.labels[key] for key in run.labels if key not in (*_FREE, REPLICATION)}
    settings = msgspec.structs.replace(run.settings, **_FREE)
    return msgspec.json.encode((labels, settings), order="sorted")


def _read(path: Path, texts: dict[str, str], studies: list[_Study]) -> dict[str, Any]:
    """Return the content of a file over that of the one it extends; keeps the texts read.

    ``studies`` gets those that it extends, the nearest one last.
    """
    if path.resolve() in [Path(file).resolve() for file in texts]:
        raise CampaignFileError(f"{path}: it extends itself")
    texts[str(path)] = read_text(path, CampaignFileError)
    content = parse_toml(texts[str(path)], path, CampaignFileError)
    extended = content.pop("extends", None)
    if extended is None:
        own_run = content.get("run")
        if not isinstance(own_run, dict):
            raise CampaignFileError(
                f"{path}: there is no table [run]: it holds the settings and the axes"
            )
        return content
    base = _base(path.parent, extended, texts, studies)
    base.pop("name", None)  # each file has its own name, and so its own folder
    return _over(base, content)


def _base(
    folder: Path, extended: Any, texts: dict[str, str], studies: list[_Study]
) -> dict[str, Any]:
    """Return the content of an extended file: one in ``folder``, or a study's.

    Files of a study are named by their whole paths then. Keys about the study's
    own runs are left out: see :func:`_take_over`. Raises :class:`CampaignError`.
    """
    if isinstance(extended, str) and is_file(folder / extended):
        return _read(folder / extended, texts, studies)
    try:
        path = find_campaign(str(extended))
    except UsageError as fault:
        message = f"extends = {extended!r}: {fault}"
        raise CampaignError((), "extends", message) from None
    base = _read(path, texts, studies)
    for key in ("report", "measure"):
        if key in base:
            base[key] = str(path.parent / base[key]) if base[key] else ""
    for key in ("machine", "platform"):
        file = base["run"].get(key)
        if isinstance(file, str) and is_file(path.parent / file):
            base["run"][key] = str(path.parent / file)
    head = {key: base.pop(key) for key in _OF_ITS_RUNS if key in base}
    studies.append(_Study(str(extended), dict(base), head))
    return base


def _over(base: dict[str, Any], extension: dict[str, Any]) -> dict[str, Any]:
    """Return the ``extension`` with what only ``base`` has; tables are merged by key."""
    merged = {**base, **extension}
    for key, value in extension.items():
        if isinstance(value, dict) and isinstance(base.get(key), dict):
            merged[key] = {**base[key], **value}
    return merged


def _head(content: dict[str, Any]) -> dict[str, Any]:
    """Take the keys that are not about the runs out of ``content``."""
    head = {key: content.pop(key, None) for key in _HEAD}
    for key, value in head.items():
        if value is not None:
            check_head(key, value)
    metric = head["metric"]
    if head["measure"] is None and metric not in (None, *METRICS):  # what it gives is known later
        hint = f"{did_you_mean(metric, METRICS)}; `batsched-py metrics --list` has them"
        raise CampaignError((), "metric", f"there is no metric {metric!r}{hint}")
    for key in _TABLES:
        expected = list if key in _ARRAYS else dict
        if not isinstance(content.get(key, expected()), expected):
            header = f"[[{key}]]" if key in _ARRAYS else f"[{key}]"
            raise CampaignError((), key, f"{key} is {content[key]!r}, expected a table {header}")
        for table in content.get(key, []) if key in _ARRAYS else []:
            if not isinstance(table, dict):
                raise CampaignError((), key, f"{key} has {table!r}, expected tables [[{key}]]")
    if "replications" in content.get("quick", {}):
        check_head("replications", content["quick"]["replications"], ("quick",))
    _check_keys(content)
    return head


def _check_keys(content: dict[str, Any]) -> None:
    """Raise for keys that are nowhere known, or stand in the wrong part of the file."""
    allowed = [*_HEAD, "extends", *_TABLES]
    for key, value in content.items():
        if not isinstance(value, dict) and key not in _TABLES:
            hint = f"{did_you_mean(key, allowed)}; there are: {', '.join(allowed)}"
            hint = ": it is an option of runs, put it under [run]" if key in KEYS else hint
            raise CampaignError((), key, f"there is no key {key!r}{hint}")
    run = content.get("run", {})
    for key in run if isinstance(run, dict) else ():
        if key in _HEAD and key not in content:  # not an axis with values of its own
            raise CampaignError(
                ("run",), key, f"{key!r} belongs to the top of the file, above [run]"
            )


def check_head(key: str, value: Any, table: tuple[str, ...] = ()) -> None:
    """Raise :class:`CampaignError` for a key at the head of a file that is not as it should be."""
    if fault := find_fault(value, _HEAD[key], key, sign=" = "):
        raise CampaignError(table, key, fault)


def _check_variants(content: dict[str, Any]) -> None:
    """Raise :class:`CampaignError` for tables that no key of the runs can be about."""
    keys = {key for table in (content["run"], *content.get("include", [])) for key in table}
    keys -= set(KEYS)  # their values stand for themselves
    for name, table in content.items():
        if name not in _TABLES and name not in keys:
            allowed = [*_HEAD, *_TABLES, *(key for key in keys if key in content)]
            hint = f"{did_you_mean(name, allowed)}; there are: {', '.join(allowed)}"
            message = f"there is no table or key {name!r}{hint}"
            first = next(iter(table), None) if isinstance(table, dict) else None
            raise CampaignError((name,) if first is None else (name, first), None, message)


def locate_mistake(path: Path, texts: dict[str, str], mistake: CampaignError) -> str:
    """Return the message with the file and, where it is found, the line."""
    for file, text in texts.items():
        line = find_key_line(text, mistake.table, mistake.key)
        if line is not None:
            return f"{file}:{line}: {mistake}"
    return f"{path}: {mistake}"
