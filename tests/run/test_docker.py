"""Docker as back end, with an engine that only takes notes; ``real/test_docker.py`` has one."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import docker
import msgspec
import pytest
import yaml
from docker.errors import APIError, DockerException, ImageNotFound, NotFound
from docker.models.containers import Container, ContainerCollection
from docker.models.images import ImageCollection
from requests import ReadTimeout

from batsched_py.errors import SimulationError, UsageError
from batsched_py.run.backends import docker as backend
from batsched_py.run.backends.child_processes import Process, ProcessGroup
from batsched_py.run.backends.docker import (
    DEFAULT_IMAGE,
    IMAGE_VARIABLE,
    MEMORY_VARIABLE,
    PROCESSES_VARIABLE,
    DockerLauncher,
)
from batsched_py.run.backends.launchers import RunFolder
from batsched_py.run.simulate import simulate

ROOT = Path(__file__).parents[2]
DIGEST = "sha256:" + 64 * "d"
CONFINED_SERVICES = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["x-confined"]


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> MagicMock:
    """A client of an engine that has the default image, in which Batsim runs for two looks."""
    monkeypatch.setattr(backend, "_LOOK", 0.0)
    for variable in (IMAGE_VARIABLE, MEMORY_VARIABLE, PROCESSES_VARIABLE):
        monkeypatch.delenv(variable, raising=False)
    engine = MagicMock(spec=docker.DockerClient)
    engine.info.return_value = {"SecurityOptions": ["name=seccomp"], "MemTotal": 10_000}
    engine.images = MagicMock(spec=ImageCollection)
    made = {"Config": {"Entrypoint": ["batsim"]}}
    engine.images.get.return_value = SimpleNamespace(
        id="sha256:1", attrs={"RepoDigests": [], **made}
    )
    engine.images.pull.return_value = SimpleNamespace(
        id="sha256:2", attrs={"RepoDigests": None, **made}
    )
    engine.containers = MagicMock(spec=ContainerCollection)
    container = engine.containers.create.return_value = MagicMock(spec=Container)
    engine.containers.get.return_value = container
    states = [{"Status": "running"}] * 2 + [{"Status": "exited", "ExitCode": 0}]
    container.reload.side_effect = lambda: setattr(container, "attrs", {"State": states.pop(0)})
    container.logs.return_value = [b"Batsim said\n", b"this\n"]
    monkeypatch.setattr(docker, "from_env", MagicMock(return_value=engine))
    return engine


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    sockets = tmp_path / "sockets"
    for path in (sockets, tmp_path / "run/input", tmp_path / "run/output"):
        path.mkdir(parents=True)
    return RunFolder(tmp_path / "run", sockets, True, True)


@contextmanager
def started(launcher: DockerLauncher, folder: RunFolder) -> Iterator[Process]:
    arguments = launcher.arguments(folder, "ipc:///x")
    with (
        ProcessGroup() as group,
        launcher.started(arguments, folder, folder.batsim_log, group) as p,
    ):
        yield p


def of_the_container(engine: MagicMock, folder: RunFolder) -> tuple[dict[str, Any], str]:
    """Return the options of the container, and the command that does the same."""
    launcher = DockerLauncher()
    launcher.check()
    with started(launcher, folder):
        pass
    command = launcher.command(launcher.arguments(folder, "ipc:///x"), folder)
    return engine.containers.create.call_args.kwargs, shlex.join(command)


def test_the_container_is_confined_and_its_log_kept(engine: MagicMock, folder: RunFolder) -> None:
    """As the services of the Compose file are; the command that is kept does the same."""
    launcher = DockerLauncher()
    assert launcher.check() == {"batsim": "sha256:1", "image": DEFAULT_IMAGE}
    with started(launcher, folder) as process:
        while (code := process.poll()) is None:
            pass
    assert code == 0
    assert engine.close.call_count == docker.from_env.call_count == 2
    engine.containers.create.return_value.remove.assert_called_once_with(v=True, force=True)
    assert folder.batsim_log.read_text() == "Batsim said\nthis\n"
    (image,), created = engine.containers.create.call_args
    assert image == "sha256:1"  # not its name, which may be another image's by now
    assert created["user"] == f"{os.getuid()}:{os.getgid()}"
    assert created["volumes"][str(folder.inputs)] == {"bind": "/data/input", "mode": "ro"}
    assert created["volumes"][str(folder.outputs)] == {"bind": "/data/output", "mode": "rw"}
    assert created["command"][:2] == ["-p", "/data/input/platform.xml"]
    assert "--enable-dynamic-jobs" in created["command"]
    if sys.platform == "linux":
        assert created["network_mode"] == "none"
        assert created["volumes"][str(folder.sockets)]["bind"] == str(folder.sockets)
    command = launcher.command(created["command"], folder)
    at = command.index("sha256:1")
    assert command[at + 1 :] == created["command"]
    for source, mount in created["volumes"].items():
        assert f"{source}:{mount['bind']}:{mount['mode']}" in command[:at]
    assert [f"/tmp:{created['tmpfs'].pop('/tmp')}"] == CONFINED_SERVICES["tmpfs"]
    assert created["tmpfs"].keys() == {"/data"}  # in the place of the volume of Batsim's image
    writable = {mount["bind"] for mount in created["volumes"].values() if mount["mode"] != "ro"}
    assert writable <= {"/data/output", str(folder.sockets)}
    assert {"--read-only", "--cap-drop", "ALL", "no-new-privileges:true"} <= set(command)


@pytest.mark.parametrize(
    ("limits", "expected"),
    [(("", ""), (9000, 4096)), (("64M", "16"), (2**26, 16)), (("0", "0"), (0, 0))],
)
def test_memory_and_processes_are_limited(
    engine: MagicMock,
    folder: RunFolder,
    monkeypatch: pytest.MonkeyPatch,
    limits: tuple[str, str],
    expected: tuple[int, int],
) -> None:
    monkeypatch.setenv(MEMORY_VARIABLE, limits[0])
    monkeypatch.setenv(PROCESSES_VARIABLE, limits[1])
    created, command = of_the_container(engine, folder)
    memory, processes = expected
    assert (created["mem_limit"], created["pids_limit"]) == expected
    assert created["memswap_limit"] == memory
    options = f" --memory {memory} --memory-swap {memory} --pids-limit {processes} "
    assert options in command


def test_what_is_no_limit_is_refused(engine: MagicMock, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in (MEMORY_VARIABLE, PROCESSES_VARIABLE):
        monkeypatch.setenv(variable, "lots")
        with pytest.raises(UsageError, match=f"{variable}.*lots"):
            DockerLauncher().check()
        monkeypatch.delenv(variable)


def test_a_container_that_is_out_of_memory_says_so(engine: MagicMock, folder: RunFolder) -> None:
    """Who ends well was not killed, whatever else was in its container."""
    container = engine.containers.create.return_value
    container.reload.side_effect = None
    state: dict[str, Any] = {"Status": "exited", "ExitCode": 0, "OOMKilled": True}
    container.attrs = {"State": state, "HostConfig": {"Memory": 2**26}}
    with started(DockerLauncher(), folder) as process:
        assert process.poll() == 0
    state["ExitCode"] = 137
    out_of_memory = pytest.raises(SimulationError, match="64 MiB")
    with started(DockerLauncher(), folder) as process, out_of_memory:
        process.poll()


OURS = f"{os.getuid()}:{os.getgid()}"


@pytest.mark.parametrize(
    ("security", "user", "mode"), [("rootless", "0:0", None), ("userns", OURS, "host")]
)
def test_the_user_is_ours_where_users_have_other_numbers(
    engine: MagicMock, folder: RunFolder, security: str, user: str, mode: str | None
) -> None:
    """Real Batsim ends with SIGSEGV where it cannot write."""
    engine.info.return_value["SecurityOptions"].append(f"name={security}")
    created, command = of_the_container(engine, folder)
    assert (created["user"], created.get("userns_mode")) == (user, mode)
    assert f" --user {user} " in command
    assert (" --userns host " in command) == (mode == "host")


def test_one_variable_names_the_image(engine: MagicMock, monkeypatch: pytest.MonkeyPatch) -> None:
    engine.images.get.side_effect = ImageNotFound("not here")
    monkeypatch.setenv(IMAGE_VARIABLE, "mine/batsim:4.1.0")
    assert DockerLauncher().check() == {"batsim": "sha256:2", "image": "mine/batsim:4.1.0"}
    engine.images.pull.assert_called_once_with("mine/batsim:4.1.0")
    engine.images.pull.side_effect = APIError("manifest unknown")
    with pytest.raises(SimulationError, match="BATSIM_IMAGE"):
        DockerLauncher().check()


def test_an_image_of_a_registry_is_run_and_kept_by_its_digest(
    engine: MagicMock, folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "mine/batsim:4.1.0"
    monkeypatch.setenv(IMAGE_VARIABLE, name)
    digests = ["elsewhere/batsim@sha256:" + 64 * "e", f"mine/batsim@{DIGEST}"]
    engine.images.get.return_value.attrs["RepoDigests"] = digests
    identity = {"batsim": "sha256:1", "image": name, "image_digest": f"mine/batsim@{DIGEST}"}
    assert DockerLauncher().check() == identity
    _, command = of_the_container(engine, folder)
    assert engine.containers.create.call_args.args == (f"mine/batsim@{DIGEST}",)
    assert f" mine/batsim@{DIGEST} " in command


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "unix:///nowhere.sock", "nonsense"])
def test_without_a_daemon_one_line_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("DOCKER_HOST", address)
    with pytest.raises(SimulationError, match=rf"at {address} \(.*\): start"):
        simulate("sample", backend="docker")


def test_the_default_is_that_of_compose() -> None:
    settings = (ROOT / ".env").read_text()
    (image,) = re.findall(r"^BATSIM_IMAGE=(.*)$", settings, re.MULTILINE)
    assert image == DEFAULT_IMAGE


@pytest.mark.parametrize(
    ("step", "end"),
    [
        ("create", ReadTimeout("timed out")),
        ("create", KeyboardInterrupt()),
        ("start", APIError("no such entry point")),
        ("start", KeyboardInterrupt()),
    ],
)
def test_a_container_that_does_not_start_is_removed(
    engine: MagicMock, folder: RunFolder, step: str, end: BaseException
) -> None:
    """The engine makes it although nobody waits any more."""
    container = engine.containers.get.return_value
    (engine.containers.create if step == "create" else container.start).side_effect = end
    told = KeyboardInterrupt if isinstance(end, KeyboardInterrupt) else SimulationError
    with pytest.raises(told), started(DockerLauncher(), folder):
        pass
    engine.containers.get.assert_called_with(folder.sockets.name)
    container.remove.assert_called_once_with(v=True, force=True)
    assert engine.close.call_count == docker.from_env.call_count


def test_a_container_that_is_gone_is_told_at_once(engine: MagicMock, folder: RunFolder) -> None:
    container = engine.containers.create.return_value
    for end, told in (
        (NotFound("No such container"), "removed"),
        (DockerException("x"), "lost: x"),
    ):
        container.reload.side_effect = engine.containers.get.side_effect = end
        with (
            pytest.raises(SimulationError, match=told),
            started(DockerLauncher(), folder) as process,
        ):
            process.poll()
    container.remove.assert_not_called()
    assert engine.close.call_count == docker.from_env.call_count


@pytest.mark.parametrize(
    ("entry_point", "version"), [(["batsim"], "v4.2.0"), (None, "v5.0.0-rc2"), ([], "v5.0.0-rc2")]
)
def test_an_image_is_asked_for_its_version(
    engine: MagicMock, folder: RunFolder, entry_point: Any, version: str
) -> None:
    """That of Batsim 5 has no entry point: its arguments begin with the program."""
    engine.images.get.return_value.attrs["Config"]["Entrypoint"] = entry_point
    engine.containers.create.return_value.logs.return_value = [f"{version}\n".encode()]
    launcher = DockerLauncher()
    launcher.check()
    batsim5 = launcher.is_batsim5(folder, 1)
    assert batsim5 is (version > "v5")
    program = [] if entry_point else ["batsim"]
    assert engine.containers.create.call_args.kwargs["command"] == [*program, "--version"]
    folder = msgspec.structs.replace(folder, batsim5=batsim5)
    arguments = launcher.arguments(folder, "ipc:///x")
    assert launcher.command(arguments, folder)[-len(program + arguments) :] == program + arguments
    assert ("/data/output/out_" in arguments) is batsim5
