"""Prepares the runs of a campaign: finds the input, the folder and the task of each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Literal

import msgspec

from batsched_py.campaign.campaign_file import Campaign
from batsched_py.campaign.file_places import locate_files
from batsched_py.campaign.finished_runs import PREFIX, read_hash
from batsched_py.campaign.planned_runs import Label, PlannedRun
from batsched_py.campaign.run_identity import digest_code, find_version, hash_run
from batsched_py.campaign.run_task import Task
from batsched_py.errors import PluginError, UsageError
from batsched_py.files.digests import digest
from batsched_py.files.readers import is_file, is_folder, parse_json
from batsched_py.files.toml_lines import find_word_line
from batsched_py.options.setting_fields import arguments
from batsched_py.plugins import plugins
from batsched_py.plugins.isolated_run import isolate
from batsched_py.plugins.plugin_files import load_file
from batsched_py.run.named_files import HASH, find_setting_files
from batsched_py.run.resolved_machine import describe_machine
from batsched_py.run.resolved_run import check
from batsched_py.run.settings import SETTINGS, Settings
from batsched_py.support.installation import PROGRAM
from batsched_py.support.signals import keep_handlers
from batsched_py.workload.load import read_machine_size
from batsched_py.workload.logs.log_archive import find_log


class PreparedRun(msgspec.Struct):
    """A run with its input found, its command written and its folder named."""

    planned: PlannedRun
    input: Path
    folder: Path
    command: list[str]
    task: Task


def prepare(campaign: Campaign, out: Path, log_dirs: Iterable[Path] = ()) -> list[PreparedRun]:
    """Return the prepared runs of a campaign, with their folders below ``out``.

    Raises :class:`UsageError` for inputs that are missing, and for policies, user models and
    options that do not exist: before the first run, with the line of the campaign file. The
    folder's name ends with a hash of all that determines the run, by which it is found again;
    runs that are planned twice have the same folder.
    """
    for path in (campaign.path.absolute(), out.absolute()):
        if "\\udc" in ascii(str(path)):  # no JSON can hold it
            raise UsageError(f"{str(path)!a}: expected a path whose characters are UTF-8")
    folders = list(log_dirs)
    measure = find_code(campaign, "measure")
    find_code(campaign, "report")
    if measure is not None:
        with isolate(0), keep_handlers():
            if not callable(load_file(measure)):
                raise PluginError(f"{measure} is not a function: expected measure(result) -> dict")
    # By hash, since labels may have other names than before:
    folder_of = {read_hash(folder): folder for folder in _run_folders(out)}
    varying = find_axes(run.labels for run in campaign.runs)
    paths: dict[str, Path] = {}
    prepared = []
    for planned in campaign.runs:
        settings = locate_files(planned.settings, campaign)
        with _placed(campaign):
            _check(msgspec.json.encode(msgspec.structs.replace(settings, log="", seed=0)))
            if settings.log not in paths:
                paths[settings.log] = find_log(settings.log, folders).resolve()
            log = paths[settings.log]
            resolved = settings.on_machine(partial(read_machine_size, log))
            if settings.platform is not None and not is_file(settings.platform):
                raise UsageError(f"there is no platform file {settings.platform!r}")
        kept = [campaign.keep, measure and [measure.rpartition(":")[2], digest(_file(measure))]]
        run_hash = hash_run(planned.settings, settings, log, kept)
        new_folder = out / "runs" / f"{_name(planned, varying)}_{run_hash}"
        folder = folder_of.setdefault(run_hash, new_folder)
        inputs = [log, *find_setting_files(settings), *([_file(measure)] if measure else [])]
        files = {str(file.absolute()): digest(file) for file in inputs}
        task = Task(
            settings=resolved,
            log=str(log),
            files=files,
            code=digest_code(),
            measure=measure,
            keep=campaign.keep,
            taken=list(planned.labels),
            folder=str(folder.absolute()),
            provenance={
                **find_version(),
                "hash": run_hash,
                "code": digest_code()[:HASH],
                "files": {Path(path).name: content[:HASH] for path, content in files.items()},
            },
        )
        command = [*PROGRAM, "simulate", str(log), *_arguments(resolved)]
        command += ["-e", str((folder / PREFIX).absolute())]
        prepared.append(PreparedRun(planned, log, folder, command, task))
    return prepared


@contextmanager
def _placed(campaign: Campaign) -> Iterator[None]:
    """Put the line of the campaign file before what is wrong with its settings."""
    try:
        yield
    except UsageError as error:
        message = str(error)
        words = re.findall(r"(?:called |\w=)'([^']+)'", message) or re.findall(
            r"'([^']+)'", message
        )
        words = [as_written for word in words[:2] for as_written in (word, Path(word).name)]
        for word in [*words, *error.parameters]:
            for file, text in campaign.texts.items():
                line = find_word_line(text, word)
                if line is not None:
                    raise UsageError(f"{file}:{line}: {message}") from None
        raise


@cache
def _check(encoded: bytes) -> None:
    """Raise :class:`UsageError` for what makes no sense, or for plug-ins that do not fit."""
    settings = parse_json(encoded, Settings, "settings")
    run = settings.run()
    check(run)
    describe_machine(run)  # a file that makes no sense is found
    with isolate(run.seed), keep_handlers():
        policy = plugins.load(plugins.SCHEDULERS, run.scheduler)
        plugins.make(policy, run.scheduler, (), run.scheduler_options)
        if run.dynamic:
            model = plugins.load(plugins.USERS, run.users)
            plugins.check_options(model, run.users, run.user_options)


def _file(place: str) -> Path:
    return Path(place.rpartition(":")[0])


def find_code(campaign: Campaign, key: Literal["measure", "report"]) -> str | None:
    """Return the ``file.py:function`` of a key with the file's absolute path, None if it has none.

    Raises :class:`UsageError` for a file that is not there.
    """
    place: str | None = getattr(campaign, key)
    if place is None:
        return None
    file, _, function = place.rpartition(":")
    path = (campaign.path.parent / file).absolute()
    if not is_file(path):
        raise UsageError(f"{campaign.path}: {key} = {place!r}: there is no file {path}")
    return f"{path}:{function}"


def count_other_folders(runs: Iterable[PreparedRun], out: Path) -> int:
    """Return the number of run folders below ``out`` that belong to none of ``runs``."""
    planned = {run.folder.name for run in runs}
    return sum(folder.name not in planned for folder in _run_folders(out))


def _run_folders(out: Path) -> list[Path]:
    """Return the folders that may be folders of runs; a desktop may add files next to them."""
    folder = out / "runs"
    return [path for path in folder.iterdir() if is_folder(path)] if is_folder(folder) else []


def _name(planned: PlannedRun, varying: Iterable[str]) -> str:
    labels = "_".join(str(planned.labels[key]) for key in varying if key in planned.labels)
    text = labels.replace("*", "x").replace("/", "over")
    name = re.sub(r"[^\w.-]", "-", text).encode()  # names of files have 255 bytes
    return name[:100].decode(errors="ignore") or "run"


def find_axes(labels: Iterable[Mapping[str, Label]]) -> list[str]:
    """Return the labels that have several values, in order of first appearance.

    A run without the label, as most runs lack the labels of included ones, has a value of its own.
    """
    runs = list(labels)
    keys = dict.fromkeys(key for of_run in runs for key in of_run)
    return [key for key in keys if len({of_run.get(key) for of_run in runs}) > 1]


def _arguments(settings: Settings) -> list[str]:
    """Return the options that give all settings which are not the default."""
    given = {
        name: getattr(settings, name)
        for name, field in SETTINGS.items()
        if getattr(settings, name) != field.default
    }
    tables = [name for name in given if SETTINGS[name].is_table]
    plain = {name: _anywhere(value) for name, value in given.items() if name not in tables}
    options = {
        name: {key: _anywhere(value) for key, value in given[name].items()} for name in tables
    }
    return arguments(SETTINGS, plain | options)


def _anywhere(value: Label) -> Label:
    """Return a setting that names a file so that it does from any working directory."""
    if not isinstance(value, str):
        return value
    file, python, name = value.partition(".py:")
    try:
        exists = Path(f"{file}.py" if python else file).exists() and file not in ("", ".")
    except (OSError, ValueError):  # a long text is not a path
        exists = False
    return f"{Path(file).absolute()}{python}{name}" if exists else value
