"""Jobs without a limit: each policy runs a log to its end, or refuses it before it begins."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py import Machine, WaitingQueue, simulate
from batsched_py.errors import UsageError
from batsched_py.plugins.plugins import SCHEDULERS, list_names, load
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import workload
from batsched_py.workload.conversion_rules import PRESETS
from helpers.endless import Users
from helpers.examples import few_examples

ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "submit_time": st.integers(0, 50),
            "wait_time": st.just(0),
            "run_time": st.sampled_from([0, 0, 0.3, 20]),
            "requested_processors": st.integers(1, 9),
            "requested_time": st.sampled_from([-1, -1, 0, 0.2, 30]),
            "status": st.sampled_from([1, 5]),
            "user": st.integers(0, 2),
        }
    ),
    min_size=1,
    max_size=12,
)


@pytest.mark.parametrize("name", list_names(SCHEDULERS))
@few_examples
@given(ROWS, st.sampled_from(list(PRESETS)), st.sampled_from(["rigid", "feedback"]))
def test_a_policy_runs_or_refuses_before_it_begins(
    name: str, rows: list[dict[str, Any]], preset: str, users: str
) -> None:
    began = False

    class Watched(load(SCHEDULERS, name)):  # type: ignore[misc]
        def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Any]:
            nonlocal began
            began = True
            yield from super().schedule(now, queue, machine)

    runs_always = {"requested_processors": 1, "run_time": 20, "requested_time": 30, "status": 1}
    frame = pd.DataFrame([*rows, rows[0] | runs_always])
    frame.attrs = {"MaxProcs": 8}
    try:
        result = simulate(frame, scheduler=Watched, rules=preset, users=users, progress=False)
    except UsageError:
        assert preset != "default"
        assert not began
    else:
        withdrawn = (frame.status == 5) & (frame.run_time == 0)
        if preset == "default":
            assert len(result.table.submit) == (~withdrawn).sum()
            assert ("dropped: withdrawn" in " ".join(result.settings["notes"])) == withdrawn.any()


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
