"""Preceding jobs and think times of logs: fields 17 and 18."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from batsched_py import simulate
from batsched_py.workload.batsim.batsim_workload import read_workload, write_workload
from batsched_py.workload.conversion_rules import make_rules
from batsched_py.workload.log_conversion import convert_log
from batsched_py.workload.logs.swf_frame import log_from_frame
from batsched_py.workload.workload import Workload
from batsched_users.models.feedback import ThinkTimeFeedback

Follows = dict[str, tuple[str | None, float | None]]


def a_frame(*preceding: int, **columns: Any) -> pd.DataFrame:
    """Return a log of jobs 1, 2, ... that follow these jobs, -1 for none."""
    nb = len(preceding)
    usual: dict[str, Any] = {
        "submit_time": range(nb),
        "run_time": 10,
        "requested_processors": 2,
        "user": 1,
    }
    return pd.DataFrame({**usual, "preceding_job": preceding, "think_time": 60, **columns})


def a_workload(frame: pd.DataFrame, **rules: Any) -> Workload:
    return convert_log(log_from_frame(frame), make_rules(**rules))


def follows(workload: Workload) -> Follows:
    return {job.id: (job.preceding_job, job.think_time) for job in workload.jobs}


def lost(workload: Workload) -> int:
    """Return the number of jobs whose preceding job is lost, by the notes."""
    found = [note for note in workload.notes if "they follow none" in note]
    return int(found[0].split()[0]) if found else 0


def test_jobs_have_them() -> None:
    workload = a_workload(a_frame(-1, 1, 0, 2, think_time=[-1, 60, 5, -1]))
    none = (None, None)
    assert follows(workload) == {"1": none, "2": ("1", 60), "3": none, "4": ("2", None)}
    assert not lost(workload)


@pytest.mark.parametrize(
    ("frame", "rules", "nb_lost"),
    [
        (a_frame(-1, 1, run_time=[-1, 5]), {}, 1),  # its run time is unknown
        (a_frame(-1, 1, 2), {"job_numbers": "2-3"}, 1),
        (a_frame(-1, 7), {}, 1),  # which there is not
        (a_frame(2, -1), {}, 1),  # submitted later
        (a_frame(1), {}, 1),  # itself
        (a_frame(2, 1), {}, 1),  # each other
        (a_frame(2, -1, submit_time=[9, 3]), {}, 0),
    ],
)
def test_lost_preceding_jobs_are_counted(
    frame: pd.DataFrame, rules: dict[str, Any], nb_lost: int
) -> None:
    workload = a_workload(frame, **rules)
    assert lost(workload) == nb_lost
    seen: set[str] = set()
    for job in workload.jobs:  # nobody waits for a job that does not come
        assert job.preceding_job is None or job.preceding_job in seen
        assert job.preceding_job is not None or job.think_time is None
        seen.add(job.id)


def test_a_job_follows_the_last_part_of_a_split_job() -> None:
    workload = a_workload(a_frame(-1, 1, 2, requested_processors=[8, 6, 1]), split=4)
    assert follows(workload) == {
        **dict.fromkeys(("1.1", "1.2"), (None, None)),
        **dict.fromkeys(("2.1", "2.2"), ("1.2", 60)),
        "3": ("2.2", 60),
    }


@pytest.mark.parametrize("batsim5", [False, True])
def test_a_workload_file_has_them(tmp_path: Path, batsim5: bool) -> None:
    workload = a_workload(a_frame(-1, 1, 2, think_time=[-1, 60, -1]))
    write_workload(workload, tmp_path / "a.json", batsim5=batsim5)
    again = read_workload(tmp_path / "a.json")
    assert follows(again) == follows(workload)
    assert not any(job.extra for job in again.jobs)


def test_other_fields_of_that_name_stay(tmp_path: Path) -> None:
    """In a Batsim workload they may mean anything."""
    workload = a_workload(a_frame(-1))
    workload.jobs[0].extra = {"preceding_job": ["a", "b"], "recorded_think_time": "long"}
    write_workload(workload, tmp_path / "a.json")
    (job,) = read_workload(tmp_path / "a.json").jobs
    assert (job.preceding_job, job.think_time) == (None, None)
    assert job.extra == workload.jobs[0].extra


class Following(ThinkTimeFeedback):
    """Users who say that they follow preceding jobs."""

    follows_dependencies = True


@pytest.mark.parametrize(
    ("users", "is_noted"), [("rigid", True), ("feedback", True), (Following, False)]
)
def test_a_run_that_does_not_use_them_says_so(users: Any, is_noted: bool) -> None:
    result = simulate(a_frame(-1, 1, 1, think_time=[-1, 60, -1]), users=users)
    found = [note for note in result.settings["notes"] if "preceding job" in note]
    assert len(found) == is_noted
    if is_noted:
        expected = "2 jobs name a preceding job (field 17), 1 of them a think time (field 18)"
        assert found[0].startswith(expected)
        assert f"the users ({users}) do not wait for it" in found[0]
