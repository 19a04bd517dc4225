"""What Batsim 5 left, read as what Batsim 4.2 leaves."""

from __future__ import annotations

import csv
import math
import shutil
from pathlib import Path

import pytest

from batsched_py import Result
from batsched_py.errors import InputError, SimulationError
from batsched_py.protocol.batsim_jobs_columns import JOBS_COLUMNS
from batsched_py.results.batsim5_tables import convert_jobs, make_schedule
from batsched_py.results.jobs_file import read_jobs
from batsched_py.results.run_files import parse_batsim5_summary
from batsched_py.run.backends.batsim_results import BatsimOutput

RAN = "1.000000,2,20.000000,1,COMPLETED_SUCCESSFULLY,1.0,10.0,11.0,0.0,10.0,1.0,0-1"
RAN_LATER = (
    "0.000000,2,20.000000,1,COMPLETED_SUCCESSFULLY,1.0,10.0,11.0,1.000000,11.000000,1.100000,0-1"
)
"""The same job, had it been submitted when that was whose form it is."""
REFUSED = "0.000000,2,20.000000,0,REJECTED,,,,,,,"
USERS = "job_id,workload_name,user,session,original_submission_time,lateness\n"
SCHEDULE = '{"batsim_version": "v5.0.0-rc2", "nb_computing_machines": 4, "makespan": 10.000000}'


def table(*rows: str) -> str:
    return "".join(f"{line}\n" for line in (JOBS_COLUMNS, *rows))


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([f"1,w0,w0!d,{RAN},-1.000000,"], [f'1,w0,d,{RAN},-1.000000,""']),
        # of registered jobs it says 0 joules, without energy too
        (
            [f"1,w0,w0!d,{RAN},-1.000000,", f"x,dyn,dyn!p,{RAN},0.000000,"],
            [f'1,w0,d,{RAN},-1.000000,""', f'x,dyn,p,{RAN},-1.000000,""'],
        ),
        (
            [f"1,w0,w0!d,{RAN},5.000000,", f"x,dyn,dyn!p,{RAN},0.000000,"],
            [f'1,w0,d,{RAN},5.000000,""', f'x,dyn,p,{RAN},0.000000,""'],
        ),
        # a job that another form of it ran for, and one that was refused
        (
            [
                f"15,w0,w0!d,{REFUSED},,",
                f"16,w0,w0!d,{REFUSED},,",
                f"w0:15,placed,placed!w0:d*1.5+4.0,{RAN},0.000000,",
            ],
            [
                f'15,w0,d,{REFUSED},,"runs as placed!w0:15"',
                f'16,w0,d,{REFUSED},,""',
                f'w0:15,placed,w0:d*1.5+4.0,{RAN_LATER},-1.000000,""',
            ],
        ),
        # a profile of another workload, a name in quotes, and what is no job
        (
            [f'"a,b",dyn,w0!d,{RAN},-1.000000,', f"1,w0,w0!d,{RAN},-1.000000,", "a,b", '"'],
            [f'"a,b",dyn,w0!d,{RAN},-1.000000,""', f'1,w0,d,{RAN},-1.000000,""', "a,b", '"'],
        ),
    ],
)
def test_a_table_of_jobs_has_the_form_of_version_4(rows: list[str], expected: list[str]) -> None:
    assert convert_jobs(table(*rows)) == table(*expected)
    assert convert_jobs(table(*expected)) == table(*expected)


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", JOBS_COLUMNS, table(), table("1,w0,w0!d")])
def test_any_other_text_stays(text: str) -> None:
    assert convert_jobs(text) == text


@pytest.mark.parametrize("text", ["", "[]", '{"a": 1', "nan", "{'a': 1}"])
def test_a_summary_is_read_as_c_writes_it_or_refused(text: str) -> None:
    written = '{"a": -nan, "b": nan\n, "batsim_version": "v5, nan", "c": 1.500000, "d": inf}'
    assert parse_batsim5_summary(written, Path("s")) == {
        "a": "-nan",
        "b": "nan",
        "batsim_version": "v5, nan",
        "c": "1.500000",
        "d": "inf",
    }
    with pytest.raises(InputError, match=r"^s:.*Batsim 5 writes"):
        parse_batsim5_summary(text, Path("s"))


def summary_row(folder: Path, said: str, *rows: str) -> dict[str, str]:
    """What becomes of a summary, beside a table of jobs."""
    jobs = folder / "out_jobs.csv"
    jobs.write_text(table(*rows))
    (folder / "out_schedule.json").write_text(said)
    (folder / "out_real_exec_info.json").write_text('{"time_in_edc_seconds": 0.5, "memory": 1}')
    (row,) = csv.DictReader(make_schedule(jobs, read_jobs(jobs)).splitlines())
    assert len(row) == 26
    return {name: value for name, value in row.items() if value != "nan"}


