"""A request to end ends every command, whatever its policy does; no process is left."""

from __future__ import annotations

import os
import signal
import subprocess
from itertools import product
from pathlib import Path

import pytest

from batsched_py.support.installation import PROGRAM
from helpers.logs import small_log
from helpers.waiting import LIMIT, is_alive, wait_until

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not hasattr(os, "killpg"), reason="no process groups here"),
]
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
COMMANDS = {
    "simulate": ["simulate", "log.swf", "--scheduler", "policies.py:{}", "-e", "out"],
    "socket": [
        *("simulate", "log.swf", "--scheduler", "policies.py:{}", "-e", "out"),
        *("--backend", "socket"),
    ],
    "campaign": ["campaign", "test.toml", "-e", "out", "--jobs", "1", "--no-report"],
}
ASKED = [signal.SIGINT, signal.SIGTERM]
CASES = [
    # In the process of the command, only SIGKILL ends the two other policies.
    *product(["simulate"], ["Native", "Catching"], ASKED),
    *product(["socket"], ["Native", "Catching", "Ignoring", "Stopped"], [*ASKED, signal.SIGKILL]),
    *product(["campaign"], ["Native", "Catching", "Ignoring", "Stopped"], ASKED),
    # By a closed pipe a worker in native code, or one that is stopped, notices nothing.
    *product(["campaign"], ["Catching", "Ignoring"], [signal.SIGKILL]),
]


@pytest.mark.parametrize(("command", "policy", "number"), CASES)
def test_a_request_to_end_is_enough(
    tmp_path: Path, command: str, policy: str, number: signal.Signals
) -> None:
    (tmp_path / "policies.py").write_text(POLICIES)
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
