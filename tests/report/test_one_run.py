"""The report of one run, ours or Batsim's."""

from __future__ import annotations

from pathlib import Path

import pytest

from batsched_py import simulate
from batsched_py.report import Report
from batsched_py.report.forms.html_page import render_page
from batsched_py.report.one_run import ONCE, make_run_report
from batsched_py.report.shown_runs import OneRun
from batsched_py.run.result import Result

JOBS = """\
job_id,workload_name,profile,submission_time,requested_number_of_resources,requested_time,success,\
final_state,starting_time,execution_time,finish_time,waiting_time,turnaround_time,stretch,\
allocated_resources,consumed_energy,metadata
1,w0,p,0,1,100,1,COMPLETED_SUCCESSFULLY,0,100,100,0,100,1,0,0,
2,w0,p,0,3,100,1,COMPLETED_SUCCESSFULLY,7200,100,7300,7200,7300,73,0-2,0,
3,w0,p,0,4,100,1,COMPLETED_SUCCESSFULLY,10800,100,10900,10800,10900,109,0-3,0,
4,w0,p,0,4,100,1,COMPLETED_SUCCESSFULLY,14400,100,14500,14400,14500,145,0-3,0,
"""
SCHEDULE = "nb_computing_machines,makespan\n4,14500\n"


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Path]:
    """A run of ours, and the prefix of its files."""
    result = simulate("sample", first=300, users="feedback", scheduler="easy")
    prefix = tmp_path_factory.mktemp("run") / "easy"
    result.write(prefix)
    return result, prefix


@pytest.fixture
def of_batsim(tmp_path: Path) -> Path:
    """The prefix of a run of Batsim: four jobs that wait 0, 2, 3 and 4 hours."""
    (tmp_path / "out_jobs.csv").write_text(JOBS)
    (tmp_path / "out_schedule.csv").write_text(SCHEDULE)
    return tmp_path / "out"


def key_numbers(report: Report) -> dict[str, str]:
    frame = next(table for table in report.tables if table.name == "key_numbers").frame
    return dict(zip(frame["metric"], frame["shown"], strict=True))


def test_it_says_what_was_simulated_and_what_came_out(ours: tuple[Result, Path]) -> None:
    result, prefix = ours
    report = make_run_report(OneRun(prefix))
    for words in ("64 processors", "*easy*", "*feedback*", "300 jobs", "2026-01-05", ONCE):
        assert words in report.summary
    numbers = next(table for table in report.tables if table.name == "key_numbers").frame
    of_run = result.measured["overall"]
    assert {name: of_run[name] for name in numbers["name"]} == dict(
        zip(numbers["name"], numbers["value"], strict=True)
    )
    assert {"mean_waiting_time", "mean_lateness", "utilisation"} <= set(numbers["name"])
    names = [figure.name for figure in report.figures]
    assert names == ["utilisation", "queue", "submissions", "waits_by_size"]


def test_a_run_of_batsim_has_a_page_too(of_batsim: Path) -> None:
    run = OneRun(of_batsim)
    report = make_run_report(run)
    assert report.title == "out"
    assert "**Simulated**: 4 jobs" in report.summary
    assert key_numbers(report)["mean wait"] == "2.250 h"
    assert key_numbers(report)["utilisation"] == f"{100 * 1200 / (4 * 14500):.1f} %"
    assert "Its settings" in render_page(report, run)


def test_a_run_without_jobs_has_a_page(tmp_path: Path) -> None:
    (tmp_path / "out_jobs.csv").write_text(JOBS.partition("\n")[0] + "\n")
    (tmp_path / "out_schedule.csv").write_text(SCHEDULE)
    report = make_run_report(OneRun(tmp_path / "out"))
    assert "0 jobs" in report.summary
    assert not report.tables
    (tmp_path / "out_jobs.csv").write_text(JOBS)
    assert "8 processors" in make_run_report(OneRun(tmp_path / "out", nodes=8)).summary
