"""What ``--cluster`` says: a running dask scheduler, a queueing system, or this machine."""

from __future__ import annotations

import inspect
import shutil
import signal
import socket
from importlib import import_module
from threading import current_thread, main_thread
from typing import Any

import msgspec

from batsched_py.errors import UsageError, parameter
from batsched_py.support.extras import extra
from batsched_py.support.file_readers import csv_rows
from batsched_py.support.json_values import did_you_mean

CLUSTER = parameter("cluster")
_ADDRESSES = ("dask", "tcp", "tls")
_SYSTEMS = {
    "slurm": "SLURMCluster",
    "oar": "OARCluster",
    "pbs": "PBSCluster",
    "sge": "SGECluster",
    "lsf": "LSFCluster",
}
LOCAL = "local"

_JOBS = "jobs"
_LISTS = ("job_extra_directives", "job_script_prologue", "worker_extra_args", "job_directives_skip")
_WHOLE = ("cores", "processes", "job_cpu", "ncpus", "death_timeout", _JOBS, "workers", "threads")
_FLAGS = {"true": True, "false": False}
_SWITCHES = ("nanny", "use_stdin")
# What dask-jobqueue sets itself, has renamed, or what is no text.
_OURS = {"self", "scheduler", "name", "protocol", "security", "worker_command"}
_RENAMED = {"extra", "job_extra", "env_extra", "header_skip", "base_class_kwargs"}
_DOCUMENTED = {
    *("cores", "memory", _JOBS, "walltime", "queue", "account", "project", "resource_spec"),
    *("job_extra_directives", "job_script_prologue", "python", "interface", "local_directory"),
    "log_directory",
}
"""Those of the table in docs/clusters.md."""
_EXAMPLE = "slurm:cores=4,memory=8GB,walltime=01:00:00,jobs=10"


class Request(msgspec.Struct, frozen=True):
    """The cluster that is wanted."""

    kind: str
    """``dask``, ``local``, or the name of a queueing system."""
    address: str = ""
    """Of the scheduler, where one is running."""
    jobs: int = 1
    """Jobs to ask the queueing system for."""
    options: dict[str, Any] = {}

    @property
    def queued(self) -> bool:
        """Whether nodes come from a queueing system."""
        return self.kind in _SYSTEMS


def parse_cluster(text: str) -> Request:
    """Read the value of ``--cluster``.

    ``dask://HOST:PORT`` (also ``tcp://``, ``tls://``); ``local:workers=2,threads=1``; or a queueing
    system with the options of its class in dask-jobqueue and ``jobs``, how many to ask it for:
    ``slurm:cores=4,memory=8GB``. An option whose value has a comma is put between double quotes
    as a whole; the values of a list are separated by semicolons. Raises :class:`UsageError`.
    """
    scheme, is_address, place = text.partition("://")
    if is_address:
        return _address(text, scheme, place)
    kind, _, rest = text.partition(":")
    if kind not in (*_SYSTEMS, LOCAL):
        raise _mistake(
            f"{CLUSTER} {text}: there is no {kind!r}{did_you_mean(kind, [*_SYSTEMS, LOCAL])}",
            f"dask://HOST:PORT, local, or one of {', '.join(_SYSTEMS)} with options: {_EXAMPLE}",
        )
    allowed = ["workers", "threads"] if kind == LOCAL else [*_accepted(kind), _JOBS]
    options = _options(kind, rest, allowed)
    if kind == LOCAL:
        return Request(kind, options={"workers": 1, "threads": 1, **options})
    _check_needed(kind, options)
    jobs = options.pop(_JOBS, 1)
    # One dask worker to a job: its threads wait for the processes that simulate, and the inputs
    # come to each dask worker.
    return Request(kind, jobs=jobs, options={"processes": 1, **options})


def needed(module: str) -> Any:
    """Return a module of the extra ``cluster``; raises :class:`MissingExtraError`."""
    handled = (signal.SIGINT, signal.SIGTERM)
    before = [signal.getsignal(number) for number in handled]
    try:
        with extra("cluster"):
            return import_module(module)
    finally:
        if current_thread() is main_thread():
            # dask-jobqueue makes Ctrl-C a silent end of the program.
            for number, handler in zip(handled, before, strict=True):
                if handler is not None:
                    signal.signal(number, handler)


def configured(request: Request, name: str) -> Any:
    """Return an option of a queueing system in dask's configuration, None if it has none."""
    section = request.options.get("config_name", request.kind)
    return needed("dask").config.get(f"jobqueue.{section}.{name}", None)


def cluster_class(request: Request) -> Any:
    """Return the class of dask-jobqueue for a queueing system."""
    return getattr(needed("dask_jobqueue"), _SYSTEMS[request.kind])


