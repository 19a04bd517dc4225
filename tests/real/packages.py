"""Programs that the tests with the real thing need, and the packages of Debian that have them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping


def program(name: str) -> str | None:
    """Return its path; daemons are in folders that are not on every user's PATH."""
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def missing_packages(programs: Mapping[str, str]) -> list[str]:
    """Return the packages to install for ``programs``, each the name of its package."""
    return sorted({programs[name] for name in programs if program(name) is None})


def what_to_install(programs: Mapping[str, str]) -> str | None:
    """Say what to install, None if all is there."""
    packages = missing_packages(programs)
    return f"apt-get install --no-install-recommends {' '.join(packages)}" if packages else None


def compose_tool() -> list[str] | None:
    """Return the command of Compose 2 or later, None without it."""
    return next((t for t in (["docker", "compose"], ["docker-compose"]) if _answers(t)), None)


def _answers(tool: list[str]) -> bool:
    if shutil.which(tool[0]) is None:
        return False
    run = subprocess.run([*tool, "version", "--short"], capture_output=True, text=True, check=False)
    return run.returncode == 0 and not run.stdout.strip().lstrip("v").startswith("1.")


def has_compose_2() -> bool:
    """Whether this Debian's package of Compose is of version 2 or later (Debian 13's is)."""
    command = ["apt-cache", "madison", "docker-compose"]  # docker-compose | 2.26.1-4 | where
    lines = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    return any(not line.split("|")[1].strip().startswith("1.") for line in lines if "|" in line)
