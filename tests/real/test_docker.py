"""Batsim in a container of a real engine; our simulator, imported as an image, plays its part."""

from __future__ import annotations

import ast
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from docker import DockerClient
from docker.models.containers import Container

from batsched_py.run.backends.docker import IMAGE_VARIABLE, MEMORY_VARIABLE
from batsched_py.support.installation import PROGRAM
from helpers.listening import others_reach, started
from helpers.logs import small_log
from helpers.waiting import LIMIT, wait_until
from real.image import imported_image

pytestmark = [pytest.mark.process, pytest.mark.slow]

WAITING = """
import time
from pathlib import Path

from batsched_py.schedulers.fcfs import Fcfs

class Waiting(Fcfs):
    def schedule(self, now, queue, machine):
        Path("seen").touch()
        while not Path("go").exists():
            time.sleep(0.02)
        return super().schedule(now, queue, machine)
"""
"""FCFS that decides nothing before there is a file ``go``."""


@pytest.fixture(scope="module")
def image(client: DockerClient) -> Iterator[str]:
    tag = f"batsched-simulator:{os.getpid()}"
    with imported_image(tag, ["batsched-py", "simulator"]), pytest.MonkeyPatch.context() as patch:
        patch.setenv(IMAGE_VARIABLE, tag)
        yield tag


@pytest.fixture(autouse=True)
def _small_log(tmp_path: Path) -> None:
    (tmp_path / "small.swf").write_text(small_log())
    (tmp_path / "waiting.py").write_text(WAITING)


