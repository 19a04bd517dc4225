"""How runs with a real Batsim end: with its errors, by signals, and from an empty folder."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from batsched_py.errors import SimulationError
from batsched_py.run.simulate import simulate
from batsched_py.run.stored_values import Timeouts
from batsched_py.support.installation import PROGRAM
from batsched_py.transport import BEGUN, LISTENING
from helpers.batsim_program import needs_batsim
from helpers.logs import small_log
from helpers.waiting import LIMIT, wait_until

pytestmark = [
    pytest.mark.process,
    pytest.mark.slow,
    needs_batsim,
]
ROOT = Path(__file__).parents[2]
PATIENT = Timeouts(ready=LIMIT, run=LIMIT, success=LIMIT, failure=LIMIT)
SOON = 30
"""Seconds from the last that Batsim says, on a slow machine; PATIENT would allow far more."""


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))  # what failed is kept there
    path = tmp_path / "small.swf"
    path.write_text(small_log())
    return path


@pytest.mark.parametrize(
    ("batsim", "told"),
    [
        ("batsim -m wonder", 'Cannot find the "master" role in the platform file'),
        ("batsim --foo", "exited with 255 before it sent a message: Unexpected argument: --foo"),
        ("batsim -v foo", "exited with 0 before it sent a message: Invalid <verbosity_level>"),
        ("batsim --events nope.txt", "Events file 'nope.txt' cannot be read"),
        ("sh -c 'echo v4.2.0'", "exited with 0 before it sent a message: v4.2.0"),
        ("ls --no-such", "asked for its version .*exited with 2: "),
        ("sh -c 'kill -9 $$'", "asked for its version .*was killed by SIGKILL"),
        ("sh -c 'exec nowhere'", "asked for its version .*exited with 127: .*not found"),
    ],
)
def test_its_first_error_is_told_soon(log: Path, batsim: str, told: str) -> None:
    """And not the last line of a backtrace."""
    with pytest.raises(SimulationError) as error:
        simulate(log, backend="batsim", batsim=batsim, timeouts=PATIENT, folder=Path("run"))
    last = max(path.stat().st_mtime for path in Path("run").glob("*.log"))
    assert time.time() - last < SOON
    assert re.search(told.replace("(", r"\("), str(error.value)), str(error.value)
    assert "libsimgrid" not in str(error.value)


def test_an_error_of_ours_is_told_before_its_own(log: Path) -> None:
    """It aborts on a reply that is none, and that is not the cause."""
    Path("bad.py").write_text(
        "class Bad:\n"
        "    def schedule(self, now, queue, machine):\n"
        "        raise ValueError('mine')\n"
    )
    told = "^the scheduler exited with 1: .*mine.*; Batsim .*JSON"
    with pytest.raises(SimulationError, match=told):
        simulate(log, backend="batsim", scheduler="bad.py:Bad", timeouts=PATIENT)


def test_a_deadlock_and_a_malformed_platform_are_told(log: Path) -> None:
    """Batsim exits with 0 after a deadlock."""
    Path("idle.py").write_text(
        "class Idle:\n    def schedule(self, now, queue, machine):\n        return ()\n"
    )
    with pytest.raises(SimulationError, match=r"exited with 0: .*Deadlock"):
        simulate(log, backend="batsim", scheduler="idle.py:Idle", timeouts=PATIENT)
    Path("p.xml").write_text(
        '<?xml version="1.0"?><platform version="4.1"><what-is-this/></platform>'
    )
    with pytest.raises(SimulationError, match=r"Parse error.*\.xml:1"):
        simulate(log, backend="batsim", platform="p.xml", timeouts=PATIENT)


def test_its_log_is_short_unless_all_of_it_is_asked_for(log: Path) -> None:
    quiet, whole = (
        simulate(log, backend="batsim", batsim_log=all_of_it, folder=Path(str(all_of_it)))
        for all_of_it in (False, True)
    )
    assert quiet.jobs_csv() == whole.jobs_csv()
    assert "network/INFO" not in Path("False/batsim.log").read_text()
    assert "network/INFO" in Path("True/batsim.log").read_text()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("asleep", [False, True])
@pytest.mark.parametrize("address", ["ipc://s", "tcp://127.0.0.1:*"])
def test_it_does_not_wait_for_a_serve_that_was_ended(
    log: Path, address: str, asleep: bool, number: int
) -> None:
    """It is refused when it asks next, also if it computes for longer than anybody waits."""
    subprocess.run([*PROGRAM, "convert", "sample", "workload.json"], check=True)
    serve_line = [*PROGRAM, "serve", "-s", address, "-e", "o/a"]
    line = ["batsim", "-p", str(ROOT / "platforms/ideal_64.xml"), "-w", "workload.json"]
    with Path("serve.log").open("wb") as output, ExitStack() as stack:
        serve = subprocess.Popen(serve_line, stdout=output, stderr=output)
        stack.callback(serve.kill)
        said = wait_until(lambda: re.search(f"{LISTENING}(.*)\n", Path("serve.log").read_text()))
        line += ["-s", said[1], "-e", "o/b", "-q"]
        batsim = subprocess.Popen(line)
        stack.callback(batsim.kill)
        wait_until(lambda: BEGUN in Path("serve.log").read_text())
        if asleep:
            batsim.send_signal(signal.SIGSTOP)
            time.sleep(0.1)  # what was on its way is answered
        serve.send_signal(number)
        if asleep:
            wait_until(lambda: "Batsim still computes" in Path("serve.log").read_text())
            batsim.send_signal(signal.SIGCONT)
        assert serve.wait(LIMIT) == 130
        assert batsim.wait(LIMIT) == -signal.SIGABRT


def test_the_page_works_from_an_empty_folder(tmp_path: Path) -> None:
    """All commands of "Two processes by hand", with an endpoint that nobody else has."""
    page = (ROOT / "docs/how-to/batsim.md").read_text()
    (section,) = re.findall(r"^## Two processes by hand\n(.*?)^## ", page, re.DOTALL | re.MULTILINE)
    shell = "".join(re.findall(r"^```bash\n(.*?)^```", section, re.DOTALL | re.MULTILINE))
    lines = shell.replace("\\\n", "").splitlines()
    assert sum(line.startswith("batsim ") for line in lines) == 2
    script = "set -e\n"
    for line in lines:
        line = re.sub(r" -s \S+", "", line)
        line = re.sub(r"^(batsched-py serve|batsim) ", rf"\1 -s ipc://{tmp_path}/s ", line)
        script += f"{line}\n"
        if line.startswith("batsim "):
            script += "wait $!\n"
    (tmp_path / "platforms").symlink_to(ROOT / "platforms")
    path = f"{Path(PROGRAM[0]).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    sh = subprocess.Popen(script, shell=True, cwd=tmp_path, env=environment, process_group=0)
    try:
        assert sh.wait(LIMIT) == 0
    finally:
        with suppress(OSError):
            os.killpg(sh.pid, signal.SIGKILL)
    tables = [(tmp_path / f"out/{name}_jobs.csv").read_text().splitlines() for name in "ab"]
    assert [len(rows) for rows in tables] == [3431, 3431]
