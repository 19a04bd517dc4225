"""A run that is killed leaves nothing behind: what it started is ended by its guard."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from batsched_py.run.backends.child_processes import LocalProcess
from batsched_py.run.backends.watchdog import Watchdog
from helpers.logs import small_log
from helpers.waiting import LIMIT, is_alive, wait_until

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not hasattr(os, "killpg"), reason="no process groups here"),
]
STUBBORN = "trap '' TERM INT HUP; sleep 611 & echo $! $$; wait; wait"
HOLDER = f"""
import sys, time
from pathlib import Path
from batsched_py.run.backends.child_processes import LocalProcess
from batsched_py.run.backends.watchdog import Watchdog
watchdog = Watchdog()
LocalProcess(["sh", "-c", {STUBBORN!r}], Path(sys.argv[1]), watchdog)
watchdog.register("batsched-one")
watchdog.register(sys.argv[2])
watchdog.register("batsched-two")
print(watchdog.group, flush=True)
time.sleep(600)
"""
DOCKER = """
class errors:
    class NotFound(Exception): pass
class from_env:
    containers = property(lambda self: self)
    def close(self): pass
    def get(self, name):
        self.name = name
        return self
    def remove(self, **options):
        with open({file!r}, "a") as file:
            print(self.name, file=file)
"""
"""In the place of Docker's library: notes what is removed."""


def pids(log: Path) -> list[int]:
    """Return the two processes of ``STUBBORN``, once it has said them."""
    return wait_until(lambda: [int(word) for word in log.read_text().split()])


def test_leaving_it_ends_what_does_not_want_to_end(tmp_path: Path) -> None:
    with Watchdog() as watchdog:
        guard = watchdog.group
        LocalProcess(["sh", "-c", STUBBORN], tmp_path / "log", watchdog)
        processes = pids(tmp_path / "log")
    assert guard is not None
    wait_until(lambda: not any(map(is_alive, [guard, *processes])))


def test_a_killed_run_leaves_nothing(tmp_path: Path) -> None:
    """Not even processes that do not want to end, and what these have started; no container, and
    no folder."""
    log, removed, folder = tmp_path / "log", tmp_path / "removed", tmp_path / "a folder\nof it"
    (folder / "in it").mkdir(parents=True)
    (tmp_path / "docker.py").write_text(DOCKER.format(file=str(removed)))
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(log), str(folder)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert holder.stdout is not None
    guard = int(holder.stdout.readline())
    processes = pids(log)
    assert all(map(is_alive, [guard, *processes]))
    holder.kill()
    holder.communicate(timeout=LIMIT)
    wait_until(lambda: not any(map(is_alive, [guard, *processes])))
    assert removed.read_text().split() == ["batsched-one", "batsched-two"]
    assert not folder.exists()


def test_a_killed_guard_does_not_disturb_the_run(tmp_path: Path) -> None:
    with Watchdog() as watchdog:
        assert watchdog.group is not None
        os.kill(watchdog.group, signal.SIGKILL)
        wait_until(lambda: not is_alive(watchdog.group or 0))
        watchdog.register("gone")
        process = LocalProcess(["true"], tmp_path / "log", watchdog)
        assert wait_until(lambda: process.poll() is not None)
        assert process.poll() == 0


def test_without_process_groups_it_guards_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "killpg")
    with Watchdog() as watchdog:
        watchdog.register("unheard")
        process = LocalProcess(["sleep", "600"], tmp_path / "log", watchdog)
        process.stop()
    assert process.poll() == -signal.SIGTERM


def test_a_killed_simulation_leaves_neither_side_nor_its_folders(tmp_path: Path) -> None:
    (tmp_path / "small.swf").write_text(small_log())
    batsim = tmp_path / "batsim"
    batsim.write_text(
        f"#!/bin/sh\n[ $1 != --version ] || exec echo v4.2.0\n"
        f"echo $$ $* > {tmp_path}/said\nexec sleep 611\n"
    )
    batsim.chmod(0o755)
    call = f"simulate('small.swf', backend='batsim', batsim='{batsim}')"
    line = [sys.executable, "-c", f"from batsched_py.run.simulate import simulate; {call}"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(line, cwd=tmp_path, env=environment) as process:
        try:
            said = tmp_path / "said"
            pid, *words = wait_until(lambda: said.exists() and said.read_text().split())
            socket, prefix = (words[words.index(option) + 1] for option in ("-s", "-e"))
            folders = [Path(socket.removeprefix("ipc://")).parent, Path(prefix).parents[1]]
            assert [folder.name.startswith("batsched-") for folder in folders] == [True, True]
            assert all(map(Path.is_dir, folders))
            group = os.getpgid(int(pid))
        finally:
            process.kill()
    wait_until(lambda: not is_alive(int(pid)))
    left = f"pgrep -g {group}"  # our process and the guard too
    wait_until(lambda: not subprocess.run(left.split(), stdout=subprocess.PIPE).stdout)
    assert not any(map(Path.exists, folders))
