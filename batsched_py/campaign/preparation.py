"""The runs of a campaign, each with its input, its folder and its task; nothing runs here."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from batsched_py.campaign.campaign_file import Campaign
from batsched_py.campaign.planned_runs import PlannedRun, Setting, Settings
from batsched_py.campaign.provenance import provenance
from batsched_py.campaign.run_identity import code_digest, digest, identity, input_files
from batsched_py.campaign.run_task import PREFIX, Task, ended_run, run_of
from batsched_py.campaign.toml_lines import line_with
from batsched_py.errors import PluginError, UsageError
from batsched_py.run.simulate import check
from batsched_py.support import plugins
from batsched_py.support.own_command import PROGRAM
from batsched_py.support.plugins import load_file
from batsched_py.workload.load import is_batsim_json
from batsched_py.workload.log_archive import find_log
from batsched_py.workload.swf import read_swf

ERROR = "error.txt"
TABLES = (f"{PREFIX}_jobs.csv", f"{PREFIX}_schedule.csv")
_HASH = 12


class PreparedRun(msgspec.Struct):
    """A run with its input found, its command written and its folder named."""

    planned: PlannedRun
    input: Path
    folder: Path
    command: list[str]
    task: Task

    @property
    def done(self) -> bool:
        """Whether the run ended well before, and its files are still there and whole."""
        needed = TABLES if self.task.keep == "jobs" else ()
        try:
            if not all((self.folder / name).stat().st_size for name in needed):
                return False
        except OSError:
            return False
        return ended_run(self.folder) is not None

    @property
    def failure(self) -> str | None:
        """What the run said last when it was tried and failed, else None."""
        try:
            return None if self.done else (self.folder / ERROR).read_text().strip()
        except OSError:
            return None


def prepare(campaign: Campaign, out: Path, log_dirs: Iterable[Path] = ()) -> list[PreparedRun]:
    """Name and place each run of a campaign below ``out``.

    Raises :class:`UsageError` for inputs that are missing, and for policies, user models and
    options that do not exist: before the first run, with the line of the campaign file. The
    folder's name ends with a hash of all that determines the run, by which it is found again;
    runs that are planned twice have the same folder.
    """
    _check_encoding(campaign.path.absolute(), out.absolute())
    folders = list(log_dirs)
    measure = _beside(campaign, "measure")
    _beside(campaign, "report")
    if measure is not None and not callable(load_file(measure)):
        raise PluginError(f"{measure} is not a function: expected measure(result) -> dict")
    known = _known_folders(out)
    varying = axes_of(run.labels for run in campaign.runs)
    paths: dict[str, Path] = {}
    prepared = []
    for planned in campaign.runs:
        settings = planned.settings
        with _placed(campaign):
            _check(settings)
            if settings.log not in paths:
                paths[settings.log] = find_log(settings.log, folders).resolve()
            log = paths[settings.log]
            resolved = _resolved(settings, log)
            if settings.platform is not None and not Path(settings.platform).is_file():
                raise UsageError(f"there is no platform file '{settings.platform}'")
        further = [campaign.keep, measure and [measure.rpartition(":")[2], digest(_file(measure))]]
        known_by = identity(settings, log, further)
        named = out / "runs" / f"{_name(planned, varying)}_{known_by}"
        folder = known.setdefault(known_by, named)
        files = {str(file.absolute()): digest(file) for file in _inputs(settings, log, measure)}
        task = Task(
            settings=resolved,
            log=str(log),
            files=files,
            code=code_digest(),
            measure=measure,
            keep=campaign.keep,
            taken=list(planned.labels),
            folder=str(folder.absolute()),
            provenance={
                **provenance(),
                "hash": known_by,
                "code": code_digest()[:_HASH],
                "files": {Path(path).name: content[:_HASH] for path, content in files.items()},
            },
        )
        command = [*_command(resolved, log), "-e", str((folder / PREFIX).absolute())]
        prepared.append(PreparedRun(planned, log, folder, command, task))
    return prepared


@contextmanager
def _placed(campaign: Campaign) -> Iterator[None]:
    """Put the line of the campaign file before what is wrong with its settings."""
    try:
        yield
    except UsageError as error:
        said = str(error)
        words = re.findall(r"called '([^']+)'", said) or re.findall(r"'([^']+)'", said)
        for word in words[:2]:
            for file, text in campaign.texts.items():
                line = line_with(text, word)
                if line is not None:
                    raise UsageError(f"{file}:{line}: {said}") from None
        raise


def _check(settings: Settings) -> None:
    _check_once(msgspec.json.encode(msgspec.structs.replace(settings, log="", seed=0)))


@cache
def _check_once(encoded: bytes) -> None:
    """Raise :class:`UsageError` for what makes no sense, or for plug-ins that do not fit."""
    settings = msgspec.json.decode(encoded, type=Settings)
    run = run_of(settings)
    check(run)
    policy = plugins.load(plugins.SCHEDULERS, run.scheduler)
    plugins.make(policy, run.scheduler, (), run.scheduler_options)
    if run.dynamic:
        model = plugins.load(plugins.USERS, run.users)
        plugins.check_options(model, run.users, run.user_options)


def _resolved(settings: Settings, log: Path) -> Settings:
    """Return the settings with the number of nodes instead of a factor."""
    if settings.node_factor is None:
        return settings
    if settings.nodes is not None or settings.platform is not None:
        raise UsageError("'node_factor' goes with neither nodes nor platform")
    if not 0 < settings.node_factor < float("inf"):
        raise UsageError(f"'node_factor' is {settings.node_factor}: expected a positive number")
    nodes = round(_machine_size(log) * settings.node_factor)
    if nodes < 1:
        raise UsageError(
            f"'node_factor' {settings.node_factor} leaves no node of {_machine_size(log)}"
        )
    return msgspec.structs.replace(settings, nodes=nodes, node_factor=None)


@cache
def _machine_size(log: Path) -> int:
    if is_batsim_json(log):
        from batsched_py.workload.batsim_workload import read_workload

        return read_workload(log).nb_res
    return read_swf(log, skip_bad_lines=True).max_processors


def _check_encoding(*paths: Path) -> None:
    """Raise for paths that no JSON can hold."""
    for path in paths:
        if "\\udc" in ascii(str(path)):
            raise UsageError(f"{str(path)!a}: expected a path whose characters are UTF-8")


def _inputs(settings: Settings, log: Path, measure: str | None) -> list[Path]:
    return [*input_files(settings, log), *([_file(measure)] if measure else [])]


def _file(place: str) -> Path:
    return Path(place.rpartition(":")[0])


def _beside(campaign: Campaign, key: Literal["measure", "report"]) -> str | None:
    """Return the ``file.py:function`` of a key with the file's absolute path."""
    place: str | None = getattr(campaign, key)
    if place is None:
        return None
    file, _, function = place.rpartition(":")
    path = (campaign.path.parent / file).absolute()
    if not path.is_file():
        raise UsageError(f"{campaign.path}: {key} = {place!r}: there is no file {path}")
    return f"{path}:{function}"


