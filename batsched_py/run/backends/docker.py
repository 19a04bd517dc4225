"""Batsim in a container of Docker."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack, closing, suppress
from math import inf
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from batsched_py.errors import SimulationError, UsageError, parameter
from batsched_py.run.backends.batsim_arguments import batsim_arguments
from batsched_py.run.backends.batsim_version import ASK, is_batsim5
from batsched_py.run.backends.child_processes import Process
from batsched_py.run.backends.confinement import (
    CONFINED,
    MEMORY_VARIABLE,
    Limits,
    docker_run_arguments,
)
from batsched_py.run.backends.launchers import RunFolder
from batsched_py.run.backends.watchdog import Watchdog, remove_container
from batsched_py.support.atomic_files import new_file
from batsched_py.support.extras import extra
from batsched_py.support.terminal_text import say

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.containers import Container
    from docker.models.images import Image

IMAGE_VARIABLE = "BATSIM_IMAGE"
"""Variable of the environment that names the image."""
DEFAULT_IMAGE = "oarteam/batsim:4.0.0"
"""The newest tag found in public use; ``latest`` is whatever the branch of 4.x was when built, and
Batsim 5 is on another."""
_LOOK = 0.2
"""Seconds between two looks at a container."""
_LOST = 20.0
"""Seconds without an answer of the daemon after which a container is given up."""
_INPUT, _OUTPUT = "/data/input", "/data/output"


class DockerLauncher:
    """Batsim by its image, whose entry point, if it has one, is ``batsim``: that of Batsim 5, which
    is marked as work in progress, has none.

    Inputs are mounted read-only, outputs belong to who calls and are all that is written, there are
    no privileges, limits of memory and processes where the engine can set them, and no network
    where a Unix socket will do (Linux). Where the engine gives its users other numbers than ours
    have, the container's is the one that is ours: its root in a rootless engine, and where users
    are remapped, the number that is not.

    Raises :class:`UsageError` for limits in the environment that are none.
    """

    def __init__(self) -> None:
        self.image = os.environ.get(IMAGE_VARIABLE) or DEFAULT_IMAGE
        self._exact_image = self.image
        self._program: list[str] = []
        """What the arguments in the container begin with."""
        self._limits = Limits.of_environment()
        self._unix_sockets = sys.platform == "linux"
        self._engine_info: dict[str, Any] = {}

    @extra("docker")
    def check(self) -> dict[str, str]:
        """Return the image's id (``batsim``), name, and digest if it came from a registry.

        That image is run, even if its name goes to another one meanwhile. Raises
        :class:`SimulationError` without daemon or image, and :class:`MissingExtraError` without the
        library that speaks with the daemon.
        """
        from docker.errors import DockerException, ImageNotFound

        with self._engine() as client:
            try:
                try:
                    image = client.images.get(self.image)
                except ImageNotFound:
                    say(f"pulling {self.image}")
                    image = client.images.pull(self.image)
            except (DockerException, OSError) as error:
                if "invalid reference" in (reason := _reason(error)):
                    raise UsageError(
                        f"{IMAGE_VARIABLE} = {self.image!r}: {reason}; expected such as "
                        f"{DEFAULT_IMAGE}"
                    ) from None
                raise SimulationError(
                    f"the image {self.image} cannot be had ({reason}): see that its "
                    "registry is reached, or name another image of Batsim in the variable "
                    f"{IMAGE_VARIABLE}"
                ) from None
        identity = {"batsim": str(image.id), "image": self.image}
        if (digest := _digest(image, self.image)) is not None:
            identity["image_digest"] = digest
        self._exact_image = digest or str(image.id)
        self._program = [] if (image.attrs.get("Config") or {}).get("Entrypoint") else ["batsim"]
        return identity

    def _engine(self) -> closing[DockerClient]:
        """Return a client that is to be closed, and note what its engine can do."""
        import docker
        from docker.constants import DEFAULT_UNIX_SOCKET
        from docker.errors import DockerException

        try:
            client = docker.from_env()
            self._engine_info = client.info()
        except (DockerException, OSError) as error:
            address = os.environ.get("DOCKER_HOST") or DEFAULT_UNIX_SOCKET.removeprefix("http+")
            raise SimulationError(
                f"Docker does not answer at {address} ({_reason(error)}): start its daemon, see "
                "that this user may use it, and set DOCKER_HOST where the socket is not the usual "
                f"one; or use {parameter('backend')} batsim or embedded"
            ) from None
        return closing(client)

    def is_batsim5(self, folder: RunFolder, watchdog: Watchdog, limit: float) -> bool:
        """Run it once, only for that."""
        asked = self._run(folder, [ASK], folder.version_log, watchdog)
        return is_batsim5(asked, folder.version_log, limit)

    def listen_on(self, folder: RunFolder) -> str:
        """Return a Unix socket of this run; where containers cannot reach one, a free port."""
        return f"ipc://{folder.sockets / 'batsim'}" if self._unix_sockets else "tcp://127.0.0.1:*"

    def command(self, folder: RunFolder, endpoint: str) -> list[str]:
        """Return the command line that does the same as :meth:`start`."""
        # --init passes signals on to Batsim, which as the first process of a container hears none
        command = ["docker", "run", "--rm", "--init", "--workdir", "/data"]
        command += docker_run_arguments(self._options(folder))
        return [*command, self._exact_image, *self._program, *self._arguments(folder, endpoint)]

    def start(self, folder: RunFolder, endpoint: str, watchdog: Watchdog) -> Process:
        """Run it."""
        return self._run(folder, self._arguments(folder, endpoint), folder.batsim_log, watchdog)

    def _run(
        self, folder: RunFolder, arguments: list[str], log: Path, watchdog: Watchdog
    ) -> Process:
        """Run it with arguments of Batsim; one container of a run after the other."""
        from docker.errors import DockerException

        name = folder.sockets.name
        watchdog.register(name)
        with ExitStack() as stack:
            client = stack.enter_context(self._engine())
            try:
                container = client.containers.create(
                    self._exact_image,
                    command=[*self._program, *arguments],
                    **self._options(folder),
                )
                container.start()
            except BaseException as error:
                with suppress(DockerException, OSError):
                    remove_container(name)  # even if no answer came, it is there soon
                if isinstance(error, DockerException | OSError):
                    raise SimulationError(
                        f"the container of {self.image} does not start: {_reason(error)}"
                    ) from None
                raise
            stack.pop_all()  # the container is asked by it, until it is stopped
        memory = self._limits.memory_in(self._engine_info)
        return ContainerProcess(container, log, memory)

    def _arguments(self, folder: RunFolder, endpoint: str) -> list[str]:
        return batsim_arguments(
            platform=f"{_INPUT}/platform.xml",
            workloads=[] if folder.dynamic else [f"{_INPUT}/workload.json"],
            endpoint=endpoint.replace("tcp://127.0.0.1:", "tcp://host.docker.internal:"),
            prefix=f"{_OUTPUT}/out",
            registers=folder.registers,
            quiet=folder.quiet,
            batsim5=folder.batsim5,
        )

    def _options(self, folder: RunFolder) -> dict[str, Any]:
        volumes = {
            str(folder.inputs): {"bind": _INPUT, "mode": "ro"},
            str(folder.outputs): {"bind": _OUTPUT, "mode": "rw"},
        }
        options: dict[str, Any] = {
            **CONFINED,
            **self._limits.options_in(self._engine_info),
            "volumes": volumes,
            "working_dir": "/data",
            "user": self._user(),
            "name": folder.sockets.name,  # so that nothing is left without a name
            "labels": {"batsched_py": str(folder.root)},
        }
        if "name=userns" in self._security():
            options["userns_mode"] = "host"
        if self._unix_sockets:
            # The same path inside, so that both sides name the same socket.
            volumes[str(folder.sockets)] = {"bind": str(folder.sockets), "mode": "rw"}
            options["network_mode"] = "none"
        return options

    def _security(self) -> list[str]:
        return self._engine_info.get("SecurityOptions") or []

    def _user(self) -> str | None:
        if "name=rootless" in self._security():
            return "0:0"
        return f"{os.getuid()}:{os.getgid()}" if hasattr(os, "getuid") else None


class ContainerProcess:
    """A container that runs Batsim, whose log is kept in ``log``.

    ``memory`` is what it may take, in bytes (0: no limit).
    """

    def __init__(self, container: Container, log: Path, memory: int = 0) -> None:
        self._container = container
        self._log = log
        self._memory = memory
        self._code: int | None = None
        self._gone = False
        self._next_look = 0.0
        self._lost_since = inf

    def poll(self) -> int | None:
        """Return the exit code of the container, None while it runs.

        Raises :class:`SimulationError` if somebody has removed it, if it was killed for want of
        memory, or if the daemon does not know for :data:`_LOST` seconds.
        """
        from docker.errors import DockerException, NotFound

        if self._code is None and monotonic() >= self._next_look:
            self._next_look = monotonic() + _LOOK
            try:
                self._container.reload()
            except NotFound:
                raise self._removed() from None
            except (DockerException, OSError) as error:
                self._lost_since = min(self._lost_since, monotonic())
                if monotonic() - self._lost_since > _LOST:
                    raise SimulationError(f"Batsim's container is lost: {_reason(error)}") from None
                return None
            self._lost_since = inf
            state = self._container.attrs["State"]
            if state["Status"] in ("removing", "dead"):
                raise self._removed()
            if state["Status"] == "exited":
                self._code = int(state["ExitCode"])
                self._keep_log()
                if self._code and state.get("OOMKilled"):
                    raise self._out_of_memory()
        return self._code

    def _out_of_memory(self) -> SimulationError:
        may = f"the {self._memory / 2**20:,.0f} MiB that it may" if self._memory else "all there is"
        return SimulationError(
            f"Batsim's container was killed since it took more memory than {may}: the variable "
            f"{MEMORY_VARIABLE} gives it more (such as 64g; 0: no limit); both logs are in "
            f"{self._log.parent}"
        )

    def _removed(self) -> SimulationError:
        self._gone = True
        return SimulationError(
            f"Batsim's container was removed while it ran, and not by this run (`docker rm -f`?); "
            f"its log is lost, that of our process is in {self._log.parent}"
        )

    def stop(self) -> None:
        """Keep its log and remove it."""
        with closing(self._container.client):
            if self._gone:
                return
            try:
                if self._code is None:
                    self._keep_log()
            finally:
                self._remove()

    def _remove(self) -> None:
        from docker.errors import DockerException, NotFound

        try:
            self._container.remove(v=True, force=True)  # with the volumes that its image asks for
        except NotFound:
            pass
        except (DockerException, OSError) as error:
            say(f"note: the container {self._container.id} could not be removed: {_reason(error)}")
        self._gone = True

    def _keep_log(self) -> None:
        from docker.errors import DockerException

        try:
            with new_file(self._log) as file:
                for part in self._container.logs(stream=True, follow=False):
                    file.write(part)
        except (DockerException, OSError) as error:
            say(f"note: Batsim's log could not be kept: {_reason(error)}")


def _digest(image: Image, name: str) -> str | None:
    """Return ``NAME@sha256:...`` as its registry knows it, None for an image made elsewhere."""
    from docker.utils import parse_repository_tag

    repository = parse_repository_tag(name)[0]
    digests = image.attrs.get("RepoDigests") or []
    return next((d for d in digests if d.partition("@")[0] == repository), None)


def _reason(error: BaseException) -> str:
    """Return what a failure says, in one short line: the engine, the system, or the library."""
    text = getattr(error, "explanation", None) or str(error)
    cause: BaseException | None = None if hasattr(error, "explanation") else error
    while cause is not None:
        text = getattr(cause, "strerror", None) or text
        cause = cause.__cause__ or cause.__context__
    return " ".join(str(text).split())[:200]
