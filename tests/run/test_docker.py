"""Docker as back end, with an engine that only takes notes: none was at hand."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import docker
import pytest
from docker.errors import APIError, DockerException, ImageNotFound

from batsched_py.errors import SimulationError
from batsched_py.run.backends import docker as backend
from batsched_py.run.backends.docker import DEFAULT_IMAGE, IMAGE_VARIABLE, DockerLauncher
from batsched_py.run.backends.launchers import RunFolder
from batsched_py.run.simulate import simulate


class Container:
    """Runs for two looks, then exits with ``code``."""

    id = "c0ffee"

    def __init__(self, code: int) -> None:
        self.code = code
        self.looks = 0
        self.removed = False
        self.fails: type[Exception] | None = None
        self.attrs: dict[str, Any] = {}

    def start(self) -> None:
        if self.fails:
            raise self.fails("no such entry point")

    def reload(self) -> None:
        self.looks += 1
        ended = self.looks > 2
        self.attrs = {"State": {"Status": "exited" if ended else "running", "ExitCode": self.code}}

    def logs(self, stream: bool, follow: bool) -> Iterator[bytes]:
        yield b"Batsim said\n"
        yield b"this\n"

    def remove(self, force: bool) -> None:
        assert force
        self.removed = True


class Engine:
    """A client of an engine that has one image."""

    def __init__(self, image: str, code: int = 0) -> None:
        self.container = Container(code)
        self.created: dict[str, Any] = {}
        self.pulled: list[str] = []
        self._image = image
        self.images = SimpleNamespace(get=self._get, pull=self._pull)
        self.containers = SimpleNamespace(create=self._create)

    def ping(self) -> bool:
        return True

    def _get(self, name: str) -> Any:
        if name != self._image:
            raise ImageNotFound("not here")
        return SimpleNamespace(id="sha256:1")

    def _pull(self, name: str) -> Any:
        self.pulled.append(name)
        if "nowhere" in name:
            raise APIError("manifest unknown")
        return SimpleNamespace(id="sha256:2")

    def _create(self, image: str, command: list[str], **options: Any) -> Container:
        self.created = {"image": image, "command": command, **options}
        return self.container


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    monkeypatch.setattr(backend, "_LOOK", 0.0)
    monkeypatch.delenv(IMAGE_VARIABLE, raising=False)
    engine = Engine(DEFAULT_IMAGE)
    monkeypatch.setattr(docker, "from_env", lambda: engine)
    return engine


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    sockets = tmp_path / "sockets"
    for path in (sockets, tmp_path / "run/input", tmp_path / "run/output"):
        path.mkdir(parents=True)
    return RunFolder(tmp_path / "run", sockets, True)


def test_the_container_is_confined_and_its_log_kept(engine: Engine, folder: RunFolder) -> None:
    """The command that is kept does the same."""
    launcher = DockerLauncher()
    assert launcher.check() == "sha256:1"
    endpoint = launcher.listen_on(folder)
    process = launcher.start(folder, endpoint)
    while (code := process.poll()) is None:
        pass
    process.stop()
    process.stop()  # twice is once
    assert (code, engine.container.removed) == (0, True)
    assert folder.batsim_log.read_text() == "Batsim said\nthis\n"
    created = engine.created
    assert created["image"] == DEFAULT_IMAGE
    assert created["user"] == f"{os.getuid()}:{os.getgid()}"
    assert created["volumes"][str(folder.inputs)] == {"bind": "/data/input", "mode": "ro"}
    assert created["volumes"][str(folder.outputs)] == {"bind": "/data/output", "mode": "rw"}
    assert created["command"][:2] == ["-p", "/data/input/platform.xml"]
    assert "--enable-dynamic-jobs" in created["command"]
    if sys.platform == "linux":
        assert created["network_mode"] == "none"
        assert endpoint in created["command"]
        assert created["volumes"][str(folder.sockets)]["bind"] == str(folder.sockets)
    command = launcher.command(folder, endpoint)
    assert command[:3] == ["docker", "run", "--rm"]
    at = command.index(DEFAULT_IMAGE)
    assert command[at + 1 :] == created["command"]
    for source, mount in created["volumes"].items():
        assert f"{source}:{mount['bind']}:{mount['mode']}" in command[:at]


def test_where_sockets_do_not_reach_a_port_is_used(
    engine: Engine, folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Docker Desktop: containers reach the host's loopback by a name."""
    monkeypatch.setattr(sys, "platform", "darwin")
    launcher = DockerLauncher()
    assert launcher.listen_on(folder) == "tcp://127.0.0.1:*"
    command = launcher.command(folder, "tcp://127.0.0.1:4711")
    assert "tcp://host.docker.internal:4711" in command
    assert "--network" not in command


def test_one_variable_names_the_image(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(IMAGE_VARIABLE, "mine/batsim:4.1.0")
    assert DockerLauncher().check() == "sha256:2"
    assert engine.pulled == ["mine/batsim:4.1.0"]
    monkeypatch.setenv(IMAGE_VARIABLE, "nowhere/batsim:4")
    with pytest.raises(SimulationError, match=r"cannot be had .*BATSIM_IMAGE.*latest"):
        DockerLauncher().check()


def test_the_default_is_that_of_compose() -> None:
    settings = (Path(__file__).parents[2] / ".env").read_text()
    (image,) = re.findall(r"^BATSIM_IMAGE=(.*)$", settings, re.MULTILINE)
    assert image == DEFAULT_IMAGE


def test_a_container_that_does_not_start_is_removed(engine: Engine, folder: RunFolder) -> None:
    engine.container.fails = APIError
    with pytest.raises(SimulationError, match="does not start: no such entry point"):
        DockerLauncher().start(folder, "ipc:///x")
    assert engine.container.removed


def test_a_short_loss_of_the_daemon_is_no_end(
    engine: Engine, folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = DockerLauncher().start(folder, "ipc:///x")

    def fail() -> None:
        raise DockerException("restarting")

    monkeypatch.setattr(engine.container, "reload", fail)
    assert process.poll() is None
    monkeypatch.setattr(backend, "_LOST", -1.0)
    with pytest.raises(SimulationError, match="lost: restarting"):
        process.poll()
    process.stop()
    assert engine.container.removed


def test_without_a_daemon_one_line_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    with pytest.raises(SimulationError, match=r"Docker does not answer.*start its daemon"):
        simulate("sample", backend="docker")
