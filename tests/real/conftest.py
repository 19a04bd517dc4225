"""What the tests with the real thing share."""

from __future__ import annotations

from collections.abc import Iterator

import docker
import pytest
from docker import DockerClient

from real import docker_engine


@pytest.fixture(scope="module")
def client() -> Iterator[DockerClient]:
    """A client of the engine that answers."""
    if not docker_engine.answers():
        pytest.skip(docker_engine.missing() or "no Docker engine runs: `make real` starts one")
    client = docker.from_env()
    yield client
    client.close()
