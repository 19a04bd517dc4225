"""What a run has started ends with it, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from batsched_py.run.backends.child_processes import ProcessGroup
from helpers.logs import small_log
from helpers.waiting import LIMIT, is_alive, wait_until

pytestmark = pytest.mark.process
STUBBORN = "trap '' TERM INT HUP; sleep 611 & echo $! $$; wait; wait"
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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_ended_simulation_leaves_neither_side(tmp_path: Path, number: int) -> None:
    (tmp_path / "small.swf").write_text(small_log())
    batsim = tmp_path / "batsim"
    batsim.write_text(
        f"#!/bin/sh\n[ $1 != --version ] || exec echo v4.2.0\necho $$ > {tmp_path}/pid\n"
        "exec sleep 611\n"
    )
    batsim.chmod(0o755)
    call = f"simulate('small.swf', backend='batsim', batsim='{batsim}')"
    line = [sys.executable, "-c", f"from batsched_py.run.simulate import simulate; {call}"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(line, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL) as run:
        try:
            said = tmp_path / "pid"
            group = os.getpgid(int(wait_until(lambda: said.exists() and said.read_text())))
            run.send_signal(number)
            run.wait(LIMIT)
        finally:
            run.kill()
    left = f"pgrep -g {group}"  # the scheduler too
    wait_until(lambda: not subprocess.run(left.split(), stdout=subprocess.PIPE).stdout)
