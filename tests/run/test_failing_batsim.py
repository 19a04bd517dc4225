"""A Batsim that fails: what is told of it, and how soon. The logs are those of Batsim 4.2.0."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path

import pytest

from batsched_py.errors import SimulationError
from batsched_py.run.backends.child_processes import find_cause
from batsched_py.run.backends.launchers import Launcher, RunFolder
from batsched_py.run.simulate import simulate
from batsched_py.run.stored_values import Timeouts
from helpers.logs import small_log
from helpers.waiting import LIMIT

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
    ("program", "quiet", "given"),
    [
        ("batsim", False, False),
        ("batsim -Eq", True, False),
        ("batsim -vdebug", True, False),
        ("batsim --verbosity=debug", True, False),
        ("batsim --version-of-mine", True, True),
    ],
)
def test_batsim_is_quiet_unless_a_log_is_asked_for(
    tmp_path: Path, program: str, quiet: bool, given: bool
) -> None:
    """It takes one option for that only."""
    folder = RunFolder(tmp_path, tmp_path, dynamic=False, registers=False, quiet=quiet)
    assert ("-q" in Launcher(program).arguments(folder, "ipc:///x")) is given
