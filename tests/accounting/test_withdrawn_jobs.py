"""Jobs that left the queue before they started have a wait, which nobody takes for one."""

from __future__ import annotations

from pathlib import Path

import pytest

from batsched_py.accounting.systems.slurm import Slurm
from batsched_py.calibration.matched_jobs import check_waits
from batsched_py.errors import LogError, UsageError
from batsched_py.workload.conversion_rules import PRESETS, make_rules
from batsched_py.workload.log_conversion import convert_log
from batsched_py.workload.log_summary import log_summary
from batsched_py.workload.logs.log_months import log_months
from batsched_py.workload.logs.recorded_schedule import recorded_schedule
from batsched_py.workload.logs.swf import read_swf, write_swf
from helpers.accounting_records import SLURM, sacct
from helpers.imports import imported


def test_a_withdrawn_job_is_no_job_that_ran(tmp_path: Path) -> None:
    withdrawn = {"State": "CANCELLED by 7", "Start": "Unknown", "AllocCPUS": 0}
    imported(Slurm, tmp_path, sacct(withdrawn))
    log = read_swf(tmp_path / "out.swf")
    assert not recorded_schedule(log).is_known
    with pytest.raises(LogError, match="recorded wait"):
        check_waits(log)
    for preset in PRESETS:
        with pytest.raises(UsageError, match="leave no job"):
            convert_log(log, make_rules(preset))


@pytest.mark.parametrize(("run_time", "allocated"), [(0, -1), (-1, 0)])
def test_its_time_in_the_queue_is_not_in_means_of_waits(
    tmp_path: Path, run_time: int, allocated: int
) -> None:
    """Of a job that waited for 10 s, and one withdrawn after 1000 s, as logs have them."""
    path = tmp_path / "log.swf"
    ran = (1, 0, 10, 100, 4, -1, -1, 4, 200, -1, 1, 1, *[-1] * 6)
    withdrawn = (2, 0, 1000, run_time, allocated, -1, -1, 4, 200, -1, 5, 1, *[-1] * 6)
    write_swf(path, ["; MaxProcs: 4"], [ran, withdrawn])
    log = read_swf(path)
    assert log.withdrawn.tolist() == [False, True]
    assert log.known_waits.tolist() == [10]
    (waits,) = [
        value for name, value in log_summary(path).pairs if name.startswith("recorded wait")
    ]
    assert waits.endswith("mean 10")
    assert [month.mean_wait for month in log_months(log, recorded_schedule(log))] == [10]


@pytest.mark.parametrize(
    ("job", "note"),
    [
        ({"State": "CANCELLED by 1002", "UID": 1002}, "were cancelled by their own users"),
        ({"State": "CANCELLED by ann", "User": "ann"}, "were cancelled by their own users"),
        ({"State": "CANCELLED by 1002", "User": "1002"}, "were cancelled by their own users"),
        ({"State": "CANCELLED by 0", "UID": 1002}, "were cancelled by others"),
        ({"State": "CANCELLED by 0", "User": "ann"}, "were cancelled by others"),
        ({"State": "CANCELLED by 0", "UID": 0}, "were cancelled by their own users"),
        ({"State": "CANCELLED by 1003", "UID": 1002}, "were cancelled by others"),
        ({"State": "CANCELLED by bob", "User": "ann"}, "were cancelled by others"),
        ({"State": "CANCELLED by 1002", "User": "ann"}, "the column UID shows"),
        ({"State": "CANCELLED"}, "do not name who cancelled them"),
        ({"State": "CANCELLED+"}, "do not name who cancelled them"),
        ({"State": "TIMEOUT"}, None),  # not cancelled
        ({"State": "CANCELLED by 1002", "Start": "2024-03-01T10:00:00"}, None),  # it ran
    ],
)
def test_who_cancelled_a_withdrawn_job(
    tmp_path: Path, job: dict[str, object], note: str | None
) -> None:
    """The header counts who cancelled; each job of the log has its time in the queue."""
    never = {"JobID": 2, "Start": "Unknown", "AllocCPUS": 0} | job
    if "Start" in job:
        never["AllocCPUS"] = 4
    header = f"UID|{SLURM}" if "UID" in job else SLURM
    done = imported(Slurm, tmp_path, sacct({"JobID": 1, "UID": 7}, never, header=header))
    found = [text for text in done.notes if text.startswith("withdrawn jobs ")]
    assert len(found) == (note is not None)
    if note is not None:
        assert note in found[0]
        assert found[0].endswith("(1)")
        assert done.noted(found[0])
        assert (done.jobs[1]["wait_time"], done.jobs[1]["status"]) == (3600, 5)


def test_the_example_of_the_how_to(tmp_path: Path) -> None:
    """Its job 503 was submitted at 1709288100 and withdrawn at 1709289000."""
    page = Path(__file__).parents[2] / "docs" / "how-to" / "accounting.md"
    records = page.read_text().split("```text\n")[1].split("```")[0]
    done = imported(Slurm, tmp_path, records)
    job = done.jobs[2]
    times = [job[name] for name in ("submit_time", "wait_time", "run_time", "status")]
    assert times == [900, 900, -1, 5]
    assert (job["allocated_processors"], job["requested_processors"]) == (-1, 32)
    workload = convert_log(done.log, make_rules(withdrawn="impute"))
    assert workload.jobs[2].finish_time == 1800
