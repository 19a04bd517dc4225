"""Whatever a policy does, a run ends when it shall, and leaves no process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from batsched_py.run.backends.child_processes import ProcessGroup
from batsched_py.support.installation import PROGRAM
from helpers.calling import command
from helpers.logs import small_log
from helpers.waiting import LIMIT, is_alive, wait_until

pytestmark = pytest.mark.process
POLICIES = """
import os, signal, time
from collections import deque
from itertools import repeat
from pathlib import Path

class Native:
    "Stays in a loop in C, in which Python handles no signal and no other thread runs."
    def hang(self):
        deque(repeat(0), maxlen=0)

class Catching:
    "Catches all that is raised."
    def hang(self):
        while True:
            try:
                time.sleep(600)
            except BaseException:
                pass

class Ignoring:
    "Ignores requests to end."
    def hang(self):
        for name in "SIGHUP", "SIGINT", "SIGTERM":
            signal.signal(getattr(signal, name), signal.SIG_IGN)
        Path("hangs").touch()
        time.sleep(600)

class Stopped:
    "Stops its process."
    def hang(self):
        Path("hangs").touch()
        os.kill(os.getpid(), signal.SIGSTOP)

def schedule(self, now, queue, machine):
    if type(self) in (Native, Catching):
        Path("hangs").touch()
    self.hang()
    return iter(())

for policy in Native, Catching, Ignoring, Stopped:
    policy.schedule = schedule
"""
CAMPAIGN = """
[run]
log = ["log.swf"]
scheduler = ["policies.py:{}"]
"""
STUBBORN = "trap '' TERM INT HUP; sleep 611 & echo $! $$; wait; wait"
BATSIM = f"""[ "$1" != --version ] || {{ echo v4.2.0; exit 0; }}
touch hangs
{STUBBORN}
"""
"""A Batsim that does not want to end, nor does what it started."""
COMMANDS = {
    "simulate": ["simulate", "log.swf", "--scheduler", "policies.py:{}", "-e", "out"],
    "socket": [
        *("simulate", "log.swf", "--scheduler", "policies.py:{}", "-e", "out"),
        *("--backend", "socket"),
    ],
    "batsim": [
        *("simulate", "log.swf", "-e", "out", "--backend", "batsim"),
        *("--batsim", "sh stubborn"),
    ],
    "campaign": ["campaign", "test.toml", "-e", "out", "--jobs", "1", "--no-report"],
}
CASES = [
    # In the process of the command, only SIGKILL ends the two other policies.
    *product(["simulate"], ["Native", "Catching"], [signal.SIGINT]),
    *product(["socket"], ["Native", "Ignoring", "Stopped"], [signal.SIGTERM, signal.SIGKILL]),
    *product(["socket", "campaign"], ["Catching"], [signal.SIGINT]),
    *product(["batsim"], ["Native"], [signal.SIGINT, signal.SIGTERM]),  # which it never calls
    *product(["campaign"], ["Native", "Ignoring", "Stopped"], [signal.SIGTERM]),
    # By a closed pipe a worker in native code, or one that is stopped, notices nothing.
    *product(["campaign"], ["Catching", "Ignoring"], [signal.SIGKILL]),
]


@pytest.mark.parametrize(("command", "policy", "number"), CASES)
def test_a_request_to_end_is_enough(
    tmp_path: Path, command: str, policy: str, number: signal.Signals
) -> None:
    (tmp_path / "policies.py").write_text(POLICIES)
    (tmp_path / "stubborn").write_text(BATSIM)
    (tmp_path / "log.swf").write_text(small_log())
    (tmp_path / "test.toml").write_text(CAMPAIGN.format(policy))
    process = subprocess.Popen(
        [*PROGRAM, *(word.format(policy) for word in COMMANDS[command])],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        wait_until((tmp_path / "hangs").exists)
        os.kill(process.pid, number)
        by_system = command == "simulate" or number == signal.SIGKILL
        assert process.wait(LIMIT) == (-number if by_system else 130)
        wait_until(lambda: not _of_session(process.pid))
    finally:
        for left in _of_session(process.pid):
            os.kill(left, signal.SIGKILL)


def _of_session(leader: int) -> list[int]:
    found = subprocess.run(["pgrep", "-s", str(leader)], stdout=subprocess.PIPE, text=True)
    return [pid for pid in map(int, found.stdout.split()) if is_alive(pid)]


HOLDER = f"""
import sys, time
from pathlib import Path
from batsched_py.run.backends.child_processes import ProcessGroup
with ProcessGroup() as group:
    group.start(["true"], Path(sys.argv[1]))
    group.start(["sh", "-c", {STUBBORN!r}], Path(sys.argv[2]))
    time.sleep(600)
"""


def pids(log: Path) -> list[int]:
    """Return the two processes of ``STUBBORN``, once it has printed them."""
    return wait_until(lambda: log.exists() and [int(word) for word in log.read_text().split()])


def test_leaving_it_ends_what_does_not_want_to_end(tmp_path: Path) -> None:
    with ProcessGroup() as group:
        group.start(["true"], tmp_path / "other")
        group.start(["sh", "-c", STUBBORN], tmp_path / "log")
        processes = pids(tmp_path / "log")
    wait_until(lambda: not any(map(is_alive, processes)))


@pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux kills what a killed run has started"
)
@pytest.mark.parametrize("stop", [False, True])
def test_a_killed_run_leaves_nothing(tmp_path: Path, stop: bool) -> None:
    """Not even processes that do not want to end or are stopped, and what they have started."""
    line = [sys.executable, "-c", HOLDER, str(tmp_path / "first"), str(tmp_path / "log")]
    with subprocess.Popen(line) as holder:
        processes = pids(tmp_path / "log")
        assert all(map(is_alive, processes))
        if stop:
            os.kill(processes[1], signal.SIGSTOP)
        holder.kill()
    wait_until(lambda: not any(map(is_alive, processes)))


WAYS = {
    "sys_exit": "raise SystemExit(0)",
    "interrupt": "raise KeyboardInterrupt",
}
POLICY = """
class Leaving:
    def schedule(self, now, queue, machine):
        {}
"""


@pytest.mark.parametrize("name", WAYS)
def test_a_simulation(tmp_path: Path, name: str) -> None:
    (tmp_path / "log.swf").write_text(small_log())
    (tmp_path / "p.py").write_text(POLICY.format(WAYS[name]))
    done = command(tmp_path, "simulate", "log.swf", "--scheduler", "p.py:Leaving", "-e", "out")
    assert done.returncode == (130 if name == "interrupt" else 1)
    assert len(done.stderr.splitlines()) == 1
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out_run.json").exists()
