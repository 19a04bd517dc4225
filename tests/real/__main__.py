"""Start what is installed and does not run, run the tests with the real thing, end what it started.

Run by ``make real``. Batsim and Compose are used where they are on PATH.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from batsched_py.support.signals import stop_signals
from real import docker_engine, slurm_node
from real.packages import compose_tool, has_compose_2, missing_packages

ENGINES = {"Docker": docker_engine, "Slurm": slurm_node}
INSTALL_LIMIT = 300
"""Seconds for each call of apt-get."""
PATIENCE = 60
"""Seconds that pytest has to end when it is asked to."""
ROOT = Path(__file__).resolve().parents[2]


def install() -> str | None:
    """Install the engines that are missing; return why not, None if all are there."""
    wanted = [engine for engine in ENGINES.values() if not engine.answers()]
    packages = [name for engine in wanted for name in missing_packages(engine.PROGRAMS)]
    if not packages and compose_tool():
        return None
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        return "only root may install with apt-get"
    try:
        _apt_get("update")
        if not compose_tool() and has_compose_2():
            packages.append("docker-compose")
        _apt_get("install", "--yes", "--no-install-recommends", *packages)
    except (subprocess.SubprocessError, OSError) as error:
        return str(error)
    return None


def _apt_get(*command: str) -> None:
    subprocess.run(
        ["apt-get", "--quiet=2", "--option=Dpkg::Use-Pty=0", *command],
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        timeout=INSTALL_LIMIT,
        check=True,
        stdout=2,
    )


def start(stack: ExitStack, folder: Path) -> bool:
    """Start what does not run; return whether all that is installed runs."""
    all_run = True
    for name, engine in ENGINES.items():
        if engine.answers():
            print(f"{name}: runs already")
        elif reason := engine.missing():
            print(f"{name}: its tests are skipped: {reason}")
        else:
            place = folder / name.lower()
            place.mkdir()
            try:
                os.environ.update(stack.enter_context(engine.started(place)))
                print(f"{name}: started for the tests")
            except (OSError, RuntimeError, AssertionError, subprocess.SubprocessError) as error:
                print(f"{name}: its tests are skipped, since it cannot be started: {error}")
                all_run = False
    return all_run


def run_tests(options: list[str]) -> int:
    """Return pytest's exit code.

    If somebody asks for the end, pytest gets the time to remove what its tests have made.
    """
    # They wait more than they compute; a file's tests share what is made once.
    command = [sys.executable, "-m", "pytest", "-rs", "--numprocesses=3", "--dist=loadfile"]
    with subprocess.Popen([*command, *options], cwd=ROOT, process_group=0) as tests:
        try:
            return tests.wait()
        except KeyboardInterrupt:
            os.killpg(tests.pid, signal.SIGINT)
            try:
                tests.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                os.killpg(tests.pid, signal.SIGKILL)
            raise


def main() -> int:
    """Return the exit code: of pytest, or 1 if something that is installed does not start.

    What else is said on the command line is for pytest.
    """
    parser = argparse.ArgumentParser(prog="make real", description=__doc__)
    parser.add_argument(
        "--install", action="store_true", help="install engines, and go without those that fail"
    )
    arguments, rest = parser.parse_known_args()
    if arguments.install and (reason := install()):
        print(f"not all engines could be installed: {reason}")
    batsim = shutil.which("batsim")
    print(f"Batsim: {batsim or 'its tests are skipped: there is no program batsim on PATH'}")
    compose = compose_tool() or ["its tests are skipped: there is no Compose 2 (docker-compose)"]
    print(f"Compose: {' '.join(compose)}")
    with stop_signals(), ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="real-"))
        all_run = start(stack, Path(folder))
        sys.stdout.flush()
        names_tests = any((ROOT / word.partition("::")[0]).exists() for word in rest)
        code = run_tests(rest if names_tests else ["tests/real", *rest])
    return code or int(not all_run and not arguments.install)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("interrupted; what was started is ended", file=sys.stderr)
        sys.exit(130)
