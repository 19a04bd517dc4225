"""The services of docker-compose.yml in real containers; our simulator plays Batsim's part."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from docker import DockerClient

from helpers.waiting import LIMIT
from real.image import imported_image
from real.packages import compose_tool

pytestmark = [pytest.mark.process, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
NAME = f"batsched-test-{os.getpid()}"
"""Of the project, and of both images: nobody else's are touched."""
TABLES = [f"batsim_{name}.csv" for name in ("jobs", "schedule", "users")]


@pytest.fixture(scope="module")
def images(client: DockerClient) -> Iterator[None]:
    if compose_tool() is None:
        pytest.skip("neither `docker compose` nor `docker-compose` 2 is installed")
    with (
        imported_image(f"{NAME}:ours", ["batsched-py"]),
        imported_image(f"{NAME}:batsim", ["batsched-py", "simulator"]),
    ):
        yield


class Project:
    """A copy of the Compose file and what it refers to, with a folder ``out``."""

    def __init__(self, folder: Path, user: int, group: int) -> None:
        text = (ROOT / "docker-compose.yml").read_text()
        shutil.copytree(ROOT / "platforms", folder / "platforms")
        self.out = folder / "out"
        self.out.mkdir()
        self.file = folder / "docker-compose.yml"
        self.file.write_text(text.replace("image: batsched-py\n", f"image: {NAME}:ours\n"))
        self.environment = os.environ | {
            "BATSIM_IMAGE": f"{NAME}:batsim",
            "BATSCHED_UID": str(user),
            "BATSCHED_GID": str(group),
        }

    def change(self, old: str, new: str) -> None:
        text = self.file.read_text()
        assert old in text
        self.file.write_text(text.replace(old, new))

    def run(self, profile: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        tool = [*(compose_tool() or []), "--project-name", NAME, "--profile", profile]
        return subprocess.run(
            [*tool, *arguments],
            cwd=self.file.parent,
            env=self.environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=LIMIT,
        )

    def tables(self) -> list[str]:
        return sorted(path.name for path in self.out.glob("batsim_*"))


@pytest.fixture
def project(client: DockerClient, images: None, tmp_path: Path) -> Iterator[Project]:
    """In the end nothing may be left of it: no container, no network, no volume."""
    rootless = any("rootless" in option for option in client.info()["SecurityOptions"])
    project = Project(tmp_path, *((0, 0) if rootless else (os.getuid(), os.getgid())))
    ours: dict[str, Any] = {"filters": {"label": f"com.docker.compose.project={NAME}"}}
    volumes = {}
    try:
        yield project
        for container in client.containers.list(all=True, **ours):
            service = container.labels["com.docker.compose.service"]
            mounts = [m for m in container.attrs["Mounts"] if m["Type"] == "volume"]
            volumes[service] = {mount["Name"] for mount in mounts}
    finally:
        done = project.run("batsim", "down", "--volumes", "--remove-orphans")
    assert done.returncode == 0, done.stdout
    assert not volumes.get("batsim")  # not even `down` without --volumes would leave one
    assert not client.containers.list(all=True, **ours)
    assert not client.networks.list(**ours)
    assert not {volume.name for volume in client.volumes.list()} & set().union(*volumes.values())


def rows(table: Path) -> list[dict[str, str]]:
    with table.open(newline="") as file:
        return list(csv.DictReader(file))


def test_two_containers_give_what_one_gives(project: Project) -> None:
    embedded = project.run("embedded", "up")
    assert embedded.returncode == 0, embedded.stdout
    for _ in range(2):  # a second `up` is a run of its own
        both = project.run("batsim", "up", "--exit-code-from", "scheduler")
        assert both.returncode == 0, both.stdout
        assert project.tables() == TABLES
    assert len(both.stdout.splitlines()) < 40
    jobs = rows(project.out / "batsim_jobs.csv")
    expected = rows(project.out / "embedded_jobs.csv")
    assert len(jobs) > 3_000
    assert jobs == [{column: row[column] for column in jobs[0]} for row in expected]
    assert all(path.stat().st_uid == os.getuid() for path in project.out.iterdir())


def test_up_fails_with_our_process_and_leaves_no_results_of_the_run_before(
    project: Project,
) -> None:
    """Batsim, which would wait for ever, is not even started."""
    for table in TABLES:
        (project.out / table).write_text("of the run before\n")
    project.change("serve -v easy", "serve -v eazy")
    done = project.run("batsim", "up")
    assert done.returncode == 1, done.stdout
    assert "'easy'" in done.stdout
    assert project.tables() == []


def test_up_fails_with_batsim_if_told_whose_exit_code_counts(project: Project) -> None:
    project.change("--enable-profile-reuse", "--no-such-option")
    done = project.run("batsim", "up", "--exit-code-from", "scheduler")
    assert done.returncode not in (0, None), done.stdout
    assert "--no-such-option" in done.stdout
    assert project.tables() == []


def test_without_the_folder_of_the_results_nothing_runs(project: Project) -> None:
    project.out.rmdir()
    done = project.run("batsim", "up")
    assert done.returncode != 0
    assert "out" in done.stdout
    assert not project.out.exists()
