"""The jobs of a queueing system that are dask workers: their class, options and script.

What they need to be let in, and dask's own files, are in the folder of
:mod:`batsched_py.campaign.cluster.private_folder`, which the nodes see, too.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from batsched_py.campaign.cluster.address import Request, cluster_class, configured, needed
from batsched_py.campaign.cluster.private_folder import PREFIX, security
from batsched_py.support.atomic_files import write_whole

_JOB_LOGS = "job-logs"
_PLAIN = re.compile(r"[\w/.,:+~-]+")
"""A path that needs no quotes in the header of a job."""
_PAGE = "127.0.0.1:0"
"""Where a worker answers to browsers, who are not asked for a certificate."""


def with_log_folder(request: Request, folder: Path) -> Request:
    """Return the request with a folder in the campaign's one for what its jobs write.

    Only if neither the options nor dask's configuration name one, and if the system can do with
    it: OAR is not asked for any, and the header of a job has no way to quote a path.
    """
    if (
        not request.queued
        or request.kind == "oar"
        or "log_directory" in request.options
        or configured(request, "log-directory") is not None
        or not _PLAIN.fullmatch(place := str(folder.absolute() / _JOB_LOGS))
    ):
        return request
    return msgspec.structs.replace(request, options={**request.options, "log_directory": place})


def job_class(request: Request, private: Path) -> Any:
    """Return the class of the jobs of a queueing system, whose worker has the keys in a folder."""

    class WorkerJob(cluster_class(request).job_cls):  # type: ignore[misc]
        def __init__(self, *arguments: Any, **options: Any) -> None:
            # The paths become words of a command.
            options["security"] = security(shlex.quote(str(private)))
            super().__init__(*arguments, **options)

        @contextmanager
        def job_file(self) -> Iterator[str]:
            # dask's has a name in /tmp that another user may take before the file is there.
            path = private / f"{self.name}.sh"
            write_whole(path, self.job_script())
            yield str(path)
            path.unlink()

        async def close(self) -> None:
            await super().close()
            self.status = needed("distributed").Status.closed  # dask wants it, theirs does not

    return WorkerJob


def job_options(request: Request, private: Path) -> dict[str, Any]:
    """Return the options for jobs of that class.

    dask imports modules from the folder for its own files, which is therefore a private one,
    unless another one is asked for.
    """
    options = dict(request.options)
    if configured(request, "local-directory") is None:
        options.setdefault("local_directory", shlex.quote(str(private)))
    further = options.get("worker_extra_args", configured(request, "worker-extra-args"))
    options["worker_extra_args"] = ["--dashboard-address", _PAGE, *(further or [])]
    return options


def job_script(request: Request, folder: Path) -> str:
    """Return the script of a job that would be submitted to a queueing system.

    ``folder`` is the campaign's.
    """
    private = folder.absolute() / f"{PREFIX}NAME"
    with TemporaryDirectory() as elsewhere:  # dask-jobqueue makes the folder of logs
        options = job_options(request, private)
        place = options.get("log_directory")
        if place is not None:
            options["log_directory"] = elsewhere
        made = job_class(request, private)(
            "tls://ADDRESS-OF-THIS-MACHINE:PORT",
            name="NAME-OF-THE-WORKER",
            protocol="tls://",
            **options,
        )
        return str(made.job_script()).replace(elsewhere, place or elsewhere)
