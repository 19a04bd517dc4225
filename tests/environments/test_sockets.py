"""An environment whose simulator is another process."""

from __future__ import annotations

import pytest

from batsched_py.environments import SchedulingEnv
from helpers.answering import Hashed, play


@pytest.mark.process
@pytest.mark.parametrize("users", ["rigid", "feedback"])
@pytest.mark.parametrize("choice", ["Backfill", "Head"])
def test_an_environment_behind_a_socket(choice: str, users: str) -> None:
    """It gives the rewards and the schedule of the embedded one, also after an open episode."""
    played = []
    for backend in ("embedded", "socket"):
        env = SchedulingEnv(choice, log="sample", jobs=150, users=users, backend=backend)
        env.reset(seed=2)
        rewards, result = play(env, Hashed(), options={"start": 600, "seed": 3})
        assert result is not None
        played.append((rewards, result.jobs_csv()))
    assert played[0][0] == pytest.approx(played[1][0], rel=1e-9)
    assert played[0][1] == played[1][1]
