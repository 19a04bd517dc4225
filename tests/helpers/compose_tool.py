"""Docker Compose, if it is installed."""

from __future__ import annotations

import shutil
import subprocess


def compose_tool() -> list[str] | None:
    """Return the command of Compose 2 or later, None without it."""
    return next((t for t in (["docker", "compose"], ["docker-compose"]) if _answers(t)), None)


def _answers(tool: list[str]) -> bool:
    if shutil.which(tool[0]) is None:
        return False
    run = subprocess.run([*tool, "version", "--short"], capture_output=True, text=True, check=False)
    return run.returncode == 0 and not run.stdout.strip().lstrip("v").startswith("1.")
