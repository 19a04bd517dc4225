"""Jobs without a limit: each policy runs a log to its end, or refuses it before it begins."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest

from batsched_py import Machine, WaitingQueue, simulate
from batsched_py.errors import UsageError
from batsched_py.plugins.plugins import SCHEDULERS, list_names, load
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import workload
from helpers.endless import Users


@pytest.mark.parametrize("preset", ["default", "replay-feedback"])
@pytest.mark.parametrize("name", list_names(SCHEDULERS))
def test_a_policy_runs_or_refuses_before_it_begins(name: str, preset: str) -> None:
    """Jobs of no or little time, too wide, withdrawn, and with and without a request."""
    began = False

    class Watched(load(SCHEDULERS, name)):  # type: ignore[misc]
        def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Any]:
            nonlocal began
            began = True
            yield from super().schedule(now, queue, machine)

    frame = pd.DataFrame(
        {
            "submit_time": range(8),
            "wait_time": 0,
            "run_time": [0, 0, 0.3, 20, 0, 20, 20, 20],
            "requested_processors": [1, 8, 1, 9, 1, 2, 8, 1],
            "requested_time": [-1, 0, 0.2, -1, -1, -1, 30, 30],
            "status": [1, 1, 1, 1, 5, 1, 1, 1],
        }
    )
    frame.attrs = {"MaxProcs": 8}
    try:
        result = simulate(frame, scheduler=Watched, rules=preset, progress=False)
    except UsageError:
        assert preset != "default"
        assert not began
    else:
        assert preset != "default" or len(result.table.submit) == 7
        assert preset != "default" or "dropped: withdrawn" in " ".join(result.settings["notes"])


def test_what_helps_is_named() -> None:
    """Jobs that are too wide are refused anyway, so they need no limit."""
    frame = pd.DataFrame(
        {"submit_time": 0, "run_time": [0, 0, 9], "requested_processors": [9, 1, 1]}
    )
    frame.attrs = {"MaxProcs": 8}
    of_study = {"scheduler": "conservative", "rules": "replay-feedback"}
    with pytest.raises(UsageError) as refused:
        simulate(frame, **of_study)
    assert "1 of 3 jobs" in str(refused.value)
    for helps in ({"least_walltime": 1}, {"walltime": "exact"}, {"drop": "zero-runtime"}):
        assert next(iter(helps)) in str(refused.value)
        assert simulate(frame, **of_study, **helps).table.ran.any()
    with pytest.raises(UsageError, match="walltime exact"):
        simulate(frame, **of_study, walltime="requested")


def test_of_jobs_that_users_make_up() -> None:
    """The jobs of the log have limits; that of the user has none and ends the run."""
    with pytest.raises(UsageError, match="job dyn!1 has"):
        simulate(workload([J(0, 1, 5)], 4), scheduler="planning", users=Users)