def _known_folders(out: Path) -> dict[str, Path]:
    """Return the folders of runs by hash: labels may have other names than before."""
    if not (out / "runs").is_dir():
        return {}
    return {folder.name[-_HASH:]: folder for folder in (out / "runs").iterdir()}


def nb_other_folders(runs: Iterable[PreparedRun], out: Path) -> int:
    """Return how many folders of runs below ``out`` are none of ``runs``."""
    own = {run.folder.name for run in runs}
    folder = out / "runs"
    return sum(path.name not in own for path in folder.iterdir()) if folder.is_dir() else 0


def _name(planned: PlannedRun, varying: Iterable[str]) -> str:
    labels = [planned.labels[key] for key in varying if key in planned.labels]
    name = "_".join(map(_file_name, labels)).encode()  # names of files have 255 bytes
    return name[:100].decode(errors="ignore") or "run"


def axes_of(labels: Iterable[Mapping[str, Setting]]) -> list[str]:
    """Return the labels that have several values, in order of first appearance.

    To have none, as the other runs beside those that are included, counts as a value.
    """
    values: dict[str, set[Setting]] = {}
    having: Counter[str] = Counter()
    number = 0
    for one in labels:
        number += 1
        having.update(one.keys())
        for key, value in one.items():
            values.setdefault(key, set()).add(value)
    return [key for key, found in values.items() if len(found) > 1 or having[key] < number]


def _file_name(label: Setting) -> str:
    text = str(label).replace("*", "x").replace("/", "over")
    return re.sub(r"[^\w.-]", "-", text)


def _command(settings: Settings, log: Path) -> list[str]:
    """Return the command that does the same as a run of its own."""
    return [*PROGRAM, "simulate", str(log), *_flags(settings)]


def _flags(settings: Settings) -> Iterator[str]:
    plain = Settings()
    for name in Settings.__struct_fields__:
        value = getattr(settings, name)
        if name in ("log", "scheduler_options", "user_options") or value == getattr(plain, name):
            continue
        flag = f"--{name.replace('_', '-')}"
        yield from (flag,) if value is True else (flag, str(_anywhere(value)))
    for flag, options in (("-O", settings.scheduler_options), ("-U", settings.user_options)):
        for key, option in options.items():
            yield from (flag, f"{key}={_option(_anywhere(option))}")


def _anywhere(value: Setting) -> Setting:
    """Return a setting that names a file so that it does from any working directory."""
    if not isinstance(value, str):
        return value
    file, python, name = value.partition(".py:")
    try:
        exists = Path(f"{file}.py" if python else file).exists() and file not in ("", ".")
    except (OSError, ValueError):  # a long text is no path
        exists = False
    return f"{Path(file).absolute()}{python}{name}" if exists else value


def _option(value: Setting) -> str:
    """Return a value as the command line takes it: a text that looks like JSON is quoted."""
    if isinstance(value, str):
        try:
            msgspec.json.decode(value)
        except msgspec.DecodeError:
            return value
    return msgspec.json.encode(value).decode()
