"""Runs of a campaign: each a process of its own, in a folder named by what determines it."""

from __future__ import annotations

import hashlib
import re
import shlex
import shutil
import tomllib
from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor, as_completed
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import Event, Lock
from typing import Any

import msgspec

from batsched_py import plugins
from batsched_py.backends.processes import LocalProcess, ending, last_line
from batsched_py.backends.run import EMBEDDED, launcher, parse_timeouts
from batsched_py.campaign.spec import PlannedRun, Setting, Settings
from batsched_py.errors import SimulationError, UsageError
from batsched_py.files import write_whole
from batsched_py.program import PROGRAM
from batsched_py.results import versions
from batsched_py.signals import stop_signals
from batsched_py.simulation import sha256
from batsched_py.workload.archive import find_log
from batsched_py.workload.load import is_batsim_json
from batsched_py.workload.swf import read_swf

PREFIX = "out"
_RULES = ("rules", "size", "walltime", "runtime", "drop", "unknown_user", "profile", "first")
_SYSTEM = ("scheduler", "users", "sessions", "platform", "speed_factor", "seed", "shake")
_FLAGS = (*_RULES, *_SYSTEM, "backend", "batsim", "timeouts")
_LIMITS = ("timeouts",)  # settings that bound a run and do not change what it gives
# Code that cannot change what a simulation gives.
_OUTSIDE: dict[str, set[str]] = {
    "batsched_py": {"campaign", "cli.py", "__main__.py", "data"},
    "users": set(),
}


class PreparedRun(msgspec.Struct):
    """A run with its input found, its command written and its folder named."""

    planned: PlannedRun
    input: Path
    folder: Path
    command: list[str]

    @property
    def done(self) -> bool:
        """Whether the run ended well before, and its files are still there and whole."""
        names = ("jobs.csv", "schedule.csv", "run.json")
        try:
            sizes = [(self.folder / f"{PREFIX}_{name}").stat().st_size for name in names]
            msgspec.json.decode((self.folder / f"{PREFIX}_run.json").read_bytes())
        except (OSError, msgspec.DecodeError):
            return False
        return all(sizes)


class Failure(msgspec.Struct):
    """A run that did not end well, and the last thing it said."""

    run: PreparedRun
    message: str


def prepare(
    runs: Iterable[PlannedRun], out: Path, log_dirs: Iterable[Path] = ()
) -> list[PreparedRun]:
    """Name and place each run below ``out``; raises :class:`UsageError` for missing inputs.

    The folder's name ends with a hash of all that determines the run: its settings, the content
    of its files, and the code.
    """
    folders = list(log_dirs)
    paths: dict[str, Path] = {}
    prepared: dict[Path, PreparedRun] = {}  # a run that is planned twice is one run
    for planned in runs:
        parse_timeouts(planned.settings.timeouts)
        log = planned.settings.log
        if log not in paths:
            paths[log] = find_log(log, folders).resolve()
        command = _command(planned.settings, paths[log])
        name = "_".join(map(_file_name, planned.labels.values()))
        folder = out / "runs" / f"{name[:100]}_{_identity(planned.settings, paths[log])}"
        command += ["-e", str((folder / PREFIX).resolve())]
        prepared.setdefault(folder, PreparedRun(planned, paths[log], folder, command))
    return list(prepared.values())


def execute(
    runs: Iterable[PreparedRun], jobs: int, ended: Callable[[], None] = lambda: None
) -> list[Failure]:
    """Run what is not done yet, ``jobs`` at a time; return the failures.

    ``ended`` is called as each ends. On Ctrl-C the running processes are stopped and
    KeyboardInterrupt goes on; what was done stays done.
    """
    if jobs < 1:
        raise UsageError(f"--jobs {jobs}: expected at least 1")
    processes = _Processes()
    failures = []
    with stop_signals(), ThreadPoolExecutor(jobs) as executor:
        futures = _submit(executor, runs, processes)
        try:
            for future in as_completed(futures):
                message = future.result()
                if message is not None:
                    failures.append(Failure(futures[future], message))
                ended()
        except (KeyboardInterrupt, CancelledError):
            processes.stop()
            executor.shutdown(cancel_futures=True)
            raise
    return failures


def _submit(
    executor: Executor, runs: Iterable[PreparedRun], processes: _Processes
) -> dict[Future[str | None], PreparedRun]:
    return {executor.submit(processes.run, run): run for run in runs if not run.done}


class _Processes:
    """The child processes that run now, so that they can be stopped."""

    def __init__(self) -> None:
        self._running: set[LocalProcess] = set()
        self._lock = Lock()
        self._stopping = Event()

    def run(self, run: PreparedRun) -> str | None:
        """Run one simulation to its end; return None, or why it failed."""
        try:
            return self._run(run)
        except (OSError, SimulationError) as error:  # no folder can be made, the disk is full
            return f"it could not be run: {error}"

    def _run(self, run: PreparedRun) -> str | None:
        if self._stopping.is_set():
            return "stopped"
        shutil.rmtree(run.folder, ignore_errors=True)  # of an attempt that failed
        run.folder.mkdir(parents=True)
        write_whole(run.folder / "command.txt", shlex.join(run.command) + "\n")
        write_whole(run.folder / "settings.json", _json(run.planned))
        log = run.folder / "log.txt"
        process = LocalProcess(run.command, log)
        with self._lock:
            self._running.add(process)
        if self._stopping.is_set():
            process.terminate()
        code = process.wait()
        with self._lock:
            self._running.discard(process)
        if code == 0 and run.done:
            return None
        return f"{ending(code)}: {last_line(log)}"

    def stop(self) -> None:
        """Stop all and start no more."""
        self._stopping.set()
        with self._lock:
            for process in self._running:
                process.terminate()


