"""Runs Batsim in a Docker container."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from batsched_py.errors import SimulationError, UsageError, parameter
from batsched_py.files.writers import new_file
from batsched_py.run.backends.child_processes import Process, ProcessGroup
from batsched_py.run.backends.launchers import Launcher, RunFolder
from batsched_py.support.installation import extra
from batsched_py.support.terminal_text import say

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.containers import Container

IMAGE_VARIABLE = "BATSIM_IMAGE"
"""Variable of the environment that names the image."""
DEFAULT_IMAGE = "oarteam/batsim:4.0.0"
"""The newest tag found in public use; ``latest`` is whatever the branch of 4.x was when built, and
Batsim 5 is on another."""
MEMORY_VARIABLE = "BATSCHED_CONTAINER_MEMORY"
"""Variable of the environment for the memory of a container: such as ``8g``; 0: no limit."""
PROCESSES_VARIABLE = "BATSCHED_CONTAINER_PROCESSES"
"""Variable of the environment for the number of processes in a container; 0: no limit."""
CONFINED: dict[str, Any] = {
    "read_only": True,
    # /data is in the place of the volume that Batsim's image asks for, which has no limit.
    "tmpfs": {"/tmp": "size=2g", "/data": "size=64m"},
    "cap_drop": ["ALL"],
    "security_opt": ["no-new-privileges:true"],
}
"""What every container has, as the services of ``docker-compose.yml`` have it."""

_LOOK = 0.2
"""Seconds between two looks at a container."""
_MEMORY_SHARE = 0.9
"""Of the engine's memory, where no limit is given."""
_FLAGS = {
    "user": "--user",
    "userns_mode": "--userns",
    "network_mode": "--network",
    "mem_limit": "--memory",
    "memswap_limit": "--memory-swap",
    "pids_limit": "--pids-limit",
}
"""Arguments of ``docker run`` by the names of options in Docker's library."""
_INPUT, _OUTPUT = "/data/input", "/data/output"


class DockerLauncher(Launcher):
    """Starts Batsim in a container of an image.

    An image without an entry point, such as that of Batsim 5, gets the command ``batsim``.

    Inputs are mounted read-only, outputs belong to the user and are all that is written. There are
    no privileges, limits of memory and processes, and no network where a Unix socket will do
    (Linux).
    """

    def __init__(self) -> None:
        super().__init__()
        self._image = os.environ.get(IMAGE_VARIABLE) or DEFAULT_IMAGE
        self._exact_image = self._image
        self._unix_sockets = sys.platform == "linux"
        self._engine_info: dict[str, Any] = {}

    @extra("docker")
    def check(self) -> dict[str, str]:
        """Return the image's id (``batsim``), name, and digest if it came from a registry.

        That image is run, even if its name goes to another one meanwhile. Raises
        :class:`SimulationError` without daemon or image, :class:`UsageError` for limits that are
        none, and :class:`MissingExtraError` without the library that speaks with the daemon.
        """
        from docker.errors import DockerException, ImageNotFound

        with self._engine() as client:
            try:
                try:
                    image = client.images.get(self._image)
                except ImageNotFound:
                    say(f"pulling {self._image}")
                    image = client.images.pull(self._image)
            except (DockerException, OSError) as error:
                raise SimulationError(
                    f"the image {self._image} cannot be had ({_reason(error)}): see that its "
                    "registry is reached, or name another image of Batsim in the variable "
                    f"{IMAGE_VARIABLE}, such as {DEFAULT_IMAGE}"
                ) from None
        identity = {"batsim": str(image.id), "image": self._image}
        if (digest := _digest(image.attrs, self._image)) is not None:
            identity["image_digest"] = digest
        self._exact_image = digest or str(image.id)
        self._program = [] if (image.attrs.get("Config") or {}).get("Entrypoint") else ["batsim"]
        self._limits()
        return identity

    def _engine(self) -> closing[DockerClient]:
        """Return a client that is closed at the end of a block, and note what its engine is."""
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

    def listen_on(self, folder: RunFolder) -> str:
        """Return a Unix socket of this run; where containers cannot reach one, a free port."""
        return super().listen_on(folder) if self._unix_sockets else "tcp://127.0.0.1:*"

    def arguments(self, folder: RunFolder, endpoint: str) -> list[str]:
        """Return Batsim's arguments, with paths and address as the container has them."""
        endpoint = endpoint.replace("tcp://127.0.0.1:", "tcp://host.docker.internal:")
        return self._arguments(folder, endpoint, _INPUT, _OUTPUT)

    def command(self, arguments: Sequence[str], folder: RunFolder) -> list[str]:
        """Return the command line that does the same as :meth:`started`."""
        # --init passes signals on to Batsim, which as the first process of a container hears none
        command = ["docker", "run", "--rm", "--init", *_flags(self._options(folder))]
        return [*command, self._exact_image, *self._program, *arguments]

    @contextmanager
    def started(
        self, arguments: Sequence[str], folder: RunFolder, log: Path, group: ProcessGroup
    ) -> Iterator[Process]:
        """Run Batsim in a block; at its end the log is kept and the container removed."""
        from docker.errors import DockerException

        command = [*self._program, *arguments]
        with self._engine() as client, ExitStack() as stack:
            try:
                stack.callback(_keep_log_and_remove, client, folder.sockets.name, log)
                container = client.containers.create(
                    self._exact_image, command=command, **self._options(folder)
                )
                container.start()
            except (DockerException, OSError) as error:
                raise SimulationError(
                    f"the container of {self._image} does not start: {_reason(error)}"
                ) from None
            yield ContainerProcess(container)

    def _options(self, folder: RunFolder) -> dict[str, Any]:
        """Return the options of a container by their names in Docker's library."""
        volumes = {
            str(folder.inputs): {"bind": _INPUT, "mode": "ro"},
            str(folder.outputs): {"bind": _OUTPUT, "mode": "rw"},
        }
        options: dict[str, Any] = {
            **CONFINED,
            **self._limits(),
            "volumes": volumes,
            "working_dir": "/data",
            "name": folder.sockets.name,  # so that nothing is left without a name
            "labels": {"batsched_py": str(folder.root)},
        }
        security = self._engine_info.get("SecurityOptions") or []
        if "name=userns" in security:
            options["userns_mode"] = "host"
        if "name=rootless" in security:  # its root is our user
            options["user"] = "0:0"
        elif hasattr(os, "getuid"):
            options["user"] = f"{os.getuid()}:{os.getgid()}"
        if self._unix_sockets:
            # The same path inside, so that both sides name the same socket.
            volumes[str(folder.sockets)] = {"bind": str(folder.sockets), "mode": "rw"}
            options["network_mode"] = "none"
        return options

    def _limits(self) -> dict[str, int]:
        """Return the options that limit memory and processes; 0: no limit.

        An engine that cannot limit one ignores it.
        """
        from docker.errors import DockerException
        from docker.utils import parse_bytes

        share = int(_MEMORY_SHARE * self._engine_info.get("MemTotal", 0))
        try:
            memory = parse_bytes(os.environ.get(MEMORY_VARIABLE) or share)
            processes = int(os.environ.get(PROCESSES_VARIABLE) or 4096)
        except (DockerException, ValueError) as error:
            raise UsageError(
                f"{MEMORY_VARIABLE} or {PROCESSES_VARIABLE}: {error}; expected such as 8g and "
                "4096, or 0 for no limit"
            ) from None
        # Without the limit of swap a container may swap as much again, for hours.
        return {"mem_limit": memory, "memswap_limit": memory, "pids_limit": processes}


