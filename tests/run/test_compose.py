"""The container files: what the Compose file says, and its commands run without containers."""

from __future__ import annotations

import csv
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
from helpers.other_programs import free_address
from helpers.waiting import LIMIT

ROOT = Path(__file__).resolve().parents[2]
BATSCHED = [sys.executable, "-m", "batsched_py"]
SERVICES = ["batsim", "campaign", "embedded", "scheduler"]
ENDPOINT = re.compile(r"tcp://[^:]+:(\d+)")


def dot_env() -> dict[str, str]:
    lines = (ROOT / ".env").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def interpolated(text: str, variables: dict[str, str]) -> str:
    """Replace ``${NAME}``, ``${NAME:-default}`` and ``${NAME:?message}`` as Compose does."""

    def value(match: re.Match[str]) -> str:
        name, kind, word = match.groups()
        if not variables.get(name) and kind == ":?":
            raise KeyError(f"{name}: {word}")
        return variables.get(name) or word or ""

    return re.sub(r"\$\{(\w+)(?:(:[-?])([^}]*))?\}", value, text)


def read_compose(variables: dict[str, str]) -> dict[str, Any]:
    text = interpolated((ROOT / "docker-compose.yml").read_text(), variables)
    content: dict[str, Any] = yaml.safe_load(text)
    return content


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    return read_compose(dot_env())


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


def test_defaults_are_those_of_the_env_file() -> None:
    only_image = {"BATSIM_IMAGE": dot_env()["BATSIM_IMAGE"]}
    assert read_compose(only_image) == read_compose(dot_env())
    with pytest.raises(KeyError, match=r"BATSIM_IMAGE.*\.env"):
        read_compose({})


def test_batsim_connects_to_where_our_process_binds(compose: dict[str, Any]) -> None:
    ours, batsim = (compose["services"][name]["command"] for name in ("scheduler", "batsim"))
    (bound,) = re.findall(r"tcp://\*:(\d+)", ours)
    (connected,) = re.findall(r"tcp://scheduler:(\d+)", batsim)
    assert bound == connected
    waits_for = compose["services"]["batsim"]["depends_on"]
    assert waits_for == {"scheduler": {"condition": "service_healthy"}}


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


def here(service: dict[str, Any], out: Path, endpoint: str = "") -> list[str]:
    """Return the service's command for this machine, with its results in ``out``."""
    command: str = service["command"]
    command = command.replace("/data/out", str(out)).replace("/data/platforms", "platforms")
    return shlex.split(ENDPOINT.sub(endpoint, command))


def starts(path: Path) -> list[tuple[float, str]]:
    """Return when jobs started and their sizes, in order of time."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return sorted(
        (float(row["starting_time"]), row["requested_number_of_resources"]) for row in rows
    )


@pytest.fixture(scope="module")
def embedded(compose: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the service ``embedded`` writes."""
    out = tmp_path_factory.mktemp("embedded")
    called = calling.command(ROOT, *here(compose["services"]["embedded"], out))
    assert called.returncode == 0, called.stderr
    return out


@pytest.mark.slow
@pytest.mark.process
def test_the_two_services_of_profile_batsim_give_the_embedded_schedule(
    compose: dict[str, Any], embedded: Path, tmp_path: Path
) -> None:
    endpoint = free_address()
    services = compose["services"]
    ours = [*BATSCHED, *here(services["scheduler"], tmp_path, endpoint)]
    batsim = [*BATSCHED, "simulator", *here(services["batsim"], tmp_path, endpoint)]
    log = tmp_path / "scheduler.txt"
    with (
        log.open("w") as file,
        subprocess.Popen(ours, cwd=ROOT, stdout=file, stderr=file) as scheduler,
    ):
        try:
            run = subprocess.run(batsim, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT)
            assert run.returncode == 0, run.stderr + log.read_text()
            assert scheduler.wait(timeout=LIMIT) == 0, log.read_text()
        finally:
            scheduler.kill()
    assert starts(tmp_path / "batsim_jobs.csv") == starts(embedded / "embedded_jobs.csv")
    for name in ("batsim_schedule.csv", "batsim_users.csv"):
        assert (tmp_path / name).is_file()