def _file_name(label: Setting) -> str:
    text = str(label).replace("*", "x").replace("/", "over")
    return re.sub(r"[^\w.-]", "-", text)


def _json(planned: PlannedRun) -> bytes:
    return msgspec.json.format(msgspec.json.encode(planned), indent=1) + b"\n"


def _command(settings: Settings, log: Path) -> list[str]:
    command = [*PROGRAM, "simulate", str(log)]
    for name in _FLAGS:
        value = getattr(settings, name)
        if value is not None and value != getattr(Settings(), name):
            command += [f"--{name.replace('_', '-')}", str(value)]
    nodes = settings.nodes
    if settings.node_factor is not None:
        if nodes is not None or settings.platform is not None:
            raise UsageError("node_factor goes with neither nodes nor platform")
        nodes = round(_machine_size(log) * settings.node_factor)
    if nodes is not None:
        command += ["--nodes", str(nodes)]
    if settings.skip_bad_lines:
        command.append("--skip-bad-lines")
    for flag, options in (("-O", settings.scheduler_options), ("-U", settings.user_options)):
        for key, value in options.items():
            command += [flag, f"{key}={_option(value)}"]
    return command


def _option(value: Setting) -> str:
    """Return a value as the command line takes it: a text that looks like JSON is quoted."""
    if isinstance(value, str):
        try:
            msgspec.json.decode(value)
        except msgspec.DecodeError:
            return value
    return msgspec.json.encode(value).decode()


@cache
def _machine_size(log: Path) -> int:
    if is_batsim_json(log):
        from batsched_py.workload.batsim_json import read_workload

        return read_workload(log).nb_res
    return read_swf(log, skip_bad_lines=True).max_processors


def _identity(settings: Settings, log: Path) -> str:
    determining = msgspec.structs.replace(settings, **dict.fromkeys(_LIMITS))
    parts: list[Any] = [determining, _digest(log), _code(), versions()]
    parts += [
        _plugin(plugins.SCHEDULERS, settings.scheduler),
        _plugin(plugins.USERS, settings.users),
    ]
    options = (*settings.scheduler_options.values(), *settings.user_options.values())
    if settings.backend != EMBEDDED:
        parts.append(_batsim(settings.backend, settings.batsim))
    for text in (settings.platform, *options):
        parts += [_digest(file) for file in _files_of(text)]
    return hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()[:12]


def _files_of(value: Any, beside: Path | None = None) -> list[Path]:
    """Return the files that a setting names: itself, all in a folder, and what a TOML file names.

    ``beside`` is a folder in which they may be too. A population file names plug-ins, parameters
    and distributions.
    """
    if isinstance(value, dict | list):
        values = value.values() if isinstance(value, dict) else value
        return [file for one in values for file in _files_of(one, beside)]
    if not isinstance(value, str) or not value:
        return []
    text, python, _ = value.partition(".py:")
    path = Path(text + ".py" if python else text)
    places = [path] if beside is None else [beside / path, path]  # which of them is up to the model
    if python:  # a plug-in may import what lies beside it
        return [file for place in places for file in sorted(place.parent.glob("*.py"))]
    files = [file for place in places for file in _all_files(place)]
    for file in list(files):
        if file.suffix == ".toml" and beside is None:
            with suppress(tomllib.TOMLDecodeError, UnicodeDecodeError):  # the run will say so
                files += _files_of(tomllib.loads(file.read_text()), file.parent)
    return files


def _all_files(path: Path) -> list[Path]:
    with suppress(OSError):  # a long text is no path
        if path.is_dir():
            return sorted(file for file in path.iterdir() if file.is_file())
        if path.is_file():
            return [path]
    return []


def _plugin(group: str, name: str) -> list[str]:
    """Return what identifies the code of a plug-in: of a file, with all Python files beside it."""
    if ".py:" in name:
        return [_digest(file) for file in _files_of(name)]
    entry = plugins.names(group).get(name)
    if entry is None:
        return []
    return [entry.value, *([entry.dist.name, entry.dist.version] if entry.dist else [])]


def _digest(path: Path) -> str:
    return _digest_of_version(path, path.stat().st_mtime_ns)


@cache
def _digest_of_version(path: Path, mtime_ns: int) -> str:
    return sha256(path)


@cache
def _batsim(backend: str, batsim: str | None) -> str:
    """Return what identifies a Batsim that is not this code; raises if it cannot be run."""
    outside = launcher(backend, batsim)
    assert outside is not None  # only asked for what is not the embedded simulator
    identity = outside.check()
    return _digest(Path(identity)) if Path(identity).is_file() else identity


@cache
def _code() -> str:
    """Return a digest of the code that determines a simulation, and of the data that ship."""
    digest = hashlib.sha256()
    for package, outside in _OUTSIDE.items():
        spec = find_spec(package)
        if spec is None or spec.origin is None:
            continue
        root = Path(spec.origin).parent
        for path in sorted([*root.rglob("*.py"), *root.rglob("*.json")]):
            if path.relative_to(root).parts[0] not in outside:
                digest.update(path.read_bytes())
    return digest.hexdigest()
