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
from batsched_py.run.backends.child_processes import Process
from batsched_py.run.backends.launchers import RunFolder
from batsched_py.run.backends.watchdog import Watchdog, remove_container
from batsched_py.support.extras import extra

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.containers import Container

IMAGE_VARIABLE = "BATSIM_IMAGE"
"""Variable of the environment that names the image."""
DEFAULT_IMAGE = "oarteam/batsim:4.0.0"
"""The newest tag found in public use; ``latest`` is whatever the branch of 4.x was when built."""
_LOOK = 0.2
"""Seconds between two looks at a container."""
_LOST = 20.0
"""Seconds without an answer of the daemon after which a container is given up."""
_INPUT, _OUTPUT = "/data/input", "/data/output"


class DockerLauncher:
    """Batsim by its image, whose entry point is ``batsim``.

    Inputs are mounted read-only, outputs belong to who calls, and the container has no network
    where a Unix socket will do (Linux). Where the engine gives its users other numbers than ours
    have, the container's is the one that is ours: its root in a rootless engine, and where users
    are remapped, the number that is not.
    """

    def __init__(self) -> None:
        self.image = os.environ.get(IMAGE_VARIABLE) or DEFAULT_IMAGE
        self._unix_sockets = sys.platform == "linux"
        self._security: frozenset[str] = frozenset()

    @extra("docker")
    def check(self) -> str:
        """Return the image's id; raises :class:`SimulationError` without daemon or image.

        Raises :class:`MissingExtraError` without the library that speaks with the daemon.
        """
        from docker.errors import DockerException, ImageNotFound

        with self._engine() as client:
            try:
                try:
                    image = client.images.get(self.image)
                except ImageNotFound:
                    print(f"pulling {self.image}", file=sys.stderr)
                    image = client.images.pull(self.image)
                return str(image.id)
            except (DockerException, OSError) as error:
                if "invalid reference" in (reason := _reason(error)):
                    raise UsageError(
                        f"{IMAGE_VARIABLE} = {self.image!r}: {reason}; expected such as "
                        f"{DEFAULT_IMAGE}"
                    ) from None
                raise SimulationError(
                    f"the image {self.image} cannot be had ({reason}): see that its "
                    "registry is reached, or name another image of Batsim 4 in the variable "
                    f"{IMAGE_VARIABLE}"
                ) from None

    def _engine(self) -> closing[DockerClient]:
        """Return a client that is to be closed, and note what its engine does with users."""
        import docker
        from docker.constants import DEFAULT_UNIX_SOCKET
        from docker.errors import DockerException

        try:
            client = docker.from_env()
            self._security = frozenset(client.info().get("SecurityOptions") or ())
        except (DockerException, OSError) as error:
            address = os.environ.get("DOCKER_HOST") or DEFAULT_UNIX_SOCKET.removeprefix("http+")
            raise SimulationError(
                f"Docker does not answer at {address} ({_reason(error)}): start its daemon, see "
                "that this user may use it, and set DOCKER_HOST where the socket is not the usual "
                f"one; or use {parameter('backend')} batsim or embedded"
            ) from None
        return closing(client)

    def listen_on(self, folder: RunFolder) -> str:
        """Return a Unix socket of this run; where containers cannot reach one, a free port."""
        return f"ipc://{folder.sockets / 'batsim'}" if self._unix_sockets else "tcp://127.0.0.1:*"

    def command(self, folder: RunFolder, endpoint: str) -> list[str]:
        """Return the command line that does the same as :meth:`start`."""
        # --init passes signals on to Batsim, which as the first process of a container hears none
        command = ["docker", "run", "--rm", "--init", "--workdir", "/data"]
        options = self._options(folder)
        if options["user"]:
            command += ["--user", options["user"]]
        for option, name in (("--userns", "userns_mode"), ("--network", "network_mode")):
            if name in options:
                command += [option, options[name]]
        for source, mount in options["volumes"].items():
            command += ["--volume", f"{source}:{mount['bind']}:{mount['mode']}"]
        return [*command, self.image, *self._arguments(folder, endpoint)]

    def start(self, folder: RunFolder, endpoint: str, watchdog: Watchdog) -> Process:
        """Run it."""
        from docker.errors import DockerException

        name = folder.sockets.name
        watchdog.register(name)
        with ExitStack() as stack:
            client = stack.enter_context(self._engine())
            try:
                container = client.containers.create(
                    self.image, command=self._arguments(folder, endpoint), **self._options(folder)
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
        return ContainerProcess(container, folder.batsim_log)

    def _arguments(self, folder: RunFolder, endpoint: str) -> list[str]:
        return batsim_arguments(
            platform=f"{_INPUT}/platform.xml",
            workloads=[] if folder.dynamic else [f"{_INPUT}/workload.json"],
            endpoint=endpoint.replace("tcp://127.0.0.1:", "tcp://host.docker.internal:"),
            prefix=f"{_OUTPUT}/out",
            registers=folder.registers,
            quiet=folder.quiet,
        )

    def _options(self, folder: RunFolder) -> dict[str, Any]:
        volumes = {
            str(folder.inputs): {"bind": _INPUT, "mode": "ro"},
            str(folder.outputs): {"bind": _OUTPUT, "mode": "rw"},
        }
        options: dict[str, Any] = {
            "volumes": volumes,
            "working_dir": "/data",
            "user": self._user(),
            "name": folder.sockets.name,  # so that nothing is left without a name
            "labels": {"batsched_py": str(folder.root)},
        }
        if "name=userns" in self._security:
            options["userns_mode"] = "host"
        if self._unix_sockets:
            # The same path inside, so that both sides name the same socket.
            volumes[str(folder.sockets)] = {"bind": str(folder.sockets), "mode": "rw"}
            options["network_mode"] = "none"
        return options

    def _user(self) -> str | None:
        if "name=rootless" in self._security:
            return "0:0"
        return f"{os.getuid()}:{os.getgid()}" if hasattr(os, "getuid") else None


class ContainerProcess:
    """A container that runs Batsim, whose log is kept in ``log``."""

    def __init__(self, container: Container, log: Path) -> None:
        self._container = container
        self._log = log
        self._code: int | None = None
        self._gone = False
        self._next_look = 0.0
        self._lost_since = inf

    def poll(self) -> int | None:
        """Return the exit code of the container, None while it runs.

        Raises :class:`SimulationError` if somebody has removed it, or if the daemon does not know
        for :data:`_LOST` seconds.
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
        return self._code

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
            print(
                f"note: the container {self._container.id} could not be removed: {_reason(error)}",
                file=sys.stderr,
            )
        self._gone = True

    def _keep_log(self) -> None:
        from docker.errors import DockerException

        try:
            with self._log.open("wb") as file:
                for part in self._container.logs(stream=True, follow=False):
                    file.write(part)
        except (DockerException, OSError) as error:
            print(f"note: Batsim's log could not be kept: {_reason(error)}", file=sys.stderr)


def _reason(error: BaseException) -> str:
    """Return what a failure says, in one short line: the engine, the system, or the library."""
    text = getattr(error, "explanation", None) or str(error)
    cause: BaseException | None = None if hasattr(error, "explanation") else error
    while cause is not None:
        text = getattr(cause, "strerror", None) or text
        cause = cause.__cause__ or cause.__context__
    return " ".join(str(text).split())[:200]
