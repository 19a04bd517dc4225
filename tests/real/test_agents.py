"""Real Batsim: the same weights give the schedule of the embedded simulator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from batsched_py import simulate
from batsched_py.environments import Backfill, Priority
from helpers.agents import make_agent
from helpers.batsim_program import needs_batsim

pytestmark = pytest.mark.process
SCHEDULE = ["job_id", "submission_time", "starting_time", "finish_time", "allocated_resources"]


@needs_batsim
@pytest.mark.parametrize("users", ["rigid", "feedback"])
@pytest.mark.parametrize("decides", [Backfill(), Priority()])
def test_the_same_schedule(tmp_path: Path, decides: Any, users: str) -> None:
    make_agent(decides, 3, 4).save(tmp_path / "agent.json")
    options = {"weights": str(tmp_path / "agent.json")}
    settings: dict[str, Any] = {"users": users, "scheduler_options": options}
    easy = simulate("sample", first=600, users=users)
    sides = [
        simulate("sample", first=600, scheduler="agent", backend=backend, **settings)
        for backend in ("embedded", "batsim")
    ]
    here, there, easy = (side.jobs[SCHEDULE] for side in (*sides, easy))
    assert here.equals(there)
    assert not here.equals(easy)
