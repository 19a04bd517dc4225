"""Run tests with the lowest versions of all libraries that ``pyproject.toml`` allows.

Run by ``make lowest``; needs the standard library only. The versions have wheels for the versions
of Python that ``pyproject.toml`` names; with a newer one nothing is run, and that is said.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PLACE = ROOT / ".venv-lowest"
TOOLS = ["grimp", "hypothesis", "jsonschema", "pytest", "pytest-xdist", "pyyaml"]
"""What the tests need."""
FOLDERS = "campaign commands figures metrics optimum support workload"
"""Of ``tests/``: where libraries are used. Elsewhere it is our own code that computes."""
WHERE_AVAILABLE = "--where-available"
_PATTERN = re.compile(r"([A-Za-z0-9._-]+)(?:\[.*\])?(?:>=([0-9.]+))?")


def requirements(project: dict[str, Any]) -> list[str]:
    """Return what the project needs, with its extras, but not itself."""
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    return sorted({line for lines in lists for line in lines if not line.startswith("batsched_py")})


def lowest(requirement: str) -> str:
    """Return ``NAME==VERSION`` for ``NAME>=VERSION``; raises ValueError without a bound."""
    match = _PATTERN.match(requirement)
    if match is None or match[2] is None:
        raise ValueError(f"{requirement}: expected a lower bound, NAME>=VERSION")
    return f"{match[1]}=={match[2]}"


def newest_python(project: dict[str, Any]) -> tuple[int, int]:
    """Return the newest version of Python that the project names."""
    named = [line.rpartition(" ")[2] for line in project["classifiers"] if ":: 3." in line]
    return 3, max(int(version.partition(".")[2]) for version in named)


def install(project: dict[str, Any]) -> None:
    """Make the environment anew, unless it has what is needed by now."""
    versions = "".join(f"{lowest(line)}\n" for line in requirements(project))
    installed = PLACE / "installed"
    if installed.exists() and installed.read_text() == versions:
        return
    venv.create(PLACE, clear=True, with_pip=True)
    constraints = PLACE / "lowest.txt"
    constraints.write_text(versions)
    pip = [PLACE / "bin/python", "-m", "pip", "install", "--disable-pip-version-check", "--quiet"]
    pip += ["--prefer-binary", "--no-compile", "--constraint", constraints]
    subprocess.run([*pip, "--editable", ".[all]", *TOOLS], cwd=ROOT, check=True)
    installed.write_text(versions)


def main() -> int:
    """Return the exit code of pytest, for which all arguments are but ``--where-available``.

    With that, nothing is run where the versions cannot be installed, and that is said.
    """
    further = [argument for argument in sys.argv[1:] if argument != WHERE_AVAILABLE]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    if sys.version_info[:2] > (newest := newest_python(project)):
        print(
            "the lowest versions are not tested: there need not be wheels of them for Python "
            f"{sys.version_info[0]}.{sys.version_info[1]}, but up to {newest[0]}.{newest[1]}"
        )
        return 0
    try:
        install(project)
    except subprocess.CalledProcessError as error:
        if WHERE_AVAILABLE not in sys.argv:
            return error.returncode
        print("the lowest versions are not tested: they cannot be installed here, see above")
        return 0
    pytest = [PLACE / "bin/python", "-m", "pytest", "-p", "no:cacheprovider"]
    pytest += ["-m", "not slow and not process and not hypothesis and not shared"]
    pytest += [f"tests/{name}" for name in FOLDERS.split()]
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run([*pytest, *further], cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
