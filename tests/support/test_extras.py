"""What is missing without an extra is told in one line, with how to get it."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from batsched_py.errors import MissingExtraError
from batsched_py.run.backends.docker import DockerLauncher
from batsched_py.workload.logs.log_archive import fetch_log
from batsched_users.sessions.session_graph import to_networkx

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
EXTRAS = {
    name: packages
    for name, packages in PROJECT["optional-dependencies"].items()
    if name not in ("dev", "docs")  # tools, which nothing asks for
}


def modules_of(extra: str) -> set[str]:
    return {re.split("[<>=]", line)[0].replace("-", "_") for line in EXTRAS[extra]}


@pytest.mark.parametrize(
    ("module", "extra", "use"),
    [
        ("docker", "docker", lambda: DockerLauncher().check()),
        ("networkx", "graphs", lambda: to_networkx(None)),
        ("pooch", "logs", lambda: fetch_log("CTC-SP2-1996-3.1-cln")),
    ],
)
def test_a_missing_extra_is_told(
    module: str,
    extra: str,
    use: Callable[[], object],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("BATSCHED_LOGS", raising=False)  # who has logs needs not fetch them
    monkeypatch.setitem(sys.modules, module, None)  # as if it were not installed
    what = rf"the Python package {module} is not installed: pip install 'batsched_py\[{extra}\]'$"
    with pytest.raises(MissingExtraError, match=what):
        use()
    assert module.partition(".")[0] in modules_of(extra)


@pytest.mark.process
def test_the_base_runs_a_campaign_and_writes_its_page(tmp_path: Path) -> None:
    """Nothing that only an extra brings is imported on the way, from the log to the figures."""
    (tmp_path / "test.toml").write_text('[run]\nfirst = 20\nscheduler = ["easy", "fcfs"]\n')
    blocked = sorted(set().union(*(modules_of(extra) for extra in EXTRAS if extra != "all")))
    code = f"""
import sys
sys.modules.update(dict.fromkeys({blocked}))
from batsched_py.cli import main
sys.argv[0] = "batsched-py"
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", code, "campaign", "test.toml", "-e", "out", "--jobs", "1"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "'batsched_py[parquet]'" in done.stderr
    assert [path.name for path in (tmp_path / "out").glob("results.*")] == ["results.csv"]
    assert (tmp_path / "out/report.html").is_file()
    assert list((tmp_path / "out").glob("report/*.png"))