def test_a_summary_has_the_columns_of_version_4(tmp_path: Path) -> None:
    """Two jobs, of which the second runs from 31 to 41 on two processors::

    machine 0   .0000000000....................1111111111
    machine 1   .0000000000....................1111111111

    To Batsim 5 both compute from 1 on, and until 31 as far as it counts.
    """
    second = "21.000000,2,20.000000,1,COMPLETED_SUCCESSFULLY,31.0,10.0,41.0,10.0,20.0,2.0,0-1"
    said = """{"batsim_version": "v5", "makespan": 7.0, "nb_jobs": 2, "new": 1,
               "time_computing": 60.0, "time_idle": 2.0, "mean_waiting_time": 5.0}"""
    rows = (f"1,w0,w0!d,{RAN},-1.000000,", f"2,w0,w0!d,{second},-1.000000,")
    assert summary_row(tmp_path, said, *rows) == {
        "batsim_version": "v5",
        "makespan": "41.000000",
        "nb_jobs": "2",
        "scheduling_time": "0.5",
        "time_computing": "40.000000",
        "time_idle": "42.000000",
        "mean_waiting_time": "5.0",
    }

    switched = '{"nb_jobs": 2, "nb_machine_switches": 3, "time_idle": 5.0}'
    row = summary_row(tmp_path, switched, *rows)
    assert "time_idle" not in row, "how long machines that were switched were idle is not known"
    assert row["time_computing"] == "40.000000"


def test_waits_of_jobs_that_ran_in_another_form_begin_at_their_own_submission(
    tmp_path: Path,
) -> None:
    """The job 15 waited from 0 to 1; Batsim 5 says 0 of its form, and counts two jobs."""
    form = f"w0:15,placed,placed!w0:d*1.5+4.0,{RAN},0.000000,"
    said = '{"nb_jobs": 2, "mean_waiting_time": 0.0, "max_waiting_time": 0.0}'
    row = summary_row(tmp_path, said, f"15,w0,w0!d,{REFUSED},,", form)
    assert (row["mean_waiting_time"], row["max_waiting_time"]) == ("0.500000", "1.000000")
    assert row["max_slowdown"] == "1.100000"


def outputs(folder: Path) -> Path:
    files = {
        "jobs.csv": table(f"1,w0,w0!d,{RAN},-1.000000,"),
        "schedule.json": SCHEDULE,
        "users.csv": f"{USERS}1,w0,u,0,1.0,0.0\n",
    }
    for name, text in files.items():
        (folder / f"out_{name}").write_text(text)
    return folder


def test_outputs_are_read_and_loaded(tmp_path: Path) -> None:
    """Without our columns, if no process of ours was beside it."""
    output = BatsimOutput(outputs(tmp_path), batsim5=True)
    assert (output.batsim_version, output.nb_processors) == ("v5.0.0-rc2", 4)
    lines = list(output.jobs_lines(output.table.measured))
    assert lines[1] == f'1,w0,d,{RAN},-1.000000,"",u,0,1.0,0.0\n'
    (tmp_path / "out_users.csv").unlink()
    with pytest.raises(SimulationError, match=r"no file .*out_users\.csv"):
        BatsimOutput(tmp_path, batsim5=True)
    loaded = Result.load(tmp_path / "out")
    assert (loaded.metrics["nb_jobs"], loaded.output.nb_processors) == (1, 4)
    loaded.write(tmp_path / "again")
    assert (tmp_path / "again_jobs.csv").read_text() == table(f'1,w0,d,{RAN},-1.000000,""')
    (row,) = csv.DictReader((tmp_path / "again_schedule.csv").open())
    assert (row["batsim_version"], row["makespan"]) == ("v5.0.0-rc2", "11.000000")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("jobs.csv", "a,b\n", "columns a,b"),
        ("jobs.csv", f"{JOBS_COLUMNS}\n1,w0,w0!d,{RAN},-1.000000,\n2,w0\n", ":3: 2 fields"),
        ("jobs.csv", f"{JOBS_COLUMNS}\n", "1 jobs"),
        ("schedule.json", "", "Batsim 5 writes"),
        ("schedule.json", "{}", "nb_computing_machines"),
    ],
)
def test_outputs_that_are_not_whole_are_refused(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    files = outputs(tmp_path)
    (files / f"out_{name}").write_text(text)
    with pytest.raises(SimulationError, match=message):
        BatsimOutput(files, batsim5=True)


def test_recorded_outputs(shared: Path, tmp_path: Path) -> None:
    """Each table that the program left, with its own last end as makespan."""
    broken = {"dyn_comma_in_id"}  # Batsim does not quote the comma
    read = 0
    for jobs in sorted((shared / "batsim5_recordings").glob("*/out/jobs.csv")):
        if jobs.parents[1].name in broken or not (jobs.parent / "schedule.json").is_file():
            continue
        folder = tmp_path / jobs.parents[1].name
        folder.mkdir()
        for path in jobs.parent.iterdir():
            shutil.copy(path, folder / f"out_{path.name}")
        theirs = list(csv.DictReader(jobs.open()))
        keys = "".join(f"{row['job_id']},{row['workload_name']}\n" for row in theirs)
        (folder / "out_users.csv").write_text(f"job_id,workload_name\n{keys}")
        output = BatsimOutput(folder, batsim5=True)
        ours = list(csv.DictReader(output.jobs_lines(output.table.measured)))
        for row, its in zip(ours, theirs, strict=True):
            assert its["profile"].removeprefix(f"{row['workload_name']}!") == row["profile"]
            changed = {"profile", "consumed_energy"}
            assert {n: v for n, v in row.items() if n in its and n not in changed} == {
                n: v for n, v in its.items() if n not in changed
            }
        (row,) = csv.DictReader(output.schedule_csv().splitlines())
        summary = parse_batsim5_summary((jobs.parent / "schedule.json").read_text(), jobs)
        counted = {"time_computing", "time_idle"}  # as it does not count them
        assert {name: row[name] for name in summary if name not in counted} == {
            name: value for name, value in summary.items() if name not in counted
        }
        assert not math.isnan(float(row["scheduling_time"]))
        read += 1
    if not read:
        pytest.skip(f"no tables in {shared / 'batsim5_recordings'}")
