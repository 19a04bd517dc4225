"""The container files: what the Compose file says, and its commands run without containers."""

from __future__ import annotations

import re
import shlex
import socket
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml

from helpers import calling

ROOT = Path(__file__).resolve().parents[2]
SERVICES = ["batsim", "campaign", "embedded", "scheduler"]


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    """The Compose file with the values of .env in it."""
    lines = (ROOT / ".env").read_text().splitlines()
    values = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    text = (ROOT / "docker-compose.yml").read_text()
    named = re.sub(r"\$\{(\w+)(?::[-?]([^}]*))?\}", lambda it: values.get(it[1], it[2]), text)
    content: dict[str, Any] = yaml.safe_load(named)
    return content


@pytest.fixture(params=SERVICES)
def service(request: pytest.FixtureRequest, compose: dict[str, Any]) -> dict[str, Any]:
    content: dict[str, Any] = compose["services"][request.param]
    return content


def test_services_are_confined(service: dict[str, Any], compose: dict[str, Any]) -> None:
    """No privileges and no way in or out; results go to one folder, inputs are read-only."""
    mounts = {mount["target"]: mount for mount in service["volumes"]}
    out = mounts.pop("/data/out")
    assert out["source"] == "./out"
    assert not out["bind"]["create_host_path"]
    for mount in mounts.values():
        if mount["type"] == "tmpfs":
            assert mount.pop("target") == "/data"  # the volume of Batsim's image
            assert mount == {"type": "tmpfs", "tmpfs": {"size": "64m"}}
            continue
        assert mount["read_only"]
        assert (ROOT / mount["source"]).is_dir()
    command = shlex.split(service["command"])
    assert Path(command[command.index("-e") + 1]).parent == Path("/data/out")
    expected = {
        "user": "1000:1000",
        "init": True,
        "read_only": True,
        "tmpfs": ["/tmp:size=2g"],
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
        "mem_limit": "16g",
        "memswap_limit": "16g",
        "pids_limit": 4096,
    }
    assert {key: service[key] for key in expected} == expected
    assert not {"privileged", "ports", "networks"} & service.keys()
    assert service.get("network_mode", "none") == "none"
    assert compose["networks"] == {"default": {"internal": True}}


def test_batsim_connects_to_where_our_process_binds(compose: dict[str, Any]) -> None:
    ours, batsim = (compose["services"][name]["command"] for name in ("scheduler", "batsim"))
    (bound,) = re.findall(r"tcp://\*:(\d+)", ours)
    (connected,) = re.findall(r"tcp://scheduler:(\d+)", batsim)
    assert bound == connected
    waits_for = compose["services"]["batsim"]["depends_on"]
    assert waits_for == {"scheduler": {"condition": "service_healthy"}}


@pytest.mark.process
def test_our_process_is_healthy_while_it_listens(compose: dict[str, Any]) -> None:
    kind, _, *arguments = compose["services"]["scheduler"]["healthcheck"]["test"]
    assert kind == "CMD"
    check = [sys.executable, *arguments]
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        check[-1] = check[-1].replace(f"{28000:X}", f"{port:X}")  # any free one
        assert subprocess.run(check, stderr=subprocess.DEVNULL).returncode == 1
        listening.listen()
        assert subprocess.run(check).returncode == 0


def test_the_build_context_holds_what_the_image_copies_and_the_package_needs() -> None:
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    assert lines[1] == "*"
    kept = {line.removeprefix("!") for line in lines if line.startswith("!")}
    copied = set()
    for line in (ROOT / "Dockerfile").read_text().splitlines():
        if line.startswith("COPY ") and "--from" not in line:
            copied |= set(line.split()[1:-1])
    assert copied == kept
    assert all((ROOT / name).exists() for name in kept)
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wheel = settings["tool"]["hatch"]["build"]["targets"]["wheel"]
    project = settings["project"]
    needed = [*wheel["packages"], *wheel["force-include"], *project["license-files"]]
    for name in [*needed, project["readme"], "pyproject.toml"]:
        assert any(fnmatch(Path(name).parts[0], place) for place in kept)


@pytest.mark.parametrize("name", SERVICES)
def test_our_commands_have_the_options_of_the_services(compose: dict[str, Any], name: str) -> None:
    """Batsim's options are those of our simulator too."""
    words = shlex.split(compose["services"][name]["command"])
    called = calling.command(ROOT, *["simulator"] * (name == "batsim"), *words, "--help")
    assert called.returncode == 0, called.stderr
    assert "Usage" in called.stdout