def simulate(folder: Path, *options: str) -> subprocess.Popen[str]:
    line = [*PROGRAM, "simulate", "small.swf", "-e", "x", *options]
    return subprocess.Popen(
        line, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def ended(process: subprocess.Popen[str], expected: int = 0) -> Called:
    """Wait for the end of a simulation; assert its exit code."""
    done = Called(*process.communicate(timeout=LIMIT))
    assert process.returncode == expected, done.stderr
    return done


class Called(NamedTuple):
    """What a command said."""

    stdout: str
    stderr: str


def containers(client: DockerClient, folder: Path) -> list[Container]:
    """Return what the engine has of the run in ``folder``, by its label."""
    label = f"batsched_py={folder.resolve()}/x_docker"
    return client.containers.list(all=True, filters={"label": label}, ignore_removed=True)


class Waiting(NamedTuple):
    """A simulation in which the scheduler waits for a file ``go``, and Batsim for the scheduler."""

    process: subprocess.Popen[str]
    container: Container


@pytest.fixture
def waiting(client: DockerClient, image: str, tmp_path: Path) -> Iterator[Waiting]:
    """In the end its container may not be left, and there is no volume that could be."""
    options = ["--scheduler", "waiting.py:Waiting", "--backend", "docker"]
    process = simulate(tmp_path, *options, "--timeouts", "failure=1")
    try:
        wait_until(lambda: (tmp_path / "seen").exists() or process.poll() is not None)
        assert process.poll() is None, process.communicate()
        (container,) = containers(client, tmp_path)
        assert not [mount for mount in container.attrs["Mounts"] if mount["Type"] == "volume"]
        yield Waiting(process, container)
        wait_until(lambda: not containers(client, tmp_path))
    finally:
        process.kill()
        process.communicate()


def test_it_simulates_what_the_embedded_simulator_does(image: str, tmp_path: Path) -> None:
    done = ended(simulate(tmp_path, "--check-against", "docker"))
    assert "all 6 jobs" in done.stdout


def test_an_image_of_batsim_5_needs_no_entry_point(
    client: DockerClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The arguments begin with the program, then; its version is asked for in a container."""
    tag = f"batsched-simulator5:{os.getpid()}"
    with imported_image(tag, []):
        monkeypatch.setenv(IMAGE_VARIABLE, tag)
        for users in ([], ["--users", "feedback"]):
            done = ended(simulate(tmp_path, "--check-against", "docker", *users))
            assert "all 6 jobs" in done.stdout
            told = json.loads((tmp_path / "x_docker_run.json").read_text())["backend"]
            assert told["batsim_version"] == "v5.0.0-rc2"
    assert not containers(client, tmp_path)


def test_nothing_is_left_but_files_of_who_called(waiting: Waiting, tmp_path: Path) -> None:
    (tmp_path / "go").touch()
    ended(waiting.process)
    outputs = [tmp_path / "x_docker/batsim.log", *(tmp_path / "x_docker/output").iterdir()]
    assert {path.name for path in outputs} >= {"batsim.log", "out_jobs.csv", "out_schedule.csv"}
    assert {(path.stat().st_uid, path.stat().st_gid) for path in outputs} == {
        (os.geteuid(), os.getegid())
    }


def test_both_sides_meet_where_nobody_else_comes(image: str, tmp_path: Path) -> None:
    """Whatever the umask; the container has no network (below)."""
    options = ["--scheduler", "waiting.py:Waiting", "--backend", "docker"]
    line = [*PROGRAM, "simulate", "small.swf", "-e", "x", *options]
    (tmp_path / "tmp").mkdir()
    with started(tmp_path, tmp_path / "tmp", *line) as program:
        program.wait_for_file(tmp_path / "seen")
        assert program.ports() == []
        (socket,) = program.unix_sockets()
        assert not others_reach(Path(socket))
        (tmp_path / "go").touch()
        assert program.process.wait(LIMIT) == 0


TRIES = """
import os, re, socket
status = open("/proc/1/status").read()
found = dict(re.findall(r"^(CapPrm|NoNewPrivs):\\s*(.*)$", status, re.M))
for place in ("/", "/packages", "/usr/local/bin", "/data/input", "/data/output", "/tmp", "/data"):
    try:
        open(f"{place}/written", "w").close()
        found[place] = "written"
    except OSError as error:
        found[place] = error.strerror
found["interfaces"] = " ".join(name for _, name in socket.if_nameindex() if name != "lo")
print(found)
"""


def test_it_may_write_its_results_and_nothing_else(
    client: DockerClient, waiting: Waiting, tmp_path: Path
) -> None:
    """What a process in the container can do, whatever the image has."""
    waiting.container.reload()
    done = waiting.container.exec_run(["python", "-c", TRIES])
    assert done.exit_code == 0, done.output
    found = ast.literal_eval(done.output.decode())
    assert int(found.pop("CapPrm"), 16) == 0
    assert found.pop("NoNewPrivs") == "1"
    assert not found.pop("interfaces")
    written = {place for place, what in found.items() if what == "written"}
    assert written == {"/data/output", "/tmp", "/data"}
    engine, limits = client.info(), waiting.container.attrs["HostConfig"]
    if engine["MemoryLimit"]:
        assert 0.8 < limits["Memory"] / engine["MemTotal"] < 1
    if engine["PidsLimit"]:
        assert limits["PidsLimit"] == 4096
    (tmp_path / "go").touch()
    ended(waiting.process)


def test_a_container_that_is_out_of_memory_says_so(
    client: DockerClient, image: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not client.info()["MemoryLimit"]:
        pytest.skip("this engine cannot limit memory")
    monkeypatch.setenv(MEMORY_VARIABLE, "16m")
    done = ended(simulate(tmp_path, "--backend", "docker"), 1)
    assert "the 16 MiB" in done.stderr
    assert f"the variable {MEMORY_VARIABLE}" in done.stderr
    assert not containers(client, tmp_path)


def test_the_image_that_ran_is_told_and_the_commands_do_it_again(
    image: str, client: DockerClient, tmp_path: Path
) -> None:
    ended(simulate(tmp_path, "--backend", "docker"))
    told = json.loads((tmp_path / "x_run.json").read_text())["backend"]
    assert told["image"] == image
    assert told["batsim"] == client.images.get(image).id
    assert told["batsim"] in told["commands"]
    if shutil.which("docker") is None:
        pytest.skip("there is no program docker")
    jobs = tmp_path / "x_docker/output/out_jobs.csv"
    first = jobs.read_text()
    jobs.unlink()
    commands = tmp_path / "x_docker/commands.sh"
    done = subprocess.run(["sh", commands], capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 0, done.stderr
    assert jobs.read_text() == first
    commands.write_text(commands.read_text().replace(" serve ", " serve --nonsense "))
    assert subprocess.run(["sh", commands], timeout=LIMIT).returncode == 2  # the container ends too


def test_a_killed_run_leaves_its_container_alone(client: DockerClient, waiting: Waiting) -> None:
    """Which is found by its label."""
    waiting.process.kill()
    ended(waiting.process, -signal.SIGKILL)
    names = [one.name for one in client.containers.list(all=True, filters={"label": "batsched_py"})]
    assert waiting.container.name in names
    waiting.container.remove(v=True, force=True)


@pytest.mark.parametrize(
    ("end", "code", "told"),
    [
        (lambda it: it.process.send_signal(signal.SIGINT), 130, ""),
        (lambda it: it.container.kill(), 1, "137 (SIGKILL)"),
        (lambda it: it.container.remove(v=True, force=True), 1, "container was removed"),
    ],
    ids=["ctrl-c", "killed container", "removed container"],
)
def test_how_it_ended_is_told(
    waiting: Waiting, end: Callable[[Waiting], None], code: int, told: str
) -> None:
    end(waiting)
    assert told in ended(waiting.process, code).stderr
