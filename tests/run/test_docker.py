"""Docker as back end, with an engine that only takes notes; ``real/test_docker.py`` has one."""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import docker
import pytest
import yaml
from docker.errors import APIError, DockerException, ImageNotFound, NotFound
from docker.models.containers import Container, ContainerCollection
from docker.models.images import ImageCollection
from requests import ReadTimeout

from batsched_py.errors import SimulationError, UsageError
from batsched_py.run.backends import docker as backend
from batsched_py.run.backends.confinement import MEMORY_VARIABLE, PROCESSES_VARIABLE
from batsched_py.run.backends.docker import DEFAULT_IMAGE, IMAGE_VARIABLE, DockerLauncher
from batsched_py.run.backends.launchers import RunFolder
from batsched_py.run.backends.watchdog import Watchdog
from batsched_py.run.simulate import simulate

ROOT = Path(__file__).parents[2]
DIGEST = "sha256:" + 64 * "d"


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> MagicMock:
    """A client of an engine that has the default image, in which Batsim runs for two looks."""
    monkeypatch.setattr(backend, "_LOOK", 0.0)
    for variable in (IMAGE_VARIABLE, MEMORY_VARIABLE, PROCESSES_VARIABLE):
        monkeypatch.delenv(variable, raising=False)
    engine = MagicMock(spec=docker.DockerClient)
    engine.info.return_value = {
        "SecurityOptions": ["name=seccomp,profile=default"],
        "MemTotal": 10_000,
        "MemoryLimit": True,
        "SwapLimit": True,
        "PidsLimit": True,
    }
    engine.images = MagicMock(spec=ImageCollection)
    made = {"Config": {"Entrypoint": ["batsim"]}}
    engine.images.get.return_value = SimpleNamespace(
        id="sha256:1", attrs={"RepoDigests": [], **made}
    )
    engine.images.pull.return_value = SimpleNamespace(
        id="sha256:2", attrs={"RepoDigests": None, **made}
    )
    engine.containers = MagicMock(spec=ContainerCollection)
    container = engine.containers.create.return_value = MagicMock(spec=Container, id="c0ffee")
    container.client = engine
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


def test_the_container_is_confined_and_its_log_kept(engine: MagicMock, folder: RunFolder) -> None:
    """The command that is kept does the same."""
    launcher = DockerLauncher()
    assert launcher.check() == {"batsim": "sha256:1", "image": DEFAULT_IMAGE}
    endpoint = launcher.listen_on(folder)
    process = launcher.start(folder, endpoint, MagicMock(spec=Watchdog))
    while (code := process.poll()) is None:
        pass
    process.stop()
    assert engine.close.call_count == docker.from_env.call_count == 2
    process.stop()  # twice is once
    assert code == 0
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
        assert endpoint in created["command"]
        assert created["volumes"][str(folder.sockets)]["bind"] == str(folder.sockets)
    command = launcher.command(folder, endpoint)
    assert command[:3] == ["docker", "run", "--rm"]
    at = command.index("sha256:1")
    assert command[at + 1 :] == created["command"]
    for source, mount in created["volumes"].items():
        assert f"{source}:{mount['bind']}:{mount['mode']}" in command[:at]


def of_the_container(launcher: DockerLauncher, engine: MagicMock, folder: RunFolder) -> Any:
    """Return the options of the container, and those of the command that does the same."""
    launcher.check()
    launcher.start(folder, "ipc:///x", MagicMock(spec=Watchdog))
    command = launcher.command(folder, "ipc:///x")
    return engine.containers.create.call_args.kwargs, shlex.join(command)


def test_it_has_no_privileges_and_writes_its_results_only(
    engine: MagicMock, folder: RunFolder
) -> None:
    """As the services of the Compose file."""
    created, command = of_the_container(DockerLauncher(), engine, folder)
    assert [f"/tmp:{created['tmpfs'].pop('/tmp')}"] == CONFINED_SERVICES["tmpfs"]
    assert created["tmpfs"].keys() == {"/data"}  # in the place of the volume of Batsim's image
    writable = {mount["bind"] for mount in created["volumes"].values() if mount["mode"] != "ro"}
    assert writable <= {"/data/output", str(folder.sockets)}
    assert " --read-only --" in command
    assert " --cap-drop ALL --security-opt no-new-privileges:true --tmpfs /tmp:size=" in command


