"""The package as it is installed: a study runs from the wheel, away from the sources."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

pytestmark = [pytest.mark.slow, pytest.mark.process]


def run(*line: object, folder: Path) -> str:
    """Run a program without our variables of the environment; return what it printed."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(
        list(map(str, line)), cwd=folder, env=clean, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with the wheel, and what it needs from this one."""
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("hatchling, which builds the wheel, is not installed")
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, folder=ROOT)
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "venv", with_pip=False, symlinks=True)
    interpreter = folder / "venv/bin/python"
    asked = "import sysconfig; print(sysconfig.get_path('purelib'))"
    place = Path(run(interpreter, "-c", asked, folder=folder).strip())
    # Dependencies by their folders: a .pth file here would be read there, and name the sources.
    search_path = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *sys.path}
    needed = [path for path in search_path if path.endswith("site-packages")]
    (place / "needed.py").write_text(f"import sys\nsys.path += {needed!r}\n")
    (place / "needed.pth").write_text("import needed\n")
    options = ("--no-deps", "--no-index", "--no-compile", "--target", place)
    run(sys.executable, "-m", "pip", "install", *options, wheel, folder=folder)
    return interpreter


def test_a_study_runs_away_from_the_sources(python: Path, tmp_path: Path) -> None:
    names = "batsched_py, batsched_users, batsched_studies"
    code = f"import {names}\nfor m in ({names}): print(list(m.__path__)[0])"
    for place in run(python, "-c", code, folder=tmp_path).splitlines():
        assert python.parents[1] in Path(place).parents
    line = ("campaign", "replay_feedback/fixed", "--quick", "-e", "out")
    run(python, "-m", "batsched_py", *line, folder=tmp_path)
    assert (tmp_path / "out/results.csv").read_text().count("\n") > 1
    assert (tmp_path / "out/report.html").is_file()


@pytest.fixture
def beside(python: Path, tmp_path: Path) -> Path:
    """A folder with a file of every name that ours have, which must not be imported."""
    code = "import batsched_py as b, batsched_users as u; print(*b.__path__, *u.__path__)"
    packages = [Path(place) for place in run(python, "-c", code, folder=tmp_path).split()]
    files = [path.relative_to(package) for package in packages for path in package.rglob("*.py")]
    names = {part.removesuffix(".py") for path in files for part in path.parts}
    names -= sys.stdlib_module_names  # such as calendar: no program can do without
    names |= {"users", "platforms", "experiments", "grid", "select"}
    for name in names - {"__init__", "__main__"}:
        (tmp_path / f"{name}.py").write_text("raise ImportError('from beside the notebook')\n")
    return tmp_path


NOTEBOOK = """
import select, subprocess, sys  # as the kernel of a notebook
sys.path.insert(0, "")
from batsched_py import Result, Start, draw_schedule, simulate

class Greedy:
    def schedule(self, now, queue, machine):
        for job in list(queue):
            if job.size <= machine.free:
                yield Start(job)

for users in ("rigid", "feedback", "fluid", "synthetic"):
    simulate("sample", scheduler=Greedy, users=users, first=60).write(users)
simulate("sample", first=60, backend="socket").write("socket")
result = Result.load("feedback")
result.metrics, result.per_user, result.jobs, result._repr_html_()
draw_schedule(result).to_json()
"""


def test_files_beside_a_notebook_are_harmless(python: Path, beside: Path) -> None:
    run(python, "-P", "-c", NOTEBOOK, folder=beside)
    assert (beside / "socket_run.json").is_file()


def test_files_in_the_working_folder_are_harmless(python: Path, beside: Path) -> None:
    """The installed command has its own folder in the search path, as with -P, and not this."""
    (beside / "x.toml").write_text('[run]\nfirst = 60\nscheduler = ["easy", "fcfs"]\n')
    program = (python, "-P", "-m", "batsched_py")
    run(*program, "campaign", "x.toml", "-e", "out", "-j", "1", folder=beside)
    assert (beside / "out/report.html").is_file()