class ContainerProcess:
    """A container that runs Batsim."""

    def __init__(self, container: Container) -> None:
        self._container = container
        self._code: int | None = None
        self._next_look = 0.0

    def poll(self) -> int | None:
        """Return the exit code of the container, None while it runs.

        Raises :class:`SimulationError` if it was removed, if it was killed for want of
        memory, or if the daemon does not answer.
        """
        from docker.errors import DockerException, NotFound

        if self._code is not None or monotonic() < self._next_look:
            return self._code
        self._next_look = monotonic() + _LOOK
        try:
            self._container.reload()
        except NotFound:
            raise SimulationError(
                "Batsim's container was removed while it ran, and not by this run "
                "(`docker rm -f`?): its log is lost"
            ) from None
        except (DockerException, OSError) as error:
            raise SimulationError(f"Batsim's container is lost: {_reason(error)}") from None
        state = self._container.attrs["State"]
        if state["Status"] in ("exited", "dead"):
            self._code = int(state["ExitCode"])
        if self._code and state.get("OOMKilled"):
            limit = self._container.attrs["HostConfig"]["Memory"]
            may = f"the {limit / 2**20:,.0f} MiB that it may" if limit else "all there is"
            raise SimulationError(
                f"Batsim's container was killed since it took more memory than {may}: the "
                f"variable {MEMORY_VARIABLE} gives it more (such as 64g; 0: no limit)"
            )
        return self._code


def _keep_log_and_remove(client: DockerClient, name: str, log: Path) -> None:
    """End a container if there is one: its log goes to a file, and it is removed."""
    from docker.errors import DockerException, NotFound

    try:
        container = client.containers.get(name)
        try:
            with new_file(log) as file:
                file.writelines(container.logs(stream=True, follow=False))
        finally:
            container.remove(v=True, force=True)  # with the volumes that its image asks for
    except NotFound:  # it was not made, or it was removed
        pass
    except (DockerException, OSError) as error:
        say(f"note: the container {name} could not be removed with its log kept: {_reason(error)}")


def _flags(options: Mapping[str, Any]) -> list[str]:
    """Return the arguments of ``docker run`` for options by their names in Docker's library."""
    flags = ["--read-only", "--workdir", options["working_dir"]]
    for name, flag in _FLAGS.items():
        if name in options:
            flags += [flag, str(options[name])]
    for capability in options["cap_drop"]:
        flags += ["--cap-drop", capability]
    for rule in options["security_opt"]:
        flags += ["--security-opt", rule]
    for place, size in options["tmpfs"].items():
        flags += ["--tmpfs", f"{place}:{size}"]
    for source, mount in options["volumes"].items():
        flags += ["--volume", f"{source}:{mount['bind']}:{mount['mode']}"]
    return flags


def _digest(attributes: Mapping[str, Any], name: str) -> str | None:
    """Return ``NAME@sha256:...`` as its registry knows it, None for an image made elsewhere."""
    from docker.utils import parse_repository_tag

    repository = parse_repository_tag(name)[0]
    digests = attributes.get("RepoDigests") or []
    return next((d for d in digests if d.partition("@")[0] == repository), None)


def _reason(error: BaseException) -> str:
    """Return what a failure says, in one short line: the engine, the system, or the library."""
    text = getattr(error, "explanation", None) or str(error)
    cause: BaseException | None = None if hasattr(error, "explanation") else error
    while cause is not None:
        text = getattr(cause, "strerror", None) or text
        cause = cause.__cause__ or cause.__context__
    return " ".join(str(text).split())[:200]