ALL = {"MemoryLimit", "SwapLimit", "PidsLimit"}
CONFINED_SERVICES = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["x-confined"]


def test_its_limits_are_those_of_the_compose_file(
    engine: MagicMock, folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of the latter by its name, with the same variables and numbers; of its defaults, that
    of the memory is a share of the engine's here."""
    expected = dict(CONFINED_SERVICES)
    assert expected.pop("init")  # which ours is started with too
    del expected["user"], expected["tmpfs"]
    for name, (variable, default, number) in {
        "mem_limit": (MEMORY_VARIABLE, "16g", 2**34),
        "memswap_limit": (MEMORY_VARIABLE, "16g", 2**34),
        "pids_limit": (PROCESSES_VARIABLE, "4096", 4096),
    }.items():
        assert expected[name] == f"${{{variable}:-{default}}}"
        expected[name] = number
    monkeypatch.setenv(MEMORY_VARIABLE, "16g")
    engine.info.return_value |= dict.fromkeys(ALL, True)
    created, _ = of_the_container(DockerLauncher(), engine, folder)
    assert {name: created[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("can", "memory", "processes", "expected"),
    [
        (ALL, "", "", {"mem_limit": 9000, "memswap_limit": 9000, "pids_limit": 4096}),
        (ALL, "2g", "16", {"mem_limit": 2**31, "memswap_limit": 2**31, "pids_limit": 16}),
        (ALL, "64M", " ", {"mem_limit": 2**26, "memswap_limit": 2**26, "pids_limit": 4096}),
        (ALL, "0", "0", {}),
        (ALL - {"SwapLimit"}, "5000000", "0", {"mem_limit": 5_000_000}),
        (ALL - {"PidsLimit"}, "0g", "7", {}),
        (set(), "1g", "7", {}),
    ],
)
def test_memory_and_processes_are_limited_where_the_engine_can(
    engine: MagicMock,
    folder: RunFolder,
    monkeypatch: pytest.MonkeyPatch,
    can: set[str],
    memory: str,
    processes: str,
    expected: dict[str, int],
) -> None:
    """A rootless engine often cannot."""
    engine.info.return_value |= {name: name in can for name in ALL}
    monkeypatch.setenv(MEMORY_VARIABLE, memory)
    monkeypatch.setenv(PROCESSES_VARIABLE, processes)
    created, command = of_the_container(DockerLauncher(), engine, folder)
    flags = {
        "mem_limit": "--memory",
        "memswap_limit": "--memory-swap",
        "pids_limit": "--pids-limit",
    }
    assert {name: created[name] for name in flags if name in created} == expected
    for name, flag in flags.items():
        value = expected.get(name)
        assert (f" {flag} {value} " in command) if value else (f" {flag} " not in command)


@pytest.mark.parametrize("variable", [MEMORY_VARIABLE, PROCESSES_VARIABLE])
@pytest.mark.parametrize("text", ["lots", "-1", "1.5g", "8 g", "8x", "٣", "9" * 5_000])
def test_what_is_no_limit_is_told_at_once(
    variable: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, text)
    with pytest.raises(
        UsageError, match=rf"^{variable} = .{{3,50}}: expected .* or 0 for no limit"
    ):
        simulate("sample", backend="docker")


@pytest.mark.parametrize(("limit", "told"), [("64m", "the 64 MiB that it may"), ("0", "all there")])
def test_a_container_that_is_out_of_memory_says_so(
    engine: MagicMock,
    folder: RunFolder,
    monkeypatch: pytest.MonkeyPatch,
    limit: str,
    told: str,
) -> None:
    """Its log is kept; who ends well was not killed, whatever else was in its container."""
    monkeypatch.setenv(MEMORY_VARIABLE, limit)
    launcher = DockerLauncher()
    launcher.check()
    container = engine.containers.create.return_value
    container.reload.side_effect = None
    for code in (0, 137):
        process = launcher.start(folder, "ipc:///x", MagicMock(spec=Watchdog))
        container.attrs = {"State": {"Status": "exited", "ExitCode": code, "OOMKilled": True}}
        if code == 0:
            assert process.poll() == 0
            continue
        with pytest.raises(SimulationError, match=f"took more memory than {told}.*gives it more"):
            process.poll()
        assert folder.batsim_log.exists()


@pytest.mark.parametrize(
    ("security", "expected"),
    [
        ("name=rootless", {"user": "0:0"}),
        ("name=userns", {"user": f"{os.getuid()}:{os.getgid()}", "userns_mode": "host"}),
    ],
)
def test_the_user_is_ours_where_users_have_other_numbers(
    engine: MagicMock, folder: RunFolder, security: str, expected: dict[str, str]
) -> None:
    """Real Batsim ends with SIGSEGV where it cannot write."""
    engine.info.return_value["SecurityOptions"].append(security)
    launcher = DockerLauncher()
    launcher.check()
    launcher.start(folder, "ipc:///x", MagicMock(spec=Watchdog))
    created = engine.containers.create.call_args.kwargs
    assert {name: created[name] for name in ("user", "userns_mode") if name in created} == expected
    command = shlex.join(launcher.command(folder, "ipc:///x"))
    assert f" --user {expected['user']} " in command
    assert (" --userns host " in command) == ("userns_mode" in expected)


def test_where_sockets_do_not_reach_a_port_is_used(
    engine: MagicMock, folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Docker Desktop: containers reach the host's loopback by a name."""
    monkeypatch.setattr(sys, "platform", "darwin")
    launcher = DockerLauncher()
    assert launcher.listen_on(folder) == "tcp://127.0.0.1:*"
    command = launcher.command(folder, "tcp://127.0.0.1:4711")
    assert "tcp://host.docker.internal:4711" in command
    assert "--network" not in command


def test_one_variable_names_the_image(engine: MagicMock, monkeypatch: pytest.MonkeyPatch) -> None:
    engine.images.get.side_effect = ImageNotFound("not here")
    monkeypatch.setenv(IMAGE_VARIABLE, "mine/batsim:4.1.0")
    assert DockerLauncher().check() == {"batsim": "sha256:2", "image": "mine/batsim:4.1.0"}
    engine.images.pull.assert_called_once_with("mine/batsim:4.1.0")
    engine.images.pull.side_effect = APIError("manifest unknown")
    with pytest.raises(SimulationError, match=r"cannot be had .*another image .*BATSIM_IMAGE"):
        DockerLauncher().check()
    engine.images.get.side_effect = APIError("400", explanation="invalid reference format")
    with pytest.raises(UsageError, match=r"BATSIM_IMAGE = 'mine/batsim:4.1.0': invalid ref"):
        DockerLauncher().check()


@pytest.mark.parametrize("name", ["mine/batsim", "mine/batsim:4.1.0", f"mine/batsim@{DIGEST}"])
def test_an_image_of_a_registry_is_run_and_kept_by_its_digest(
    engine: MagicMock, folder: RunFolder, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(IMAGE_VARIABLE, name)
    digests = ["elsewhere/batsim@sha256:" + 64 * "e", f"mine/batsim@{DIGEST}"]
    engine.images.get.return_value.attrs["RepoDigests"] = digests
    launcher = DockerLauncher()
    identity = {"batsim": "sha256:1", "image": name, "image_digest": f"mine/batsim@{DIGEST}"}
    assert launcher.check() == identity
    launcher.start(folder, "ipc:///x", MagicMock(spec=Watchdog))
    assert engine.containers.create.call_args.args == (f"mine/batsim@{DIGEST}",)
    assert f"mine/batsim@{DIGEST}" in launcher.command(folder, "ipc:///x")


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("tcp://127.0.0.1:1", "Connection refused"),
        ("unix:///nowhere.sock", "No such file or directory"),
        ("nonsense", "Invalid bind address format: port is required: nonsense"),
    ],
)
def test_without_a_daemon_the_address_and_the_reason_are_told(
    monkeypatch: pytest.MonkeyPatch, address: str, reason: str
) -> None:
    monkeypatch.setenv("DOCKER_HOST", address)
    with pytest.raises(SimulationError, match=rf"does not answer at {address} \({reason}\): start"):
        DockerLauncher().check()


def test_the_default_is_that_of_compose() -> None:
    settings = (ROOT / ".env").read_text()
    (image,) = re.findall(r"^BATSIM_IMAGE=(.*)$", settings, re.MULTILINE)
    assert image == DEFAULT_IMAGE


def test_a_container_that_does_not_start_is_removed(engine: MagicMock, folder: RunFolder) -> None:
    container = engine.containers.get.return_value = engine.containers.create.return_value
    container.start.side_effect = APIError("no such entry point")
    with pytest.raises(SimulationError, match="does not start: no such entry point"):
        DockerLauncher().start(folder, "ipc:///x", MagicMock(spec=Watchdog))
    container.remove.assert_called_once_with(v=True, force=True)


@pytest.mark.parametrize(
    ("end", "told"),
    [(KeyboardInterrupt, KeyboardInterrupt), (ReadTimeout("timed out"), SimulationError)],
)
def test_a_container_whose_making_is_not_awaited_is_removed(
    engine: MagicMock, folder: RunFolder, end: Any, told: type[BaseException]
) -> None:
    """Ctrl-C or a limit ends the wait for the engine, which makes the container all the same."""
    container = engine.containers.create.return_value
    engine.containers.create.side_effect = end
    engine.containers.get.side_effect = [NotFound("not yet"), container]
    with pytest.raises(told):
        DockerLauncher().start(folder, "ipc:///x", MagicMock(spec=Watchdog))
    engine.containers.get.assert_called_with(folder.sockets.name)
    container.remove.assert_called_once_with(v=True, force=True)
    assert engine.close.call_count == docker.from_env.call_count


@pytest.mark.parametrize("seen", ["removing", "dead", None])
def test_a_container_that_somebody_removed_is_gone_at_once(
    engine: MagicMock, folder: RunFolder, seen: str | None
) -> None:
    """Nothing is asked of it any more; there is no log to keep."""
    process = DockerLauncher().start(folder, "ipc:///x", MagicMock(spec=Watchdog))
    container = engine.containers.create.return_value
    container.attrs = {"State": {"Status": seen, "ExitCode": 137}}
    container.reload.side_effect = None if seen else NotFound("No such container")
    with pytest.raises(SimulationError, match="was removed while it ran"):
        process.poll()
    process.stop()
    assert engine.close.call_count == docker.from_env.call_count
    container.logs.assert_not_called()
    container.remove.assert_not_called()


def test_a_short_loss_of_the_daemon_is_no_end(
    engine: MagicMock, folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = DockerLauncher().start(folder, "ipc:///x", MagicMock(spec=Watchdog))
    container = engine.containers.create.return_value
    container.reload.side_effect = DockerException("restarting")
    assert process.poll() is None
    monkeypatch.setattr(backend, "_LOST", -1.0)
    with pytest.raises(SimulationError, match="lost: restarting"):
        process.poll()
    process.stop()
    container.remove.assert_called_once_with(v=True, force=True)


def test_a_daemon_that_came_back_may_be_lost_for_as_long_again(
    engine: MagicMock, folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Gone at 0, back at 40, gone from 80 on: after 60 seconds, that is at 160, it is lost."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(backend, "monotonic", lambda: clock.now)
    monkeypatch.setattr(backend, "_LOST", 60.0)
    process = DockerLauncher().start(folder, "ipc:///x", MagicMock(spec=Watchdog))
    container = engine.containers.create.return_value
    container.attrs = {"State": {"Status": "running"}}
    gone = DockerException("restarting")
    container.reload.side_effect = [gone, None, gone, gone, gone]
    for clock.now in (0.0, 40.0, 80.0, 120.0):
        assert process.poll() is None
    clock.now = 160.0
    with pytest.raises(SimulationError, match="lost: restarting"):
        process.poll()


def test_without_a_daemon_one_line_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    with pytest.raises(SimulationError, match=r"Docker does not answer.*start its daemon"):
        simulate("sample", backend="docker")
