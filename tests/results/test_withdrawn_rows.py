"""Withdrawn jobs in the files of a run: each job once, and the same from every reader."""

from __future__ import annotations

import csv
import shlex
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from batsched_py import Result, simulate
from batsched_py.decision_process import DecisionProcess
from batsched_py.errors import InputError
from batsched_py.options.durations import format_exact_duration
from batsched_py.protocol import message_json as codec
from batsched_py.protocol import messages as m
from batsched_py.results.columns_beyond_batsim import UsersTable
from batsched_py.results.embedded_output import EmbeddedOutput
from batsched_py.results.jobs_file import read_columns, read_jobs
from batsched_py.results.swf_export import write_result_log
from batsched_py.run.backends.batsim_results import BatsimOutput
from batsched_py.schedulers.fcfs import Fcfs
from batsched_py.simulator.ended_jobs import iterate_columns
from batsched_py.simulator.engine import Options, Simulator
from batsched_py.simulator.files.output_files import format_schedule_csv, make_lines
from batsched_py.simulator.platform.hosts import make_homogeneous
from batsched_py.testing import DrawnJob, run, workload
from batsched_py.workload.conversion_rules import make_rules
from batsched_py.workload.load import load_workload
from batsched_py.workload.logs.swf import read_swf
from helpers.calling import command
from helpers.withdrawing import Impatient

HERE = Path(__file__).parent.parent / "helpers" / "withdrawing.py"


@pytest.fixture(scope="module")
def result() -> Result:
    return simulate(
        "sample",
        scheduler="fcfs",
        users=Impatient,
        user_options={"patience": 600.0, "due": 86400.0},
        first=800,
    )


def test_each_job_ran_or_was_withdrawn_or_rejected(result: Result) -> None:
    """Of the whole run, of each user, and of each session."""
    jobs, values = result.jobs, result.metrics
    counts = {name: int(values[f"nb_{name}"]) for name in ("jobs", "ran", "withdrawn", "rejected")}
    assert counts["withdrawn"] > 20
    assert counts["jobs"] == counts["ran"] + counts["withdrawn"] + counts["rejected"] == len(jobs)
    assert (result.settings["input"]["nb_jobs"], counts["rejected"]) == (len(jobs), 0)
    users = result.per_user
    assert (users["nb_jobs"] == users["nb_ran"] + users["nb_withdrawn"]).all()
    states = jobs["final_state"] == "WITHDRAWN"
    assert users["nb_withdrawn"].to_dict() == states.groupby(jobs["user"]).sum().to_dict()
    ran = jobs["starting_time"].notna()
    assert (ran != states).all()
    sessions = jobs.groupby(jobs["session"].astype(int))
    assert sessions.size().to_dict() == dict.fromkeys(range(80), 10)
    assert (
        sessions["success"].sum() <= 10 - states.groupby(jobs["session"].astype(int)).sum()
    ).all()


def test_rows_of_withdrawn_jobs(result: Result) -> None:
    gone = result.jobs[result.jobs["final_state"] == "WITHDRAWN"]
    waits = gone["withdrawal_time"] - gone["submission_time"]
    assert waits.to_numpy() == pytest.approx(gone["waiting_time"].to_numpy())
    assert set(waits % 3600) == {600}
    assert (gone["success"] == 0).all()
    empty = ["starting_time", "execution_time", "finish_time", "turnaround_time", "stretch"]
    assert gone[[*empty, "allocated_resources"]].isna().all(axis=None)
    assert (
        result.jobs.loc[result.jobs["final_state"] != "WITHDRAWN", "withdrawal_time"].isna().all()
    )


def test_the_table_in_memory_is_that_of_the_file(result: Result, tmp_path: Path) -> None:
    result.write(tmp_path / "out")
    again = read_jobs(tmp_path / "out_jobs.csv", result.settings["nb_processors"])
    for name in ("withdrawal", "requested", "on_time", "waited", "left"):
        ours, theirs = getattr(result.table, name), getattr(again, name)
        assert np.allclose(ours, theirs, rtol=0, atol=1e-5, equal_nan=True), name
    loaded = Result.load(tmp_path / "out")
    assert loaded.metrics.equals(result.metrics)
    assert 0 < result.metrics["deadline_met_share"] < 1


def test_swf_has_their_waits(result: Result, tmp_path: Path) -> None:
    path = tmp_path / "out.swf"
    notes = write_result_log(result.table_as_written(), result.settings, path)
    log = read_swf(path)
    columns = {name: log.column(name) for name in ("wait_time", "run_time", "status")}
    cancelled = columns["status"] == 5
    gone = result.jobs[result.jobs["final_state"] == "WITHDRAWN"]
    assert (log.withdrawn == cancelled).all()
    assert sorted(columns["wait_time"][cancelled]) == sorted(gone["waiting_time"])
    assert set(columns["run_time"][cancelled]) == {-1}
    assert set(log.column("allocated_processors")[cancelled]) == {-1}
    assert f"{len(gone)} withdrawn jobs have no run times: a replay leaves them out" in notes


def test_swf_and_back(result: Result, tmp_path: Path) -> None:
    """A job that was withdrawn has its withdrawal as recorded end, and a run time that is drawn."""
    path = tmp_path / "out.swf"
    rules = {**result.settings["run"]["rules"], "withdrawn": "impute"}
    settings = {**result.settings, "run": {**result.settings["run"], "rules": rules}}
    notes = write_result_log(result.table_as_written(), settings, path)
    again = {job.id: job for job in load_workload(str(path), make_rules(withdrawn="impute")).jobs}
    assert len(again) == len(result.jobs)
    for row in result.jobs.query("final_state == 'WITHDRAWN'").itertuples():
        job = again[row.job_id]
        assert job.finish_time == pytest.approx(row.withdrawal_time)
        assert job.submit_time == row.submission_time
    assert any("a replay draws others for them" in note for note in notes)


