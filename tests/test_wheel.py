"""The package as it is installed: the main campaign runs from the wheel, away from the sources."""

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
    place = Path(
        run(
            interpreter, "-c", "import sysconfig as s; print(s.get_path('purelib'))", folder=folder
        ).strip()
    )
    # Dependencies by their folders: a .pth file here would be read there, and name the sources.
    search_path = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *sys.path}
    needed = [path for path in search_path if path.endswith("site-packages")]
    (place / "needed.py").write_text(f"import sys\nsys.path += {needed!r}\n")
    (place / "needed.pth").write_text("import needed\n")
    run(
        sys.executable,
        "-m",
        "pip",
        "install",
        "--no-deps",
        "--no-index",
        "--target",
        place,
        wheel,
        folder=folder,
    )
    return interpreter


def test_nothing_comes_from_the_sources(python: Path, tmp_path: Path) -> None:
    names = ("batsched_py", "batsched_users", "batsched_studies")
    code = f"import {', '.join(names)}\nfor m in ({', '.join(names)}): print(list(m.__path__)[0])"
    for place in run(python, "-c", code, folder=tmp_path).splitlines():
        assert python.parents[1] in Path(place).parents


def test_the_main_campaign_runs(python: Path, tmp_path: Path) -> None:
    line = (python, "-m", "batsched_py", "campaign", "replay_feedback", "--quick", "-e", "out")
    run(*line, folder=tmp_path)
    assert (tmp_path / "out/results.csv").read_text().count("\n") > 1
    assert (tmp_path / "out/report.html").is_file()
