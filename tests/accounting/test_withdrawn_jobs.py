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
from helpers.accounting_records import sacct
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
