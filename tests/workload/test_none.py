"""The log without jobs: found by name, and simulated like any other."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from batsched_py import simulate
from batsched_py.workload.conversion_rules import make_rules
from batsched_py.workload.load import load_workload
from batsched_py.workload.logs.log_archive import NONE, find_log
from helpers.calling import command
from helpers.logs import swf_text

MODEL = '''
from batsched_py import WorkloadJob

class Once:
    """One job at 100 s."""
    def __init__(self, workload):
        self.profiles = {"p": {"type": "delay", "delay": 5}}
        self.due, self.size = 100.0, workload.nb_res
    def next_submission(self):
        return self.due
    def jobs_to_submit(self, now):
        self.due = float("inf")
        return [WorkloadJob(id="1", submit_time=now, size=self.size, profile="p", user="u")]
    def job_ended(self, now, job, state):
        pass
'''


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("once.py").write_text(MODEL)
    return tmp_path


def test_it_is_a_machine_and_a_clock() -> None:
    none = load_workload(find_log(NONE), make_rules())
    assert (none.jobs, none.nb_res, none.time_zone) == ([], 128, "UTC")
    assert none.unix_start_time is not None
    start = datetime.fromtimestamp(none.unix_start_time, UTC)
    assert (start.weekday(), start.hour, start.minute, start.second) == (0, 0, 0, 0)
    done = command(None, "simulate", "none", "--users", "feedback")
    assert (done.returncode, "(feedback)" in done.stderr) == (1, True)
    Path("none").write_text(swf_text())
    assert find_log(NONE) == Path("none"), "a file of that name wins"


def test_users_who_need_no_log() -> None:
    (row,) = simulate(find_log(NONE), users="once.py:Once").jobs.to_dict("records")
    assert (row["submission_time"], row["requested_number_of_resources"]) == (100, 128)
    assert (row["finish_time"], row["final_state"]) == (105, "COMPLETED_SUCCESSFULLY")


def test_nobody_submits() -> None:
    """Users who leave out all jobs are no error, and said; there is nothing to take a mean of."""
    Path("nobody.py").write_text(MODEL.replace("100.0", 'float("inf")'))
    line = "simulate", "sample", "--users", "nobody.py:Once", "-e", "a", "--swf", "a.swf"
    _, out, err = command(None, *line)
    assert "0 jobs (0 rejected)" in out
    assert "sample-v1.swf.gz has 3430" in err
    overall = json.loads(Path("a_run.json").read_text())["metrics"]["overall"]
    assert overall["nb_jobs"] == 0
    assert overall["mean_waiting_time"] is overall["makespan"] is None
    assert "; MaxJobs: 0" in Path("a.swf").read_text()
