"""What is missing without an extra is told in one line, with how to get it."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from batsched_py.errors import MissingExtraError
from batsched_py.optimum.integer_program import Program
from batsched_py.workload.log_archive import fetch_log
from batsched_users.behaviour.arrivals import Weibull
from batsched_users.sessions.session_graph import to_networkx
from batsched_users.studies.portrait import portrait_figure

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
EXTRAS = {
    name: packages
    for name, packages in PROJECT["optional-dependencies"].items()
    if name not in ("dev", "docs")  # tools, which nothing asks for
}


@pytest.mark.parametrize(
    ("module", "extra", "use"),
    [
        ("matplotlib.figure", "figures", lambda: portrait_figure([])),
        ("scipy.sparse", "scipy", lambda: Program._make_matrix(None, None)),
        ("scipy.optimize", "scipy", lambda: Weibull.fit([1.0, 2.0], "gaps")),
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
    monkeypatch.setitem(sys.modules, module, None)  # as if it were not installed
    with pytest.raises(MissingExtraError, match=rf"pip install 'batsched_py\[{extra}\]'$"):
        use()
    assert module.partition(".")[0] in {
        name.replace("-", "_").removesuffix("_python") for name in EXTRAS[extra]
    }


def test_all_is_all_of_them() -> None:
    (all_of_them,) = EXTRAS["all"]
    named = all_of_them.removeprefix("batsched_py[").removesuffix("]").split(",")
    assert sorted(named) == sorted(set(EXTRAS) - {"all"})


def test_the_base_simulates_without_extras(tmp_path: Path) -> None:
    """A campaign too, whose table is then written as CSV alone."""
    (tmp_path / "test.toml").write_text('[run]\nfirst = 20\nusers = "feedback"\n')
    blocked = sorted(
        name.replace("-", "_").removesuffix("_python")
        for extra, names in EXTRAS.items()
        if extra != "all"
        for name in names
        if name != "requests"  # docker needs it
    )
    code = f"""
import sys
sys.modules.update(dict.fromkeys({blocked}))
from batsched_py.cli import main
sys.argv = ["batsched-py", "campaign", "test.toml", "-e", "out", *sys.argv[1:]]
main()
"""

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", code, *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    refused = call()
    assert "vl_convert is not installed: pip install 'batsched_py[figures]'" in refused.stderr
    assert not (tmp_path / "out").exists()  # it is told before the runs
    done = call("--no-report")
    assert done.returncode == 0, done.stderr
    assert "note: results.parquet is not written: pip install 'batsched_py[parquet]'" in done.stderr
    assert [path.name for path in (tmp_path / "out").glob("results.*")] == ["results.csv"]