def check_submission(request: Request) -> None:
    """Raise :class:`UsageError` if jobs cannot be submitted from this machine."""
    command = cluster_class(request).job_cls.submit_command
    if shutil.which(command) is None:
        raise UsageError(
            f"{CLUSTER} {request.kind}: there is no command {command} on this machine; start the "
            "campaign where jobs are submitted"
        )


def check_host(request: Request) -> None:
    """Raise :class:`UsageError` if the name of the scheduler's host is not known here."""
    host, _, port = request.address.partition("://")[2].rpartition(":")
    try:
        socket.getaddrinfo(host.strip("[]"), int(port))
    except OSError as error:
        raise UsageError(f"{CLUSTER}: no host {host!r} is known here: {error.strerror}") from None


def _mistake(seen: str, expected: str) -> UsageError:
    return UsageError(f"{seen}; expected {expected}")


def _address(text: str, scheme: str, place: str) -> Request:
    if scheme not in _ADDRESSES:
        raise _mistake(
            f"{CLUSTER} {text}: there is no {scheme}://{did_you_mean(scheme, _ADDRESSES)}",
            "dask://HOST:PORT, the address of a running dask scheduler",
        )
    host, _, port = place.rstrip("/").rpartition(":")
    if not (host and port.isdecimal() and len(port) < 6 and 0 < int(port) < 65536):
        raise _mistake(
            f"{CLUSTER} {text}: {place!r} is no host and port",
            f"{scheme}://HOST:PORT; dask scheduler prints its own, usually with port 8786",
        )
    return Request("dask", address=f"{'tcp' if scheme == 'dask' else scheme}://{host}:{port}")


def _accepted(kind: str) -> list[str]:
    """Return the options that the class of a queueing system has."""
    job = getattr(needed("dask_jobqueue"), _SYSTEMS[kind]).job_cls
    names = [
        name
        for cls in job.__mro__
        if "__init__" in vars(cls) and cls is not object
        for name in inspect.signature(cls.__init__).parameters
    ]
    return [name for name in dict.fromkeys(names) if name not in _OURS | _RENAMED]


def _options(kind: str, text: str, allowed: list[str]) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for item in next(csv_rows([text], f"{CLUSTER} {kind}", UsageError)) if text else []:
        name, equals, value = item.strip().partition("=")
        if not (equals and name and value):
            raise _mistake(f"{CLUSTER} {kind}: {item!r}", f"NAME=VALUE, as in {_EXAMPLE}")
        if name not in allowed:
            seen = f"{CLUSTER} {kind}: there is no option {name!r}{did_you_mean(name, allowed)}"
            shown = set(allowed) if kind == LOCAL else _DOCUMENTED & set(allowed)
            if "account" in shown:
                shown.discard("project")  # its old name
            raise _mistake(seen, f"one of {', '.join(sorted(shown))}")
        if name in options:
            raise UsageError(f"{CLUSTER} {kind}: {name} is given twice")
        options[name] = _value(kind, name, value)
    return options


def _value(kind: str, name: str, value: str) -> Any:
    seen = f"{CLUSTER} {kind}: {name}={value}"
    if name in _LISTS:
        return [part.strip() for part in value.split(";") if part.strip()]
    if name in _SWITCHES:
        if value not in _FLAGS:
            raise _mistake(seen, "true or false")
        return _FLAGS[value]
    if name in _WHOLE:
        if not (value.isdecimal() and len(value) < 10 and int(value) > 0):
            raise _mistake(seen, "a whole number, at least 1")
        return int(value)
    if name == "memory":
        _check_memory(seen, value)
    return value


def _check_memory(seen: str, value: str) -> None:
    try:
        fits = needed("dask.utils").parse_bytes(value) >= 1_000_000 and not value.isdecimal()
    except ValueError:
        fits = False
    if not fits:
        raise _mistake(seen, "an amount of memory with its unit, such as 8GB or 512MB")


def _check_needed(kind: str, options: dict[str, Any]) -> None:
    config = needed("dask").config
    missing = [
        name
        for name in ("cores", "memory")
        if name not in options and config.get(f"jobqueue.{kind}.{name}", None) is None
    ]
    if missing:
        raise _mistake(
            f"{CLUSTER} {kind}: {' and '.join(missing)} of a job not given",
            f"for example {kind}:{_EXAMPLE.partition(':')[2]}; or set them in dask's jobqueue.yaml",
        )
    cores = options.get("cores", config.get(f"jobqueue.{kind}.cores", None))
    if options.get("processes", 1) > cores:
        raise _mistake(
            f"{CLUSTER} {kind}: processes={options['processes']}", f"at most {cores}, the cores"
        )
