"""Programs that the tests with the real thing need, and the packages of Debian that have them."""

from __future__ import annotations

import os
import shutil
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
