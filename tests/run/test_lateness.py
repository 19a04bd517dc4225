"""How late jobs come: known of those of the log, whoever submits them, and of no others."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from batsched_py import Result, Workload, load_workload, simulate
from batsched_py.results.jobs_file import read_jobs
from batsched_py.units import HOUR
from batsched_py.workload.conversion_rules import make_rules
from batsched_py.workload.logs.log_archive import find_log
from batsched_users.models.rigid import Rigid

PAGE = (Path(__file__).parents[2] / "docs" / "tutorials" / "own-user-model.md").read_text()
CODE = re.findall(r"```python\n(.*?)```", PAGE, re.S)
MODEL = next(code for code in CODE if "class OfficeHours" in code)
MADE_UP = {"site": {"weeks": 1, "nb_users": 3}, "synthetic": {"jobs": 20}}
LATENESS = ("mean_lateness", "relative_lateness", "additional_lateness")


@pytest.fixture(scope="module")
def sample() -> Workload:
    return load_workload(find_log("sample"), make_rules())


@pytest.fixture
def office_hours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("office_hours.py").write_text(MODEL)
    return "office_hours.py:OfficeHours"


def check_replayed(result: Result, log: Workload) -> None:
    """Assert that all jobs of the log came, each with its own lateness."""
    jobs = result.jobs.set_index("job_id")
    late = jobs["submission_time"] - pd.Series({job.id: job.submit_time for job in log.jobs})
    assert len(jobs) == len(log.jobs)
    np.testing.assert_allclose(jobs["lateness"], late.loc[jobs.index], rtol=0, atol=2e-6)
    assert result.table.lateness.mean() == pytest.approx(late.mean(), abs=1e-5)


def test_the_model_of_the_tutorial_has_its_lateness(sample: Workload, office_hours: str) -> None:
    """The model does not use recorded times; the page shows by how many hours jobs are late."""
    result = simulate("sample", users=office_hours, user_options={"pause": 1800})
    check_replayed(result, sample)
    late = result.table.lateness.mean() / HOUR
    assert f"mean lateness: {late:.3f} h" in PAGE
    assert f"{-late:.0f} hours *earlier* than recorded" in PAGE


@pytest.mark.parametrize("users", ["feedback", "adjusted", "distribution", "fluid"])
def test_who_replays_has_the_lateness_of_the_log(sample: Workload, users: str) -> None:
    check_replayed(simulate(sample, users=users, nodes=48), sample)


@pytest.mark.parametrize("users", MADE_UP)
def test_what_is_made_up_was_not_recorded(tmp_path: Path, sample: Workload, users: str) -> None:
    result = simulate(sample, users=users, user_options=MADE_UP[users])
    assert len(result.table.submit) > 5
    assert np.isnan(result.table.lateness).all()
    header, first, *_ = result.jobs_csv().splitlines()
    row = dict(zip(header.split(","), first.split(","), strict=True))
    assert (row["original_submission_time"], row["lateness"]) == ("", "")
    result.write(tmp_path / "out")
    stored = json.loads((tmp_path / "out_run.json").read_text())["metrics"]
    assert {stored["overall"][name] for name in LATENESS} == {None}
    assert {user["mean_lateness"] for user in stored["per_user"].values()} <= {None}
    assert np.isnan(read_jobs(tmp_path / "out_jobs.csv").lateness).all()


class Lazy(Rigid):
    def __init__(self, workload: Workload, *, most: int) -> None:
        del workload.jobs[most:]
        super().__init__(workload)


@pytest.mark.parametrize(("most", "counts"), [(0, ["50", "none"]), (3, ["3", "50"]), (50, [])])
def test_a_model_that_leaves_jobs_out_is_told_of(most: int, counts: list[str]) -> None:
    """How many of how many, and where to look."""
    result = simulate("sample", first=50, users=Lazy, user_options={"most": most})
    notes = " ".join(note for note in result.notes if "submitted" in note)
    assert re.findall(r"\b(?:none|3|50)\b", notes) == counts
    assert ("next_submission()" in notes) == bool(counts)
