"""Write what the image installs, of ``requirements.lock`` with its hashes; run by the Dockerfile.

``run.txt`` is what the package needs with the extras that are the arguments, ``build.txt`` what
builds it: both with all that these need in turn, which is what the lock says of ``via`` whom.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path


def name_of(requirement: str) -> str:
    """Return the name as the lock writes it."""
    return re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", requirement, maxsplit=1)[0]).lower()


def locked(requirements: Iterable[str], lock: str) -> str:
    """Return the entries of ``lock`` for the requirements and whatever they need."""
    entries = re.split(r"\n(?=\w)", lock.strip())
    needed_by = {
        entry: {name_of(name) for name in entry.partition("# via ")[2].split(", ")}
        for entry in entries
    }
    names, before = {name_of(line) for line in requirements}, set[str]()
    if absent := names - {name_of(entry) for entry in entries}:
        raise SystemExit(f"not in requirements.lock: {', '.join(sorted(absent))}; run `make lock`")
    while names != before:
        before = names
        names = names | {name_of(entry) for entry in entries if needed_by[entry] & names}
    return "".join(f"{entry}\n" for entry in entries if name_of(entry) in names)


def main() -> None:
    """Write both files to the working folder."""
    settings = tomllib.loads(Path("pyproject.toml").read_text())
    project, lock = settings["project"], Path("requirements.lock").read_text()
    extras = project["optional-dependencies"]
    needed = [line for name in sys.argv[1:] for line in extras[name]]
    Path("run.txt").write_text(locked([*project["dependencies"], *needed], lock))
    Path("build.txt").write_text(locked(settings["build-system"]["requires"], lock))


if __name__ == "__main__":
    main()
