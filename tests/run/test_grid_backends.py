"""A grid behind a socket, and under the real Batsim where it is installed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from batsched_py.run.simulate import simulate
from helpers.batsim_program import needs_batsim
from helpers.calling import command
from helpers.logs import swf_line, swf_text

pytestmark = pytest.mark.process

SCENARIOS: dict[str, dict[str, Any]] = {
    "local": {"scenario": "local"},
    "sharing": {"scenario": "sharing", "transfer": 30},
    "multi_site": {"scenario": "multi_site", "overhead": 0.3},
    "adaptive": {"scenario": "multi_site", "overhead": 0.3, "adaptive": True, "transfer": 0.25},
}


def a_log(folder: Path) -> Path:
    """Return a log of forty jobs of eleven users, who want up to six processors."""
    jobs = [swf_line(i + 1, 9 * i, 17 + 13 * (i % 5), 1 + i % 6, 1 + i % 11) for i in range(40)]
    path = folder / "log.swf"
    path.write_text(swf_text(*jobs, processors=8))
    return path


@pytest.mark.parametrize("users", ["rigid", "feedback"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_behind_a_socket(tmp_path: Path, scenario: str, users: str) -> None:
    log = a_log(tmp_path)
    settings: dict[str, Any] = {
        "scheduler": "grid",
        "scheduler_options": SCENARIOS[scenario],
        "sites": "4,3@2,1",
        "users": users,
    }
    embedded = simulate(log, **settings)
    socket = simulate(log, backend="socket", **settings)
    assert socket.jobs_csv() == embedded.jobs_csv()
    assert embedded.jobs.dilation.notna().any()


@needs_batsim
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_under_batsim(tmp_path: Path, scenario: str) -> None:
    line = ["simulate", "sample", "--first", "300", "--sites", "96,16,2x8", "--scheduler", "grid"]
    for name, value in SCENARIOS[scenario].items():
        line += ["-O", f"{name}={json.dumps(value)}"]
    done = command(tmp_path, *line, "--check-against", "batsim", "-e", "out")
    assert done.returncode == 0, done.stderr
    assert "embedded and batsim: all 300 jobs are equal" in done.stdout
