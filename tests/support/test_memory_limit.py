"""A command takes no more memory than there is, and says so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from batsched_py.support import memory_limit
from helpers.waiting import LIMIT

pytest.importorskip("resource", reason="not on this system")
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limit is Linux's")
KB = 1024


def folders(tmp_path: Path, group: str, **limits: str) -> tuple[Path, Path]:
    """Make a machine with 8 GB, and its control groups."""
    proc, groups = tmp_path / "proc", tmp_path / "cgroup"
    (proc / "self").mkdir(parents=True)
    (groups / "a" / "b").mkdir(parents=True)
    (proc / "meminfo").write_text("MemTotal:        8000000 kB\nSwapTotal:          1000 kB\n")
    (proc / "self" / "cgroup").write_text(group)
    for name, limit in limits.items():
        (groups / name.replace("_", "/") / "memory.max").write_text(f"{limit}\n")
    return proc, groups


@pytest.mark.parametrize(
    ("group", "limits", "memory"),
    [
        ("0::/a/b\n", {}, 8_001_000 * KB),
        ("0::/a/b\n", {"a_b": "max", "a": "3000000000"}, 3_000_000_000),
        ("0::/a/b\n", {"a_b": "2000000000", "a": "3000000000"}, 2_000_000_000),
        ("1:memory:/a\n", {"a": "10"}, 8_001_000 * KB),
    ],
)
def test_the_memory_is_the_machines_or_the_groups(
    tmp_path: Path, group: str, limits: dict[str, str], memory: int
) -> None:
    """A group has no more than any group around it."""
    assert memory_limit._memory(*folders(tmp_path, group, **limits)) == memory


def test_where_nothing_is_told_nothing_is_known(tmp_path: Path) -> None:
    assert memory_limit._memory(tmp_path, tmp_path) is None


def command(folder: Path, memory: str | None, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: text for name, text in os.environ.items() if name != "BATSCHED_MEMORY"}
    if memory is not None:
        environment["BATSCHED_MEMORY"] = memory
    return subprocess.run(
        [sys.executable, "-m", "batsched_py", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )


@linux
@pytest.mark.process
@pytest.mark.parametrize("memory", [130, 160, 190, 205, 240, 260, 290])
def test_too_many_jobs_at_once_end_with_a_line(tmp_path: Path, memory: int) -> None:
    """All 200,000 jobs arrive in one message and run, which takes more than 400 MB.

    That is far more than the largest limit, for what Python and its libraries take by themselves
    depends on the machine.
    """
    jobs = [{"id": f"{i}", "subtime": 0, "res": 1, "profile": "p"} for i in range(200_000)]
    profiles = {"p": {"type": "delay", "delay": 5}}
    content = {"nb_res": 200_000, "jobs": jobs, "profiles": profiles}
    (tmp_path / "many.json").write_text(json.dumps(content))
    simulate = ("simulate", "many.json", "--scheduler", "fcfs", "-e", "out")
    refused = command(tmp_path, str(memory), *simulate)
    assert refused.returncode == 1
    assert "there is not enough memory" in refused.stderr.splitlines()[-1]
    assert not list(tmp_path.glob("out*"))


@linux
def test_the_watch_ends_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that calls many commands has no thread for each."""
    monkeypatch.setenv("BATSCHED_MEMORY", "100000")
    memory_limit.limit_memory()
    memory_limit.watch_memory()
    assert [thread.name for thread in threading.enumerate()].count("memory") == 1
    memory_limit.end_watch()
    assert "memory" not in [thread.name for thread in threading.enumerate()]
    memory_limit.lift_memory_limit()


@linux
@pytest.mark.process
@pytest.mark.parametrize("memory", [None, "0", "900"])
def test_figures_are_drawn_under_a_limit(tmp_path: Path, memory: str | None) -> None:
    """What draws them reserves more than it uses, and would crash."""
    drawn = command(tmp_path, memory, "simulate", "sample", "--first", "50", "-e", "out")
    assert drawn.returncode == 0, drawn.stderr
    (tmp_path / "draw.py").write_text(
        "from batsched_py import simulate\n"
        "from batsched_py.figures.chart_files import write_chart\n"
        "from batsched_py.support.memory_limit import limit_memory\n"
        "from pathlib import Path\n"
        "limit_memory()\n"
        "write_chart(simulate('sample', first=50).utilisation(), Path('out.png'))\n"
    )
    environment = os.environ | ({} if memory is None else {"BATSCHED_MEMORY": memory})
    done = subprocess.run([sys.executable, "draw.py"], cwd=tmp_path, env=environment, timeout=LIMIT)
    assert done.returncode == 0
    assert (tmp_path / "out.png").stat().st_size > 1000


@linux
@pytest.mark.process
def test_too_few_addresses_to_draw_are_said(tmp_path: Path) -> None:
    """The library crashes there, after many lines."""
    done = subprocess.run(
        [
            *("sh", "-c", 'ulimit -v 8000000; exec "$@"', "sh", sys.executable, "-m"),
            *("batsched_py", "users", "thresholds", "sample", "--figures", "thr"),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert done.returncode == 1
    assert "8192 MB of addresses (`ulimit -v`)" in done.stderr.splitlines()[-1]


@linux
@pytest.mark.process
def test_a_limit_that_is_no_number_is_refused(tmp_path: Path) -> None:
    refused = command(tmp_path, "8G", "list")
    assert (refused.returncode, "'8G': expected a number of MB" in refused.stderr) == (2, True)