JOBS = [DrawnJob(0, 2, 10, user="ann"), DrawnJob(1, 1, 5, user="bob"), DrawnJob(2, 9, 5)]


def simulate_by_messages(prefix: str) -> None:
    """Write what a simulator and a scheduler write that speak only by messages."""
    load = workload(JOBS, 2)
    users, table = Impatient(load, patience=7.0, spread=0.0), UsersTable()
    process = DecisionProcess(Fcfs(), users)

    def answer(message: m.Message) -> m.Message:
        reply = process.answer(codec.decode_events(codec.encode_events(message)))
        table.observe(message, reply)
        return codec.decode_decisions(codec.encode_decisions(reply))

    options = Options(dynamic_jobs=True, profile_reuse=True)
    outcome = Simulator(make_homogeneous(2), [], options).run(answer)
    Path(f"{prefix}_jobs.csv").write_text("".join(make_lines(iterate_columns(outcome.jobs))))
    Path(f"{prefix}_schedule.csv").write_text(format_schedule_csv(outcome))
    Path(f"{prefix}_users.csv").write_text(table.csv())


def test_batsim_calls_them_rejected_and_our_table_has_the_withdrawal(tmp_path: Path) -> None:
    """The second job is withdrawn when it has waited 7 s; the third is too wide."""
    simulate_by_messages(str(tmp_path / "out"))
    with (tmp_path / "out_jobs.csv").open() as file:
        states = Counter(row["final_state"] for row in csv.DictReader(file))
    assert states == {"REJECTED": 2, "COMPLETED_SUCCESSFULLY": 1}
    table = read_jobs(tmp_path / "out_jobs.csv", 2)
    number = {name: row for row, name in enumerate(table.text_column("job_id"))}
    assert (table.ran.sum(), table.withdrawn.tolist().index(True)) == (1, number["0001"])
    assert table.waited[number["0001"]] == table.number_column("waiting_time")[number["0001"]] == 7
    assert table.text_column("final_state")[number["0001"]] == "WITHDRAWN"
    values = Result.load(tmp_path / "out").metrics
    assert values[["nb_jobs", "nb_ran", "nb_rejected", "nb_withdrawn"]].tolist() == [3, 1, 1, 1]


def test_the_output_of_batsim_is_that_of_the_embedded_simulator(tmp_path: Path) -> None:
    """Of two jobs of users, one of which is withdrawn."""
    simulate_by_messages(str(tmp_path / "out"))
    output = BatsimOutput(tmp_path)
    _, ours = read_columns(output.jobs_lines(output.table.measured), {})
    load = workload(JOBS, 2)
    embedded = EmbeddedOutput(run(load, Fcfs(), Impatient(load, patience=7.0, spread=0.0)))
    _, theirs = read_columns(embedded.jobs_lines(embedded.table.measured), {})
    assert ours == theirs


@pytest.mark.parametrize("time", ["", "0.5", "nan", "soon"])
def test_impossible_withdrawals(tmp_path: Path, time: str) -> None:
    simulate_by_messages(str(tmp_path / "out"))
    path = tmp_path / "out_jobs.csv"
    head, *rows = path.read_text().splitlines()
    rows = [f"{row},{time if row[:4] == '0001' else ''}" for row in rows]
    rows = [row.replace("REJECTED", "WITHDRAWN") if row[:4] == "0001" else row for row in rows]
    path.write_text("\n".join([f"{head},withdrawal_time", *rows, ""]))
    with pytest.raises(InputError, match=r"_jobs.csv:\d: withdrawal_time is"):
        read_jobs(path)


def test_explained(tmp_path: Path) -> None:
    users = ("--users", f"{HERE}:Impatient", "-U", "patience=600")
    more = ("--scheduler", "fcfs", "--first", 300, "--record", "-e", tmp_path / "out")
    assert command(None, "simulate", "sample", *users, *more).returncode == 0
    jobs = Result.load(tmp_path / "out").jobs.query("final_state == 'WITHDRAWN'")
    for row in jobs.iloc[[0, -1]].itertuples():
        picture = tmp_path / "job.html"
        told = command(None, "explain", tmp_path / "out", "--job", row.job_id, "--gantt", picture)
        waited = format_exact_duration(row.waiting_time)
        assert "withdrawn by its user" in told.stdout.splitlines()[0]
        assert f", after {waited}" in told.stdout.splitlines()[0]
        assert "then its user withdrew it" in picture.read_text()


OF_BATSIM5 = shlex.join([sys.executable, "-m", "batsched_py", "simulator", "--protocol", "5"])


@pytest.mark.process
@pytest.mark.parametrize(
    "backend", [{"backend": "socket"}, {"backend": "batsim", "batsim": OF_BATSIM5}], ids=str
)
def test_another_process_changes_no_byte(backend: dict[str, Any]) -> None:
    """Messages do not hold who rejected a job, and the table of that process does not either."""
    options = {"patience": 600.0, "due": 86400.0}
    users: dict[str, Any] = {"users": f"{HERE}:Impatient", "user_options": options, "first": 300}
    here, there = (simulate("sample", **users, **more) for more in ({}, backend))
    assert there.jobs_csv() == here.jobs_csv()
    assert there.metrics.equals(here.metrics)
    assert here.metrics["nb_withdrawn"] > 10
