"""How a run ends: whatever a policy does, and whatever Batsim 4.2.0 said in its log."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from itertools import product
from pathlib import Path

import pytest

from batsched_py.errors import SimulationError
from batsched_py.run.backends.child_processes import ProcessGroup, find_cause
from batsched_py.run.backends.launchers import Launcher, RunFolder
from batsched_py.run.simulate import simulate
from batsched_py.run.stored_values import Timeouts
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
SIMULATE = ["simulate", "log.swf", "-e", "out", "--scheduler", "policies.py:{}"]
COMMANDS = {
    "simulate": SIMULATE,
    "socket": [*SIMULATE, "--backend", "socket"],
    "batsim": [*SIMULATE[:4], "--backend", "batsim", "--batsim", "sh stubborn"],
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
def test_a_policy_that_leaves_ends_with_one_line(tmp_path: Path, name: str) -> None:
    (tmp_path / "log.swf").write_text(small_log())
    (tmp_path / "p.py").write_text(POLICY.format(WAYS[name]))
    done = command(tmp_path, "simulate", "log.swf", "--scheduler", "p.py:Leaving", "-e", "out")
    assert done.returncode == (130 if name == "interrupt" else 1)
    assert len(done.stderr.splitlines()) == 1
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out_run.json").exists()


# A Batsim that fails -----------------------------------------------------------------------------


BEGIN = """\
[0.000000] [batsim/INFO] Workload 'w0' corresponds to workload file '/tmp/w.json'.
[0.000000] [batsim/INFO] Batsim version: v4.2.0
"""
BACKTRACE = """\
Backtrace (displayed in actor maestro):
  ->  0# xbt_backtrace_display_current in /lib/x86_64-linux-gnu/libsimgrid.so.3.32
  ->  1# main in batsim
"""
FAILURES = {
    "no master host": (
        f"{BEGIN}[0.000000] src/src/machines.cpp:308: [root/CRITICAL] Cannot find the "
        f'"master" role in the platform file\n{BACKTRACE}',
        'Cannot find the "master" role in the platform file',
    ),
    "malformed platform": (
        f"{BEGIN}[0.000000] ./src/xbt/exception.cpp:95: [xbt_exception/ERROR] Parse error at "
        "bad.xml:6: cannot parse number:fast\n"
        "[0.000000] ./src/xbt/exception.cpp:96: [xbt_exception/ERROR] Exiting now.\n",
        "Parse error at bad.xml:6: cannot parse number:fast",
    ),
    "deadlock": (
        f"{BEGIN}[26186.000000] ./src/kernel/EngineImpl.cpp:718: [ker_engine/CRITICAL] Oops! "
        "Deadlock detected, some activities are still around but will never complete.\n"
        "[26186.000000] [ker_engine/INFO] 1 actors are still running, waiting for something.\n",
        "Oops! Deadlock detected, some activities are still around but will never complete.",
    ),
    "unknown option": (
        "Unexpected argument: --foo, -p, platform.xml, -q\n"
        "A tool to simulate (via SimGrid) the behaviour of scheduling algorithms.\n\n"
        "Usage:\n  batsim -p <platform_file>\n\n  -h, --help    Shows this help.\n",
        "Unexpected argument: --foo",
    ),
    "unknown option of Batsim 5": (
        "The following argument was not expected: --foo\nRun with --help for more information.\n",
        "The following argument was not expected: --foo",
    ),
    "memory that is not its own": (f"{BEGIN}Segmentation fault.\n", "Segmentation fault."),
    "SIGKILL": (BEGIN, "its log names no cause"),
    "nothing": ("", "its log is empty"),
}


@pytest.mark.parametrize(("log", "told"), FAILURES.values(), ids=FAILURES)
def test_the_cause_is_told_and_not_the_end_of_a_backtrace(
    tmp_path: Path, log: str, told: str
) -> None:
    (tmp_path / "log").write_text(log)
    assert find_cause(tmp_path / "log") == told


@pytest.mark.process
def test_a_failed_start_is_told_at_once(tmp_path: Path) -> None:
    """There is nothing to wait for then, whatever the limits."""
    (tmp_path / "small.swf").write_text(small_log())
    log, told = FAILURES["no master host"]
    script = f"import sys, time; print({log!r}); print(time.time(), file=open('ended', 'w'));"
    with pytest.raises(SimulationError) as error:
        simulate(
            tmp_path / "small.swf",
            backend="batsim",
            batsim=shlex.join([sys.executable, "-c", f"{script} sys.exit(134)"]).replace(
                "ended", str(tmp_path / "ended")
            ),
            timeouts=Timeouts(success=LIMIT, failure=LIMIT),
            folder=tmp_path / "run",
        )
    assert "exited with 134 (SIGABRT)" in str(error.value)
    assert told in str(error.value)
    assert time.time() - float((tmp_path / "ended").read_text()) < 60


@pytest.mark.parametrize(
    ("program", "given"),
    [("-Eq", False), ("-vdebug", False), ("--verbosity=debug", False), ("--version-of-mine", True)],
)
def test_batsim_is_quiet_unless_a_log_is_asked_for(
    tmp_path: Path, program: str, given: bool
) -> None:
    """It takes one option for that only."""
    for quiet in (True, False):
        folder = RunFolder(tmp_path, tmp_path, dynamic=False, registers=False, quiet=quiet)
        arguments = Launcher(f"batsim {program}").arguments(folder, "ipc:///x")
        assert ("-q" in arguments) is (given and quiet)
